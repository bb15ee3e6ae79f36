"""Texts of which agent and client get the same: their tokens are not kept.

Nearly every token reaches the client as the agent has sent it, or without its tag. Of such a text nothing needs to be
remembered but that both have it: a mark stands for what is left out, in both conversations. Only where the client gets
something else do both keep what comes from there on.
"""

import secrets
from collections import deque
from contextlib import suppress
from typing import Final

from agui_middleware.protocol.budget import OVERHEAD
from agui_middleware.protocol.chunk_lanes import ID_OF
from agui_middleware.protocol.conversation import Conversation, delta_of
from agui_middleware.protocol.conversation_entries import Call, Entry
from agui_middleware.protocol.event import UNSET, Event, MalformedEvent

_TAG: Final = b',"subagentRunId":"'
_SPACED_TAG: Final = b', "subagentRunId": "'
_NONCE: Final = secrets.token_hex(8)  # no agent writes a mark of ours
_START: Final = f"\ue000{_NONCE}:"
_END: Final = "\ue000"


class SharedTexts:
    """Takes the tokens of agent and client, and leaves out of two conversations what they share.

    - `of_calls`: the tokens are the arguments of tool calls, else the texts of messages.
    - `reasoning`: whether the texts of reasoning may be left out too. Of a client that drops reasoning at a snapshot, all of
      it has to be kept.
    """

    __slots__ = (
        "_base",
        "_canonical",
        "_last",
        "_last_id",
        "_marks",
        "_of_calls",
        "_reasoning",
        "_shared",
        "_waiting",
    )

    def __init__(self, canonical: Conversation, base: Conversation, *, of_calls: bool, reasoning: bool = True) -> None:
        self._canonical = canonical
        self._base = base
        self._of_calls = of_calls
        self._reasoning = reasoning
        self._marks = 0
        self._waiting: dict[str, deque[Event]] = {}  # by entity, the agent's tokens that the client has not got yet
        self._shared: set[str] = set()  # what has its mark in both conversations, as far as is known since `settle`
        self._last: Event | None = None
        self._last_id = ""

    def agent_sent(self, token: Event, id: str) -> None:
        """A token of the agent, for the entity `id`."""
        if self._last is not None:
            self._wait()
        self._last = token
        self._last_id = id

    def client_got(self, token: Event, id: str) -> None:
        """A token that the client gets, for the entity `id`."""
        last = self._last
        if last is not None:
            if id in self._shared and id == self._last_id and self._passes(token, last, id):
                self._last = None
                return
            self._wait()
        self._match(token, id)

    def passes(self, token: Event, id: str) -> bool:
        """Whether a token that both have need not be taken at all; otherwise it is for `agent_sent` and `client_got`."""
        if self._last is not None or id not in self._shared or id in self._waiting:
            return False
        return token.raw.find(b'"metadata"') < 0

    def settle(self) -> None:
        """Something else is about to change the conversations: what both have is looked up anew."""
        self._shared.clear()
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
        self._waiting.clear()
        self._shared.clear()
        self._last = None

    def _passes(self, token: Event, sent: Event, id: str) -> bool:
        """Whether a token is the one that was sent just now, and nothing of its entity waits in front of it."""
        if not (sent is token or _is_untagged(token, sent)) or id in self._waiting:
            return False
        return token.raw.find(b'"metadata"') < 0

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

    def _match(self, token: Event, id: str) -> None:
        """Leave out a token that the agent has sent and the client now gets, or have both keep what they have."""
        waiting = self._waiting.get(id)
        if waiting:
            while len(waiting) > 1 and _delta(waiting[0]) == "" != _delta(token):
                self._release(waiting[0])
                self._keep(self._canonical, waiting.popleft(), id)
            first = waiting[0]
            if (first is token or _delta(first) == _delta(token)) and self._mark(id):
                self._release(waiting.popleft())
                if not waiting:
                    del self._waiting[id]
                    self._shared.add(id)
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
        self._shared.discard(id)
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
        if token.may_contain(b'"metadata"'):
            return False
        ours = self._target(self._canonical, id)
        if isinstance(ours, Entry) and ours.role == "reasoning" and not self._reasoning:
            return False
        return self._both(id) is not None

    def _mark(self, id: str) -> bool:
        """Have a mark stand in both conversations for what is left out; returns whether it does."""
        both = self._both(id)
        if both is None:
            return False
        if both[0].marker is None:
            self._marks += 1
            mark = f"{_START}{self._marks}{_END}"
            for target in both:
                target.marker = mark
                target.append(mark)
        return True


def cut(canonical: str, base: str) -> tuple[str, str, bool] | None:
    """What stands in two texts behind their marks, and whether they have any. `None`: they cannot be compared."""
    ours, theirs = canonical.rpartition(_START), base.rpartition(_START)
    if not (ours[1] or theirs[1]):
        return canonical, base, False
    (our_mark, _, our_tail), (their_mark, _, their_tail) = ours[2].partition(_END), theirs[2].partition(_END)
    comparable = ours[1] and theirs[1] and our_mark == their_mark
    return (our_tail, their_tail, True) if comparable else None


def is_cut(raw: bytes) -> bool:
    """Whether something is left out of a message."""
    return raw.find(_NONCE.encode()) >= 0


def _size(token: Event) -> int:
    return OVERHEAD + len(token.raw)


def _delta(token: Event) -> str | None:
    try:
        return delta_of(token)
    except MalformedEvent:
        return None


def _is_untagged(token: Event, sent: Event) -> bool:
    """Whether a token is what was sent but for its tag, as far as a look at the bytes tells."""
    tag = sent.head.subagentRunId
    if type(tag) is not str or token.head.subagentRunId is not UNSET:
        return False
    raw = sent.raw
    before, found, after = raw.partition(_TAG)
    if not found:
        before, found, after = raw.partition(_SPACED_TAG)
    return bool(found) and token.raw == before + after[len(tag.encode()) + 1 :]
