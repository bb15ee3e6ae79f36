"""Small streams with one fault each: faults of each member of each event type, and all ways to break the order.

A name tells the fault: `TEXT_MESSAGE_START.role=null`, `order: a text ends twice`.
"""

import json
from collections.abc import Iterator

from tests.notation import Json, event, stream

SOURCE = {"type": "data", "value": "aGk=", "mimeType": "image/png"}
CALL = {"id": "c0", "type": "function", "function": {"name": "f", "arguments": "{}"}, "metadata": {"a": 1}}
MESSAGES = [
    {"id": "d0", "role": "developer", "content": "a", "name": "n"},
    {"id": "a0", "role": "assistant", "content": "a", "toolCalls": [CALL], "metadata": {}, "subagentRunId": "s0"},
    {"id": "t0", "role": "tool", "toolCallId": "c0", "content": "ok", "error": "e", "encryptedValue": "x"},
]
NEWER_MESSAGES = [
    {"id": "u0", "role": "user", "content": [{"type": "text", "text": "a", "id": "p", "metadata": {}}]},
    {"id": "u1", "role": "user", "content": [{"type": "image", "source": SOURCE, "metadata": {}}]},
    {"id": "u3", "role": "user", "content": [{"type": "image", "source": {"type": "file", "value": "f"}}]},
    {"id": "u2", "role": "user", "content": [{"type": "binary", "mimeType": "image/png", "data": "aGk=", "id": "b"}]},
    {"id": "y0", "role": "activity", "activityType": "plan", "content": {"a": 1}},
    {"id": "r0", "role": "reasoning", "content": "a"},
]
INPUT = {
    "threadId": "t",
    "runId": "r",
    "parentRunId": "q",
    "state": {},
    "messages": [],
    "tools": [{"name": "f", "description": "d", "parameters": {}, "metadata": {}}],
    "context": [{"description": "d", "value": "v"}],
    "forwardedProps": {},
    "resume": [{"interruptId": "i", "status": "resolved", "payload": 1}],
}
INTERRUPT = {"id": "i", "reason": "r", "message": "m", "responseSchema": {}, "metadata": {}}
USAGE = [{"provider": "p", "inputTokens": 3, "cacheWriteInputTokens": 1}]
BASE = {"timestamp": 1, "rawEvent": {}, "metadata": {"a": None}}
OPERATIONS = [{"op": "add", "path": "/a", "value": 1}, {"op": "remove", "path": "/a"}]
COPY = [{"op": "add", "path": "/a", "value": 1}, {"op": "copy", "from": "/a", "path": "/b"}]

