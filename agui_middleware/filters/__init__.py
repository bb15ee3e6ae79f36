"""What a route can put into the way of a stream."""

from agui_middleware.filters.contract import EVERYTHING, Context, Filter, Loss, handles
from agui_middleware.filters.factory import filter_factory
from agui_middleware.filters.subagents import SubagentVisibility

__all__ = ["EVERYTHING", "Context", "Filter", "Loss", "SubagentVisibility", "filter_factory", "handles"]
