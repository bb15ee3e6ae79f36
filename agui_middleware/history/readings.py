"""In what a release reads a stream differently from 1.0.0, as the table of downgrades declares it."""

from functools import cache
from typing import Final

from agui_middleware.downgrades import Difference, downgrades_for
from agui_middleware.protocol.conversation import Reading
from agui_middleware.protocol.releases import ClientVersion

STRIPS: Final = {
    Difference.WITHOUT_ATTRIBUTION: "subagentRunId",
    Difference.WITHOUT_METADATA: "metadata",
    Difference.WITHOUT_ENCRYPTED_VALUES: "encryptedValue",
    Difference.WITHOUT_ERRORS: "error",
}
"""The members that a release keeps on no message and no call."""


@cache
def differences_of(client: ClientVersion | None) -> frozenset[Difference]:
    """All that the rows of a release declare."""
    return frozenset(difference for row in downgrades_for(client) for difference in row.differences)


@cache
def reading_of(client: ClientVersion | None) -> Reading:
    """How a release reads the stream that was rewritten for it. `None`: one that reads everything."""
    declared = differences_of(client)
    keeps_reasoning = None
    if Difference.OTHER_REASONING in declared:
        keeps_reasoning = True
    elif Difference.WITHOUT_EARLIER in declared:
        keeps_reasoning = False
    return Reading(
        strips=frozenset(member for difference, member in STRIPS.items() if difference in declared),
        names=Difference.WITHOUT_NAMES not in declared,
        part_members=Difference.WITHOUT_PART_MEMBERS not in declared,
        results_last=any(row.name == "result-order" for row in downgrades_for(client)),
        results_late=any(row.name == "results" for row in downgrades_for(client)),
        echo=Difference.WITHOUT_ECHO not in declared,
        replaces=Difference.SNAPSHOT_ORDER in declared,
        keeps_reasoning=keeps_reasoning,
    )
