"""In what the releases of a client, and other SDKs, read a stream differently from 1.0.0."""

from typing import Final, NamedTuple

_ROLES: Final = frozenset({"user", "assistant", "system", "developer", "tool", "reasoning", "activity"})


class Reading(NamedTuple):
    """In what a release reads a stream differently from 1.0.0. The default is 1.0.0."""

    strips: frozenset[str] = frozenset()
    """The members that it keeps on no message and no call."""
    part_members: bool = True
    """Whether content parts keep their `id`, and texts among them their `metadata`."""
    names: bool = True
    """Whether a text has the name that its START brings."""
    results_last: bool = False
    """Whether a result stands where it has arrived."""
    results_late: bool = False
    """Whether a result is posted only if another event follows that changes a message."""
    echo: bool = True
    """Whether an input echo brings messages."""
    replaces: bool = False
    """Whether a snapshot is all that is left, in its own order."""
    keeps_reasoning: bool | None = None
    """Whether reasoning outlives every snapshot (`True`), or none that leaves it out (`False`)."""
    roles: frozenset[str] = _ROLES
    """The roles of the messages that it takes from a stream."""
    as_assistant: frozenset[str] = frozenset()
    """The roles whose streamed texts it takes for the assistant's."""
    snapshots: bool = True
    """Whether it applies MESSAGES_SNAPSHOT."""
    own_results: bool = False
    """Whether it posts results of tools under ids of its own."""
    moves_calls: bool = False
    """Whether it may post the calls of a message that says nothing in another message."""


AS_1_0_0: Final = Reading()
