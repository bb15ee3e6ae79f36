"""What every test may ask for, and how generated examples are run."""

from hypothesis import HealthCheck, settings

from tests.clients.fixtures import client

__all__ = ["client"]

# Time is the machine's affair: a slow one says nothing about the example that it was slow on.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("patient")
