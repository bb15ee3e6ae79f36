"""The chunk shorthand: lanes of several owners, ids and tags left out wherever the client can still resolve them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..reader import FORMS, InvalidStream, Json, Owner
from .calls import call_opener, note_holder
from .reasonings import reasoning_id
from .texts import text_id, text_opener

if TYPE_CHECKING:
    from ..reader.lanes import Pending
    from ..world import World


def chunk(world: World) -> None:
    """A few chunks in a row, since any other event of their owners ends the streams."""
    for _ in range(1 + world.below(4) if world.may("chunks") else 0):
        lanes = list(world.reader.lanes.pending.items())
        if lanes and world.chance(2):
            _continue(world, *world.pick(lanes[::-1]))
        else:
            _open(world)


def _continue(world: World, lane: Owner, pending: Pending) -> None:
    form = pending.form
    type_ = next(type_ for type_, known in FORMS.items() if known is form)
    hidden = world.hides(_owner(world, pending))
    tag, members = world.pick(_addresses(world, lane, pending))
    for member in form.opener:
        if member in pending.opener and world.chance(6):
            members[member] = pending.opener[member]
    if not world.chance(8):
        members["delta"] = world.arguments(hidden) if form.kind == "tool" else world.delta(hidden)
    world.emit(type_, tag, hidden, **members)


def _addresses(world: World, lane: Owner, pending: Pending) -> list[tuple[Owner, Json]]:
    """The ways to say which stream is meant, barest first."""
    form = pending.form
    addresses: list[tuple[Owner, Json]] = [(None, {form.id: pending.id})]
    try:
        if world.reader.lanes.lane_of(form.kind, None, None) == lane:
            addresses.insert(0, (None, {}))
    except InvalidStream:
        pass  # several lanes could take a bare chunk
    if lane is not None:
        addresses[-1:-1] = [(lane, {})]
        addresses.append((lane, {form.id: pending.id}))
    return addresses


def _owner(world: World, pending: Pending) -> Owner:
    """Whose the stream is. Its lane does not tell: an untagged reopening takes the parent's."""
    if pending.form.kind == "tool":
        return world.calls[pending.id].owner
    if pending.form.kind == "reasoning":
        return world.reasoning[pending.id]
    return world.texts[pending.id]


def _open(world: World) -> None:
    types = [type_ for type_, form in FORMS.items() if form.kind != "reasoning" or world.may("reasoning")]
    type_, owner = world.pick(types), world.actor()
    form, hidden = FORMS[type_], world.hides(owner)
    if form.kind == "tool":
        entity, members, tags = call_opener(world, owner)
        delta = world.arguments(hidden)
    elif form.kind == "text":
        entity, members = text_id(world, owner), text_opener(world, owner)
        tags, delta = world.tags("message", entity, owner), world.delta(hidden)
        world.texts[entity] = owner
    else:
        entity, members = reasoning_id(world, owner), {}
        tags, delta = world.tags("reasoning", entity, owner), world.delta(hidden)
        world.reasoning[entity] = owner
    if not world.chance(5):
        members["delta"] = delta
    world.emit(type_, world.tag(tags, opens=True), hidden, **{form.id: entity}, **members)
    if form.kind == "tool":
        note_holder(world, entity, owner)
