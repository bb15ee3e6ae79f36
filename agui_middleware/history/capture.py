"""Compare what a response gives the client with what the agent said, and keep the difference."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from agui_middleware.config.readers import Reader
from agui_middleware.downgrades import Difference
from agui_middleware.history.beginnings import Beginnings
from agui_middleware.history.differences import kept_of
from agui_middleware.history.readings import differences_of, reading_of
from agui_middleware.history.record import Kept, keys_of, next_stamp
from agui_middleware.history.texts import METADATA, SharedTexts, untagged
from agui_middleware.protocol.budget import Budget
from agui_middleware.protocol.chunk_lanes import ID_OF
from agui_middleware.protocol.conversation import Conversation
from agui_middleware.protocol.errors import EventTooLarge
from agui_middleware.protocol.event import Event, MalformedEvent
from agui_middleware.protocol.event_kind import CALL, THINKING, THINKING_SPAN
from agui_middleware.protocol.event_types import TOKENS, types_about
from agui_middleware.protocol.posted import Posted
from agui_middleware.protocol.releases import ClientVersion

_OF_CALLS: Final = types_about(CALL)
_THINKING: Final = types_about(THINKING, THINKING_SPAN)
_RESTATES: Final = frozenset({"MESSAGES_SNAPSHOT", "ACTIVITY_SNAPSHOT"})
"""The types that put other messages in the place of those that there are."""
_MAX_STAMPS: Final = 8  # no more of its earlier records can still be in the store
_LOSES_REASONING: Final = frozenset({Difference.OTHER_REASONING, Difference.WITHOUT_EARLIER, Difference.SNAPSHOT_ORDER})


class Capture:
    """Follows one response on both sides of the filters: `agent_sent` before them, `client_got` behind them.

    - `given`: what the agent was given, the restored conversation.
    - `posted`: what the client has posted, upgraded, before it was restored.
    - `kept`: the record by which it was restored, if there was one.
    - `client`: the release, or the SDK, that reads the response. `None`: one that reads everything.
    - `limit`: how many bytes may be held until the response ends. Where more would have to be, nothing is kept: `finish`
      returns `None`.

    Neither method raises for what the wire brings. A token that passes as the very same event, or without its tag alone,
    costs a few comparisons, and all of these together 64 KiB at most.
    """

    __slots__ = (
        "_base",
        "_beginnings",
        "_calls",
        "_canonical",
        "_client",
        "_given",
        "_has_thought",
        "_kept",
        "_our_lanes",
        "_posted",
        "_read",
        "_stamps",
        "_texts",
        "_their_lanes",
        "has_given_up",
    )

    def __init__(
        self, given: Posted, posted: Posted, kept: Kept | None, client: ClientVersion | Reader | None, limit: int
    ) -> None:
        self._given = given
        self._posted = posted
        self._kept = kept
        self._client = client
        self.has_given_up: bool = False
        """More would have to be held than may be: nothing is kept."""
        self._read = [chain.stamp for chain in kept.chains] if kept is not None else []
        self._stamps = [next_stamp(self._read)]
        self._has_thought = False  # THINKING_* name no message, and each client makes one up
        budget, reading = Budget(limit), reading_of(client)
        self._canonical = Conversation(given.messages, budget=budget)
        self._base = Conversation(posted.messages, reading, budget)
        keeps = not differences_of(client) & _LOSES_REASONING
        self._our_lanes = self._canonical.lanes.open
        self._their_lanes = self._base.lanes.open
        self._beginnings = Beginnings()
        sides, restated = (self._canonical, self._base, self._beginnings), reading.snapshots
        self._texts = SharedTexts(*sides, of_calls=False, reasoning=keeps, restated=restated)
        self._calls = SharedTexts(*sides, of_calls=True, restated=restated)

    def agent_sent(self, event: Event) -> None:
        """Take an event of the agent's, in the order in which it sent them."""
        if not self.has_given_up:
            try:
                self._agent_sent(event)
            except EventTooLarge:
                self._give_up()

    def _agent_sent(self, event: Event) -> None:
        type = event.head.type
        if type in TOKENS:
            if self._our_lanes:
                self._canonical.lanes.close(event)
            texts, id = self._texts_of(event, type)
            if id.__class__ is str and not texts.kept_alone(event, id):
                texts.agent_sent(event, id)
            return
        if type in _RESTATES:
            self._texts.flush()
            self._calls.flush()
        elif type in _THINKING:
            self._has_thought = True
        if type in ID_OF:
            self._agent_sent_chunk(event)
        else:
            self._canonical.take(event)

    def client_got(self, event: Event) -> None:
        """Take an event that the client is sent, in order."""
        if not self.has_given_up:
            try:
                self._client_got(event)
            except EventTooLarge:
                self._give_up()

    def _client_got(self, event: Event) -> None:
        type = event.head.type
        if type in TOKENS:
            if self._their_lanes:
                self._base.lanes.close(event)
            texts, id = self._texts_of(event, type)
            if id.__class__ is str:
                texts.client_got(event, id)
            return
        if type in ID_OF:
            self._client_got_chunk(event)
            return
        if type in _RESTATES:
            self._texts.settle()
            self._calls.settle()
        self._base.take(event)

    def passed(self, event: Event) -> None:
        """Take an event for both sides that reaches the client unchanged, as nearly every token does."""
        type = event.head.type
        if type in TOKENS and not (self._our_lanes or self._their_lanes):
            texts, id = self._texts_of(event, type)
            if id.__class__ is str and texts.passes(event, id):
                return
        self.agent_sent(event)
        self.client_got(event)

    def replaced(self, event: Event, left: Event) -> None:
        """`agent_sent` of an event and `client_got` of the one that leaves for it: mostly a token that lost its tag."""
        type = event.head.type
        if type in TOKENS and type == left.head.type and not (self._our_lanes or self._their_lanes):
            texts, id = self._texts_of(event, type)
            if id.__class__ is str and texts.loses_its_tag(event, left, id):
                return
        self.agent_sent(event)
        self.client_got(left)

    def taker(self, token: Event, written: bytes) -> Callable[[bytes], bool] | None:
        """See `Observer.taker`: for a token that passes, loses its tag alone, or is dropped."""
        texts, id = self._texts_of(token, token.head.type)
        if id.__class__ is not str or token.raw.find(METADATA) >= 0:
            return None
        if not written:
            return partial(self._takes_alone, texts, id)
        return partial(texts.takes, id) if written[6:-2] in (token.raw, untagged(token)) else None

    def _takes_alone(self, texts: SharedTexts, id: str, token: bytes) -> bool:
        try:
            return texts.alone.take(id, token)
        except EventTooLarge:
            self._give_up()
            return True

    def _texts_of(self, token: Event, type: str) -> tuple[SharedTexts, Any]:
        """What takes a token, and the id of the entity that it is for."""
        return (self._calls, token.head.toolCallId) if type in _OF_CALLS else (self._texts, token.head.messageId)

    def finish(self) -> Kept | None:
        """Return what is to be kept of the response so far; `None` if there is nothing, or more than the limit.

        It may be called before the end, and again: a later result replaces an earlier one.
        """
        if self.has_given_up:
            return None
        try:
            self._texts.flush()
            self._calls.flush()
            ours, theirs = self._canonical.messages(), self._base.messages()
            if self._has_thought:
                said = {head.id for head, _ in ours}
                theirs = [each for each in theirs if each[0].role != "reasoning" or each[0].id in said]
            kept = kept_of(ours, theirs, self._given, self._posted, self._client, self._kept, self._beginnings)
        except MalformedEvent:
            return None
        except EventTooLarge:
            self._give_up()
            return None
        self._stamp(kept)
        return None if kept.is_empty else kept

    def _stamp(self, kept: Kept) -> None:
        stamp, heads = self._stamps[-1], [head for head, _ in self._posted.messages]
        asked = bool(heads) and heads[-1].role == "user"
        for chain in kept.chains:
            chain.stamp, chain.seen = stamp, [*self._read, *self._stamps[:-1]]
            chain.question = keys_of(heads)[-1] if asked else ""
        self._stamps = [*self._stamps[-_MAX_STAMPS:], stamp + 1]

    def _give_up(self) -> None:
        self.has_given_up = True
        self._canonical = self._base = Conversation()
        self._texts.forget()
        self._calls.forget()

    def _agent_sent_chunk(self, chunk: Event) -> None:
        try:
            target = self._canonical.open_chunk(chunk)
        except MalformedEvent:
            return
        if target is not None:
            (self._calls if target[1] else self._texts).agent_sent(chunk, target[0])

    def _client_got_chunk(self, chunk: Event) -> None:
        try:
            target = self._base.open_chunk(chunk)
        except MalformedEvent:
            return
        if target is not None:
            (self._calls if target[1] else self._texts).client_got(chunk, target[0])
