"""Chunk expansion as @ag-ui/client 1.0.0 does it: one pending stream per owner, not per id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Json = dict[str, Any]
Kind = Literal["text", "tool", "reasoning"]
Owner = str | None
"""A `subagentRunId`, or None for the parent agent. The empty string is a subagent."""


class InvalidStream(Exception):
    """The stream is not valid AG-UI 1.0: @ag-ui/client 1.0.0 would abort the run here."""


@dataclass(frozen=True)
class Form:
    """The event types and members of one kind of entity that can arrive as chunks."""

    kind: Kind
    id: str
    start: str
    content: str
    end: str
    opener: tuple[str, ...]


FORMS = {
    "TEXT_MESSAGE_CHUNK": Form(
        "text", "messageId", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", ("role", "name")
    ),
    "TOOL_CALL_CHUNK": Form(
        "tool", "toolCallId", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", ("toolCallName", "parentMessageId")
    ),
    "REASONING_MESSAGE_CHUNK": Form(
        "reasoning",
        "messageId",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        (),
    ),
}
CLOSES_ITS_LANE = {t for form in FORMS.values() for t in (form.start, form.content, form.end)} | {
    "TOOL_CALL_RESULT",
    "STATE_SNAPSHOT",
    "STATE_DELTA",
    "CUSTOM",
    "STEP_STARTED",
    "STEP_FINISHED",
    "REASONING_START",
    "REASONING_END",
    "SUBAGENT_FINISHED",
    "SUBAGENT_ERROR",
}
CLOSES_ALL = {"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"}


@dataclass(frozen=True)
class Pending:
    """The stream that a lane is assembling: its id, its tag and its opener's members."""

    form: Form
    id: str
    tag: Owner
    opener: Json


class Lanes:
    """Turns chunks into START, CONTENT and END events, and every other event into itself."""

    def __init__(self) -> None:
        self.pending: dict[Owner, Pending] = {}

    def expand(self, event: Json) -> list[Json]:
        """The events that `event` stands for, in order. Raises InvalidStream where no lane can take a chunk."""
        form = FORMS.get(event["type"])
        if form:
            return self._chunk(form, event)
        if event["type"] in CLOSES_ALL:
            return [end for owner in list(self.pending) for end in self._close(owner)] + [event]
        if event["type"] in CLOSES_ITS_LANE:
            return [*self._close(event.get("subagentRunId")), event]
        return [event]

    def lane_of(self, kind: Kind, entity: str | None, tag: Owner) -> Owner:
        """The lane that a chunk of this kind, id and tag goes to. Raises InvalidStream when that is ambiguous."""
        lanes = {owner: pending for owner, pending in self.pending.items() if pending.form.kind == kind}
        if entity is not None:
            for owner, pending in lanes.items():
                if pending.id == entity:
                    if tag is not None and tag != owner:
                        raise InvalidStream(f"chunk of {entity!r} tagged {tag!r}, its lane is {owner!r}")
                    return owner
            return tag
        if tag is not None or None in lanes or not lanes:
            return tag
        if len(lanes) > 1:
            raise InvalidStream(f"{len(lanes)} lanes could take this {kind} chunk")
        return next(iter(lanes))

    def _chunk(self, form: Form, event: Json) -> list[Json]:
        entity, tag = event.get(form.id), event.get("subagentRunId")
        lane = self.lane_of(form.kind, entity, tag)
        events: list[Json] = []
        pending = self.pending.get(lane)
        if pending and pending.form is form and entity in (None, pending.id):
            self._agree(pending, event)
        else:
            events += self._close(lane)
            pending = self._open(form, lane, event)
            events.append(self._event(form.start, pending, tag, event, **pending.opener))
        if "delta" in event or "rawEvent" in event or (not events and "metadata" in event):
            content = self._event(form.content, pending, pending.tag if tag is None else tag, event)
            events.append(content | {"delta": event.get("delta", "")})
        return events

    def _open(self, form: Form, lane: Owner, event: Json) -> Pending:
        if form.id not in event or (form.kind == "tool" and "toolCallName" not in event):
            raise InvalidStream(f"first {event['type']} without an id or a name")
        opener = {member: event[member] for member in form.opener if member in event}
        if form.kind == "text":
            opener.setdefault("role", "assistant")
        pending = Pending(form, event[form.id], event.get("subagentRunId"), opener)
        self.pending[lane] = pending
        return pending

    def _agree(self, pending: Pending, event: Json) -> None:
        for member in pending.form.opener:
            if member in event and event[member] != pending.opener.get(member):
                raise InvalidStream(f"chunk of {pending.id!r} changes its opener's {member}")

    def _close(self, lane: Owner) -> list[Json]:
        pending = self.pending.pop(lane, None)
        return [self._event(pending.form.end, pending, pending.tag, {})] if pending else []

    @staticmethod
    def _event(type_: str, pending: Pending, tag: Owner, origin: Json, **members: Any) -> Json:
        event = {"type": type_, pending.form.id: pending.id, **members}
        if tag is not None:
            event["subagentRunId"] = tag
        if "metadata" in origin:
            event["metadata"] = origin["metadata"]
        return event
