"""What a route can put into the way of a stream."""

from agui_middleware.filters.chunks import expand_chunks
from agui_middleware.filters.contract import Context, Filter, Loss
from agui_middleware.filters.declared import EVERYTHING, handles
from agui_middleware.filters.functions import filter_factory
from agui_middleware.filters.needs_input import needs_input
from agui_middleware.filters.subagents import SubagentVisibility

__all__ = [
    "EVERYTHING",
    "Context",
    "Filter",
    "Loss",
    "SubagentVisibility",
    "expand_chunks",
    "filter_factory",
    "handles",
    "needs_input",
]
