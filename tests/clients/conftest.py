from tests.clients.fixtures import client

__all__ = ["client"]
