"""What an event means in the state that it finds, read as the client reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..reader import FORMS, Reader
from ..words import ODD_IDS
from .members import listed, members

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..reader import Bucket, Json, Owner
    from ..reader.lanes import Form

_OPENERS = {
    "TEXT_MESSAGE_START": "text",
    "TOOL_CALL_START": "tool",
    "REASONING_START": "span",
    "REASONING_MESSAGE_START": "reasoning",
}
_KINDS = (("TEXT", "text"), ("TOOL", "tool"), ("REASONING_MESSAGE", "reasoning"), ("REASONING", "span"))
_BUCKETS: dict[str, Bucket] = {"text": "message", "tool": "tool", "reasoning": "reasoning", "span": "reasoning"}


def features(events: Iterable[Json]) -> set[str]:
    """The names of everything that was found: event types, SHAPES and SITUATIONS. Raises InvalidStream."""
    survey = _Survey()
    found: set[str] = set()
    for event in events:
        found.update(members(event))
        found.update(survey.before(event))
        found.update(survey.after(event))
    return found | set(survey.at_end())


class _Survey:
    def __init__(self) -> None:
        self.reader = Reader()
        self.run = 0
        self.run_events = 0
        self.last = ""
        self.tagged: set[str] = set()
        self.announced: set[str] = set()
        self.opened: dict[tuple[str, str], tuple[int, Owner]] = {}  # (kind, id) → the run and the owner it had first
        self.call_owners: dict[str, Owner] = {}

    @property
    def owners(self) -> dict[Bucket, dict[str, Owner]]:
        return self.reader.verification.owners

    def before(self, event: Json) -> Iterator[str]:
        for look in (self._run_level, self._attribution, self._opener, self._continuation, self._result, self._history):
            yield from look(event)

    def after(self, event: Json) -> Iterator[str]:
        verification, lanes = self.reader.verification, self.reader.lanes.pending
        held = len(lanes)
        self.reader.feed(event)
        self.last, self.run_events = event["type"], self.run_events + 1
        situations = {
            f"lane closed by {event['type']}": len(lanes) < held,
            "parallel lanes": len(lanes) > 1,
            "three lanes": len(lanes) > 2,
            "lanes of the parent and a subagent": None in lanes and len(lanes) > 1,
            "parallel lanes of one kind": len({pending.form.kind for pending in lanes.values()}) < len(lanes),
            "parallel subagents": len(verification.active) > 1,
            "interleaving": sum(map(len, verification.open.values())) > 1,
            "equal steps of two owners": len({name for _, name in verification.steps}) < len(verification.steps),
        }
        yield from (name for name, holds in situations.items() if holds)

    def at_end(self) -> Iterator[str]:
        if self.tagged - self.announced:
            yield "subagent never announced"

    def _run_level(self, event: Json) -> Iterator[str]:
        situations: dict[str, bool] = {}
        if event["type"] == "RUN_STARTED":
            self.run, self.run_events = self.run + 1, 0
            situations = {"several_runs": self.run > 1, "runs_after_error": self.last == "RUN_ERROR"}
        elif event["type"] == "RUN_ERROR":
            left_open = any(self.reader.verification.open.values())
            situations = {
                "errors_first": not self.last,
                "errors_after_finish": self.last == "RUN_FINISHED",
                "left open by an error": left_open,
            }
        elif event["type"] == "RUN_FINISHED":
            pending = self.reader.conversation.pending_calls()
            situations = {"empty run": self.run_events == 1, "unanswered calls": bool(pending)}
        yield from (name for name, holds in situations.items() if holds)

    def _attribution(self, event: Json) -> Iterator[str]:
        tag, verification = event.get("subagentRunId"), self.reader.verification
        if tag is None:
            return
        yield "subagents"
        self.tagged.add(tag)
        if event["type"].startswith("SUBAGENT"):
            self.announced.add(tag)
            yield from ("suspended subagent",) if event.get("outcome", {}).get("type") == "suspended" else ()
        elif tag in verification.closed:
            yield "tag after its subagent ended"
        elif tag not in verification.active:
            yield "tag before its subagent started"
        if event["type"].startswith("STATE"):
            yield "state of a subagent"

    def _opener(self, event: Json) -> Iterator[str]:
        if kind := _OPENERS.get(event["type"]):
            yield from self._opens(kind, event, "start")
        elif form := FORMS.get(event["type"]):
            lane = self.reader.lanes.lane_of(form.kind, event.get(form.id), event.get("subagentRunId"))
            pending = self.reader.lanes.pending.get(lane)
            if pending and pending.form is form and event.get(form.id) in (None, pending.id):
                yield from _continues(form, event, lane)
            else:
                yield from (f"chunk ends {pending.form.kind}",) if pending else ()
                yield from self._opens(form.kind, event, "chunk")

    def _opens(self, kind: str, event: Json, how: str) -> Iterator[str]:
        entity, tag = event["toolCallId"] if kind == "tool" else event["messageId"], event.get("subagentRunId")
        if entity in ODD_IDS:
            yield "odd_ids"
        if (kind, entity) in self.opened or self._has(kind, entity):
            yield "reopening"
            yield f"reopened {kind} by {how}"
        run, owner = self.opened.get((kind, entity), (self.run, None))
        if tag is None and owner is not None:
            yield "untagged reopening of a subagent's"
            yield from ("late_tags",) if run < self.run else ()
        yield from {"text": self._text, "tool": self._call}.get(kind, self._reasoning)(event)
        text = self.opened.get(("text", entity))
        if kind in ("tool", "span") and text and text[1] != tag:
            yield "shared_ids"
        self.opened.setdefault((kind, entity), (self.run, self.call_owners[entity] if kind == "tool" else tag))

    def _text(self, event: Json) -> Iterator[str]:
        role = event.get("role", "absent")
        yield f"role {role}"
        if role != "assistant":
            yield "absent_roles" if role == "absent" else "roles"
        existing = self.reader.conversation.find(event["messageId"])
        if existing is not None and existing["role"] == "activity":
            yield "activity_texts"

    def _reasoning(self, event: Json) -> Iterator[str]:
        yield "reasoning"
        if any((kind, event["messageId"]) in self.opened for kind in ("span", "reasoning")):
            kinds = {kind for kind, id_ in self.opened if id_ == event["messageId"]}
            kinds.add("span" if event["type"] == "REASONING_START" else "reasoning")
            yield from ("span and reasoning of one id",) if {"span", "reasoning"} <= kinds else ()

    def _call(self, event: Json) -> Iterator[str]:
        """How the message that carries a call stands to it."""
        parent, owner = event.get("parentMessageId"), event.get("subagentRunId")
        existing = None if parent is None else self.reader.conversation.find(parent)
        if parent is None:
            yield "call without a parent"
        elif existing is None:
            yield "call mints its parent"
        elif existing["role"] != "assistant":
            yield "call under another role"
        elif owner is not None and "subagentRunId" not in existing:
            yield "foreign_holders"
        else:
            yield "call under a message"
        if owner is None and parent in self.owners["message"]:
            owner = self.owners["message"][parent]
            yield from ("untagged call of a subagent",) if owner is not None else ()
        self.call_owners.setdefault(event["toolCallId"], owner)

    def _continuation(self, event: Json) -> Iterator[str]:
        tag, type_ = event.get("subagentRunId"), event["type"]
        if type_.startswith("ACTIVITY"):
            owner = self.owners["activity"].get(event["messageId"])
            yield f"activity of {'the parent' if tag is None and owner is None else 'a subagent'}"
            kept = event.get("replace") is False and self._has("activity", event["messageId"])
            yield from ("activity kept",) if kept else ()
            yield from ("untagged change of a subagent's activity",) if tag is None and owner is not None else ()
        elif type_ == "REASONING_ENCRYPTED_VALUE":
            known = any(event["entityId"] in owners for owners in self.owners.values())
            yield f"encrypted value of {event['subtype'] if known else 'something unknown'}"
        elif type_.startswith(("TEXT", "TOOL", "REASONING")) and type_.endswith(("_CONTENT", "_ARGS", "_END")):
            kind = next(kind for prefix, kind in _KINDS if type_.startswith(prefix))
            entity = event["toolCallId"] if kind == "tool" else event["messageId"]
            if self.owners[_BUCKETS[kind]][entity] is not None:
                yield f"{'un' if tag is None else ''}tagged continuation of a subagent's {kind}"

    def _has(self, kind: str, entity: str) -> bool:
        """Whether the client holds an entity of this kind, from history or from earlier."""
        if kind == "tool":
            return self.reader.conversation.holder(entity) is not None
        message = self.reader.conversation.find(entity)
        if message is None or kind == "span":
            return False
        return message["role"] == kind if kind != "text" else message["role"] not in ("activity", "reasoning")

    def _result(self, event: Json) -> Iterator[str]:
        if event["type"] != "TOOL_CALL_RESULT":
            return
        tag, call = event.get("subagentRunId"), event["toolCallId"]
        if call not in self.call_owners:
            yield "stray_results"
            return
        owner = self.call_owners[call]
        party = "the owner" if tag == owner else "the parent" if tag is None else "another subagent"
        yield f"{'the parent' if owner is None else 'a subagent'}'s call answered by {party}"

    def _history(self, event: Json) -> Iterator[str]:
        echo, snapshot = event.get("input"), event.get("messages")
        if echo is not None:
            yield from ("bare_echo",) if "tools" not in echo else ()
            yield from listed(echo["messages"], "echoed")
        if snapshot is not None:
            yield from listed(snapshot, "restated")
            ids = {message["id"] for message in snapshot}
            known = {message["id"] for message in self.reader.conversation.messages}
            yield from ("snapshot drops messages",) if known - ids else ()
            yield from ("snapshot of known messages",) if known & ids else ()
            yield from ("snapshot owns activities",) if "@ag-ui/client" in event.get("metadata", {}) else ()
        for message in (snapshot or []) + (echo["messages"] if echo else []):
            for call in message.get("toolCalls", ()):
                self.call_owners[call["id"]] = message.get("subagentRunId")


def _continues(form: Form, event: Json, lane: Owner) -> Iterator[str]:
    named, tagged = form.id in event, "subagentRunId" in event
    yield f"chunk continues {'by id' if named else 'by tag' if tagged else 'bare'}"
    if lane is not None and not tagged:
        yield "untagged chunk of a subagent" if named else "bare chunk of a subagent"
    if any(member in event for member in form.opener):
        yield "chunk repeats its opener"
    if not {"delta", "rawEvent", "metadata"} & event.keys():
        yield "chunk without effect"
