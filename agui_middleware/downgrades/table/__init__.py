"""The shapes, in the order in which a plan applies them."""

from agui_middleware.downgrades.downgrade import Downgrade
from agui_middleware.downgrades.table.contents import HELD
from agui_middleware.downgrades.table.lifecycles import STREAMED, SUBAGENTS
from agui_middleware.downgrades.table.stateful import LAST
from agui_middleware.downgrades.table.unfixable import LIMITS

__all__ = ["DOWNGRADES", "SUBAGENTS"]

DOWNGRADES: tuple[Downgrade, ...] = (*STREAMED, *LIMITS, *HELD, *LAST)
