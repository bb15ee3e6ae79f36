"""The routes on which the conversations are held, for a worker process too: it imports little."""

from dataclasses import dataclass

from agui_middleware import Filter
from agui_middleware.filters.reasoning import without_reasoning
from agui_middleware.filters.tools import allow_tools

LIMIT = 1 << 24  # bytes of a record: none of these is full


@dataclass(frozen=True)
class Route:
    """What a route takes away."""

    name: str
    visibility: str = "auto"
    filters: tuple[Filter, ...] = ()


ROUTES = (
    Route("auto"),
    Route("inline", "inline"),
    Route("hidden", "hidden"),
    Route("allow_tools", filters=(allow_tools(["search"]),)),
    Route("without_reasoning", filters=(without_reasoning,)),
)
