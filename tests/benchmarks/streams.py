"""The streams that the benchmarks run on: each an event a frame, as an agent's server writes them."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

Members = dict[str, Any]

EVENT_BYTES = 100
SNAPSHOT_BYTES = 1024 * 1024


class Stream(NamedTuple):
    """A whole run. `body` is what is measured; `head` and `tail` make it a run that every client reads.

    Runs are long, so that what a response costs once is not taken for the cost of its events (`per_event.whole` measures
    that); and most of their events are the same objects, since a server's bytes are fresh in the cache when it sends them.
    """

    name: str
    head: list[Members]
    body: list[Members]
    tail: list[Members]

    @property
    def events(self) -> list[Members]:
        return [*self.head, *self.body, *self.tail]

    @property
    def frames(self) -> list[bytes]:
        framed = {id(event): frame(event) for event in self.events}
        return [framed[id(event)] for event in self.events]


def frame(event: Members) -> bytes:
    """One event as ag-ui-protocol's encoder frames it: compact JSON, not escaped to ASCII."""
    return b"data: " + json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


STARTED: Members = {"type": "RUN_STARTED", "threadId": "thread-1", "runId": "run-1"}
FINISHED: Members = {"type": "RUN_FINISHED", "threadId": "thread-1", "runId": "run-1"}


def parents_deltas(count: int = 5000) -> Stream:
    """Token deltas of the parent: nothing that `inline` or `hidden` would change."""
    return _deltas("parent's deltas", count, {})


def subagents_deltas(count: int = 5000) -> Stream:
    """Token deltas of one subagent: `inline` takes the tag off each, `hidden` drops each."""
    return _deltas("subagent's deltas", count, {"subagentRunId": "researcher-1"})


def alternating_texts(count: int = 2000) -> Stream:
    """Token deltas of two texts in turns. For clients up to 0.0.36 one of them waits until the other has ended."""
    ids = ("message-1", "message-2")
    head: list[Members] = [{"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"} for id in ids]
    bare: list[Members] = [{"type": "TEXT_MESSAGE_CONTENT", "messageId": id} for id in ids]
    tokens = [_padded(bare[index % 2], "delta", EVENT_BYTES, f"{index} ") for index in range(20)]
    body = [tokens[index % len(tokens)] for index in range(count)]
    tail: list[Members] = [{"type": "TEXT_MESSAGE_END", "messageId": id} for id in ids]
    return Stream("alternating texts", [STARTED, *head], body, [*tail, FINISHED])


def mixed(rounds: int = 60) -> Stream:
    """A run with nested and parallel subagents that reason, call tools, keep steps, state and activities."""
    body = [event for index in range(rounds) for event in _round(index)]
    return Stream("mixed run", [STARTED], body, [FINISHED])


def snapshots(count: int = 4) -> Stream:
    """MESSAGES_SNAPSHOT events of 1 MiB, each with the tag of a subagent on one message of 512."""
    return Stream("1 MiB snapshots", [STARTED], [snapshot(tagged=True)] * count, [FINISHED])


def snapshot(tagged: bool) -> Members:
    size = SNAPSHOT_BYTES // 512
    messages: list[Members] = [
        _padded({"id": f"m{index}", "role": "assistant"}, "content", size) for index in range(512)
    ]
    if tagged:
        messages[256] = {**messages[256], "subagentRunId": "researcher-1"}
    return {"type": "MESSAGES_SNAPSHOT", "messages": messages}


def _deltas(name: str, count: int, tag: Members) -> Stream:
    lifecycle: list[Members] = [{"type": "SUBAGENT_STARTED", **tag, "name": "researcher"}] if tag else []
    opener: Members = {"type": "TEXT_MESSAGE_START", **tag, "messageId": "message-1", "role": "assistant"}
    bare: Members = {"type": "TEXT_MESSAGE_CONTENT", **tag, "messageId": "message-1"}
    tokens = [_padded(bare, "delta", EVENT_BYTES, f"{index} ") for index in range(min(count, 20))]
    body = [tokens[index % len(tokens)] for index in range(count)]
    end: Members = {"type": "TEXT_MESSAGE_END", **tag, "messageId": "message-1"}
    over: list[Members] = [{"type": "SUBAGENT_FINISHED", **tag}] if tag else []
    return Stream(name, [STARTED, *lifecycle, opener], body, [end, *over, FINISHED])


