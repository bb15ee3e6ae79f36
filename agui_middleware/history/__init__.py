"""The way in: what a client posts, put back into the form that an agent of today reads."""
