"""Faults in the order of events that `repair_also` mends, for servers that cannot be changed.

    Route(path="/agent", filters=[repair, repair_also(["doubled-end", "left-open"])])

and in TOML, `filters = [{ use = "agui_middleware.filters.repair_also:repair_also", faults = ["doubled-end"] }]`. Nothing is
repaired by default, for the reason that `repair` gives: each fault is chosen by name, and all that is done is reported.
"""

from collections.abc import AsyncIterator, Callable, Collection, Iterator
from typing import Any, Final

from agui_middleware.filters.contract import Context, Filter
from agui_middleware.filters.declared import GeneratorFilter
from agui_middleware.filters.functions import filter_factory
from agui_middleware.protocol.budget import MOST_REPEATED, Index
from agui_middleware.protocol.errors import EventTooLarge
from agui_middleware.protocol.event import UNSET, Event, as_id

FAULTS: Final = ("chunk-inside", "doubled-end", "left-open", "usage-object")

_KINDS: Final = {"TEXT_MESSAGE": "messageId", "TOOL_CALL": "toolCallId", "REASONING_MESSAGE": "messageId"}
_PIECES: Final = {
    "TEXT_MESSAGE": "TEXT_MESSAGE_CONTENT",
    "TOOL_CALL": "TOOL_CALL_ARGS",
    "REASONING_MESSAGE": "REASONING_MESSAGE_CONTENT",
}
_OF_OPENERS: Final = ("role", "name", "toolCallName", "parentMessageId")
_RUN: Final = ("RUN_STARTED", "RUN_FINISHED", "RUN_ERROR")
_TYPES: Final = (*_RUN, *(f"{kind}_{end}" for kind in _KINDS for end in ("START", "END", "CHUNK")))

Key = tuple[str, str | None]


@filter_factory
def repair_also(faults: Collection[str] = FAULTS) -> Filter:
    """A filter that repairs these faults, which @ag-ui/client 1.0.0 rejects, and earlier releases where they check for them:

    - `chunk-inside`: a chunk of a message or call that a START has opened becomes its CONTENT or ARGS.
    - `doubled-end`: a second END of a message or call is dropped.
    - `left-open`: messages and calls that are open at RUN_FINISHED are ended in front of it.
    - `usage-object`: a `usage` that is one object becomes a list of it.

    Raises `TypeError` where `faults` is not a list of names, `ValueError` for a name that is none of these.
    """
    if isinstance(faults, str) or not all(isinstance(fault, str) for fault in faults):
        raise TypeError("faults is a list of names of faults")
    if unknown := set(faults) - set(FAULTS):
        raise ValueError(f"faults are {', '.join(FAULTS)}, not {', '.join(sorted(unknown))}")
    chosen = frozenset(faults)

    async def repaired(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
        order = _Order(chosen, context)
        async for event in events:
            for output in order.take(event):
                yield output

    return RepairAlso(repaired, chosen)


class RepairAlso(GeneratorFilter):
    """What `repair_also` returns: it repairs `faults`."""

    def __init__(self, make: Callable[..., Any], faults: frozenset[str]) -> None:
        super().__init__(make, _TYPES, frozenset())
        self.faults: frozenset[str] = faults


class _Order:
    """What is open in a run."""

    __slots__ = ("_closed", "_context", "_continued", "_faults", "_open", "_opened_by")

    def __init__(self, faults: frozenset[str], context: Context) -> None:
        self._faults = faults
        self._context = context
        self._open: Index[Key, Any] = Index(context.budget)  # what a START has opened, with its tag
        self._opened_by: Index[Key, dict[Key, Any]] = Index(context.budget)  # the same, by kind and tag
        self._closed: Index[Key, Any] = Index(context.budget)
        self._continued: Index[Key, Key] = Index(context.budget)  # what the last chunk of a kind and tag was of

    def take(self, event: Event) -> Iterator[Event]:
        """What leaves for an event."""
        kind, _, end = event.head.type.rpartition("_")
        if kind == "RUN":
            yield from self._bound(event)
            return
        key = (kind, as_id(getattr(event.head, _KINDS[kind])))
        if end == "START":
            if key not in self._open:
                tag = self._open[key] = event.head.subagentRunId
                self._opened_by.setdefault((kind, as_id(tag)), {})[key] = tag
            self._closed.discard(key)
            yield event
        elif end == "CHUNK":
            yield self._chunk(event, key)
        elif not self._is_doubled(key):
            yield event

    def _bound(self, event: Event) -> Iterator[Event]:
        """The beginning or the end of a run."""
        if event.head.type == "RUN_FINISHED" and "left-open" in self._faults:
            for kind, id in reversed(self._open):
                self._report(f"{kind} left open", "it is ended in front of RUN_FINISHED")
                tag = self._open[kind, id]
                tagged = {} if tag is UNSET else {"subagentRunId": tag}
                yield Event(type=f"{kind}_END", **{_KINDS[kind]: id}, **tagged)
        for kept in (self._open, self._opened_by, self._closed, self._continued):
            kept.clear()
        usage = event.get_object("usage") if "usage-object" in self._faults else None
        if usage is not None:
            self._report(f"usage of {event.type}", "it is a list, and was sent as one object")
            event = event.replace(usage=[usage])
        yield event

    def _chunk(self, chunk: Event, key: Key) -> Event:
        kind, tag = key[0], chunk.head.subagentRunId
        if key[1] is None:
            key = self._continued.get((kind, as_id(tag))) or self._only_open(kind, tag) or key
            if len(key[1] or "") > MOST_REPEATED:
                raise EventTooLarge
        if key[1] is not None:
            self._continued[kind, as_id(tag)] = key
        if key not in self._open or key[1] is None or "chunk-inside" not in self._faults:
            return chunk
        self._report(f"{kind}_CHUNK inside {kind}_START and {kind}_END", f"it becomes {_PIECES[kind]}")
        members = {"type": _PIECES[kind], _KINDS[kind]: key[1], "delta": chunk.get("delta", "")}
        return chunk.replace(**members).without(*_OF_OPENERS)

    def _only_open(self, kind: str, tag: Any) -> Key | None:
        keys = self._opened_by.get((kind, as_id(tag)), {})
        return next(iter(keys)) if len(keys) == 1 else None

    def _is_doubled(self, key: Key) -> bool:
        if key in self._open:
            del self._opened_by[key[0], as_id(self._open.pop(key))][key]
            self._closed.add(key)
            return False
        if key not in self._closed or key[1] is None or "doubled-end" not in self._faults:
            return False
        self._report(f"doubled {key[0]}_END", "what it ends is not open")
        return True

    def _report(self, feature: str, why: str) -> None:
        self._context.lost(feature, f"repaired: {why}")
