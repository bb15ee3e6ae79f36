"""What is patched: the run's state, and activities."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from ..reader.patch import patched
from ..words import FALSY

if TYPE_CHECKING:
    from ..reader import Json, Owner
    from ..world import World


def state(world: World) -> None:
    """A snapshot or a delta. The tag says who sent it and hides nothing: the state is the run's."""
    if not world.may("state"):
        return
    tag = world.actor()
    if world.chance(2):
        delta = _patch(world, world.reader.conversation.state, secret=False)
        world.emit("STATE_DELTA", tag, delta=delta)
    elif world.may("falsy_state") and world.chance(4):
        world.emit("STATE_SNAPSHOT", tag, snapshot=world.pick(FALSY))
    else:
        snapshot = {"a": world.value(), "list": [1, "two"], "é/~": world.get_object()}
        world.emit("STATE_SNAPSHOT", tag, snapshot=snapshot)


def activity(world: World) -> None:
    if not world.may("activities"):
        return
    known = list(world.activities.items())
    if not known or world.chance(3):
        _create(world, world.actor())
    else:
        world.pick((_change, _change, _replace, _keep))(world, *world.pick(known))


def _create(world: World, owner: Owner) -> None:
    activity_id = world.fresh("a", owner)
    world.activities[activity_id] = owner
    members: Json = {"replace": world.chance(2)} if world.chance(3) else {}
    _snapshot(world, activity_id, owner, owner, members)


def _replace(world: World, activity_id: str, owner: Owner) -> None:
    """A replacing snapshot re-mints the activity: without its tag it would become the parent's."""
    tag = owner
    if world.reown and world.chance(2):
        tag = world.activities[activity_id] = None
    _snapshot(world, activity_id, tag, owner, {"replace": True} if world.chance(3) else {})


def _keep(world: World, activity_id: str, owner: Owner) -> None:
    """A snapshot that yields to a known activity."""
    tag = world.tag(world.tags("activity", activity_id, owner))
    _snapshot(world, activity_id, tag, owner, {"replace": False})


def _snapshot(world: World, activity_id: str, tag: Owner, owner: Owner, members: Json) -> None:
    hidden = world.hides(owner)
    kind, content = world.name(hidden), world.get_object(hidden)
    world.emit("ACTIVITY_SNAPSHOT", tag, hidden, messageId=activity_id, activityType=kind, content=content, **members)


def _change(world: World, activity_id: str, owner: Owner) -> None:
    hidden = world.hides(owner)
    message = world.reader.conversation.find(activity_id)
    patch = _patch(world, message["content"] if message else {}, hidden)
    tag = world.tag(world.tags("activity", activity_id, owner))
    kind = world.name(hidden)
    world.emit("ACTIVITY_DELTA", tag, hidden, messageId=activity_id, activityType=kind, patch=patch)


def _patch(world: World, document: Any, secret: bool) -> list[Json]:
    """One to three operations that apply to the document one after another, and now and then one that does not."""
    operations: list[Json] = []
    for _ in range(1 + world.below(3)):
        operation = _operation(world, document, secret)
        document = patched(document, [operation])
        operations.append(operation)
    if world.may("failing_patches") and world.chance(10):
        operations.append({"op": "remove", "path": "/no/such/path"})
    return operations


def _operation(world: World, document: Any, secret: bool) -> Json:
    if not isinstance(document, dict):
        return {"op": "replace", "path": "", "value": world.get_object(secret)}
    if not document or world.chance(3):
        return {"op": "add", "path": f"/{world.pick(('new', 'é~0~1', 'a'))}", "value": world.value(secret)}
    key = world.pick(list(document))
    value, path = document[key], f"/{key.replace('~', '~0').replace('/', '~1')}"
    if isinstance(value, list) and world.chance(2):
        return {"op": "add", "path": f"{path}/{world.pick(('-', '0'))}", "value": world.value(secret)}
    operation = world.pick(("replace", "test", "remove", "copy", "move"))
    if operation in ("copy", "move"):
        return {"op": operation, "from": path, "path": "/moved"}
    if operation == "remove":
        return {"op": operation, "path": path}
    value = copy.deepcopy(value) if operation == "test" else world.value(secret)
    return {"op": operation, "path": path, "value": value}
