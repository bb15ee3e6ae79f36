"""Translate the answers to a paused run from the client's dialect to the agent's.

The README, section "Interrupts", lists each decision.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Raw

from agui_middleware.protocol.interrupt_dialects import OpenInterrupt, addressed, call_of, form_of, parsed
from agui_middleware.protocol.json_object import JsonObject
from agui_middleware.protocol.posted import Posted

CANCELLED: Final = "__agui_cancelled__"
ANSWERS: Final = "__agui_resume_map__"


class Answered(NamedTuple):
    """A posted input with its answer in the agent's dialect."""

    posted: Posted
    unaddressed: bool = False
    """It holds an answer whose interrupt cannot be determined, so it stays as it was posted."""


def as_resume(posted: Posted, known: Sequence[OpenInterrupt], now: datetime) -> Answered:
    """Turn `forwardedProps.command.resume` into `resume`, with an entry for every open interrupt.

    `known`: the interrupts that are open in the thread, so far as they are remembered. `now` has a time zone.
    """
    props = posted.input.get_object("forwardedProps")
    command = None if props is None else props.get_object("command")
    if props is None or command is None or "resume" not in command or posted.input.get("resume"):
        return Answered(posted)
    answer = parsed(command["resume"])
    named, open = _asked(command.get("interruptEvent"), known)
    if named is None:
        return Answered(posted, unaddressed=True)
    answers = _answers(named, answer, open)
    resume = [_entry(each, answers.get(each.id), now) for each in _each_once(open)]
    command = command.without("resume")
    props = props.replace(command=command) if len(command) else props.without("command")
    return Answered(posted.with_members(resume=resume, forwardedProps=props))


def as_command(posted: Posted, known: Sequence[OpenInterrupt]) -> Posted:
    """Turn `resume` into `forwardedProps.command.resume`, for an agent of the older dialect.

    The answer to one interrupt is its payload. A cancelled one, and several, have the forms in which ag-ui-langgraph hands
    them to its graphs. `interruptEvent` is the value with which the agent has announced the interrupt, where that is known.
    """
    entries = posted.input.get_list("resume")
    props = posted.input.get_object("forwardedProps") or JsonObject({})
    command = props.get_object("command") or JsonObject({})
    read = [
        entry for entry in entries or () if isinstance(entry, JsonObject) and isinstance(entry.get("interruptId"), str)
    ]
    if not read or len(read) != len(entries or ()) or "resume" in command:
        return posted
    members: dict[str, Any] = {"resume": _as_one(read)}
    value = next((each.value for each in known if each.id == read[0]["interruptId"]), b"")
    if len(read) == 1 and value:
        members["interruptEvent"] = Raw(value)
    forwarded = props.replace(command=command.replace(**members))
    return posted.with_members(forwardedProps=forwarded).without_members("resume")


def with_announced_value(posted: Posted, known: Sequence[OpenInterrupt]) -> Posted:
    """Put the value that the agent has announced into `interruptEvent`, where the client echoes what a filter made of it."""
    originals = {each.form: each.value for each in known if each.is_announced_only}
    props = posted.input.get_object("forwardedProps") if originals else None
    command = None if props is None else props.get_object("command")
    if props is None or command is None:
        return posted
    original = originals.get(form_of(command.get("interruptEvent")))
    if original is None:
        return posted
    command = command.replace(interruptEvent=Raw(original))
    return posted.with_members(forwardedProps=props.replace(command=command))


def _asked(echo: Any, known: Sequence[OpenInterrupt]) -> tuple[OpenInterrupt | None, Sequence[OpenInterrupt]]:
    """Return the interrupt that was answered, and all that are open.

    What is remembered of the thread counts before what the client says, if it knows the interrupt that the client names.
    Without a name it is the last one: chats of the older dialect show one, and each CUSTOM event replaces the one before.
    """
    address = addressed(echo)
    if address is not None:
        own, others = address
        remembered = next((each for each in known if each.id == own.id), None)
        return (own, [*others, own]) if remembered is None else (remembered, known)
    form, call = form_of(echo), call_of(echo)
    meant = [each for each in known if (form and each.form == form) or (call is not None and each.call == call)]
    if echo is not None and not meant and len(known) > 1:
        return None, known  # it is for one of several, and an answer may approve the wrong one
    shown = meant or known
    return (shown[-1] if shown else None), known


def _each_once(open: Sequence[OpenInterrupt]) -> list[OpenInterrupt]:
    """Return the last of each id, in its place: an agent may ask twice under one, and reads one answer to it."""
    return list({each.id: each for each in reversed(open)}.values())[::-1]


def _answers(named: OpenInterrupt, answer: Any, open: Sequence[OpenInterrupt]) -> dict[str, Any]:
    """Return the payloads by interrupt. One that is absent or `None` was not answered.

    An object whose names are ids of open interrupts has an answer for each: LangGraph's own form for several.
    """
    if isinstance(answer, dict) and answer and answer.keys() <= {other.id for other in open}:
        return answer
    return {named.id: answer}


def _entry(interrupt: OpenInterrupt, payload: Any, now: datetime) -> dict[str, Any]:
    if payload is None or _is_expired(interrupt, now):
        return {"interruptId": interrupt.id, "status": "cancelled"}
    return {"interruptId": interrupt.id, "status": "resolved", "payload": payload}


def _is_expired(interrupt: OpenInterrupt, now: datetime) -> bool:
    if interrupt.expires_at is None:
        return False
    try:
        expires = msgspec.convert(interrupt.expires_at, datetime)
    except (msgspec.ValidationError, UnicodeError):  # no date: the agent's to judge
        return False
    return (expires if expires.tzinfo is not None else expires.replace(tzinfo=UTC)) <= now


def _as_one(entries: list[JsonObject]) -> Any:
    """Return one answer for all. An absent payload becomes an empty object: null counts as no answer here."""
    if len(entries) > 1:
        answers = {each["interruptId"]: each.without("interruptId", "metadata") for each in entries}
        return {ANSWERS: answers}
    entry = entries[0]
    if entry.get("status") == "cancelled":
        return {CANCELLED: True, "interrupt_id": entry["interruptId"]}
    payload = entry.members().get("payload")
    return {} if payload is None or entry["payload"] is None else payload
