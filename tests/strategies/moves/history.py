"""Messages that arrive whole: MESSAGES_SNAPSHOT and the echo of the request in RUN_STARTED."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from ..reader import Json, Owner, reconciled
from ..words import SECRET
from ..world import Call, World

if TYPE_CHECKING:
    from collections.abc import Callable


def snapshot(world: World) -> None:
    """The conversation restated, in whole or in part, with new messages."""
    if not world.may("snapshots"):
        return
    known = restated(world)
    new = new_messages(world, world.below(3))
    metadata = _claim(world)
    messages = _left_in(world, known) + new
    if not same_when_hidden(world, messages, metadata):
        messages = known + new
    if world.chance(6):
        messages.reverse()
    for message in messages if world.reown else ():
        if message["role"] != "tool" and "subagentRunId" in message and world.chance(3):
            _reown(world, message)
    members: Json = {"metadata": metadata} if metadata else {}
    world.emit("MESSAGES_SNAPSHOT", messages=messages, **members)


def restated(world: World) -> list[Json]:
    """Every message of the client, under the tag of its owner."""
    return [_restated(world, message) for message in world.messages]


def _restated(world: World, message: Json) -> Json:
    message = copy.deepcopy(message)
    if message["role"] == "tool":
        return message
    owner = world.owner_of(message)
    message.pop("subagentRunId", None)
    if owner is not None:
        message["subagentRunId"] = owner
    # A snapshot gives a message's calls to the owner of the message, so another's call is left out.
    calls = [call for call in message.get("toolCalls", ()) if world.calls[call["id"]].owner == owner]
    if calls:
        message["toolCalls"] = calls
    else:
        message.pop("toolCalls", None)
    return message


def _reown(world: World, message: Json) -> None:
    """Take the tag off a message, which makes it and its calls the parent's."""
    del message["subagentRunId"]
    for known in (world.texts, world.reasoning, world.spans, world.activities):
        if message["id"] in known:
            known[message["id"]] = None
    for call in message.get("toolCalls", ()):
        world.calls[call["id"]].owner = None


def _left_in(world: World, messages: list[Json]) -> list[Json]:
    roles = {
        "all": (),
        "without reasoning": ("reasoning",),
        "without activities": ("activity",),
        "as sent to a model": ("reasoning", "activity"),
    }
    style = world.pick((*roles, "some", "none"))
    if style == "some":
        return world.some(messages)
    return [] if style == "none" else [m for m in messages if m["role"] not in roles[style]]


def _claim(world: World) -> Json:
    """The client's own convention for which activities a snapshot may delete."""
    if not (world.may("activities") and world.may("metadata") and world.chance(8)):
        return {}
    types = [m["activityType"] for m in world.messages if m["role"] == "activity"]
    shown = [type_ for type_ in types if not (world.secrets and SECRET in type_)]
    return {"@ag-ui/client": {"authoritativeActivityTypes": world.pick((None, shown[:1]))}}


def same_when_hidden(world: World, snapshot: list[Json], metadata: Json) -> bool:
    """Whether a client that sees no subagent ends with the same messages, the subagents' apart.

    It does not where the snapshot's only reasoning (or activity) is a subagent's and the parent's own is left out: the
    client then keeps what it would have dropped. Nor where new tool messages come between a subagent's.
    """

    def shown(messages: list[Json]) -> list[Json]:
        return [message for message in messages if world.owner_of(message) is None]

    seen = shown(reconciled(world.messages, snapshot, metadata))
    alone = reconciled(shown(world.messages), shown(snapshot), metadata)
    return [message["id"] for message in seen] == [message["id"] for message in alone]


def new_messages(world: World, count: int) -> list[Json]:
    """Messages of every role that the stream never showed, each behind what it answers."""
    messages: list[Json] = []
    for _ in range(count):
        owner: Owner = world.pick((None, None, *world.subagents))
        messages += world.pick(_new_kinds(world))(world, owner)
    return messages


