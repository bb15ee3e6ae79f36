"""The moves that a drawn run is made of.

Each is legal in every state: it looks up what its actor has open, continues that, or opens something new.
"""
