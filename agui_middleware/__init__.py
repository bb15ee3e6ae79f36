"""AG-UI over ASGI: every client, of any age, gets a stream that it can read."""

from agui_middleware.asgi.middleware import AGUIMiddleware
from agui_middleware.config.routes import Route
from agui_middleware.config.settings import Settings
from agui_middleware.filters import Context, Filter, SubagentVisibility
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.event_types import EventType
from agui_middleware.protocol.releases import ClientVersion
from agui_middleware.stream.recording import rewrite

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