def _padded(event: Members, member: str, size: int, start: str = "") -> Members:
    """The event with a text that makes its JSON `size` bytes long, or nearly."""
    rest = size - len(frame({**event, member: start})) + len(b"data: \n\n")
    words = "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor " * (rest // 78 + 1)
    return {**event, member: start + words[: max(rest, 0)]}


def _round(index: int) -> Iterator[Members]:
    outer, inner, other = f"researcher-{index}", f"reader-{index}", f"writer-{index}"
    yield {"type": "STEP_STARTED", "stepName": "answer"}
    yield {"type": "SUBAGENT_STARTED", "subagentRunId": outer, "name": "researcher"}
    yield from _reasoning(f"thought-{index}", outer)
    yield {"type": "SUBAGENT_STARTED", "subagentRunId": inner, "name": "reader", "parentSubagentRunId": outer}
    yield {"type": "SUBAGENT_STARTED", "subagentRunId": other, "name": "writer"}
    texts = [_text(f"read-{index}", inner, 8), _text(f"write-{index}", other, 8)]
    yield from _interleaved(texts)
    yield from _call(f"call-{index}", outer)
    yield {"type": "SUBAGENT_FINISHED", "subagentRunId": inner}
    yield {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/progress", "value": index}]}
    yield from _text(f"summary-{index}", outer, 8)
    yield {"type": "SUBAGENT_FINISHED", "subagentRunId": outer}
    yield {"type": "SUBAGENT_FINISHED", "subagentRunId": other}
    yield {"type": "CUSTOM", "name": "progress", "value": {"round": index}}
    yield {
        "type": "ACTIVITY_SNAPSHOT",
        "messageId": f"plan-{index}",
        "activityType": "PLAN",
        "content": {"steps": [index]},
    }
    yield from _call(f"own-{index}", None)
    yield from _text(f"answer-{index}", None, 8)
    yield {"type": "STEP_FINISHED", "stepName": "answer"}


def _interleaved(lists: list[Iterator[Members]]) -> Iterator[Members]:
    for group in zip(*lists, strict=True):
        yield from group


def _tag(owner: str | None) -> Members:
    return {} if owner is None else {"subagentRunId": owner}


def _text(id: str, owner: str | None, tokens: int) -> Iterator[Members]:
    yield {"type": "TEXT_MESSAGE_START", **_tag(owner), "messageId": id, "role": "assistant"}
    for index in range(tokens):
        yield {"type": "TEXT_MESSAGE_CONTENT", **_tag(owner), "messageId": id, "delta": f"token {index} of a text "}
    yield {"type": "TEXT_MESSAGE_END", **_tag(owner), "messageId": id}


def _reasoning(id: str, owner: str) -> Iterator[Members]:
    yield {"type": "REASONING_START", **_tag(owner), "messageId": id}
    yield {"type": "REASONING_MESSAGE_START", **_tag(owner), "messageId": f"{id}-m", "role": "reasoning"}
    for index in range(4):
        yield {"type": "REASONING_MESSAGE_CONTENT", **_tag(owner), "messageId": f"{id}-m", "delta": f"thought {index} "}
    yield {"type": "REASONING_MESSAGE_END", **_tag(owner), "messageId": f"{id}-m"}
    yield {"type": "REASONING_END", **_tag(owner), "messageId": id}


def _call(id: str, owner: str | None) -> Iterator[Members]:
    yield {"type": "TOOL_CALL_START", **_tag(owner), "toolCallId": id, "toolCallName": "search"}
    for piece in ('{"query": ', '"how many ', "roads must ", 'a man walk"}'):
        yield {"type": "TOOL_CALL_ARGS", **_tag(owner), "toolCallId": id, "delta": piece}
    yield {"type": "TOOL_CALL_END", **_tag(owner), "toolCallId": id}
    yield {"type": "TOOL_CALL_RESULT", **_tag(owner), "messageId": f"{id}-r", "toolCallId": id, "content": "forty-two"}
