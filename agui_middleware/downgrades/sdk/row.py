"""What a row for other SDKs declares."""

from typing import NamedTuple

from agui_middleware.downgrades.downgrade import Upgrade
from agui_middleware.filters.contract import Filter


class SdkRow(NamedTuple):
    """One feature that some SDK other than @ag-ui/client cannot read, or posts in a form of its own.

    Unlike a `Downgrade` it has no releases: the table of readers (`config/readers.py`) names the rows of each SDK.
    """

    name: str
    filter: Filter | None
    """`None`: the row is about what such an SDK posts, and changes no stream."""
    symptom: str
    """What such an SDK does with the feature; completes the sentence "the client ..."."""
    loss: str = ""
    """What its user misses; empty for a row that loses nothing."""
    upgrade: Upgrade | None = None
    """What is changed in the conversation that it posts, from the posted body alone."""
    first: bool = False
    """It comes before the rows of the release that the SDK reads like, which take what it changes for malformed."""
