"""AG-UI over ASGI: every client, of any age, gets a stream that it can read."""

from agui_middleware.client import ClientVersion
from agui_middleware.event import Event, EventType
from agui_middleware.filters import Context, Filter, SubagentVisibility
from agui_middleware.middleware import AGUIMiddleware
from agui_middleware.recording import rewrite
from agui_middleware.settings import Route, Settings

__all__ = [
    "AGUIMiddleware",
    "ClientVersion",
    "Context",
    "Event",
    "EventType",
    "Filter",
    "Route",
    "Settings",
    "SubagentVisibility",
    "rewrite",
]

__version__ = "0.1.0"
