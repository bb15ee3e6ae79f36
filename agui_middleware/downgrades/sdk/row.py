"""What a row for other SDKs declares."""

from typing import NamedTuple

from agui_middleware.filters.contract import Filter


class SdkRow(NamedTuple):
    """One feature that some SDK other than @ag-ui/client cannot read.

    Unlike a `Downgrade` it has no releases: the table of readers (`config/readers.py`) names the rows of each SDK.
    """

    name: str
    filter: Filter
    symptom: str
    """What such an SDK does with the feature; completes the sentence "the client ..."."""
    loss: str = ""
    """What its user misses; empty for a row that loses nothing."""
