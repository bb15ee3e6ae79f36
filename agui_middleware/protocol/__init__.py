"""What AG-UI is: events, their types, messages, chunks, who owns what, and the releases that read them."""
