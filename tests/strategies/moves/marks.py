"""Events that build no message: steps, CUSTOM, RAW, and the lifecycle of subagents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..world import SLOTS, World

if TYPE_CHECKING:
    from ..reader import Json, Owner


def step(world: World) -> None:
    """Open or close a step of the actor. A step is its owner's by tag alone, so the tag is never left out."""
    if not world.may("steps"):
        return
    owner = world.actor()
    open_ = [name for tag, name in world.reader.verification.steps if tag == owner]
    name = world.name(world.hides(owner))
    if name in open_ or (open_ and world.chance(2)):
        close_step(world, name if name in open_ else world.pick(open_), owner)
    else:
        world.emit("STEP_STARTED", owner, world.hides(owner), stepName=name)


def close_step(world: World, name: str, owner: Owner) -> None:
    world.emit("STEP_FINISHED", owner, world.hides(owner), stepName=name)


def custom(world: World) -> None:
    if world.may("custom"):
        owner = world.actor()
        hidden = world.hides(owner)
        world.emit("CUSTOM", owner, hidden, name=f"x.{world.name(hidden)}", value=world.value(hidden))


def raw(world: World) -> None:
    if world.may("raw"):
        owner = world.actor()
        hidden = world.hides(owner)
        source = {"source": world.name(hidden)} if world.chance(2) else {}
        world.emit("RAW", owner, hidden, event=world.value(hidden), **source)


def subagent(world: World) -> None:
    """Announce a subagent, fresh or known by its tag alone so far, or end an active one."""
    if not (world.may("subagents") and world.may("announcements")):
        return
    verification = world.reader.verification
    slot = 1 + world.below(SLOTS)
    chosen = world.subagent(slot) or ""
    if chosen in verification.active:
        end_subagent(world, chosen)
    else:
        _start(world, world.new_subagent(slot) if chosen in verification.closed else chosen)


def _start(world: World, started: str) -> None:
    verification = world.reader.verification
    delegator: Owner = world.pick((None, *(id_ for id_ in verification.active | verification.closed)))
    hidden = world.hides(started)
    members: Json = {"name": world.name(hidden)}
    if delegator is not None:
        members["parentSubagentRunId"] = delegator
    if world.chance(4):
        members["description"] = world.text(hidden)
    calls = world.owned("tool", delegator)
    if calls and world.chance(2):
        members["parentToolCallId"] = world.pick(calls[::-1])
    if world.chance(4):
        members["parentMessageId"] = world.pick(world.owned("text", delegator)[::-1] or [world.fresh("m", delegator)])
    world.emit("SUBAGENT_STARTED", started, hidden, **members)


def end_subagent(world: World, ended: str) -> None:
    hidden = world.hides(ended)
    members: Json = {}
    choice = world.below(6)
    if choice == 1:
        code = {"code": world.name(hidden)} if world.chance(2) else {}
        return world.emit("SUBAGENT_ERROR", ended, hidden, message=world.text(hidden), **code)
    if choice == 2:
        members["result"] = world.something(hidden)
    if choice in (2, 3):
        members["outcome"] = {"type": "success"}
    if choice == 4 and world.may("interrupts"):
        members["outcome"] = {"type": "suspended"}
        if world.chance(2):
            world.interrupts.append(f"i{len(world.interrupts)}")
            members["outcome"]["interruptIds"] = world.interrupts[-1:]
    return world.emit("SUBAGENT_FINISHED", ended, hidden, **members)