# Each event with all of its members, and the events before and behind it that make a run of it.
WHOLE: list[tuple[str, Json, str]] = [
    ("RS r", event("TS", "m", 'name="n"') | BASE | {"subagentRunId": "s"}, "TE m; RF r"),
    ("RS r; TS m", event("TC", "m", "hi") | BASE, "TE m; RF r"),
    ("RS r; TS m", event("TE", "m") | BASE, "RF r"),
    ("RS r", event("TK", "m", "hi") | {"role": "assistant", "name": "n", "metadata": {}}, "RF r"),
    ("RS r; TS m; TE m", event("KS", "c", "m") | BASE, "KE c; RF r"),
    ("RS r; KS c", event("KA", "c", "{}") | BASE, "KE c; RF r"),
    ("RS r; KS c", event("KE", "c") | BASE, "RF r"),
    ("RS r", event("KK", "c", "{}", "f", "m"), "RF r"),
    ("RS r; KS c; KE c", event("KR", "c", "x") | {"role": "tool"}, "STATE; RF r"),
    ("RS r", event("STATE") | BASE, "RF r"),
    ("RS r; STATE", event("PATCH") | {"delta": OPERATIONS}, "RF r"),
    ("RS r; STATE", event("PATCH") | {"delta": COPY}, "RF r"),
    ("RS r", event("SNAP") | {"messages": MESSAGES}, "RF r"),
    *(("RS r", event("SNAP") | {"messages": [message]}, "RF r") for message in NEWER_MESSAGES),
    ("RS r; STATE", event("AS", "m") | {"replace": True}, "RF r"),
    ("RS r; STATE; AS m", event("AD", "m"), "RF r"),
    ("RS r; STATE", event("RAW") | {"source": "s"}, "RF r"),
    ("RS r; STATE", event("CUSTOM", "x") | {"value": 1}, "RF r"),
    ("", event("RS", "r") | BASE | {"protocolVersion": "1.0", "parentRunId": "q", "input": INPUT}, "STATE; RF r"),
    ("", event("RS", "r") | {"input": {**INPUT, "messages": MESSAGES}}, "STATE; RF r"),
    ("RS r; STATE", event("RF", "r") | {"result": 1, "outcome": {"type": "success"}, "usage": USAGE}, ""),
    ("RS r; STATE", event("RF", "r") | {"outcome": {"type": "success", "pendingToolCallIds": ["c"]}}, ""),
    ("RS r; STATE", event("RF", "r") | {"outcome": {"type": "interrupt", "interrupts": [INTERRUPT]}}, ""),
    ("RS r; STATE", event("RE", "m") | {"code": "c", "usage": USAGE}, ""),
    ("RS r; STATE", event("STEP+", "a") | BASE, "STEP- a; RF r"),
    ("RS r; STATE; STEP+ a", event("STEP-", "a") | BASE, "RF r"),
    ("RS r; STATE", event("SPAN+", "g") | BASE, "SPAN- g; RF r"),
    ("RS r; STATE; SPAN+ g", event("SPAN-", "g"), "RF r"),
    ("RS r; STATE", event("GS", "g"), "GE g; RF r"),
    ("RS r; STATE; GS g", event("GC", "g", "hm"), "GE g; RF r"),
    ("RS r; STATE; GS g", event("GE", "g"), "RF r"),
    ("RS r; STATE", event("GK", "g", "hm"), "RF r"),
    ("RS r; TS m; TE m", event("EV", "message", "m"), "RF r"),
    ("RS r; STATE", event("SUB+", "s") | {"description": "d", "parentToolCallId": "c"}, "SUB- s; RF r"),
    ("RS r; STATE; SUB+ s", event("SUB-", "s") | {"result": 1, "outcome": {"type": "success"}}, "RF r"),
    ("RS r; STATE; SUB+ s", event("SUB-", "s") | {"outcome": {"type": "suspended", "interruptIds": ["i"]}}, "RF r"),
    ("RS r; STATE; SUB+ s", event("SUB!", "s") | {"code": "c"}, "RF r"),
]

