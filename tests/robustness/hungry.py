"""Streams that would cost far more than they are long, where something is kept for each entity or done again at each event.

Each is a function of its size: the streams of a test of growth differ in nothing else. `python -m tests.robustness.hungry`
takes larger ones than the suite through every plan there is, and prints for each what costs most.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from agui_middleware.config.plan import Plan
from agui_middleware.config.planning import make_plan
from agui_middleware.config.readers import Reader
from agui_middleware.config.sdks import SDKS
from agui_middleware.downgrades.sdk import SDK_ROWS
from agui_middleware.filters.contract import Context
from agui_middleware.filters.promote import promote_results
from agui_middleware.filters.reasoning import without_reasoning
from agui_middleware.filters.redact import redact
from agui_middleware.filters.repair import repair
from agui_middleware.filters.repair_also import repair_also
from agui_middleware.filters.tools import deny_tools
from agui_middleware.protocol.releases import RELEASES, ClientVersion
from agui_middleware.stream.rewriter import Rewriter
from tests.work import steps_of

Json = dict[str, Any]
Hungry = Callable[[int], Iterator[Json]]
RUN: Final = {"threadId": "t", "runId": "r"}


def event(type: str, **members: Any) -> Json:
    return {"type": type, **members}


def _numbered(size: int, *types: str, member: str = "messageId", **members: Any) -> Iterator[Json]:
    """For each number, an event of each type about the entity of that number."""
    for number in range(size):
        for type in types:
            yield event(type, **{member: f"{member[0]}{number}"}, **members)


def snapshot(*messages: Json) -> Json:
    return event("MESSAGES_SNAPSHOT", messages=list(messages))


def texts_behind_one(size: int) -> Iterator[Json]:
    """B1: up to 0.0.36 they all wait for the first, and each snapshot remembers them."""
    yield event("TEXT_MESSAGE_START", messageId="open", role="assistant")
    yield from _numbered(size, "TEXT_MESSAGE_START", role="assistant")
    for number in range(size):
        yield snapshot()
        yield event("TEXT_MESSAGE_CONTENT", messageId=f"m{number}", delta="x")


def calls_with_open_parents(size: int) -> Iterator[Json]:
    """Whether the waiting snapshot restates the parent is asked at each call."""
    yield event("TEXT_MESSAGE_START", messageId="open", role="assistant")
    yield from _numbered(size, "TEXT_MESSAGE_START", role="assistant")
    yield snapshot(*({"id": f"x{number}", "role": "user", "content": ""} for number in range(size)))
    for number in range(size):
        yield event("TOOL_CALL_START", toolCallId=f"c{number}", toolCallName="f", parentMessageId=f"m{number}")


def told_snapshots(size: int) -> Iterator[Json]:
    """What is added to an open text would be said in each snapshot that waits, and to each message of its id."""
    yield event("TEXT_MESSAGE_START", messageId="open", role="assistant")
    yield event("TEXT_MESSAGE_START", messageId="m", role="assistant")
    for _ in range(size):
        yield snapshot({"id": "m", "role": "assistant", "content": ""}, {"id": "m", "role": "assistant", "content": ""})
    for _ in range(size):
        yield event("TEXT_MESSAGE_CONTENT", messageId="m", delta="some text that is added")
    yield snapshot(*[{"id": "m", "role": "assistant", "content": ""}] * size)
    for _ in range(size):
        yield event("TEXT_MESSAGE_CONTENT", messageId="m", delta="some text that is added")


def forgotten_reasoning(size: int) -> Iterator[Json]:
    """B3: before 0.0.50 each snapshot restates all the reasoning, and before 0.0.46 all activities."""
    yield from _numbered(
        size,
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        delta="x",
        role="reasoning",
    )
    for number in range(size):
        yield event("ACTIVITY_SNAPSHOT", messageId=f"a{number}", activityType="PLAN", content={})
        yield event("ACTIVITY_DELTA", messageId=f"a{number}", activityType="PLAN", patch=[])
    for _ in range(size):
        yield snapshot()


def activities_of_a_snapshot(size: int) -> Iterator[Json]:
    """From 0.0.46 to 0.0.57 an event follows for each, which says what the snapshot says beside its messages."""
    activities = [{"id": f"a{n}", "role": "activity", "activityType": "P", "content": {}} for n in range(size)]
    yield {**snapshot(*activities), "timestamp": "x" * size, **{f"member{n}": n for n in range(size)}}
    for number in range(size):
        yield event("ACTIVITY_DELTA", messageId=f"a{number}", activityType="P", patch=[])
        yield snapshot()


def mixed_snapshots(size: int) -> Iterator[Json]:
    """A conversation that grows, and small snapshots in between, of which none may look at all of it."""
    for number in range(size):
        yield event("TOOL_CALL_START", toolCallId=f"c{number}", toolCallName="f")
        yield event("TOOL_CALL_END", toolCallId=f"c{number}")
        yield event("ACTIVITY_SNAPSHOT", messageId=f"a{number}", activityType="PLAN", content={})
        yield event("REASONING_ENCRYPTED_VALUE", subtype="message", entityId="a0", encryptedValue="x")
    for number in range(size):
        role = "user" if number % 2 else "activity"
        yield snapshot({"id": "u", "role": role, "content": "", "activityType": "PLAN"} if number % 2 else {})


def steps(size: int) -> Iterator[Json]:
    """B4: of a subagent and of the parent, of one name and of many, nested."""
    for number in range(size):
        yield event("STEP_STARTED", stepName=f"s{number}", **({"subagentRunId": "s"} if number % 2 else {}))
        yield event("STEP_STARTED", stepName="s", **({"subagentRunId": "s"} if number % 2 else {}))
    for number in range(size):
        yield event("STEP_FINISHED", stepName="s")
        yield event("STEP_FINISHED", stepName=f"s{number}")


def lanes_of_subagents(size: int) -> Iterator[Json]:
    """A lane for each subagent, all closed at once, again and again; and chunks that fit none of them, or all."""
    for _ in range(2):
        for number in range(size):
            yield event("TEXT_MESSAGE_CHUNK", messageId=f"m{number}", delta="x", subagentRunId=f"s{number}")
        for number in range(size):
            yield event("TEXT_MESSAGE_CHUNK", messageId=f"m{number}", delta="x")
            yield event("STATE_DELTA", delta=[], subagentRunId="none")
        yield snapshot()


def long_names(size: int) -> Iterator[Json]:
    """Tiny chunks that continue one with a long id: naming them repeats it."""
    yield event("TEXT_MESSAGE_CHUNK", messageId="m" * size * 50, delta="")
    for _ in range(size):
        yield event("TEXT_MESSAGE_CHUNK", delta="x")


def long_tags(size: int) -> Iterator[Json]:
    """The same with what the first chunk says of the subagent."""
    yield event("TEXT_MESSAGE_CHUNK", messageId="m", delta="", subagentRunId="s" * size * 50)
    for _ in range(size):
        yield event("TEXT_MESSAGE_CHUNK", messageId="m", delta="x")


def long_tools(size: int) -> Iterator[Json]:
    """Two calls of subagents in turns: a client with one lane has to be told the name of the tool each time."""
    for tag in "su":
        yield event("TOOL_CALL_CHUNK", toolCallId=tag, toolCallName=tag * size * 50, subagentRunId=tag)
    for _ in range(size):
        for tag in "su":
            yield event("TOOL_CALL_CHUNK", toolCallId=tag, delta="x", subagentRunId=tag)


def chunks_inside(size: int) -> Iterator[Json]:
    """Chunks without ids between STARTs and ENDs, which `repair_also` gives the id of what is open."""
    yield from _numbered(size, "TEXT_MESSAGE_START", role="assistant")
    for _ in range(size):
        yield event("TEXT_MESSAGE_CHUNK", delta="x")
    yield from _numbered(size, "TEXT_MESSAGE_END", "TEXT_MESSAGE_END")
    yield event("TEXT_MESSAGE_START", messageId="m" * size * 50, role="assistant")
    for _ in range(size):
        yield event("TEXT_MESSAGE_CHUNK", delta="x")


def texts_of_others(size: int) -> Iterator[Json]:
    """Up to 0.0.36 they are dropped, unless they are open when the run ends, or are opened twice."""
    yield from _numbered(size, "TEXT_MESSAGE_START", role="user")
    for _ in range(size):
        yield event("RUN_FINISHED", **RUN)
    yield event("TEXT_MESSAGE_START", messageId="m", role="user", name="x" * size * 50)
    for _ in range(size):
        yield event("TEXT_MESSAGE_START", messageId="m", role="user")


def failed_runs(size: int) -> Iterator[Json]:
    """Runs that fail with something open, and are continued."""
    yield from _numbered(size, "TEXT_MESSAGE_START", role="assistant")
    for number in range(size):
        yield event("STEP_STARTED", stepName=f"s{number}")
        yield event("RUN_ERROR", message="no")
        yield event("RUN_STARTED", **RUN)
        yield event("RUN_FINISHED", **RUN)
        yield event("RUN_STARTED", **RUN)


def continued(size: int) -> Iterator[Json]:
    """Texts and calls that end and go on, whose ENDs wait, and snapshots that restate them or not."""
    for _ in range(2):
        for number in range(size):
            for kind, member in (("TEXT_MESSAGE", "messageId"), ("TOOL_CALL", "toolCallId")):
                named = {member: f"{kind}{number}", "role": "assistant", "toolCallName": "f"}
                yield event(f"{kind}_START", **named)
                yield event(f"{kind}_END", **named)
    call = {"id": "TOOL_CALL0", "type": "function", "function": {"name": "f", "arguments": ""}}
    for number in range(size):
        yield snapshot({"id": f"TEXT_MESSAGE{number}", "role": "assistant", "content": "", "toolCalls": [call]})
    for number in range(size):
        yield event("TOOL_CALL_START", toolCallId=f"TOOL_CALL{number}", toolCallName="f")
        yield event("TOOL_CALL_RESULT", messageId=f"r{number}", toolCallId=f"TOOL_CALL{number}", content="")


def calls_at_once(size: int) -> Iterator[Json]:
    """Calls that wait for one another, and end in their order."""
    yield from _numbered(size, "TOOL_CALL_START", member="toolCallId", toolCallName="f")
    yield from _numbered(size, "TOOL_CALL_ARGS", "TOOL_CALL_END", member="toolCallId", delta="x")


def reasoning_at_once(size: int) -> Iterator[Json]:
    """The same with reasoning, in spans that overlap."""
    yield from _numbered(size, "REASONING_START", "REASONING_MESSAGE_START", role="reasoning")
    yield from _numbered(size, "REASONING_MESSAGE_END", "REASONING_END", "REASONING_START")
    yield from _numbered(size, "THINKING_START", "THINKING_TEXT_MESSAGE_START", "THINKING_END")


def long_ids(size: int) -> Iterator[Json]:
    """B5: few entities, each with an id that is longer than all else."""
    for number in range(size):
        id = f"{number}" * 500
        yield event("TEXT_MESSAGE_START", messageId=id, role="assistant", subagentRunId=id)
        yield event("TEXT_MESSAGE_END", messageId=id)
        yield event("TOOL_CALL_START", toolCallId=id, toolCallName="f", parentMessageId=id)
        yield event("NEWER_THAN_ALL", messageId=id, toolCallId=id, entityId=id)


def interrupts(size: int) -> Iterator[Json]:
    """Announced in both dialects: which announcement is whose, and which others are open, would be asked for each."""
    for _ in range(2):
        for number in range(size):
            yield event(
                "CUSTOM", name="on_interrupt", value={"toolCallId": f"c{number}", "aguiInterrupt": {"id": f"i{number}"}}
            )
            yield event("CUSTOM", name="on_interrupt", value={"n": 0})
        asked = [{"id": f"i{number}", "reason": "x", "toolCallId": f"d{number}"} for number in reversed(range(size))]
        yield event("RUN_FINISHED", **RUN, outcome={"type": "interrupt", "interrupts": asked})
        yield event("RUN_STARTED", **RUN)


def metadata(size: int) -> Iterator[Json]:
    """Each token brings another name, for a text and for a call."""
    yield event("TEXT_MESSAGE_START", messageId="m", role="assistant")
    yield event("TOOL_CALL_START", toolCallId="c", toolCallName="f")
    for number in range(size):
        yield event("TEXT_MESSAGE_CONTENT", messageId="m", delta="x", metadata={f"name{number}": number})
        yield event("TOOL_CALL_ARGS", toolCallId="c", delta="x", metadata={f"name{number}": number})


def calls_of_one_message(size: int) -> Iterator[Json]:
    """All in one message, streamed and restated, with results in the reverse order."""
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{"}} for n in range(size)]
    yield snapshot({"id": "p", "role": "assistant", "toolCalls": calls})
    for number in range(size):
        yield event("TOOL_CALL_START", toolCallId=f"d{number}", toolCallName="f", parentMessageId="p")
        yield event("TOOL_CALL_ARGS", toolCallId=f"c{number}", delta="}")
    for number in reversed(range(size)):
        yield event("TOOL_CALL_RESULT", messageId=f"r{number}", toolCallId=f"c{number}", content="x")


HUNGRY: Final[dict[str, Hungry]] = {
    function.__name__: function
    for function in (
        texts_behind_one,
        calls_with_open_parents,
        told_snapshots,
        forgotten_reasoning,
        activities_of_a_snapshot,
        mixed_snapshots,
        steps,
        lanes_of_subagents,
        long_names,
        long_tags,
        long_tools,
        chunks_inside,
        texts_of_others,
        failed_runs,
        continued,
        calls_at_once,
        reasoning_at_once,
        long_ids,
        interrupts,
        metadata,
        calls_of_one_message,
    )
}


def frames(stream: Hungry, size: int) -> list[bytes]:
    """A run of such events, as a server sends them."""
    events = [event("RUN_STARTED", **RUN), *stream(size), event("RUN_FINISHED", **RUN)]
    return [b"data: %b\n\n" % json.dumps(event).encode() for event in events]


class Outcome(NamedTuple):
    """What became of a stream: bytes in and out, and why it ended early, if it did."""

    taken: int
    written: int
    failure: Exception | None


FILTERS: Final = (repair, repair_also(), deny_tools(["other"]), promote_results(["other"]), redact("zz+"))


def plans() -> Mapping[str, Plan]:
    """Every plan for a release or an SDK, each visibility, and all ready-made filters."""
    made = {str(release): make_plan(release) for release in RELEASES}
    made |= {reader.name: make_plan(reader) for sdk in SDKS for reader in sdk.readers}
    made |= {mode: make_plan(None, mode) for mode in ("inline", "hidden")}
    made["filters"] = make_plan(None, "hidden", filters=FILTERS)
    made["without reasoning"] = make_plan(None, "inline", filters=[without_reasoning])
    dropping = [row.name for row in SDK_ROWS if row.name.startswith("no-")]  # they would leave nothing for the others
    others = [row.name for row in SDK_ROWS if row.name not in dropping]
    made["rows of all SDKs"] = make_plan(_sdk(others), interrupts="custom")
    made["dropping rows of all SDKs"] = make_plan(_sdk(dropping), interrupts="outcome")
    return made


def _sdk(rows: Iterable[str]) -> Reader:
    """An SDK that needs these rows."""
    return Reader(name="all", since=RELEASES[0], release=ClientVersion(0, 0, 58), rows=tuple(rows), proof="source")


def rewritten(plan: Plan, chunks: list[bytes], limit: int = 10 * 1024 * 1024) -> Outcome:
    """Have a plan rewrite a stream, and count the bytes."""
    rewriter = Rewriter(plan, Context(plan.client, max_event_bytes=limit, reader=plan.reader_name), limit)
    taken = written = 0
    for chunk in chunks:
        taken += len(chunk)
        written += len(rewriter.feed(chunk))
        if rewriter.ended:
            break
    written += len(rewriter.finish())
    rewriter.close()
    return Outcome(taken, written, rewriter.failure)


def growth(plan: Plan, stream: Hungry, few: int, many: int) -> float:
    """How many steps an event of the longer stream takes, in steps of the shorter one's."""
    steps = []
    for size in (few, many):
        chunks = frames(stream, size)
        steps.append(steps_of(lambda chunks=chunks: rewritten(plan, chunks)) / len(chunks))  # type: ignore[misc]
    return steps[1] / steps[0]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=400)
    size = parser.parse_args().size
    for name, stream in HUNGRY.items():
        grown = max((growth(plan, stream, size // 8, size), label) for label, plan in plans().items())
        ends = {label: rewritten(plan, frames(stream, size)) for label, plan in plans().items()}
        large = max((end.written / end.taken, label) for label, end in ends.items())
        print(f"{name:26} steps x {grown[0]:.2f} ({grown[1]}), output x {large[0]:.2f} ({large[1]})", flush=True)


if __name__ == "__main__":
    main()
