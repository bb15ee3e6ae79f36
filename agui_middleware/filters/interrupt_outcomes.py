"""Runs that pause for an answer, of agents that speak the older dialect only: the reverse of `downgrades/interrupts`."""

from collections.abc import AsyncIterator
from typing import Any, Final

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.interrupt_dialects import ON_INTERRUPT, parsed

_KEPT: Final = {"message": str, "toolCallId": str, "responseSchema": dict, "expiresAt": str}


@handles("RUN_STARTED", "CUSTOM", "RUN_FINISHED", "RUN_ERROR")
async def interrupts_as_outcome(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Put the CUSTOM events `on_interrupt` of a run into its outcome.

    They are held until the run ends, and go out as they are where it does not finish, or ends with an outcome that no
    interrupt can be put into. An outcome of the agent's own that asks for answers takes their place.
    """
    held: list[Event] = []
    async for event in events:
        if event.head.type == "CUSTOM" and event.get("name") == ON_INTERRUPT:
            context.hold(event)
            held.append(event)
            continue
        if held and event.head.type != "CUSTOM":
            for each in held:
                context.release(each)
            if event.head.type == "RUN_FINISHED" and (paused := _paused(event, held)) is not None:
                event, held = paused, []
            for each in held:
                yield each
            held = []
        yield event
    for each in held:
        yield each


def _paused(event: Event, announced: list[Event]) -> Event | None:
    """A RUN_FINISHED that asks for the answers; `None` where it says otherwise."""
    outcome = event.get_object("outcome")
    type = None if outcome is None else outcome.get("type")
    if type == "interrupt":
        return event
    if event.get("outcome") is not None and type != "success":
        return None
    run, seen = event.get("runId"), set[str]()
    values = [parsed(each.get("value")) for each in announced]
    named = {id for value in values for id in _ids(value)}
    interrupts = []
    for number, (each, value) in enumerate(zip(announced, values, strict=True), 1):
        made_up = f"{run}:{number}"
        while made_up in named:
            made_up += "_"
        interrupts.append(_interrupt(each, value, made_up, seen))
    return event.replace(outcome={"type": "interrupt", "interrupts": interrupts})


def _ids(value: Any) -> list[str]:
    """The ids that the value of an announcement may mean, the likelier one first."""
    ids = (value.get("interruptId"), value.get("id")) if isinstance(value, dict) else ()
    return [id for id in ids if isinstance(id, str) and id]


def _interrupt(announced: Event, value: Any, made_up: str, seen: set[str]) -> dict[str, Any]:
    """The interrupt that a CUSTOM event announces. Its id is that of the value, if it has one that no other has.

    The whole value is its `metadata.on_interrupt`, for applications that look for what the agent has raised.
    """
    members = value if isinstance(value, dict) else {"message": value}
    id = next((id for id in _ids(value) if id not in seen), made_up)
    reason = members.get("reason")
    seen.add(id)
    kept = {name: members[name] for name, kind in _KEPT.items() if isinstance(members.get(name), kind)}
    interrupt = {"id": id, "reason": reason if isinstance(reason, str) else ON_INTERRUPT, **kept}
    if announced.get("value") is not None:
        interrupt["metadata"] = {ON_INTERRUPT: announced.members()["value"]}
    if isinstance(announced.head.subagentRunId, str):
        interrupt["subagentRunId"] = announced.head.subagentRunId
    return interrupt
