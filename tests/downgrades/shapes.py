"""The smallest stream with the shape of each row of `DOWNGRADES`."""

from typing import Any, NamedTuple

from tests.downgrades.minimal import FINISHED, STARTED, Json
from tests.notation import stream as noted


class Shape(NamedTuple):
    """The events of a run, or `whole`: of a stream, with the runs in it."""

    events: list[Json]
    whole: bool = False

    @property
    def stream(self) -> list[Json]:
        """The events of the whole stream."""
        return self.events if self.whole else [STARTED, *self.events, FINISHED]


def _told(*messages: Json, **members: Any) -> Json:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages), **members}


def _asked(*parts: Json) -> Json:
    return {"id": "u", "role": "user", "content": list(parts)}


def _echo(*messages: Json, **lists: Any) -> Json:
    return {**STARTED, "input": {"threadId": "t", "runId": "r", "messages": list(messages), **lists}}


_USER: Json = {"id": "u", "role": "user", "content": "hi"}
_CALL: Json = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
_TEXT_PART: Json = {"type": "text", "text": "hi"}
_ANSWER: Json = {"id": "t", "role": "tool", "toolCallId": "c", "content": "ok"}
_REASONING: Json = {"id": "h", "role": "reasoning", "content": "hm"}
_ACTIVITY: Json = {"id": "q", "role": "activity", "activityType": "plan", "content": {"b": 1}}
# On the oldest releases a run that changes neither messages nor state is a shape of its own.
_STATE: Json = {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}


_THINKING = ("START", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "END")


def _media(place: str) -> Json:
    return {"type": "image", "source": {"type": place, "value": "a", "mimeType": "image/png"}}


def _value(**members: Any) -> Json:
    value = {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "u", "encryptedValue": "x"}
    return {**value, **members}


SHAPES: dict[str, Shape] = {
    "chunks": Shape(noted("TK m a @s; TK n b @t; TK _ c @s; TK _ d @t")),
    "subagents": Shape(noted("SUB+ s; SUB- s")),
    "thinking": Shape([{"type": f"THINKING_{part}", "delta": "a"} for part in _THINKING]),
    "runs-after-error": Shape(noted("RS r; RE no; RS r; RF r"), whole=True),
    "activity-updates": Shape([*noted("AS q"), _told(_ACTIVITY)]),
    "streamed-messages": Shape([*noted("GS g; GC g a; GE g; AS p"), _told(_USER)]),
    "activity-texts": Shape(noted("AS m; TS m; TC m a; TE m")),
    "raw-chunks": Shape(noted("KS m; KE m; TK m rawEvent={}")),
    "activity-reasoning": Shape(noted("AS m; GS m; GC m a; GE m")),
    "lost-parents": Shape(noted("GS g; GE g; KS c g; KE c")),
    "reasoning": Shape(noted("SPAN+ s; GS g; GC g a; GE g; SPAN- s")),
    "null-parents": Shape(noted("KS c parentMessageId=null; KE c")),
    "empty-deltas": Shape(noted('TS m; TC m delta=""; TE m')),
    "metadata": Shape(noted('TS m metadata={"k":1}; TE m')),
    "activity-authority": Shape(
        [*noted("AS p"), _told(_USER, metadata={"@ag-ui/client": {"authoritativeActivityTypes": None}})]
    ),
    "removed-activities": Shape([*noted("AS p"), _told(_USER, _ACTIVITY)]),
    "removed-reasoning": Shape([*noted("GS g; GC g a; GE g"), _told(_USER, _REASONING)]),
    "snapshot-order": Shape(noted("TS m; TC m hello; TE m; TS n; TC n hello; TE n; SNAP n m")),
    "result-order": Shape(noted("KS c; TS m; TC m a; TE m; KE c; KR c t")),
    "part-members": Shape([_told(_asked({**_TEXT_PART, "id": "p", "metadata": {"k": 1}}))]),
    "tool-errors": Shape([_told({"id": "a", "role": "assistant", "toolCalls": [_CALL]}, {**_ANSWER, "error": "no"})]),
    "protocol-version": Shape([{**STARTED, "protocolVersion": "1.0"}, _STATE, FINISHED], whole=True),
    "encrypted-value-types": Shape([_told(_USER), _value(encryptedValueType="vendor/1")]),
    "protocol-1.1": Shape([{**STARTED, "protocolVersion": "1.1"}, _STATE, FINISHED], whole=True),
    "result-parts": Shape(
        [*noted("KS c; KE c"), {**noted("KR c t")[0], "content": [_TEXT_PART, _media("url")]}],
    ),
    "unknown-members": Shape([_told(_USER, {"id": "x", "role": "oracle", "content": "so be it"})]),
    "binary-parts": Shape([_told(_asked(_TEXT_PART, {"type": "binary", "mimeType": "image/png", "url": "a"}))]),
    "file-sources": Shape([_told(_asked(_TEXT_PART, _media("file")))]),
    "patch-operations": Shape(
        [
            _STATE,
            {"type": "STATE_DELTA", "delta": [{"op": "increment", "path": "/a"}, {"op": "remove", "path": "/a"}]},
        ]
    ),
    "empty-state": Shape([_STATE, {"type": "STATE_SNAPSHOT", "snapshot": None}]),
    "outcomes": Shape([STARTED, {**FINISHED, "outcome": {"type": "cancelled"}}], whole=True),
    "input-lists": Shape([_echo(_USER), FINISHED], whole=True),
    "interrupts": Shape(
        [STARTED, {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "sure?"}]}}],
        whole=True,
    ),
    "reopened-calls": Shape(noted("KS c; KA c {; KE c; KS c; KA c }; KE c")),
    "call-parents": Shape(noted("TS m; TE m; TS n; TE n; KS c m; KE c")),
    "reopened-texts": Shape(noted("TS m; TC m a; TE m; TS m; TC m b; TE m")),
    "media-parts": Shape([_told(_asked(_TEXT_PART, _media("url")))]),
    "names": Shape(noted('TS m name="Ada"; TE m')),
    "reasoning-messages": Shape([_told(_USER, _REASONING)]),
    "encrypted-values": Shape([_told(_USER), _value()]),
    "activities": Shape([_told(_USER), *noted("AS p; AD p")]),
    "user-parts": Shape([_told(_asked(_TEXT_PART, _TEXT_PART))]),
    "input-echo": Shape([_echo(_USER, tools=[], context=[]), _STATE, FINISHED], whole=True),
    "thinking-events": Shape([_STATE, {"type": "THINKING_START"}, {"type": "THINKING_END"}]),
    "results": Shape(noted("KS c; KE c; KR c t")),
    "predicted-state": Shape(
        [
            _STATE,
            {
                "type": "CUSTOM",
                "name": "PredictState",
                "value": [{"state_key": "b", "tool": "search", "tool_argument": "text"}],
            },
            *noted('KS c; KA c delta="{\\"text\\":1}"; KE c'),
        ]
    ),
    "several-runs": Shape([STARTED, _STATE, FINISHED, STARTED, FINISHED], whole=True),
    "text-roles": Shape(noted('TS m role="user"; TC m a; TE m')),
    "nested-steps": Shape([_STATE, *noted("STEP+ a; STEP+ b; STEP- b; STEP- a")]),
    "unchanged-runs": Shape([]),
    "interleaving": Shape(noted("TS m; TS n; TC m a; TC n b; TE m; TE n")),
}
