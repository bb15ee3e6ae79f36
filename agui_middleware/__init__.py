"""AG-UI over ASGI: every client, of any age, gets a stream that it can read."""

__version__ = "0.1.0"
