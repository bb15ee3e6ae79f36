"""The ready-made filters, next to what clients make of their streams."""
