"""Conversations and turns that would cost far more than they are long: `hungry.py` on the way in, and between two turns.

`python -m tests.robustness.hungry_turns` takes larger ones than the suite through every reader there is, and prints for each
what costs most, and how much memory a body of 10 MiB takes on its way.
"""

import argparse
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from starlette.types import Message

from agui_middleware.asgi.fault_watch import _Examination
from agui_middleware.config.plan import Plan
from agui_middleware.config.readers import Reader
from agui_middleware.filters.composition import Composition
from agui_middleware.filters.contract import Context
from agui_middleware.filters.producer_faults import missing_repairs
from agui_middleware.history.answers import as_command, as_resume
from agui_middleware.history.capture import Capture
from agui_middleware.history.echo import Echo
from agui_middleware.history.merge import restore
from agui_middleware.history.open_interrupts import OpenInterrupts
from agui_middleware.history.record import Kept
from agui_middleware.history.threads import Record, encoded
from agui_middleware.history.upgrade import upgraded
from agui_middleware.history.without_subagents import history_without_subagents
from agui_middleware.protocol.interrupt_dialects import OpenInterrupt
from agui_middleware.protocol.owned import Owned
from agui_middleware.protocol.posted import Posted
from agui_middleware.protocol.releases import ClientVersion
from agui_middleware.stream.witnessed import Witness, WitnessedRewriter
from tests.robustness.exchange import EVENT_STREAM
from tests.robustness.exchange import body as body_of
from tests.robustness.hungry import HUNGRY, Hungry, frames, plans
from tests.work import memory_of, steps_of

Json = dict[str, Any]
Body = Callable[[int], Json]
LIMIT: Final = 1024 * 1024  # of a record
_NOTHING: Final[Any] = None
NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
DAY: Final = "2027-01-01T00:00:00Z"
EVENT_LIMIT: Final = 10 * 1024 * 1024


def whole_body(messages: list[Json], **members: Any) -> Json:
    empty: Json = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
    return {"threadId": "t", "runId": "r", "messages": messages, **empty, **members}


