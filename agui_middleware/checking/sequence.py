"""A model of the verifier of each release of @ag-ui/client: the order of events that it accepts, after expanding chunks."""

from collections.abc import Hashable
from typing import Final, NamedTuple

from agui_middleware.checking.tag_conflicts import Attribution
from agui_middleware.checking.verified_entities import LIFECYCLES, Lifecycle, key_of
from agui_middleware.protocol.event import Event, as_id
from agui_middleware.protocol.releases import ClientVersion

_FIRST_IN_PARALLEL: Final = ClientVersion(0, 0, 37)
_FIRST_WITH_TAGS: Final = ClientVersion(0, 0, 59)
_FIRST_BEHIND_ERRORS: Final = ClientVersion(0, 0, 59)
_SERIAL: Final = {lifecycle.name: lifecycle for lifecycle in LIFECYCLES[:2]}


class Refusal(NamedTuple):
    """Why a release rejects an event."""

    reason: str
    """Completes the sentence "@ag-ui/client 0.0.58 ..."."""
    feature: str = ""
    """The row of `DOWNGRADES` that may help; empty if there is none."""


class Sequence:
    """The verifier of one release, for one stream."""

    def __init__(self, client: ClientVersion) -> None:
        self._client = client
        self._lifecycles = [one for one in LIFECYCLES if client >= one.verified_since]
        self._first = True
        self._start_run()
        self._running = False

    def _start_run(self) -> None:
        self._open: dict[str, dict[Hashable, str]] = {one.name: {} for one in LIFECYCLES}
        self._ended_subagents: set[str] = set()
        self._attribution = Attribution()
        self._running, self._finished, self._errored = True, False, False

    def take(self, event: Event) -> Refusal | None:
        """Return why `event`, the next one, is rejected, or `None`. What it opens and ends is recorded in either case, so
        that a later refusal has a cause of its own.
        """
        refusal = self._boundary(event) or self._interleaved(event)
        for lifecycle in self._lifecycles:
            refusal = refusal or self._out_of_place(lifecycle, event)
        self.skip(event)
        if refusal is None and self._client >= _FIRST_WITH_TAGS and self._attribution.take(event):
            refusal = Refusal(f"rejects {event.type} whose `subagentRunId` is not that of what it belongs to")
        return refusal

    def skip(self, event: Event) -> None:
        """Record what `event` opens and ends, without verifying it."""
        type = event.type
        if type == "RUN_STARTED" and (self._finished or self._errored):
            self._start_run()
        self._first = False
        self._running = self._running or type == "RUN_STARTED"
        self._finished = self._finished or type == "RUN_FINISHED"
        self._errored = self._errored or type == "RUN_ERROR"
        for lifecycle in self._lifecycles:
            key, open = key_of(lifecycle, event, self._client), self._open[lifecycle.name]
            if type == lifecycle.start:
                open[key] = named(event.get(lifecycle.id))
            elif type in lifecycle.ends:
                open.pop(key, None)
                if lifecycle.name == "subagent":
                    self._ended_subagents.add(str(key))

    def _boundary(self, event: Event) -> Refusal | None:
        """Check the rules about the start and the end of runs."""
        type, starts = event.type, event.type == "RUN_STARTED"
        if self._errored and not (starts and self._client >= _FIRST_BEHIND_ERRORS):
            return Refusal(f"rejects {printable(type)} behind RUN_ERROR", "runs-after-error")
        if self._finished and type != "RUN_ERROR" and not (starts and self._client >= _FIRST_IN_PARALLEL):
            return Refusal(f"rejects {printable(type)} behind RUN_FINISHED", "several-runs")
        if self._first and type not in ("RUN_STARTED", "RUN_ERROR"):
            return Refusal(f"rejects a stream that begins with {printable(type)} instead of RUN_STARTED")
        if starts and self._running and not (self._finished or self._errored):
            return Refusal("rejects RUN_STARTED while a run is active")
        return None

    def _interleaved(self, event: Event) -> Refusal | None:
        """Check the rules about an open text or tool call, before 0.0.37."""
        if self._client >= _FIRST_IN_PARALLEL or event.type == "RAW":
            return None
        for name, lifecycle in _SERIAL.items():
            if self._open[name] and event.type not in (*lifecycle.parts, *lifecycle.ends):
                return Refusal(f"rejects {printable(event.type)} while a {name} is open", "interleaving")
        return None

    def _out_of_place(self, lifecycle: Lifecycle, event: Event) -> Refusal | None:
        """Check the rules about one kind of entity."""
        type, open = event.type, self._open[lifecycle.name]
        if type == "RUN_FINISHED":
            if open and lifecycle.must_end:
                return Refusal(f"rejects RUN_FINISHED while a {lifecycle.name} is open: {', '.join(open.values())}")
            return None
        if type != lifecycle.start and type not in lifecycle.parts + lifecycle.ends:
            return None
        key, id = key_of(lifecycle, event, self._client), named(event.get(lifecycle.id))
        feature = self._feature(lifecycle)
        if type != lifecycle.start:
            return None if key in open else Refusal(f"rejects {type}: no {lifecycle.name} {id} is open", feature)
        if key in open:
            return Refusal(f"rejects {type}: a {lifecycle.name} {id} is open already", feature)
        if lifecycle.within and not self._open[lifecycle.within]:
            return Refusal(f"rejects {type} outside of {lifecycle.within.upper()}_START and _END", feature)
        return self._misbegun_subagent(event) if lifecycle.name == "subagent" else None

    def _misbegun_subagent(self, event: Event) -> Refusal | None:
        if event["subagentRunId"] in self._ended_subagents:
            return Refusal(f"rejects SUBAGENT_STARTED: {named(event['subagentRunId'])} has ended before")
        parent = as_id(event.get("parentSubagentRunId"))
        if parent is None or parent in self._open["subagent"] or parent in self._ended_subagents:
            return None
        return Refusal(f"rejects SUBAGENT_STARTED: no subagent {named(parent)} has begun")

    def _feature(self, lifecycle: Lifecycle) -> str:
        if lifecycle.name == "step":
            return "nested-steps" if self._client < ClientVersion(0, 0, 34) else "subagents"
        return "thinking" if lifecycle.name.startswith("thinking") else ""


def named(id: object) -> str:
    """An id in a message: one line of ASCII, of a bounded length."""
    return f"{id[:80]!a}" if isinstance(id, str) else ""


def printable(type: str) -> str:
    """An event type in a message: as it is where it could be one, else as `named`."""
    return type if type.isascii() and type.replace("_", "").isalnum() and len(type) <= 80 else named(type)
