"""The only room that knows ASGI: the middleware, and what becomes of one request and its response."""
