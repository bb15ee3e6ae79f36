"""The body that an agent gets for one that a client has posted, without a store."""

from functools import cache
from types import SimpleNamespace
from typing import Any

from starlette.types import Scope

from agui_middleware import ClientVersion, Restoration
from agui_middleware.asgi.reports import Reports
from agui_middleware.asgi.turn import Turn
from agui_middleware.config.planning import make_plan
from agui_middleware.config.readers import Reader
from agui_middleware.config.routes import EVERY_PATH


def upgrade(body: bytes, client: ClientVersion | Reader | None) -> bytes:
    """What `Turn` makes of a body. Without a store it awaits nothing."""
    try:
        turn_without_store(client).read(body).send(None)
    except StopIteration as done:
        given: bytes = done.value
        return given
    raise AssertionError("it has awaited something")


@cache
def turn_without_store(client: ClientVersion | Reader | None) -> Turn:
    """A turn of a client where no history is configured."""
    choice = SimpleNamespace(route=EVERY_PATH, plan=make_plan(client))
    decision: Any = SimpleNamespace(choice=choice)  # all of it that a turn without a store looks at
    return Turn(decision, None, None, Reports(), _restored_nothing)


def _restored_nothing(_: Scope, __: Restoration) -> None:
    raise AssertionError("nothing is kept")