ORDERS = {
    "no RUN_STARTED": "TS m; TE m; RF r",
    "nothing but RUN_FINISHED": "RF r",
    "nothing but RUN_ERROR": "RE x",
    "RUN_STARTED twice": "RS r; TS m; TE m; RS r; RF r",
    "RUN_STARTED behind RUN_ERROR at the start": "RE x; RS r; TS m; TE m; RF r",
    "RUN_FINISHED twice": "RS r; TS m; TE m; RF r; RF r",
    "RUN_ERROR twice": "RS r; TS m; TE m; RE x; RE x",
    "RUN_ERROR behind RUN_FINISHED": "RS r; TS m; TE m; RF r; RE x",
    "RUN_FINISHED behind RUN_ERROR": "RS r; TS m; TE m; RE x; RF r",
    "CUSTOM behind RUN_FINISHED": "RS r; TS m; TE m; RF r; CUSTOM x",
    "TEXT_MESSAGE_END behind RUN_ERROR": "RS r; TS m; RE x; TE m",
    "two runs": "RS r; TS m; TE m; RF r; RS q; TS n; TE n; RF q",
    "a run behind a failed one": "RS r; TS m; TE m; RE x; RS q; TS n; TE n; RF q",
    "a run behind one that finished and failed": "RS r; STATE; RF r; RE x; RS q; RF q",
    "no end": "RS r; TS m; TC m hi",
    "a text begins twice": "RS r; TS m; TS m; TE m; RF r",
    "a text ends twice": "RS r; TS m; TE m; TE m; RF r",
    "a text has content without its start": "RS r; STATE; TC m hi; RF r",
    "a text has content of another id": "RS r; TS m; TC n hi; TE m; RF r",
    "a text has content behind its end": "RS r; TS m; TE m; TC m hi; RF r",
    "a text ends without its start": "RS r; STATE; TE m; RF r",
    "a text is open at the end": "RS r; TS m; RF r",
    "a text is open at an error": "RS r; TS m; RE x",
    "a text is open at the next run": "RS r; TS m; RE x; RS q; TS m; TE m; RF q",
    "a text is continued": "RS r; TS m; TE m; TS m; TE m; RF r",
    "two texts at a time": "RS r; TS m; TS n; TE m; TE n; RF r",
    "RAW inside a text": "RS r; TS m; RAW; TE m; RF r",
    "CUSTOM inside a text": "RS r; TS m; CUSTOM x; TE m; RF r",
    "a snapshot inside a text": "RS r; TS m; SNAP; TC m hi; TE m; RF r",
    "a call inside a text": "RS r; TS m; KS c; KE c; TE m; RF r",
    "a text inside a call": "RS r; KS c; TS m; TE m; KE c; RF r",
    "a snapshot inside a call": "RS r; KS c; SNAP; KA c {}; KE c; RF r",
    "a result inside a call": "RS r; KS c; KR c x; KE c; RF r",
    "a call begins twice": "RS r; KS c; KS c; KE c; RF r",
    "a call ends twice": "RS r; KS c; KE c; KE c; RF r",
    "a call has arguments without its start": "RS r; STATE; KA c {}; RF r",
    "a call has arguments behind its end": "RS r; KS c; KE c; KA c {}; RF r",
    "a call ends without its start": "RS r; STATE; KE c; RF r",
    "a call is open at the end": "RS r; KS c; RF r",
    "a call is continued": "RS r; KS c; KE c; KS c; KE c; RF r",
    "a result without a call": "RS r; STATE; KR c x; RF r",
    "a result twice": "RS r; KS c; KE c; KR c x; KR c x; RF r",
    "a step begins twice": "RS r; STATE; STEP+ a; STEP+ a; STEP- a; RF r",
    "a step ends without its start": "RS r; STATE; STEP- a; RF r",
    "a step ends twice": "RS r; STATE; STEP+ a; STEP- a; STEP- a; RF r",
    "a step ends that is another one": "RS r; STATE; STEP+ a; STEP- b; RF r",
    "a step is open at the end": "RS r; STATE; STEP+ a; RF r",
    "a step is open at an error": "RS r; STATE; STEP+ a; RE x",
    "a step inside a step": "RS r; STATE; STEP+ a; STEP+ b; STEP- b; STEP- a; RF r",
    "a subagent's step of the same name": "RS r; STATE; STEP+ a; STEP+ a @s; STEP- a @s; STEP- a; RF r",
    "a subagent's step ends without its tag": "RS r; STATE; STEP+ a @s; STEP- a; RF r",
    "a reasoning message begins twice": "RS r; STATE; GS g; GS g; GE g; RF r",
    "a reasoning message ends twice": "RS r; STATE; GS g; GE g; GE g; RF r",
    "a reasoning message has content without its start": "RS r; STATE; GC g hm; RF r",
    "a reasoning message is open at the end": "RS r; STATE; GS g; RF r",
    "a span begins twice": "RS r; STATE; SPAN+ g; SPAN+ g; SPAN- g; RF r",
    "a span ends without its start": "RS r; STATE; SPAN- g; RF r",
    "a span is open at the end": "RS r; STATE; SPAN+ g; RF r",
    "a subagent begins twice": "RS r; STATE; SUB+ s; SUB+ s; SUB- s; RF r",
    "a subagent begins again": "RS r; STATE; SUB+ s; SUB- s; SUB+ s; SUB- s; RF r",
    "a subagent ends without its start": "RS r; STATE; SUB- s; RF r",
    "a subagent fails twice": "RS r; STATE; SUB+ s; SUB! s; SUB! s; RF r",
    "a subagent is open at the end": "RS r; STATE; SUB+ s; RF r",
    "a subagent of an unknown one": 'RS r; STATE; SUB+ s parentSubagentRunId="z"; SUB- s; RF r',
    "a subagent of an ended one": 'RS r; STATE; SUB+ z; SUB- z; SUB+ s parentSubagentRunId="z"; SUB- s; RF r',
    "a text's content of another subagent": "RS r; TS m @s; TC m hi @z; TE m; RF r",
    "a parent's text has a subagent's content": "RS r; TS m; TC m hi @s; TE m; RF r",
    "a subagent's text has untagged content": "RS r; TS m @s; TC m hi; TE m; RF r",
    "a text is continued by another subagent": "RS r; TS m @s; TE m; TS m @z; TE m; RF r",
    "a text is continued untagged": "RS r; TS m @s; TE m; TS m; TE m; TS m @s; TE m; RF r",
    "a call of another subagent than its message": "RS r; TS m @s; TE m; KS c m @z; KE c; RF r",
    "a call of its message's subagent": "RS r; TS m @s; TE m; KS c m; KA c {} @s; KE c; RF r",
    "a call is continued under another's message": "RS r; TS m @s; TE m; KS c; KE c; KS c m; KE c; RF r",
    "a call's arguments of another subagent": "RS r; KS c _ @s; KA c {} @z; KE c; RF r",
    "a snapshot changes the owner of a text": "RS r; TS m @s; TE m; SNAP m; TS m @s; TE m; RF r",
    "a snapshot changes the owner of a call": "RS r; KS c _ @s; KE c; SNAP m+c; KS c m @s; KE c; RF r",
    "an echo gives a text its owner": "RS r m@s; TS m @z; TE m; RF r",
    "an echo does not change an owner": "RS r m@s m; TS m @s; TE m; RF r",
    "a result takes over a message's id": "RS r; TS m @s; TE m; KS c; KE c; KR c m; TS m @s; TE m; RF r",
    "a reasoning message of another subagent": "RS r; STATE; GS g @s; GC g hm @z; GE g; RF r",
    "a span and a message of one id, of two subagents": "RS r; STATE; SPAN+ g @s; GS g @z; GE g @z; SPAN- g @s; RF r",
    "an activity of another subagent": "RS r; STATE; AS m @s; AD m @z; RF r",
    "an activity that keeps its subagent": "RS r; STATE; AS m @s; AS m replace=false @z; AD m @s; RF r",
    "an activity that changes its subagent": "RS r; STATE; AS m @s; AS m @z; AD m @z; RF r",
    "a value for another subagent's message": "RS r; TS m @s; TE m; EV message m @z; RF r",
    "a value for another subagent's call": "RS r; KS c _ @s; KE c; EV tool-call c @z; RF r",
    "a chunk without an id": "RS r; STATE; TK _ hi; RF r",
    "a chunk without an id behind others": "RS r; TK m hi; CUSTOM x; TK _ ho; RF r",
    "a chunk of an open text": "RS r; TS m; TK m hi; TE m; RF r",
    "a chunk's text gets content": "RS r; TK m hi; TC m ho; RF r",
    "a chunk's text is ended": "RS r; TK m hi; TE m; RF r",
    "a chunk's text is ended from another lane": "RS r; TK m hi @s; TE m; TK m ho @s; RF r",
    "chunks of one text around CUSTOM": "RS r; TK m hi; CUSTOM x; TK m ho; RF r",
    "chunks of two texts": "RS r; TK m hi; TK n ho; RF r",
    "chunks of two subagents": "RS r; TK m hi @s; TK n ho @z; TK _ a @s; TK _ b @z; RF r",
    "a chunk between two subagents": "RS r; TK m hi @s; TK n ho @z; TK _ a; RF r",
    "a chunk of another subagent": "RS r; TK m hi @s; TK m ho @z; RF r",
    "a chunk of another role": 'RS r; TK m hi role="assistant"; TK m ho role="user"; RF r',
    "a chunk of another name": 'RS r; TK m hi name="a"; TK m ho name="b"; RF r',
    "a chunk of a user": 'RS r; TK m hi role="user"; RF r',
    "a tool chunk without a name": "RS r; STATE; KK c {}; RF r",
    "a tool chunk without an id": "RS r; STATE; KK _ {} f; RF r",
    "a tool chunk of another name": "RS r; KK c {} f; KK c {} g; RF r",
    "a tool chunk of another parent": "RS r; KK c {} f m; KK c {} _ n; RF r",
    "a tool chunk whose parent is null": "RS r; KK c {} f parentMessageId=null; KK c {}; RF r",
    "tool chunks around a text": "RS r; KK c {} f; TK m hi; KK c {}; RF r",
    "a tool chunk of an open call": "RS r; KS c; KK c {} f; KE c; RF r",
    "a text chunk inside a call": "RS r; KS c; TK m hi; KE c; RF r",
    "a chunk with nothing but its id": "RS r; TK m; RF r",
    "a chunk with nothing but metadata": "RS r; TK m hi @s; TE m; TK m metadata={}; RF r",
    "a bare chunk behind an explicit end": "RS r; TK m hi @s; TE m; TK m; RF r",
    "a chunk with a raw event behind an explicit end": "RS r; TK m hi @s; TE m; TK m rawEvent=1; RF r",
    "a reasoning chunk without an id": "RS r; STATE; GK _ hm; RF r",
    "a reasoning chunk with an empty id": 'RS r; STATE; GK g hm; GK _ ho messageId=""; RF r',
    "reasoning chunks with an empty id": 'RS r; STATE; GK _ hm messageId=""; GK _ ho messageId=""; RF r',
    "a reasoning chunk around a text": "RS r; GK g hm; TS m; TE m; GK _ ho; RF r",
    "a chunk is open at an error": "RS r; TK m hi; RE x",
    "a chunk is open where the stream ends": "RS r; TK m hi",
    "a chunk behind a subagent's end": "RS r; SUB+ s; TK m hi @s; SUB- s; TK _ ho @s; RF r",
    "nothing but RAW": "RS r; RAW; RF r",
    "nothing but a result": "RS r; KR c x; RF r",
    "nothing but a patch": "RS r; PATCH delta=[]; RF r",
    "nothing but a step": "RS r; STEP+ a; STEP- a; RF r",
}