def _new_kinds(world: World) -> list[Callable[[World, Owner], list[Json]]]:
    kinds: list[Callable[[World, Owner], list[Json]]] = [_user, _assistant, _system]
    kinds += [_reasoning] if world.may("reasoning") else []
    kinds += [_activity] if world.may("activities") else []
    return kinds


def _message(world: World, owner: Owner, role: str, id_: str, encryptable: bool = True) -> Json:
    hidden = world.hides(owner)
    message: Json = {"id": id_, "role": role}
    if owner is not None:
        message["subagentRunId"] = owner
    if world.may("metadata") and world.chance(8):
        message["metadata"] = world.metadata(hidden)
    if encryptable and world.may("encrypted_values") and world.chance(8):
        message["encryptedValue"] = world.text(hidden)
    if role in ("user", "assistant", "system", "developer") and world.chance(8):
        message["name"] = world.name(hidden)
    return message


def _user(world: World, owner: Owner) -> list[Json]:
    message = _message(world, owner, "user", world.fresh("u", owner))
    world.texts[message["id"]] = owner
    return [message | {"content": world.content(world.hides(owner), parts=world.may("user_parts"))}]


def _system(world: World, owner: Owner) -> list[Json]:
    message = _message(world, owner, world.pick(("system", "developer")), world.fresh("m", owner))
    world.texts[message["id"]] = owner
    return [message | {"content": world.text(world.hides(owner))}]


def _reasoning(world: World, owner: Owner) -> list[Json]:
    message = _message(world, owner, "reasoning", world.fresh("r", owner))
    world.reasoning[message["id"]] = owner
    return [message | {"content": world.text(world.hides(owner))}]


def _activity(world: World, owner: Owner) -> list[Json]:
    message = _message(world, owner, "activity", world.fresh("a", owner), encryptable=False)
    world.activities[message["id"]] = owner
    hidden = world.hides(owner)
    return [message | {"activityType": world.name(hidden), "content": world.get_object(hidden)}]


def _assistant(world: World, owner: Owner) -> list[Json]:
    """An assistant's message, with calls or without, and the results of its calls behind it."""
    hidden = world.hides(owner)
    message = _message(world, owner, "assistant", world.fresh("m", owner))
    world.texts[message["id"]] = owner
    calls = [_call(world, owner) for _ in range(world.below(3))]
    if calls:
        message["toolCalls"] = calls
    if not calls or world.chance(2):
        message["content"] = world.text(hidden)
    answered = [call for call in calls if world.may("results") and world.chance(2)]
    return [message, *(_tool(world, owner, call["id"]) for call in answered)]


def _call(world: World, owner: Owner) -> Json:
    hidden = world.hides(owner)
    call_id, name = world.fresh("c", owner), world.name(hidden)
    world.calls[call_id] = Call(owner, name)
    call: Json = {"id": call_id, "type": "function"}
    call["function"] = {"name": name, "arguments": world.arguments(hidden)}
    if world.may("metadata") and world.chance(8):
        call["metadata"] = world.metadata(hidden)
    if world.may("encrypted_values") and world.chance(8):
        call["encryptedValue"] = world.text(hidden)
    return call


def _tool(world: World, owner: Owner, call_id: str) -> Json:
    """The result of a call, under the tag of whoever executed it, which says nothing of whose it is."""
    hidden = world.hides(owner)
    message = _message(world, owner, "tool", world.fresh("t", owner))
    message.pop("subagentRunId", None)
    executor = world.pick((owner, None, *world.subagents))
    if executor is not None:
        message["subagentRunId"] = executor
    message |= {"toolCallId": call_id, "content": world.content(hidden, parts=world.may("result_parts"))}
    if world.chance(8):
        message["error"] = world.text(hidden)
    world.results[message["id"]] = owner
    world.calls[call_id].answered = True
    return message
