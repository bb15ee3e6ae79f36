"""Texts and tool calls that are open at the same time, and other events between their pieces.

Clients up to 0.0.36 read one text or tool call at a time, reject every other event but RAW until it is closed, and append
content to their newest message whatever its id. So all other events are held back until the open text or call is closed:
texts and calls leave one after another, in the order in which they were opened, each in one piece.
"""

from collections import deque
from collections.abc import AsyncIterator, Iterator
from functools import partial
from itertools import chain
from typing import Any

import msgspec

from agui_middleware.downgrades.held_snapshot import HeldSnapshot, Key
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import EVERYTHING, handles
from agui_middleware.filters.source import EventSource, Keep
from agui_middleware.protocol.budget import Index
from agui_middleware.protocol.errors import EventTooLarge
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.event_kind import CALL, TEXT, Action
from agui_middleware.protocol.event_types import EVENT_KINDS, all_but

_STEP_OF = {Action.OPENS: "start", Action.CONTINUES: "content", Action.CLOSES: "end"}
# What each type does to a text or a tool call, and the member that names it.
_STEPS = {
    str(type): (_STEP_OF[kind.action], str(kind.about.id))
    for type, kind in EVENT_KINDS.items()
    if kind.about in (TEXT, CALL) and kind.action in _STEP_OF
}
_CONTENTS = frozenset(type for type, (step, _) in _STEPS.items() if step == "content")
_OTHERS = all_but(type for type, (step, _) in _STEPS.items() if step == "start")
_ENDS = {member: type for type, (step, member) in _STEPS.items() if step == "end"}


class Entity(msgspec.Struct, gc=False, eq=False):
    """A text or tool call that is held back, with its events so far."""

    key: Key
    era: int  # how many snapshots had come before it
    events: list[Event]
    closed: bool = False


