"""What `check` says of recorded streams, next to what clients make of them."""
