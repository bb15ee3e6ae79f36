"""The places of messages behind a MESSAGES_SNAPSHOT: those that are known keep theirs."""

from collections.abc import Callable, Iterable
from typing import Final

from agui_middleware.protocol.budget import OVERHEAD, Budget
from agui_middleware.protocol.conversation_entries import Entry
from agui_middleware.protocol.event import UNSET, Event
from agui_middleware.protocol.reading import Reading

_LEFT_IN_PLACE: Final = OVERHEAD // 4
"""What a message counts that a snapshot leaves in place and does not bring: nothing else bounds how often that happens."""


def with_snapshot(
    held: Iterable[Entry], snapshot: list[Entry], event: Event, reading: Reading, budget: Budget
) -> list[Entry]:
    """Return the messages that are held behind a snapshot, in order; `event` is the one that brought it.

    Raises `EventTooLarge` where what stays in place exceeds the budget.
    """
    copies = {entry.id: entry for entry in snapshot}
    outlives = _outlives(snapshot, event, reading)
    kept: list[Entry] = []
    known: set[str | None] = set()
    for entry in held:
        copy = None if _is_never_replaced(entry, reading) else copies.get(entry.id)
        if copy is not None and entry.id in known:
            budget.hold(_LEFT_IN_PLACE)
            copy = Entry(*copy.message())  # two messages of one id: each becomes the snapshot's
        if copy is None and outlives(entry):
            budget.hold(_LEFT_IN_PLACE + entry.detach())
            kept.append(entry)
            known.add(entry.id)
        elif copy is not None:
            kept.append(copy)
            known.add(entry.id)
    return kept + [entry for entry in snapshot if entry.id not in known]


def _is_never_replaced(entry: Entry, reading: Reading) -> bool:
    return entry.role == "reasoning" and reading.keeps_reasoning is True


def _outlives(snapshot: list[Entry], event: Event, reading: Reading) -> Callable[[Entry], bool]:
    """Which of the messages that a snapshot leaves out stay: what it has none of, unless it says that it has all."""
    roles = {entry.role for entry in snapshot}
    metadata = event.get_object("metadata")
    client = None if metadata is None else metadata.get_object("@ag-ui/client")
    claim = UNSET if client is None else client.get("authoritativeActivityTypes", UNSET)

    def outlives(entry: Entry) -> bool:
        if entry.role == "activity":
            inferred = claim is UNSET and "activity" not in roles
            return inferred or (isinstance(claim, list) and entry.get("activityType") not in claim)
        if entry.role == "reasoning" and reading.keeps_reasoning is not None:
            return reading.keeps_reasoning
        return entry.role == "reasoning" and "reasoning" not in roles

    return outlives
