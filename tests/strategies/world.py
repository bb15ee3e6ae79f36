"""The state that the moves of a drawn run share: who owns what, what may be tagged, what has been emitted.

Everything the client would hold comes from the reader, which takes each event as it is drawn and raises at once if a move
was illegal. Beside it the world keeps what is true by construction: the owner of every id, for good. The client's own
verification knows that only until the next RUN_STARTED.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .reader import Bucket, Json, Owner, Reader
from .words import ODD_IDS, SECRET, Words

if TYPE_CHECKING:
    from hypothesis import strategies as st

    from .shapes import Shape

UNKNOWN: Any = object()
SLOTS = 4
"""How many subagents can act at once. An invocation that ended makes room for another."""
_ACTORS: tuple[int | None, ...] = (0, 1, None, None, 2, 1, 0, None, 3, 2, 4)  # 0: the parent, None: the last one again


@dataclass
class Call:
    """A tool call: its owner, and the opener's members that a reopening repeats."""

    owner: Owner
    name: str
    parent: str | None = None
    shared: bool = False
    answered: bool = False


class World(Words):
    """The stream drawn so far."""

    def __init__(self, draw: st.DrawFn, without: frozenset[Shape], secrets: bool, reown: bool) -> None:
        super().__init__(draw, without)
        self.secrets = secrets
        self.reown = reown
        self.reader = Reader()
        self.events: list[Json] = []
        self.texts: dict[str, Owner] = {}  # every message a text may continue: texts, messages minted by calls, history
        self.reasoning: dict[str, Owner] = {}
        self.spans: dict[str, Owner] = {}
        self.activities: dict[str, Owner] = {}
        self.results: dict[str, Owner] = {}  # tool messages, under the owner of the call they answer
        self.calls: dict[str, Call] = {}
        self.subagents: list[str] = []
        self.interrupts: list[str] = []  # named by a suspended subagent of this run
        self._earlier: set[tuple[Bucket, str]] = set()
        self._actor: Owner = None
        self._slots: dict[int, str] = {}
        self._ids = 0
        self._odd_ids = list(ODD_IDS) if self.may("odd_ids") and self.chance(8) else []
        self._tagging = self.pick(("every", "opener", "needed", "mixed"))
        self._decorating = self.chance(2)

    def emit(self, type_: str, tag: Owner = None, secret: bool = False, **members: Any) -> None:
        """Append an event, perhaps with some of the members that every event may have."""
        event: Json = {"type": type_, **members}
        if tag is not None:
            event["subagentRunId"] = tag
        if self._decorating:
            self._decorate(event, secret)
        if type_ == "RUN_STARTED":
            self._earlier.update((bucket, id_) for bucket, ids in self.owners.items() for id_ in ids)
            self.interrupts = []
        self.reader.feed(event)
        self.events.append(event)

    def _decorate(self, event: Json, secret: bool) -> None:
        choice = self.below(12)
        if choice == 9 and self.may("metadata"):
            event["metadata"] = self.metadata(secret) | event.get("metadata", {})
        elif choice == 10 and self.may("timestamps"):
            event["timestamp"] = self.pick((1700000000000, 0, -1, 2**53 - 1))
        elif choice == 11 and self.may("raw_events"):
            event["rawEvent"] = self.something(secret)

    @property
    def owners(self) -> dict[Bucket, dict[str, Owner]]:
        return self.reader.verification.owners

    @property
    def messages(self) -> list[Json]:
        return self.reader.conversation.messages

    def hides(self, owner: Owner) -> bool:
        """Whether what `owner` emits has to contain SECRET."""
        return self.secrets and owner is not None

    def fresh(self, prefix: str, owner: Owner) -> str:
        """An id that nothing in the stream has yet."""
        hidden = SECRET if self.hides(owner) else ""
        if self._odd_ids and not hidden and self.chance(4):
            return self._odd_ids.pop()
        self._ids += 1
        return f"{hidden}{prefix}{self._ids}"

    def actor(self) -> Owner:
        """Who acts next: the parent, the last one again, or a subagent: announced, unannounced or ended.

        A subagent is drawn by a slot of its own, so that deleting a move does not turn the moves behind it into another's.
        """
        if self.may("subagents"):
            slot = self.pick(_ACTORS)
            self._actor = self._actor if slot is None else self.subagent(slot)
        return self._actor

    def subagent(self, slot: int) -> Owner:
        """The subagent in a slot, which gets one now if it has none. The parent in slot 0."""
        if slot and slot not in self._slots:
            self.new_subagent(slot)
        return self._slots.get(slot)

    def new_subagent(self, slot: int) -> str:
        self._slots[slot] = self.fresh("s", "a subagent")
        self.subagents.append(self._slots[slot])
        return self._slots[slot]

    def owner_of(self, message: Json) -> Owner:
        """Whose a message is: a tool message is its call's, and without a call whoever sent it."""
        if message["role"] == "tool":
            call = self.calls.get(message["toolCallId"])
            return call.owner if call else message.get("subagentRunId")
        return self.owner_of_id(message["id"])

    def owner_of_id(self, message_id: str) -> Owner:
        for known in (self.texts, self.reasoning, self.activities, self.results):
            if message_id in known:
                return known[message_id]
        raise KeyError(message_id)

    def tags(self, bucket: Bucket, id_: str, owner: Owner) -> list[Owner]:
        """The tags that leave the entity with its owner, for the client and for whoever remembers earlier runs."""
        if owner is None:
            return [None]
        seen = self.owners[bucket].get(id_, UNKNOWN)
        if seen is UNKNOWN:
            return [owner, None] if self.shown_earlier(bucket, id_, owner) else [owner]
        return [owner, None] if seen == owner else [None]

    def shown_earlier(self, bucket: Bucket, id_: str | None, owner: Owner) -> bool:
        """Whether an earlier run opened it and the client still has the message with its owner's tag.

        RUN_STARTED makes the client's verification forget owners; the message does not forget, so an opener without a tag
        continues the subagent's work all the same.
        """
        if id_ is None or (bucket, id_) not in self._earlier or not self.may("late_tags"):
            return False
        conversation = self.reader.conversation
        message = conversation.holder(id_) if bucket == "tool" else conversation.find(id_)
        return message is not None and message.get("subagentRunId") == owner

    def tag(self, tags: list[Owner], opens: bool = False) -> Owner:
        """One of the allowed tags, in the style of this stream.

        On every event, on openers only, wherever nothing else would tell the owner, or as it comes.
        """
        if len(tags) == 1 or self._tagging == "every" or (self._tagging == "opener" and opens):
            return tags[0]
        return self.pick(tags) if self._tagging == "mixed" else tags[-1]

    def owned(self, kind: str, owner: Owner) -> list[str]:
        """The ids of one kind of entity that are the owner's."""
        if kind == "tool":
            return [id_ for id_, call in self.calls.items() if call.owner == owner]
        known = {"text": self.texts, "reasoning": self.reasoning, "span": self.spans}[kind]
        return [id_ for id_, known_owner in known.items() if known_owner == owner]

    def open(self, kind: str, owner: Owner) -> list[str]:
        """What `owner` has open by explicit events. Streams of chunks are the lanes'."""
        open_ = self.reader.verification.open[kind]
        chunked = {p.id for p in self.reader.lanes.pending.values() if p.form.kind == kind}
        return [id_ for id_ in self.owned(kind, owner) if id_ in open_ and id_ not in chunked]

    def shown_activities(self, owner: Owner) -> list[str]:
        """The owner's activities that the client has, as activities."""
        shown = [message["id"] for message in self.messages if message["role"] == "activity"]
        return [id_ for id_ in shown if self.activities.get(id_, "nobody") == owner]

    def closed(self, kind: str, owner: Owner) -> list[str]:
        """What `owner` could open again."""
        if not self.may("reopening"):
            return []
        open_ = self.reader.verification.open[kind]
        return [id_ for id_ in self.owned(kind, owner) if id_ not in open_]
