"""AG-UI over ASGI: every client, of any age, gets a stream that it can read."""

import importlib
import typing

from agui_middleware.asgi.middleware import AGUIMiddleware
from agui_middleware.config.plan import Choice, Plan, Restoration
from agui_middleware.filters import Context, Filter, Loss, SubagentVisibility
from agui_middleware.protocol.errors import EventTooLarge
from agui_middleware.protocol.event import Event, JsonObject, MalformedEvent
from agui_middleware.protocol.event_types import EventType
from agui_middleware.protocol.releases import ClientVersion

if typing.TYPE_CHECKING:
    from agui_middleware.config.routes import Route
    from agui_middleware.config.settings import Settings
    from agui_middleware.stream.recording import rewrite

__all__ = [
    "AGUIMiddleware",
    "Choice",
    "ClientVersion",
    "Context",
    "Event",
    "EventTooLarge",
    "EventType",
    "Filter",
    "JsonObject",
    "Loss",
    "MalformedEvent",
    "Plan",
    "Restoration",
    "Route",
    "Settings",
    "SubagentVisibility",
    "rewrite",
]

__version__ = "0.1.0"

_LATER = {
    "Route": "agui_middleware.config.routes",
    "Settings": "agui_middleware.config.settings",
    "rewrite": "agui_middleware.stream.recording",
}

if not typing.TYPE_CHECKING:  # pragma: no branch

    def __getattr__(name: str) -> object:
        """Import these when they are first used: pydantic takes longer to import than the rest of the package."""
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        member = globals()[name] = getattr(importlib.import_module(_LATER[name]), name)
        return member

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