class Line:
    """The text or call that is open at the client, and the events held back until it is closed."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._open: Key | None = None
        self._since = 0  # the era in which that began
        self._waiting: deque[Event | Entity | HeldSnapshot] = deque()
        self._entities: Index[Key, Entity] = Index(context.budget)  # those that wait, by key; of two, the second
        self._snapshots: deque[HeldSnapshot] = deque()
        self._ended: Index[Key, Any] = Index(context.budget)  # what was open at the newest of them, and is no more
        self._era = 0  # how many snapshots have come to wait

    @property
    def uninteresting(self) -> frozenset[str]:
        """What passes in any case: nothing while something waits; else the content of what is open, or all that opens
        nothing.
        """
        if self._waiting:
            return frozenset()
        return _OTHERS if self._open is None else _CONTENTS

    @property
    def alternates(self) -> bool:
        """Whether something waits, and no snapshot that content may belong to: content passes or waits as it comes then."""
        return bool(self._waiting) and not self._snapshots

    def keeper(self, content: Event) -> Keep | None:
        """What holds back content like this one; `None` where it is that of the open text or call, and passes.

        Of two texts that alternate, one passes and the other waits: nobody reads it before it leaves.
        """
        _, key = _step(content)
        if key == self._open:
            return None
        entity = self._entities.get(key) if key else None
        waiting: deque[Any] | list[Any] = self._waiting if entity is None or entity.closed else entity.events
        return partial(self._keep, waiting)

    def _keep(self, waiting: deque[Any] | list[Any], content: Event) -> bool:
        try:
            self._context.hold(content)
        except EventTooLarge:
            return False
        waiting.append(content)
        return True

    def take(self, event: Event) -> Iterator[Event]:
        """Take `event`, and yield the events that may leave now. Raises `EventTooLarge` if too much is held back."""
        step, key = _step(event)
        if self._open is None:
            self._open, self._since = key if step == "start" else None, self._era
            yield event
        elif event.head.type == "RUN_FINISHED":
            yield from self.leave(close=False)
            yield event
        elif event.head.type == "RUN_ERROR":
            yield from self.leave(close=True)
            yield from self.close()
            yield event
        elif key == self._open:  # also a second START, which the client rejects
            self._note(event, step, key, self._since)
            yield event
            if step == "end":
                self._end(key, self._since)
                self._open = None
                yield from self._advance()
        else:
            self._report(event)
            self._context.hold(event)
            self._wait(event, step, key)

    def close(self) -> Iterator[Event]:
        """The end of what is open."""
        if self._open is not None:
            member, id = self._open
            self._open = None
            yield Event(type=_ENDS[member], **{member: id})

    def leave(self, *, close: bool) -> Iterator[Event]:
        """Yield all that is held back, in order; with `close`, each behind the END of its predecessor."""
        while self._waiting:
            if close:
                yield from self.close()
            self._open = None
            yield from self._advance()

    def _advance(self) -> Iterator[Event]:
        """Yield held-back events up to a text or call that is still open."""
        while self._waiting and self._open is None:
            item = self._waiting.popleft()
            if isinstance(item, Entity):
                if self._entities.get(item.key) is item:  # a snapshot may stand between two of one id
                    del self._entities[item.key]
                self._open, self._since = None if item.closed else item.key, item.era
                for event in item.events:
                    self._context.release(event)
                    yield event
            elif isinstance(item, HeldSnapshot):
                self._snapshots.popleft()
                if not self._snapshots:
                    self._ended.clear()
                item.ids.clear()
                for event in (item.event, *chain.from_iterable(item.added.values())):
                    self._context.release(event)
                yield item.whole()
            else:
                self._context.release(item)
                yield item

    def _report(self, event: Event) -> None:
        """Report the loss if a call recreates the message of an unfinished text that a snapshot has deleted."""
        parent = event.head.parentMessageId
        if not isinstance(parent, str) or not self._snapshots:
            return
        if self._was_open(("messageId", parent)) and not self._snapshots[-1].restates(parent):
            self._context.lost("a text that goes on behind a snapshot", "what is added to it there", "0.0.37")

    def _was_open(self, key: Key) -> bool:
        """Whether it was open when the newest snapshot came."""
        entity, era = self._entities.get(key), self._snapshots[-1].era
        open = key == self._open and self._since <= era
        return open or key in self._ended or (entity is not None and not entity.closed and entity.era <= era)

    def _end(self, key: Key, since: int) -> None:
        if self._snapshots and since <= self._snapshots[-1].era:
            self._ended.add(key)

    def _wait(self, event: Event, step: str | None, key: Key | None) -> None:
        entity = self._entities.get(key) if key else None
        # A snapshot has the last word on what was there before it: what starts behind it is another entity.
        if key and step == "start" and (entity is None or (entity.closed and entity.era < self._era)):
            self._entities[key] = entity = Entity(key, self._era, [event])
            self._waiting.append(entity)
        elif key and entity is not None and (step == "start" or not entity.closed):
            self._continue(entity, event, step)
        elif event.head.type == "MESSAGES_SNAPSHOT":
            self._ended.clear()
            self._snapshots.append(HeldSnapshot(event, self._era, Index(self._context.budget)))
            self._waiting.append(self._snapshots[-1])
            self._era += 1
        else:
            self._waiting.append(event)

    def _continue(self, entity: Entity, event: Event, step: str | None) -> None:
        if step == "start" and entity.closed:
            self._context.release(event)
            self._context.release(entity.events.pop())
        else:  # also a second START, which the client rejects
            self._note(event, step, entity.key, entity.era)
            entity.events.append(event)
        entity.closed = step == "end"
        if entity.closed:
            self._end(entity.key, entity.era)

    def _note(self, event: Event, step: str | None, key: Key, since: int) -> None:
        """Remember content for messages that the newest held-back snapshot may restate."""
        if step == "content" and self._snapshots and since <= self._snapshots[-1].era:
            self._context.hold(event)
            self._snapshots[-1].added.setdefault(key, []).append(event)


def _step(event: Event) -> tuple[str | None, Key | None]:
    step, member = _STEPS.get(event.head.type, (None, ""))
    id = getattr(event.head, member) if step else None
    return (step, (member, id)) if isinstance(id, str) else (None, None)


@handles(EVERYTHING, except_=frozenset({"RAW"}))
async def without_interleaving(events: EventSource, context: Context) -> AsyncIterator[Event]:
    """Hold back other events while a text or tool call is open, until it is closed or the run ends.

    If the run fails, the open text or call is closed before RUN_ERROR. Raises `EventTooLarge` where more than
    `Settings.max_event_bytes` would wait.
    """
    line = Line(context)
    events.skipped = line.uninteresting
    keepers = dict.fromkeys(_CONTENTS, line.keeper)
    async for event in events:
        try:
            for leaving in line.take(event):
                yield leaving
        except EventTooLarge:
            for end in line.close():
                yield end
            raise
        events.skipped, events.keepers = line.uninteresting, keepers if line.alternates else {}
    for leaving in line.leave(close=True):
        yield leaving