THINKING = {
    "thinking": "START TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END END",
    "thinking without a message": "START END",
    "thinking without its start": "TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END",
    "thinking without its message's start": "START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END END",
    "thinking that begins twice": "START START END END",
    "thinking that ends twice": "START END END",
    "thinking without its end": "START TEXT_MESSAGE_START TEXT_MESSAGE_END",
    "thinking whose message is open": "START TEXT_MESSAGE_START END",
    "thinking whose message begins twice": "START TEXT_MESSAGE_START TEXT_MESSAGE_START TEXT_MESSAGE_END END",
    "thinking whose message ends twice": "START TEXT_MESSAGE_START TEXT_MESSAGE_END TEXT_MESSAGE_END END",
    "thinking whose message ends behind it": "START TEXT_MESSAGE_START END TEXT_MESSAGE_END",
}

WRONG: Json = {"null": None, "a number": 1.5, "a string": "?", "empty": "", "a list": [], "an object": {}, "true": True}
_OTHERS = [kind for kind in WRONG if kind != "null"]


def shapes(*, every_fault: bool = False) -> dict[str, list[Json]]:
    """The streams by name; those whose events are all in order are among them.

    Each member is missing, null, and of one other wrong kind, the kinds taking turns; or of each, with `every_fault`.
    """
    found = {f"order: {name}": stream(text) for name, text in ORDERS.items()}
    found |= {f"order: {name}": _thinking(types) for name, types in THINKING.items()}
    found["type=unknown"] = [*stream("RS r; STATE"), {"type": "NOTE"}, *stream("RF r")]
    found["type=''"] = [*stream("RS r; STATE"), {"type": ""}, *stream("RF r")]
    found["title=null"] = _thinking("START END", title=None)
    found["title=1"] = _thinking("START END", title=1)
    for before, whole, behind in WHOLE:
        for name, changed in _faulty(whole, every_fault):
            found.setdefault(f"{whole['type']}{name}", [*stream(before), changed, *stream(behind)])
    return found


