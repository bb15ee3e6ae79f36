"""Bytes in, bytes out: Server-Sent Events through filters, without ASGI."""
