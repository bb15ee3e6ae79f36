"""The fixture `client`, for any conftest: `from tests.clients.fixtures import client`."""

import os
from collections.abc import Callable, Iterator
from typing import NoReturn

import pytest

from tests.clients.client import Client, Clients, NotInstalledError


def unavailable(reason: str) -> NoReturn:
    # A skip in CI would be green without having asked a single client.
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def client() -> Iterator[Callable[[str], Client]]:
    """`client("0.0.58").read(stream)`: the release's real HttpAgent, one process a release for the whole session."""
    with Clients() as clients:

        def start(release: str) -> Client:
            try:
                return clients(release)
            except NotInstalledError as error:
                unavailable(str(error))

        yield start
