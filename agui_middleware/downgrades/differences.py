"""How the messages and the state that a client ends with may differ from what @ag-ui/client 1.0.0 makes of the original."""

from enum import StrEnum


class Difference(StrEnum):
    """One way in which an older release ends differently, in spite of its downgrade or for want of one.

    A row of `DOWNGRADES` declares those of its shape; what no row declares does not differ. The value completes the
    sentence "this release ends ...".
    """

    WITHOUT_ATTRIBUTION = "with no `subagentRunId` on its messages"
    WITHOUT_METADATA = "with no `metadata` on its messages and tool calls"
    RESULTS_LAST = "with a tool's result where it arrived, instead of behind its call"
