"""What older releases of @ag-ui/client cannot read, in four groups of rows, and the order in which a plan applies them."""

from typing import Final

from agui_middleware.downgrades.table.contents import CONTENTS
from agui_middleware.downgrades.table.lifecycles import LIFECYCLES, SUBAGENTS
from agui_middleware.downgrades.table.order import ancestors, ordered
from agui_middleware.downgrades.table.stateful import STATEFUL
from agui_middleware.downgrades.table.unfixable import UNFIXABLE

__all__ = ["BEFORE_VISIBILITY", "DOWNGRADES", "SUBAGENTS"]

DOWNGRADES: Final = ordered((*LIFECYCLES, *UNFIXABLE, *CONTENTS, *STATEFUL), SUBAGENTS.name)
"""All rows, in the order in which a plan applies them."""

BEFORE_VISIBILITY: Final = ancestors(SUBAGENTS.name, DOWNGRADES) | {SUBAGENTS.name}
"""The names of the rows that still see which subagent an event is of: the route's visibility follows them."""
