"""Tool calls in START, ARGS and END, and their results."""

from __future__ import annotations

from ..reader import Json, Owner, result_place
from ..world import UNKNOWN, Call, World


def call(world: World) -> None:
    owner = world.actor()
    open_ = world.open("tool", owner)
    if not open_ or world.chance(3):
        start_call(world, owner)
    elif world.chance(3):
        end_call(world, world.pick(open_), owner)
    else:
        add_arguments(world, world.pick(open_), owner)


def start_call(world: World, owner: Owner) -> None:
    call_id, members, tags = call_opener(world, owner)
    world.emit("TOOL_CALL_START", world.tag(tags, opens=True), world.hides(owner), toolCallId=call_id, **members)
    note_holder(world, call_id, owner)
    if world.chance(2):
        for _ in range(world.below(3)):
            add_arguments(world, call_id, owner)
        end_call(world, call_id, owner)


def add_arguments(world: World, call_id: str, owner: Owner) -> None:
    hidden = world.hides(owner)
    tag = world.tag(world.tags("tool", call_id, owner))
    world.emit("TOOL_CALL_ARGS", tag, hidden, toolCallId=call_id, delta=world.arguments(hidden))


def end_call(world: World, call_id: str, owner: Owner) -> None:
    tag = world.tag(world.tags("tool", call_id, owner))
    world.emit("TOOL_CALL_END", tag, world.hides(owner), toolCallId=call_id)


def call_opener(world: World, owner: Owner) -> tuple[str, Json, list[Owner]]:
    """A call to open: its id, the other members of its opener, and the tags that leave it with its owner."""
    if world.chance(4) and (again := _reopened(world, owner)):
        return again
    parent, shared = _parent(world, owner), None
    if parent and world.may("shared_ids") and not world.secrets and world.chance(3):
        shared = _foreign_message_id(world, owner, parent)
    call_id = world.fresh("c", owner) if shared is None else shared
    tags = call_tags(world, call_id, parent, owner)
    world.calls[call_id] = Call(owner, world.name(world.hides(owner)), parent, shared=shared is not None)
    return call_id, _members(world.calls[call_id].name, parent), tags


def _members(name: str, parent: str | None) -> Json:
    return {"toolCallName": name} | ({} if parent is None else {"parentMessageId": parent})


def _reopened(world: World, owner: Owner) -> tuple[str, Json, list[Owner]] | None:
    closed = world.closed("tool", owner)
    if not closed:
        return None
    call_id = world.pick(closed)
    known, carried = world.calls[call_id], world.reader.conversation.holder(call_id) is not None
    # A call that is carried by no message mints one; under a foreign or shared id that would take another's message.
    own_parent = known.parent is None or world.texts.get(known.parent, owner) == owner
    if not carried and (known.shared or not own_parent):
        return None
    parent = None if known.parent in world.activities else world.pick((None, known.parent))
    tags = call_tags(world, call_id, parent, owner)
    return (call_id, _members(known.name, parent), tags) if tags else None


def _parent(world: World, owner: Owner) -> str | None:
    """The message to carry a fresh call: none, one of the owner's, one that does not exist, another call's."""
    choice = world.below(8)
    if choice in (1, 2, 3):
        own = [id_ for id_ in world.owned("text", owner) if id_ not in world.activities]
        if choice == 3:
            own += world.owned("reasoning", owner) + world.shown_activities(owner)
        own = [id_ for id_ in own if call_tags(world, None, id_, owner)]
        return world.pick(own[::-1]) if own else None
    if choice == 4:
        return world.fresh("m", owner)
    if choice == 5 and owner is not None and world.may("foreign_holders"):
        return next(iter(_foreign_holders(world)), None)
    return None


def _foreign_holders(world: World) -> list[str]:
    """Messages of the parent that only a call minted: the client lets a subagent's call into them."""
    minted = [m for m in world.messages if m["role"] == "assistant" and m["id"] not in world.owners["message"]]
    return [m["id"] for m in minted if m["id"] and world.texts[m["id"]] is None and "subagentRunId" not in m]


def _foreign_message_id(world: World, owner: Owner, parent: str) -> str | None:
    """Another's message id for a call, which is safe while an assistant message of the owner carries the call."""
    carrier = world.reader.conversation.find(parent)
    if carrier is None or carrier["role"] != "assistant" or not parent:
        return None
    foreign = [id_ for id_, known in world.texts.items() if known != owner and id_ not in world.calls]
    return world.pick(foreign) if foreign else None


def call_tags(world: World, call_id: str | None, parent: str | None, owner: Owner) -> list[Owner]:
    """The tags under which a START of `call_id` in `parent` is valid and leaves the call with `owner`.

    Empty where none is. An untagged call is whoever's the message is that it names, else its first opener's.
    """
    carrier = UNKNOWN if parent is None else world.owners["message"].get(parent, UNKNOWN)
    known = UNKNOWN if call_id is None else world.owners["tool"].get(call_id, UNKNOWN)
    owned, unowned = (UNKNOWN, owner), (UNKNOWN, None)
    if owner is None:
        return [None] if carrier in unowned and known in unowned else []
    tags: list[Owner] = [owner] if carrier in owned and known in owned else []
    agree = UNKNOWN in (carrier, known) or carrier == known
    inherited = carrier == owner or (carrier is UNKNOWN and known == owner)
    if agree and (inherited or (carrier in unowned and known in unowned and _late(world, call_id, parent, owner))):
        tags.append(None)
    return tags


def _late(world: World, call_id: str | None, parent: str | None, owner: Owner) -> bool:
    return world.shown_earlier("tool", call_id, owner) or (
        parent in world.texts and world.texts[parent] == owner and world.shown_earlier("message", parent, owner)
    )


def note_holder(world: World, call_id: str, owner: Owner) -> None:
    """The message that a call minted is its owner's."""
    holder = world.reader.conversation.holder(call_id)
    if holder is not None and holder["id"] not in world.texts:
        world.texts[holder["id"]] = owner


def answer(world: World) -> None:
    """A result, by the call's owner or by anyone else. Without an unanswered call, a new call."""
    if not world.may("results"):
        return call(world)
    if world.may("stray_results") and world.chance(16):
        return _result(world, world.fresh("c", None), None, None)
    unanswered = [id_ for id_, known in world.calls.items() if not known.answered]
    if not unanswered:
        return call(world)
    call_id = world.pick(unanswered[::-1])
    owner = world.calls[call_id].owner
    executors = (owner, owner, None, *world.subagents)
    return _result(world, call_id, owner, world.pick(executors))


def _result(world: World, call_id: str, owner: Owner, executor: Owner) -> None:
    if not same_place_when_hidden(world, call_id, owner):
        return
    hidden, message = world.hides(owner), world.fresh("t", owner)
    members: Json = {"content": world.content(hidden, parts=world.may("result_parts"))}
    if world.chance(3):
        members["role"] = "tool"
    world.results[message] = owner
    if call_id in world.calls:
        world.calls[call_id].answered = True
    world.emit("TOOL_CALL_RESULT", executor, hidden, messageId=message, toolCallId=call_id, **members)


def same_place_when_hidden(world: World, call_id: str, owner: Owner) -> bool:
    """Whether a client that sees no subagent puts the result behind the same message.

    Where a subagent's message stands between a call and a tool message that follows it, it would not, and no filter can
    help: such a result is not drawn.
    """
    if owner is not None:
        return True
    shown = [message for message in world.messages if world.owner_of(message) is None]
    place = result_place(world.messages, call_id)
    before = [message for message in world.messages[:place] if world.owner_of(message) is None]
    return len(before) == result_place(shown, call_id)
