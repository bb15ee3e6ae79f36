"""The shapes, in the order in which a plan applies them."""

from agui_middleware.downgrades.downgrade import Downgrade
from agui_middleware.downgrades.table.held import HELD
from agui_middleware.downgrades.table.last import LAST
from agui_middleware.downgrades.table.limits import LIMITS
from agui_middleware.downgrades.table.streamed import STREAMED, SUBAGENTS

__all__ = ["DOWNGRADES", "SUBAGENTS"]

DOWNGRADES: tuple[Downgrade, ...] = (*STREAMED, *LIMITS, *HELD, *LAST)
