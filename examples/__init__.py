"""Examples, to be run in a checkout; each says at its top how."""
