"""What every test may ask for."""

from tests.clients.fixtures import client

__all__ = ["client"]