def _thinking(types: str, **members: object) -> list[Json]:
    delta = {"TEXT_MESSAGE_CONTENT": {"delta": "hm"}}
    thinking = [{"type": f"THINKING_{type}", **delta.get(type, {}), **members} for type in types.split()]
    return [*stream("RS r; STATE"), *thinking, *stream("RF r")]


def _faulty(whole: Json, every_fault: bool) -> Iterator[tuple[str, Json]]:
    """The event as it is, with each of its members, to any depth, missing and of wrong kinds; then with one more."""
    yield f": {json.dumps(whole, sort_keys=True)}", whole
    for turn, path in enumerate(_paths(whole)):
        if path != ("type",):
            name = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
            yield f"{name} missing", _with(whole, path, _missing)
            for kind in WRONG if every_fault else ("null", _OTHERS[turn % len(_OTHERS)]):
                yield f"{name}={kind}", _with(whole, path, WRONG[kind])
    for path in [(), *_paths(whole)]:
        if isinstance(_at(whole, path), dict):
            yield f"{path} has one more", _with(whole, (*path, "more"), 1)


_missing = object()


def _paths(value: object) -> Iterator[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, member in inner:
        yield (step,)
        yield from ((step, *path) for path in _paths(member))


def _at(value: object, path: tuple[str | int, ...]) -> object:
    for step in path:
        value = value[step]  # type: ignore[index]
    return value


def _with(whole: Json, path: tuple[str | int, ...], value: object) -> Json:
    copy: Json = json.loads(json.dumps(whole))
    holder = _at(copy, path[:-1])
    assert isinstance(holder, dict | list)
    if value is _missing:
        del holder[path[-1]]  # type: ignore[arg-type]
    else:
        holder[path[-1]] = value  # type: ignore[index]
    return copy
