"""Text messages in START, CONTENT and END."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..reader import Json, Owner
    from ..world import World


def text(world: World) -> None:
    owner = world.actor()
    open_ = world.open("text", owner)
    if not open_ or world.chance(3):
        start_text(world, owner)
    elif world.chance(3):
        end_text(world, world.pick(open_), owner)
    else:
        add_text(world, world.pick(open_), owner)


def start_text(world: World, owner: Owner) -> None:
    message = text_id(world, owner)
    tags = world.tags("message", message, owner)
    members = text_opener(world, owner)
    world.texts[message] = owner
    world.emit("TEXT_MESSAGE_START", world.tag(tags, opens=True), world.hides(owner), messageId=message, **members)
    if world.chance(2):
        for _ in range(world.below(3)):
            add_text(world, message, owner)
        end_text(world, message, owner)


def add_text(world: World, message: str, owner: Owner) -> None:
    hidden = world.hides(owner)
    tag = world.tag(world.tags("message", message, owner))
    world.emit("TEXT_MESSAGE_CONTENT", tag, hidden, messageId=message, delta=world.delta(hidden))


def end_text(world: World, message: str, owner: Owner) -> None:
    tag = world.tag(world.tags("message", message, owner))
    world.emit("TEXT_MESSAGE_END", tag, world.hides(owner), messageId=message)


def text_id(world: World, owner: Owner) -> str:
    """A fresh id, one to reopen, or now and then an activity's, where the client drops the text."""
    choice = world.below(8)
    ids: list[str] = []
    if choice in (5, 6):
        ids = [id_ for id_ in world.closed("text", owner) if id_ not in world.activities]
    elif choice == 7 and world.may("activity_texts"):
        open_ = world.reader.verification.open["text"]
        ids = [id_ for id_ in world.shown_activities(owner) if id_ not in open_]
    return world.pick(ids) if ids else world.fresh("m", owner)


def text_opener(world: World, owner: Owner) -> Json:
    """`role` and `name`, each where drawn."""
    roles: tuple[str | None, ...] = ("assistant",)
    roles += (None, "assistant") if world.may("absent_roles") else ()
    roles += ("user", "system", "developer") if world.may("roles") else ()
    role = world.pick(roles)
    members: Json = {} if role is None else {"role": role}
    if world.chance(8):
        members["name"] = world.name(world.hides(owner))
    return members
