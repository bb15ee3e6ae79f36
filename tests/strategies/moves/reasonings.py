"""Reasoning spans and messages, and the encrypted values of any entity."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..reader import Bucket, Owner
    from ..world import World


def reasoning(world: World) -> None:
    if not world.may("reasoning"):
        return
    owner = world.actor()
    messages, spans = world.open("reasoning", owner), world.open("span", owner)
    choice = world.below(6)
    if choice in (2, 3) and spans:
        end_span(world, world.pick(spans), owner)
        if world.chance(2):
            _start_span(world, owner)
    elif choice >= 4 and messages:
        _add_reasoning(world, world.pick(messages), owner)
    elif choice == 3 and messages:
        end_reasoning(world, world.pick(messages), owner)
    elif choice in (1, 2):
        _start_span(world, owner)
    else:
        _start_reasoning(world, reasoning_id(world, owner), owner)


def reasoning_id(world: World, owner: Owner) -> str:
    """A fresh id, one to reopen, or the one of the owner's span."""
    spans = [id_ for id_ in world.open("span", owner) if id_ not in world.reasoning and id_ not in world.texts]
    if spans and world.chance(2):
        return world.pick(spans)
    if world.chance(3) and (closed := world.closed("reasoning", owner)):
        return world.pick(closed)
    return world.fresh("r", owner)


def _start_span(world: World, owner: Owner) -> None:
    span = _span_id(world, owner)
    tags = world.tags("reasoning", span, owner)
    world.spans[span] = owner
    world.emit("REASONING_START", world.tag(tags, opens=True), world.hides(owner), messageId=span)
    if world.chance(2):
        _start_reasoning(world, reasoning_id(world, owner), owner)


def _span_id(world: World, owner: Owner) -> str:
    open_, choice = world.reader.verification.open["span"], world.below(6)
    ids: list[str] = []
    if choice in (2, 3, 4):
        ids = world.closed("span", owner)
    elif choice == 1:
        ids = [id_ for id_ in world.owned("reasoning", owner) if id_ not in open_]
    elif choice == 5 and world.may("shared_ids") and not world.secrets:
        taken = {**world.spans, **world.reasoning}
        ids = [id_ for id_, known in world.texts.items() if known != owner and id_ not in taken]
    return world.pick(ids) if ids else world.fresh("r", owner)


def _start_reasoning(world: World, message: str, owner: Owner) -> None:
    tags = world.tags("reasoning", message, owner)
    world.reasoning[message] = owner
    tag, hidden = world.tag(tags, opens=True), world.hides(owner)
    world.emit("REASONING_MESSAGE_START", tag, hidden, messageId=message, role="reasoning")
    if world.chance(2):
        for _ in range(world.below(3)):
            _add_reasoning(world, message, owner)
        end_reasoning(world, message, owner)


def _add_reasoning(world: World, message: str, owner: Owner) -> None:
    hidden = world.hides(owner)
    tag = world.tag(world.tags("reasoning", message, owner))
    world.emit("REASONING_MESSAGE_CONTENT", tag, hidden, messageId=message, delta=world.delta(hidden))


def end_reasoning(world: World, message: str, owner: Owner) -> None:
    tag = world.tag(world.tags("reasoning", message, owner))
    world.emit("REASONING_MESSAGE_END", tag, world.hides(owner), messageId=message)


def end_span(world: World, span: str, owner: Owner) -> None:
    tag = world.tag(world.tags("reasoning", span, owner))
    world.emit("REASONING_END", tag, world.hides(owner), messageId=span)


def encrypted_value(world: World) -> None:
    """A blob for a call, a text, a reasoning message, or for something the stream never shows."""
    if not world.may("encrypted_values"):
        return
    owner = world.actor()
    hidden = world.hides(owner)
    targets = _targets(world, owner)
    known = not world.chance(6) and [target for target in targets if target[1]]
    bucket, ids, subtype = world.pick(known or targets)
    entity = world.pick(ids[::-1]) if known else world.fresh("e", owner)
    tag, value = world.tag(world.tags(bucket, entity, owner)), world.text(hidden)
    world.emit("REASONING_ENCRYPTED_VALUE", tag, hidden, subtype=subtype, entityId=entity, encryptedValue=value)


def _targets(world: World, owner: Owner) -> list[tuple[Bucket, list[str], str]]:
    # The client looks among texts first, then among reasoning, where another's span may have the id.
    texts = world.owners["message"]
    messages = [id_ for id_ in world.owned("text", owner) if id_ in texts or world.spans.get(id_, owner) == owner]
    reasoning_ids = [id_ for id_ in world.owned("reasoning", owner) if id_ not in texts]
    return [
        ("reasoning", reasoning_ids, "message"),
        ("tool", world.owned("tool", owner), "tool-call"),
        ("message", messages, "message"),
    ]
