"""What a stream exhibits: its shapes and the finer situations that a rewriter has to get right.

`features` tells a statistic whether the strategies really draw what they promise, and a test whether a shape that it left
out stayed out.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .reader import FORMS, Reader
from .words import MEDIA, ODD_IDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .reader import Bucket, Json, Owner
    from .reader.lanes import Pending

LARGEST_EXACT = 2**53
_OPENERS: dict[str, tuple[str, Bucket]] = {
    "TEXT_MESSAGE_START": ("text", "message"),
    "TOOL_CALL_START": ("tool", "tool"),
    "REASONING_START": ("span", "reasoning"),
    "REASONING_MESSAGE_START": ("reasoning", "reasoning"),
}


def features(events: Iterable[Json]) -> set[str]:
    """The names of everything that was found: event types, shapes, and situations."""
    survey = _Survey()
    found: set[str] = set()
    for event in events:
        found.update(survey.before(event))
        survey.feed(event)
        found.update(survey.after(event))
    return found | set(survey.at_end())


class _Survey:
    """Reads the stream as the client does and names what it sees."""

    def __init__(self) -> None:
        self.reader = Reader()
        self.run = 0
        self.run_events = 0
        self.last = ""
        self.lanes_before: dict[Owner, Pending] = {}
        self.tagged: set[str] = set()
        self.announced: set[str] = set()
        self.opened: dict[tuple[str, str], tuple[int, Owner]] = {}
        self.call_owner: dict[str, Owner] = {}

    def feed(self, event: Json) -> None:
        self.lanes_before = dict(self.reader.lanes.pending)
        self.reader.feed(event)
        self.last, self.run_events = event["type"], self.run_events + 1

    def before(self, event: Json) -> Iterator[str]:
        """What the event means in the state that it finds."""
        yield event["type"]
        yield from _members(event)
        yield from self._run_level(event)
        yield from self._attribution(event)
        for name in ("chunk", "opener", "result", "entity", "history"):
            yield from getattr(self, f"_{name}")(event)

    def after(self, event: Json) -> Iterator[str]:
        verification, lanes = self.reader.verification, self.reader.lanes.pending
        if len(verification.active) > 1:
            yield "parallel subagents"
        if len(lanes) < len(self.lanes_before):
            yield f"lane closed by {event['type']}"
        if len(lanes) > 1:
            yield "parallel lanes"
        if len(lanes) > 2:
            yield "three lanes"
        if None in lanes and len(lanes) > 1:
            yield "lanes of the parent and a subagent"
        if len({p.form.kind for p in lanes.values()}) < len(lanes):
            yield "parallel lanes of one kind"
        if sum(len(ids) for ids in verification.open.values()) > 1:
            yield "interleaving"
        if len({name for _, name in verification.steps}) < len(verification.steps):
            yield "equal steps of two owners"

    def at_end(self) -> Iterator[str]:
        if self.tagged - self.announced:
            yield "subagent never announced"

    def _run_level(self, event: Json) -> Iterator[str]:
        verification = self.reader.verification
        match event:
            case {"type": "RUN_STARTED"}:
                self.run, self.run_events = self.run + 1, 0
                yield from ("several_runs",) if self.run > 1 else ()
                yield from ("runs_after_error",) if self.last == "RUN_ERROR" else ()
                yield from ("protocol_version",) if "protocolVersion" in event else ()
            case {"type": "RUN_ERROR"}:
                yield "run_errors"
                yield from ("errors_first",) if not self.last else ()
                yield from ("errors_after_finish",) if self.last == "RUN_FINISHED" else ()
                yield from ("left open by an error",) if any(verification.open.values()) else ()
            case {"type": "RUN_FINISHED"}:
                yield from ("empty run",) if self.run_events == 1 else ()
                yield from _outcome(event.get("outcome", {"type": "absent"}))
                yield from ("unanswered calls",) if self.reader.conversation.pending_calls() else ()

    def _attribution(self, event: Json) -> Iterator[str]:
        tag, verification = event.get("subagentRunId"), self.reader.verification
        if tag is None:
            return
        yield "subagents"
        if event["type"].startswith("SUBAGENT"):
            self.announced.add(tag)
            yield "announcements"
            nested = ("parentSubagentRunId", "parentToolCallId", "parentMessageId", "description", "result", "outcome")
            yield from (f"{event['type']} {member}" for member in nested if member in event)
            yield from ("suspended subagent",) if event.get("outcome") == {"type": "suspended"} else ()
        elif tag in verification.closed:
            yield "tag after its subagent ended"
        elif tag not in verification.active:
            yield "tag before its subagent started"
        self.tagged.add(tag)

    def _chunk(self, event: Json) -> Iterator[str]:
        form = FORMS.get(event["type"])
        if not form:
            return
        yield "chunks"
        entity, tag = event.get(form.id), event.get("subagentRunId")
        lane = self.reader.lanes.lane_of(form.kind, entity, tag)
        pending = self.reader.lanes.pending.get(lane)
        if pending and pending.form is form and entity in (None, pending.id):
            yield f"chunk continues {'by id' if entity is not None else 'by tag' if tag is not None else 'bare'}"
            yield from ("bare chunk of a subagent",) if entity is None and tag is None and lane is not None else ()
            yield from ("untagged chunk of a subagent",) if entity and tag is None and lane is not None else ()
            yield from ("chunk repeats its opener",) if any(member in event for member in form.opener) else ()
            yield from ("chunk without effect",) if not {"delta", "rawEvent", "metadata"} & event.keys() else ()
            return
        yield from (f"chunk ends {pending.form.kind}",) if pending else ()
        yield from self._opens(form.kind, "tool" if form.kind == "tool" else form.kind, str(entity), event)

    def _opener(self, event: Json) -> Iterator[str]:
        if event["type"] in _OPENERS:
            kind, _ = _OPENERS[event["type"]]
            entity = event["toolCallId"] if kind == "tool" else event["messageId"]
            yield from self._opens(kind, kind, entity, event)

    def _opens(self, kind: str, bucket: str, entity: str, event: Json) -> Iterator[str]:
        tag = event.get("subagentRunId")
        run, owner = self.opened.get((kind, entity), (self.run, None))
        if (kind, entity) in self.opened or self.reader.conversation.find(entity) is not None:
            yield "reopening"
            yield f"reopened {kind} by {'chunk' if event['type'].endswith('CHUNK') else 'start'}"
            yield from ("untagged reopening of a subagent's",) if tag is None and owner is not None else ()
            yield from ("late_tags",) if tag is None and owner is not None and run < self.run else ()
        yield from ("odd_ids",) if entity in ODD_IDS else ()
        if kind == "text":
            yield f"role {event.get('role', 'absent')}"
            yield from ("absent_roles",) if "role" not in event else ()
            yield from ("roles",) if event.get("role", "assistant") != "assistant" else ()
            existing = self.reader.conversation.find(entity)
            yield from ("activity_texts",) if existing and existing["role"] == "activity" else ()
        elif kind == "tool":
            owner, situation = self._carrier(event)
            yield situation
            self.call_owner.setdefault(entity, owner)
        else:
            yield "reasoning"
            other = "span" if kind == "reasoning" else "reasoning"
            yield from ("span and reasoning of one id",) if (other, entity) in self.opened else ()
        if (shared := self._shared(kind, entity, tag)) is not None:
            yield shared
        self.opened.setdefault((kind, entity), (self.run, self.call_owner[entity] if kind == "tool" else tag))

    def _shared(self, kind: str, entity: str, tag: Owner) -> str | None:
        text = self.opened.get(("text", entity))
        return "shared_ids" if kind in ("tool", "span") and text and text[1] != tag else None

    def _carrier(self, event: Json) -> tuple[Owner, str]:
        """Whose a call is, and how its message stands to it."""
        parent, tag = event.get("parentMessageId"), event.get("subagentRunId")
        if parent is None:
            return tag, "call without a parent"
        existing = self.reader.conversation.find(parent)
        known = self.reader.verification.owners["message"]
        if existing is None:
            return tag, "call mints its parent"
        if existing["role"] != "assistant":
            return tag, "call under another role"
        if tag is not None and "subagentRunId" not in existing:
            return tag, "foreign_holders"
        if tag is None and known.get(parent) is not None:
            return known[parent], "untagged call of a subagent"
        return tag, "call under a message"

    def _result(self, event: Json) -> Iterator[str]:
        if event["type"] != "TOOL_CALL_RESULT":
            return
        yield "results"
        yield from ("result_parts",) if isinstance(event["content"], list) else ()
        tag, call = event.get("subagentRunId"), event["toolCallId"]
        owners = self.reader.verification.owners["tool"]
        if call not in owners and call not in self.call_owner:
            yield "stray_results" if self.reader.conversation.holder(call) is None else "result of history"
            return
        owner = owners.get(call, self.call_owner.get(call))
        names = ["nobody" if who is None else "a subagent" for who in (tag, owner)]
        party = "the owner" if tag == owner else "the parent" if tag is None else "another subagent"
        yield f"{'the parent' if names[1] == 'nobody' else 'a subagent'}'s call answered by {party}"

    def _entity(self, event: Json) -> Iterator[str]:
        tag, verification = event.get("subagentRunId"), self.reader.verification
        match event:
            case {"type": "REASONING_ENCRYPTED_VALUE", "entityId": entity, "subtype": subtype}:
                known = any(entity in owners for owners in verification.owners.values())
                yield f"encrypted value of {subtype if known else 'something unknown'}"
                yield "encrypted_values"
            case {"type": "ACTIVITY_SNAPSHOT" | "ACTIVITY_DELTA", "messageId": entity}:
                yield "activities"
                owner = verification.owners["activity"].get(entity)
                yield "activity of the parent" if tag is None and owner is None else "activity of a subagent"
                yield from ("activity kept",) if event.get("replace") is False else ()
                yield from ("untagged change of a subagent's activity",) if tag is None and owner is not None else ()
            case {"type": "STEP_STARTED" | "STEP_FINISHED"}:
                yield "steps"
            case {"type": "STATE_SNAPSHOT" | "STATE_DELTA"}:
                yield "state"
                yield from ("state of a subagent",) if tag is not None else ()
                yield from ("falsy_state",) if not event.get("snapshot", True) else ()
            case {"type": "CUSTOM" | "RAW" as type_}:
                yield type_.lower()
            case {"type": str() as type_} if type_.endswith(("_CONTENT", "_ARGS", "_END")):
                yield from self._continuation(event)
        patch = event.get("delta", event.get("patch"))
        yield from ("failing_patches",) if isinstance(patch, list) and patch[-1]["path"] == "/no/such/path" else ()

    def _continuation(self, event: Json) -> Iterator[str]:
        kind = next(k for prefix, k in _KINDS if event["type"].startswith(prefix))
        bucket: Bucket = "tool" if kind == "tool" else "message" if kind == "text" else "reasoning"
        owner = self.reader.verification.owners[bucket][event.get("messageId") or event.get("toolCallId", "")]
        if owner is not None:
            yield f"{'un' if 'subagentRunId' not in event else ''}tagged continuation of a subagent's {kind}"

    def _history(self, event: Json) -> Iterator[str]:
        echo = event.get("input")
        if echo is not None:
            yield "input_echo"
            yield from ("bare_echo",) if "tools" not in echo else ()
            yield from (f"echoed {what}" for what in _messages(echo["messages"]))
        if event["type"] == "MESSAGES_SNAPSHOT":
            yield "snapshots"
            yield from (f"restated {what}" for what in _messages(event["messages"]))
            ids = {message["id"] for message in event["messages"]}
            local = {message["id"] for message in self.reader.conversation.messages}
            yield from ("snapshot drops messages",) if local - ids else ()
            yield from ("snapshot of known messages",) if local & ids else ()
            yield from ("snapshot owns activities",) if "@ag-ui/client" in event.get("metadata", {}) else ()
        for message in [*event.get("messages", ()), *(echo or {"messages": ()})["messages"]]:
            yield from ("user_parts",) if message["role"] == "user" and isinstance(message["content"], list) else ()
            yield from ("result_parts",) if message["role"] == "tool" and isinstance(message["content"], list) else ()


_KINDS = (("TEXT", "text"), ("TOOL", "tool"), ("REASONING_MESSAGE", "reasoning"), ("REASONING", "span"))


def _messages(messages: list[Json]) -> Iterator[str]:
    for message in messages:
        yield f"{message['role']} message"
        yield from ("subagent's message",) if "subagentRunId" in message else ()


def _outcome(outcome: Json) -> Iterator[str]:
    yield f"outcome {outcome['type']}"
    if outcome["type"] == "cancelled":
        yield "cancelled"
    if "pendingToolCallIds" in outcome:
        yield "pending_calls"
        yield "pending calls named" if outcome["pendingToolCallIds"] else "no pending calls named"
    for interrupt in outcome.get("interrupts", ()):
        yield "interrupts"
        yield from (f"interrupt {member}" for member in ("subagentRunId", "toolCallId") if member in interrupt)


def _members(event: Json) -> Iterator[str]:
    """Members that any event, message or part may have, found by their names and values."""
    names = {"metadata": "metadata", "timestamp": "timestamps", "rawEvent": "raw_events", "usage": "usage"}
    yield from (feature for member, feature in names.items() if member in event)
    yield from ("empty_deltas",) if event.get("delta") == "" else ()
    if any(ord(c) in range(0xD800, 0xE000) for c in json.dumps(event, ensure_ascii=False)):
        yield "surrogates"
    for value in _values(event):
        if isinstance(value, dict) and value.get("type") in MEDIA and "source" in value:
            yield "media_parts"
            yield from ("file_sources",) if value["source"]["type"] == "file" else ()
        elif isinstance(value, int) and abs(value) > LARGEST_EXACT:
            yield "numbers beyond 2^53"


def _values(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _values(member)