def a_call(id: str, arguments: str = "{}") -> Json:
    return {"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}}


def said(id: str, *calls: Json, content: Any = "") -> Json:
    return {"id": id, "role": "assistant", "content": content, **({"toolCalls": list(calls)} if calls else {})}


def a_result(id: str, call: str) -> Json:
    return {"id": id, "role": "tool", "toolCallId": call, "content": "x"}


def tiny_messages(size: int) -> Json:
    return whole_body([{"id": f"m{number}", "role": "user", "content": ""} for number in range(size)])


def one_id(size: int) -> Json:
    """Each may be a piece of the first."""
    return whole_body([said("m", content="x") for _ in range(size)])


def one_call_id(size: int) -> Json:
    return whole_body([said(f"m{number}", a_call("c", "{")) for number in range(size)])


def calls_of_one_message(size: int) -> Json:
    """And their results in front of it, in the reverse order."""
    calls = [a_call(f"c{number}") for number in range(size)]
    return whole_body([*(a_result(f"r{number}", f"c{number}") for number in reversed(range(size))), said("m", *calls)])


def results_without_calls(size: int) -> Json:
    return whole_body([a_result(f"r{number}", f"c{number}") for number in range(size)])


def results_of_one_call(size: int) -> Json:
    return whole_body([said("m", a_call("c")), *(a_result("r", "c") for _ in range(size))])


def pieces_between_results(size: int) -> Json:
    """A call whose pieces and results come in turns."""
    turns = (
        (said("m", a_call(f"c{number % 3}", "")), a_result(f"r{number}", f"c{number % 5}")) for number in range(size)
    )
    return whole_body([message for turn in turns for message in turn])


def parts_of_one_message(size: int) -> Json:
    parts = [{"type": "binary", "mimeType": "image/png", "data": "eA=="}, {"type": "text", "text": "x"}]
    return whole_body([{"id": "u", "role": "user", "content": parts * size}])


def nulls(size: int) -> Json:
    """What an SDK has not set."""
    members = {f"member{number}": None for number in range(size)}
    return whole_body(
        [{"id": None, "role": "assistant", "content": None, "toolCalls": None} for _ in range(size)], **members
    )


def snake_case(size: int) -> Json:
    body = whole_body([{"id": f"m{number}", "role": "assistant", "tool_calls": []} for number in range(size)])
    return {**body, "thread_id": "t", "run_id": "r", "forwarded_props": {}}


def ui_messages(size: int) -> Json:
    """Of TanStack, which posts neither ids of thread and run nor contents."""
    parts = [{"type": "text", "content": "x"}, {"type": "tool-call", "id": "c", "name": "f", "arguments": "{}"}]
    return {"messages": [{"id": f"m{n}", "role": "assistant", "parts": parts} for n in range(size)], "data": {}}


def owned_by_subagents(size: int) -> Json:
    tagged = ({**said(f"m{number}", a_call(f"c{number}")), "subagentRunId": f"s{number}"} for number in range(size))
    return whole_body(
        [message for each in tagged for message in (each, a_result(f"r{each['id']}", f"c{each['id'][1:]}"))]
    )


def answered_by_name(size: int) -> Json:
    """An answer for each of the interrupts that the client says are open."""
    others = [{"id": f"i{number}", "expiresAt": DAY} for number in range(size)]
    value = {"aguiInterrupt": {"id": "i0", "others": others}}
    command = {"resume": {f"i{number}": True for number in range(size)}, "interruptEvent": value}
    return whole_body([], forwardedProps={"command": command})


def answered_by_resume(size: int) -> Json:
    resume = [{"interruptId": f"i{number}", "status": "resolved", "payload": {}} for number in range(size)]
    return whole_body([], resume=resume)


BODIES: Final[dict[str, Body]] = {
    function.__name__: function
    for function in (
        tiny_messages,
        one_id,
        one_call_id,
        calls_of_one_message,
        results_without_calls,
        results_of_one_call,
        pieces_between_results,
        parts_of_one_message,
        nulls,
        snake_case,
        ui_messages,
        owned_by_subagents,
        answered_by_name,
        answered_by_resume,
    )
}


def readers() -> Mapping[str, ClientVersion | Reader | None]:
    """Everyone who posts, by name; the current client first."""
    made = plans()
    return {"current": None} | {
        label: plan.named_client for label, plan in made.items() if plan.named_client is not None
    }


def open_interrupts(size: int) -> list[OpenInterrupt]:
    """What a store may know of a thread."""
    return [OpenInterrupt(f"i{number}", DAY, f"{number}", None, b"{}") for number in range(size)]


def taken_in(body: bytes, reader: ClientVersion | Reader | None, known: list[OpenInterrupt]) -> bytes:
    """What the agent gets of a body."""
    posted = Posted.read(body)
    assert posted is not None
    posted = history_without_subagents(upgraded(posted, reader))
    return as_command(as_resume(posted, known, NOW).posted, known).raw


def growth_of_body(make: Body, reader: ClientVersion | Reader | None, few: int, many: int) -> float:
    """How many steps a message of the longer body takes, in steps of the shorter one's."""
    steps = []
    for size in (few, many):
        body, known = json.dumps(make(size)).encode(), open_interrupts(size)
        steps.append(steps_of(lambda body=body, known=known: taken_in(body, reader, known)) / size)  # type: ignore[misc]
    return steps[1] / steps[0]


def captured(plan: Plan, chunks: list[bytes], posted: Posted, limit: int = EVENT_LIMIT) -> Kept | None:
    """What is kept of a response, of which filters and the history may each hold `limit` bytes."""
    capture = Capture(posted, posted, None, plan.named_client, limit)
    context = Context(plan.client, max_event_bytes=limit)
    witness = Witness(capture, Echo(posted, posted).as_posted, agent_sent=OpenInterrupts("custom").agent_sent)
    rewriter = WitnessedRewriter(plan, context, limit, witness, sniff=False, verify=False, log=None)
    for chunk in chunks:
        rewriter.feed(chunk)
        if rewriter.ended:
            break
    rewriter.finish()
    rewriter.close()
    return capture.finish()


def kept_and_restored(plan: Plan, chunks: list[bytes], body: bytes, limit: int = EVENT_LIMIT) -> Kept | None:
    """Two turns: what the first leaves is merged, stored, and put back into the second."""
    posted = Posted.read(body)
    assert posted is not None
    kept = captured(plan, chunks, posted, limit)
    if kept is not None:
        kept = kept.merged(kept)
        encoded(Record(kept, Owned()), LIMIT)
        restore(posted, kept, plan.named_client)
    return kept


def growth_of_turn(plan: Plan, stream: Hungry, few: int, many: int, limit: int = EVENT_LIMIT) -> float:
    """How many steps an event of the longer of two turns takes, in steps of the shorter one's."""
    steps = []
    for size in (few, many):
        chunks, body = frames(stream, size), json.dumps(tiny_messages(size)).encode()
        work = steps_of(lambda c=chunks, b=body: kept_and_restored(plan, c, b, limit))  # type: ignore[misc]
        steps.append(work / len(chunks))
    return steps[1] / steps[0]


def examined(chunks: list[bytes], limit: int = EVENT_LIMIT) -> Counter[str]:
    """What the look for faults of servers reports of a stream, by feature."""
    found = Counter[str]()
    examination = _Examination(Composition(missing_repairs([])), lambda loss: found.update([loss.feature]), limit)
    send = examination.beside(_sent)
    send(EVENT_STREAM)
    for chunk in chunks:
        send(body_of(chunk))
    examination.close()
    return found


def _sent(message: Message) -> Awaitable[None]:
    return _NOTHING  # type: ignore[no-any-return]  # nobody awaits it


def growth_of_examination(stream: Hungry, few: int, many: int) -> float:
    """How many steps an event of the longer stream takes, in steps of the shorter one's."""
    steps = []
    for size in (few, many):
        chunks = frames(stream, size)
        steps.append(steps_of(lambda chunks=chunks: examined(chunks)) / len(chunks))  # type: ignore[misc]
    return steps[1] / steps[0]


def memory_of_body(make: Body, reader: ClientVersion | Reader | None, size: int) -> float:
    """The most that a body takes on its way in, beside itself and in multiples of it, and what the agent gets of it."""
    body = json.dumps(make(size)).encode()
    return memory_of(lambda: taken_in(body, reader, []))[1] / len(body)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=400, help="of the bodies and streams whose steps are counted")
    parser.add_argument("--bytes", type=int, default=EVENT_LIMIT, help="of the bodies whose memory is measured")
    arguments = parser.parse_args()
    size = arguments.size
    for name, make in BODIES.items():
        grown = max((growth_of_body(make, reader, size // 8, size), label) for label, reader in readers().items())
        large = arguments.bytes * size // len(json.dumps(make(size)))
        some = {label: readers()[label] for label in ("current", "0.0.36", "rows of all SDKs")}
        memory = max((memory_of_body(make, reader, large), label) for label, reader in some.items())
        print(f"{name:24} steps x {grown[0]:.2f} ({grown[1]}), memory x {memory[0]:.1f} ({memory[1]})", flush=True)
    for name, stream in HUNGRY.items():
        turn = max((growth_of_turn(plan, stream, size // 8, size), label) for label, plan in plans().items())
        look = growth_of_examination(stream, size // 8, size)
        print(f"{name:24} a turn: steps x {turn[0]:.2f} ({turn[1]}); the look for faults: x {look:.2f}", flush=True)


if __name__ == "__main__":
    main()
