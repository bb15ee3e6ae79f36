"""What a row of the table of downgrades says."""

from typing import NamedTuple

from agui_middleware.downgrades.differences import Difference
from agui_middleware.filters.contract import Filter


class Downgrade(NamedTuple):
    """One shape that older releases cannot read."""

    name: str
    since: str
    """The first release of @ag-ui/client that reads the shape."""
    filter: Filter | None
    """`None`: no rewriting helps, and the row only says what becomes of the shape."""
    why: str
    """What a release before `since` does with the shape."""
    lost: str = ""
    """What its reader goes without; empty for a downgrade that loses nothing."""
    needs_tags: bool = False
    """Whether it comes before the route's visibility, which takes the attribution away."""
    oldest: str = "0.0.0"
    """The first release that needs it: those before it take no offence, or are served by an older row."""
    differs: tuple[Difference, ...] = ()
    """How the messages and the state may differ in the end from what 1.0.0 makes of the original."""
