"""Texts that agent and client share: their tokens are not kept.

Nearly every token reaches the client as the agent has sent it, or without its tag. Of such a text nothing needs to be
remembered but that both have it: a mark stands for what is left out, in both conversations. Only where the client gets
something else do both keep what comes from there on.
"""

from collections import deque
from contextlib import suppress
from typing import Final

from agui_middleware.history.beginnings import Beginnings
from agui_middleware.history.unread_tokens import UnreadTokens
from agui_middleware.protocol.budget import OVERHEAD
from agui_middleware.protocol.chunk_lanes import ID_OF, delta_of
from agui_middleware.protocol.conversation import Conversation
from agui_middleware.protocol.conversation_entries import Call, Entry
from agui_middleware.protocol.event import Event, MalformedEvent
from agui_middleware.protocol.tag_cuts import cut_tag

METADATA: Final = b'"metadata"'
_MAX_LEFT: Final = 32 * 1024  # bytes of tokens that are left out and not digested yet, see `Beginnings`
_EACH: Final = 64  # as many more for each mark: all are looked at then
_MARK: Final = 4 * OVERHEAD
"""What a mark counts, with its digest."""


class SharedTexts:
    """Takes the tokens of agent and client, and leaves out of two conversations what they share.

    - `of_calls`: the tokens are the arguments of tool calls, else the texts of messages.
    - `reasoning`: whether the texts of reasoning may be left out too. Of a client that drops reasoning at a snapshot, all of
      it has to be kept.
    - `restated`: whether the client applies snapshots. If not, its text has to be compared with the one in a snapshot.
    """

    __slots__ = (
        "_base",
        "_beginnings",
        "_canonical",
        "_last",
        "_last_id",
        "_left",
        "_of_calls",
        "_reasoning",
        "_restated",
        "_shared",
        "_waiting",
        "alone",
    )

    alone: UnreadTokens
    """Those of entities that the client has not."""

    def __init__(
        self,
        canonical: Conversation,
        base: Conversation,
        beginnings: Beginnings,
        *,
        of_calls: bool,
        reasoning: bool = True,
        restated: bool = True,
    ) -> None:
        self._canonical = canonical
        self._base = base
        self._beginnings = beginnings
        self._of_calls = of_calls
        self._reasoning = reasoning
        self._restated = restated
        self._left = 0
        self._waiting: dict[str, deque[Event]] = {}  # by entity, the agent's tokens that the client has not got yet
        # What has its mark in both conversations, as far as is known since `settle`, with what was left out of it.
        self._shared: dict[str, list[bytes]] = {}
        self.alone = UnreadTokens(canonical, of_calls=of_calls)
        self._last: Event | None = None
        self._last_id = ""

    def agent_sent(self, token: Event, id: str) -> None:
        """Take a token of the agent, for the entity `id`."""
        if id in self.alone:
            self.alone.read(id)
        if self._last is not None:
            self._wait()
            if token.head.type not in ID_OF and self.kept_alone(token, id):
                return
        self._last = token
        self._last_id = id

    def client_got(self, token: Event, id: str) -> None:
        """Take a token that the client gets, for the entity `id`."""
        if id in self.alone:
            self.alone.read(id)
        last = self._last
        if last is not None:
            self._last = None
            if id == self._last_id and (
                self.passes(token, id) if last is token else self.loses_its_tag(last, token, id)
            ):
                return
            self._last = last
            self._wait()
        self._match(token, id)

    def passes(self, token: Event, id: str) -> bool:
        """Whether a token that both have need not be taken at all; otherwise it is for `agent_sent` and `client_got`."""
        return token.raw.find(METADATA) < 0 and self.takes(id, token.raw)

    def loses_its_tag(self, sent: Event, token: Event, id: str) -> bool:
        """As `passes`, of a token that the client gets without its tag, as far as a look at the bytes tells."""
        return sent.raw.find(METADATA) < 0 and token.raw == untagged(sent) and self.takes(id, sent.raw)

    def takes(self, id: str, token: bytes) -> bool:
        """As `passes` and `loses_its_tag`, of the bytes of a token that is like one before: see `Observer.taker`."""
        tokens = self._shared.get(id)
        if tokens is None or self._last is not None or id in self._waiting:
            return False
        self._leave_out(token, tokens)
        return True

    def kept_alone(self, token: Event, id: str) -> bool:
        """Whether a token of the agent's is kept as it came; otherwise it is for `agent_sent`."""
        return id in self.alone and token.raw.find(METADATA) < 0 and self.alone.take(id, token.raw)

    def settle(self) -> None:
        """Forget which texts are shared: something else is about to change the conversations."""
        self._shared.clear()
        self.alone.read_all()
        if self._last is not None:
            self._wait()

    def flush(self) -> None:
        """The agent restates its conversation, or its stream has ended: what waits is the agent's alone."""
        self.settle()
        for id in list(self._waiting):
            self._diverge(id)

    def forget(self) -> None:
        """Let go of everything: nobody asks any more."""
        self._canonical = self._base = Conversation()
        self.alone = UnreadTokens(self._canonical, of_calls=self._of_calls)
        self._waiting.clear()
        self._shared.clear()
        self._last = None

    def _leave_out(self, token: bytes, tokens: list[bytes]) -> None:
        tokens.append(token)
        self._left += len(token)
        if self._left > _MAX_LEFT:
            self._left = -_EACH * self._beginnings.fold()

    def _wait(self) -> None:
        token, id = self._last, self._last_id
        assert token is not None  # asked by the callers
        self._last = None
        if self._can_share(token, id):
            self._canonical.budget.hold(_size(token))
            self._waiting.setdefault(id, deque()).append(token)
        else:
            self._diverge(id)
            self._keep(self._canonical, token, id)
            if token.head.type not in ID_OF and self._target(self._base, id) is None:
                self.alone.open(id)

    def _match(self, token: Event, id: str) -> None:
        """Leave out a token that the client now gets as the agent sent it, or have both sides keep theirs."""
        waiting = self._waiting.get(id)
        if waiting:
            while len(waiting) > 1 and _delta(waiting[0]) == "" != _delta(token):
                self._release(waiting[0])
                self._keep(self._canonical, waiting.popleft(), id)
            first = waiting[0]
            mark = self._mark(id) if first is token or _delta(first) == _delta(token) else None
            if mark is not None:
                self._release(waiting.popleft())
                self._leave_out(first.raw, tokens := self._beginnings.tokens(mark))
                if not waiting:
                    del self._waiting[id]
                    self._shared[id] = tokens
                return
            self._diverge(id)
        self._keep(self._base, token, id)

    def _release(self, token: Event) -> None:
        self._canonical.budget.release(_size(token))

    def _keep(self, side: Conversation, token: Event, id: str) -> None:
        if token.head.type in ID_OF:  # all but its delta has been applied
            side.append(id, self._of_calls, _delta(token) or "")
        else:
            with suppress(MalformedEvent):
                side.take_content(token, id, self._of_calls)

    def _diverge(self, id: str) -> None:
        waiting = self._waiting.pop(id, None)
        self._shared.pop(id, None)
        if waiting is None:
            return
        for token in waiting:
            self._release(token)
            self._keep(self._canonical, token, id)
        ours = self._target(self._canonical, id)
        if ours is not None and any(_delta(token) for token in waiting):
            ours.marker = (ours.marker,)  # no more like the client's

    def _target(self, side: Conversation, id: str) -> Entry | Call | None:
        return side.call(id) if self._of_calls else side.find(id)

    def _both(self, id: str) -> tuple[Entry | Call, Entry | Call] | None:
        """The entity in both conversations, where both have had the same of it so far."""
        ours, theirs = self._target(self._canonical, id), self._target(self._base, id)
        if ours is None or theirs is None or ours.marker != theirs.marker:
            return None
        if ours.marker is None and ours.so_far() != theirs.so_far():
            ours.marker = (None,)  # compared once, and not at each token of a long text
            return None
        return ours, theirs

    def _can_share(self, token: Event, id: str) -> bool:
        if not self._restated or token.may_contain(b'"metadata"'):
            return False
        ours = self._target(self._canonical, id)
        if isinstance(ours, Entry) and ours.role == "reasoning" and not self._reasoning:
            return False
        return self._both(id) is not None

    def _mark(self, id: str) -> str | None:
        """Put a mark into both conversations for the tokens left out. Return it, or `None` if they differ already."""
        both = self._both(id)
        if both is None:
            return None
        if both[0].marker is None:
            self._canonical.budget.hold(_MARK)
            mark = self._beginnings.new(both[1].so_far())
            for target in both:
                target.marker = mark
                target.append(mark)
        return str(both[0].marker)


def untagged(token: Event) -> bytes | None:
    """A token without its tag, as far as a look at the bytes tells where that is."""
    tag = token.head.subagentRunId
    return cut_tag(token.raw, tag) if tag.__class__ is str else None


def _size(token: Event) -> int:
    return OVERHEAD + len(token.raw)


def _delta(token: Event) -> str | None:
    try:
        return delta_of(token)
    except MalformedEvent:
        return None
