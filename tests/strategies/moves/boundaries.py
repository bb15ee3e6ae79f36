"""Where runs begin and end."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from .calls import end_call
from .history import new_messages, restated
from .marks import close_step, end_subagent
from .reasonings import end_reasoning, end_span
from .texts import end_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..reader import Json, Owner
    from ..world import World


def boundary(world: World) -> None:
    """End the run and begin the next one in the same stream."""
    if world.may("several_runs"):
        end_run(world, last=False)
        start_run(world)


def start_run(world: World) -> None:
    members: Json = {}
    if world.may("protocol_version") and world.chance(2):
        members["protocolVersion"] = "1.0"
    if world.chance(8):
        members["parentRunId"] = "r0"
    if world.may("input_echo") and world.chance(3):
        members["input"] = _echo(world)
    world.emit("RUN_STARTED", threadId="t", runId="r", **members)


def _echo(world: World) -> Json:
    known = world.some(restated(world)) if world.chance(2) else []
    if world.may("subagents") and not world.subagents and world.chance(2):
        world.subagent(1)  # of an earlier turn, which only the echo shows
    echo: Json = {"threadId": "t", "runId": "r", "messages": known + new_messages(world, world.below(3))}
    if not (world.may("bare_echo") and world.chance(3)):
        tool = {"name": "ask", "description": "", "parameters": {"type": "object"}}
        echo |= {"tools": world.pick(([], [tool])), "context": world.pick(([], [{"description": "d", "value": "v"}]))}
    optional = {
        "state": world.value(),
        "forwardedProps": world.something(),
        "parentRunId": "r0",
        "protocolVersion": "1.0",
    }
    if world.chance(3):
        echo |= {member: optional[member] for member in world.some(list(optional))}
    if world.chance(8):
        echo["resume"] = [{"interruptId": "i0", "status": "resolved", "payload": world.something()}]
    return echo


def end_run(world: World, last: bool) -> None:
    """RUN_FINISHED with everything closed, or RUN_ERROR with everything left as it is."""
    failing = world.may("run_errors") and (last or world.may("runs_after_error"))
    if failing and world.chance(5):
        return _fail(world)
    while closers := list(_closers(world)):
        world.pick(closers)()
    _finish(world)
    if failing and world.may("errors_after_finish") and world.chance(12):
        _fail(world)
    return None


def _fail(world: World) -> None:
    members: Json = {"code": "overloaded"} if world.chance(2) else {}
    if world.may("usage") and world.chance(4):
        members["usage"] = world.usage()
    world.emit("RUN_ERROR", message=world.text(), **members)


def fail_first(world: World) -> bool:
    """Now and then the stream begins with RUN_ERROR. Returns whether it does."""
    if world.may("run_errors") and world.may("errors_first") and world.chance(25):
        _fail(world)
        return True
    return False


def _closers(world: World) -> Iterator[Callable[[], None]]:
    owners: tuple[Owner, ...] = (None, *world.subagents)
    ends = (("text", end_text), ("tool", end_call), ("reasoning", end_reasoning), ("span", end_span))
    for kind, end in ends:
        for owner in owners:
            yield from (partial(end, world, id_, owner) for id_ in world.open(kind, owner))
    yield from (partial(close_step, world, name, owner) for owner, name in world.reader.verification.steps)
    yield from (partial(end_subagent, world, id_) for id_ in world.reader.verification.active)


def _finish(world: World) -> None:
    members: Json = {}
    if world.chance(6):
        members["result"] = world.something()
    if world.may("usage") and world.chance(4):
        members["usage"] = world.usage()
    outcome = _outcome(world)
    if outcome:
        members["outcome"] = outcome
    world.emit("RUN_FINISHED", threadId="t", runId="r", **members)


def _outcome(world: World) -> Json | None:
    suspended = world.interrupts and not world.chance(4)
    if world.may("interrupts") and (suspended or world.chance(6)):
        ids = world.interrupts if suspended else ["i0"]
        return {"type": "interrupt", "interrupts": [_interrupt(world, id_) for id_ in ids]}
    choice = world.below(5)
    pending = world.reader.conversation.pending_calls()
    if choice in (2, 3) and pending and world.may("pending_calls"):
        return {"type": "success", "pendingToolCallIds": pending}
    if choice == 4 and world.may("cancelled"):
        return {"type": "cancelled"}
    if choice == 1:
        none_named: Json = {"pendingToolCallIds": []} if world.may("pending_calls") and world.chance(3) else {}
        return {"type": "success", **none_named}
    return None


def _interrupt(world: World, id_: str) -> Json:
    """Kept whoever asks, so it names no secret; its tag and its call may be a subagent's."""
    interrupt: Json = {"id": id_, "reason": "tool_call"}
    owner: Owner = world.pick((None, *world.subagents))
    if owner is not None:
        interrupt["subagentRunId"] = owner
    calls = [id_ for id_, call in world.calls.items() if not world.hides(call.owner)]
    if calls and world.chance(2):
        interrupt["toolCallId"] = world.pick(calls[::-1])
    optional = {
        "message": world.text(),
        "responseSchema": {"type": "boolean"},
        "expiresAt": "2030-01-01T00:00:00Z",
        "metadata": world.metadata(),
    }
    if world.chance(3):
        interrupt |= {member: optional[member] for member in world.some(list(optional))}
    return interrupt
