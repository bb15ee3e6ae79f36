"""The rules of @ag-ui/client 1.0.0 for a stream of expanded events: order, openness, ownership."""

from __future__ import annotations

from collections import defaultdict
from typing import Literal

from .lanes import InvalidStream, Json, Owner

Bucket = Literal["message", "tool", "activity", "reasoning"]
"""Ids are unique within a bucket only: a message and a call may share one."""

_OPENS = {
    "TEXT_MESSAGE_START": "text",
    "TOOL_CALL_START": "tool",
    "REASONING_START": "span",
    "REASONING_MESSAGE_START": "reasoning",
}
_CONTINUES = {
    "TEXT_MESSAGE_CONTENT": "text",
    "TEXT_MESSAGE_END": "text",
    "TOOL_CALL_ARGS": "tool",
    "TOOL_CALL_END": "tool",
    "REASONING_END": "span",
    "REASONING_MESSAGE_CONTENT": "reasoning",
    "REASONING_MESSAGE_END": "reasoning",
}
_BUCKET: dict[str, Bucket] = {"text": "message", "tool": "tool", "span": "reasoning", "reasoning": "reasoning"}


class Verification:
    """What is open and who owns it in the current run. RUN_STARTED forgets everything."""

    def __init__(self) -> None:
        self.phase: Literal["new", "running", "finished", "failed"] = "new"
        self._reset()

    def _reset(self) -> None:
        # Dicts for sets: the strategies draw from them, so their order must not depend on hash seeds.
        self.open: dict[str, dict[str, None]] = defaultdict(dict)
        self.owners: dict[Bucket, dict[str, Owner]] = {"message": {}, "tool": {}, "activity": {}, "reasoning": {}}
        self.steps: dict[tuple[Owner, str], None] = {}
        self.active: dict[str, None] = {}
        self.closed: dict[str, None] = {}

    def check(self, event: Json) -> None:
        """Take one expanded event. Raises InvalidStream where the client aborts the run."""
        kind = event["type"]
        self._phase(kind)
        if kind in _OPENS:
            self._start(_OPENS[kind], event)
        elif kind in _CONTINUES:
            self._continue(_CONTINUES[kind], event)
        elif rule := getattr(self, f"_{kind.lower()}", None):
            rule(event)

    def _phase(self, kind: str) -> None:
        allowed = {
            "new": kind in ("RUN_STARTED", "RUN_ERROR"),
            "running": kind != "RUN_STARTED",
            "finished": kind in ("RUN_STARTED", "RUN_ERROR"),
            "failed": kind == "RUN_STARTED",
        }
        if not allowed[self.phase]:
            raise InvalidStream(f"{kind} while the stream is {self.phase}")

    def _start(self, kind: str, event: Json) -> None:
        entity, tag = _id(event), event.get("subagentRunId")
        bucket = self.owners[_BUCKET[kind]]
        if entity in self.open[kind]:
            raise InvalidStream(f"{kind} {entity!r} is open already")
        owner = tag
        if kind == "tool" and event.get("parentMessageId") in self.owners["message"]:
            owner = self.owners["message"][event["parentMessageId"]]
            _agree(tag, owner, event)
            if tag is None and bucket.get(entity, owner) != owner:
                raise InvalidStream(f"call {entity!r} reopens under a message of {owner!r}")
        if entity in bucket:
            _agree(tag, bucket[entity], event)
        bucket.setdefault(entity, owner)
        self.open[kind][entity] = None

    def _continue(self, kind: str, event: Json) -> None:
        entity = _id(event)
        if entity not in self.open[kind]:
            raise InvalidStream(f"{event['type']} of {entity!r}, which is not open")
        _agree(event.get("subagentRunId"), self.owners[_BUCKET[kind]][entity], event)
        if event["type"].endswith("_END"):
            del self.open[kind][entity]

    def _tool_call_result(self, event: Json) -> None:
        self.owners["message"][event["messageId"]] = event.get("subagentRunId")

    def _activity_snapshot(self, event: Json) -> None:
        if event.get("replace", True) or event["messageId"] not in self.owners["activity"]:
            self.owners["activity"][event["messageId"]] = event.get("subagentRunId")

    def _activity_delta(self, event: Json) -> None:
        self._known("activity", event["messageId"], event)

    def _reasoning_encrypted_value(self, event: Json) -> None:
        if event["subtype"] == "tool-call":
            self._known("tool", event["entityId"], event)
        elif event["entityId"] in self.owners["message"]:
            self._known("message", event["entityId"], event)
        else:
            self._known("reasoning", event["entityId"], event)

    def _known(self, bucket: Bucket, entity: str, event: Json) -> None:
        if entity in self.owners[bucket]:
            _agree(event.get("subagentRunId"), self.owners[bucket][entity], event)

    def _step_started(self, event: Json) -> None:
        step = (event.get("subagentRunId"), event["stepName"])
        if step in self.steps:
            raise InvalidStream(f"step {step} is open already")
        self.steps[step] = None

    def _step_finished(self, event: Json) -> None:
        step = (event.get("subagentRunId"), event["stepName"])
        if step not in self.steps:
            raise InvalidStream(f"step {step} is not open")
        del self.steps[step]

    def _subagent_started(self, event: Json) -> None:
        subagent, parent = event["subagentRunId"], event.get("parentSubagentRunId")
        if subagent in self.active | self.closed:
            raise InvalidStream(f"subagent {subagent!r} started twice")
        if parent is not None and parent not in self.active | self.closed:
            raise InvalidStream(f"subagent {parent!r} is not known")
        self.active[subagent] = None

    def _subagent_finished(self, event: Json) -> None:
        if event["subagentRunId"] not in self.active:
            raise InvalidStream(f"subagent {event['subagentRunId']!r} is not active")
        del self.active[event["subagentRunId"]]
        self.closed[event["subagentRunId"]] = None

    _subagent_error = _subagent_finished

    def _messages_snapshot(self, event: Json) -> None:
        self._seed(event["messages"], authoritative=True)

    def _run_started(self, event: Json) -> None:
        self._reset()
        self.phase = "running"
        self._seed(event.get("input", {}).get("messages", []), authoritative=False)

    def _seed(self, messages: list[Json], *, authoritative: bool) -> None:
        for message in messages:
            owner = message.get("subagentRunId")
            bucket: Bucket = message["role"] if message["role"] in ("reasoning", "activity") else "message"
            seeded = [(self.owners[bucket], message["id"])]
            seeded += [(self.owners["tool"], call["id"]) for call in message.get("toolCalls", [])]
            for owners, entity in seeded:
                if authoritative or entity not in owners:
                    owners[entity] = owner

    def _run_finished(self, event: Json) -> None:
        left = [*self.steps, *self.active, *(entity for ids in self.open.values() for entity in ids)]
        if left:
            raise InvalidStream(f"RUN_FINISHED while {left} are open")
        self.phase = "finished"

    def _run_error(self, event: Json) -> None:
        self.phase = "failed"


def _id(event: Json) -> str:
    entity: str = event["toolCallId"] if event["type"].startswith("TOOL_") else event["messageId"]
    return entity


def _agree(tag: Owner, owner: Owner, event: Json) -> None:
    if tag is not None and tag != owner:
        raise InvalidStream(f"{event['type']} tagged {tag!r} continues what {owner!r} owns")
