"""In what a client reads a stream differently from 1.0.0, as the tables of downgrades and of SDKs declare it."""

from functools import cache
from typing import Final

from agui_middleware.config.readers import Reader
from agui_middleware.downgrades import Difference, downgrades_for
from agui_middleware.protocol.reading import AS_1_0_0, Reading
from agui_middleware.protocol.releases import ClientVersion

STRIPS: Final = {
    Difference.WITHOUT_ATTRIBUTION: "subagentRunId",
    Difference.WITHOUT_METADATA: "metadata",
    Difference.WITHOUT_ENCRYPTED_VALUES: "encryptedValue",
    Difference.WITHOUT_ERRORS: "error",
}
"""The members that a release keeps on no message and no call."""
_NO_SNAPSHOTS: Final = "no-snapshots"  # the row


@cache
def differences_of(client: ClientVersion | Reader | None) -> frozenset[Difference]:
    """All that the rows of a client declare."""
    rows = client.downgrades if isinstance(client, Reader) else downgrades_for(client)
    return frozenset(difference for row in rows for difference in row.differences)


@cache
def reading_of(client: ClientVersion | Reader | None) -> Reading:
    """How a client reads the stream that was rewritten for it. `None`: one that reads everything."""
    if isinstance(client, Reader):
        return _reading_of_sdk(client)
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


def _reading_of_sdk(reader: Reader) -> Reading:
    """What an SDK may leave out counts as not held, so that it comes back; what it posts all the same stays as posted.

    No SDK posts tags, metadata, names, encrypted values or reasoning as the agent has sent them, and none takes messages
    from an input echo. With one that hands events on, all this is up to the application.
    """
    return Reading(
        strips=frozenset(STRIPS.values()),
        names=False,
        part_members=False,
        results_last=any(row.name == "result-order" for row in reader.downgrades),
        echo=False,
        replaces=Difference.SNAPSHOT_ORDER in differences_of(reader),
        roles=AS_1_0_0.roles - {"reasoning"} - reader.ignores,
        as_assistant=reader.as_assistant,
        snapshots="snapshot" not in reader.ignores and _NO_SNAPSHOTS not in reader.rows,
        own_results=True,
        moves_calls=True,
    )
