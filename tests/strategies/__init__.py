"""Hypothesis strategies for AG-UI streams, and what they should lead to."""
