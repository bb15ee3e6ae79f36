"""Finds subagents by their turn, their text and their open calls, in the same time however many there are."""

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from hashlib import blake2b
from itertools import pairwise
from math import inf
from typing import Generic, TypeVar

from agui_middleware.agent_events.subagent import Subagent
from agui_middleware.agent_events.text_digest import Fingerprint, fingerprint_of, to_utf16

K = TypeVar("K", bound=Hashable)

TurnKey = tuple[float, bool]
"""A turn, and whether all calls in it are answered. Sorted, the likelier subagent for the next turn comes last."""


class Buckets(Generic[K]):
    """Subagents by key; those of one key in the order in which they were added."""

    def __init__(self) -> None:
        self._buckets: dict[K, OrderedDict[Subagent, None]] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._buckets

    def add(self, key: K, child: Subagent) -> None:
        bucket = self._buckets.setdefault(key, OrderedDict())
        bucket[child] = None
        bucket.move_to_end(child)

    def remove(self, key: K, child: Subagent) -> None:
        """Does nothing where the subagent is not under this key."""
        bucket = self._buckets.get(key, OrderedDict())
        bucket.pop(child, None)
        if not bucket:
            self._buckets.pop(key, None)

    def oldest(self, key: K) -> Subagent | None:
        return next(iter(self._buckets.get(key, ())), None)

    def newest(self, key: K) -> Subagent | None:
        return next(reversed(self._buckets.get(key, ())), None)


class SpeechIndex:
    """The subagents that have spoken, except the last one: it is the only one whose turn and text change."""

    def __init__(self) -> None:
        self._turns: Buckets[TurnKey] = Buckets()
        self._turn_keys: list[TurnKey] = []  # those of `_turns`, sorted
        self._streaming: Buckets[Fingerprint] = Buckets()
        self._lengths: dict[int, int] = {}  # of the fingerprints in `_streaming`: how many there are of each
        self._texts: Buckets[tuple[Fingerprint, bool]] = Buckets()
        # Insertion order tells which of two subagents spoke last, so that each entry has a number.
        self._numbers: dict[Subagent, int] = {}
        self._next_number = 0

    def add(self, child: Subagent) -> None:
        self._numbers[child] = self._next_number
        self._next_number += 1
        key = turn_key(child)
        if key not in self._turns:
            insort(self._turn_keys, key)
        self._turns.add(key, child)
        for fingerprint in child.run.turns.streamed:
            self._lengths[fingerprint.length] = self._lengths.get(fingerprint.length, 0) + 1
            self._streaming.add(fingerprint, child)
        if (text := child.run.turns.last_text) is not None:
            self._texts.add((text, child.call is None), child)

    def remove(self, child: Subagent) -> None:
        """Undo `add`. The subagent must not have changed since."""
        if self._numbers.pop(child, None) is None:
            return
        key = turn_key(child)
        self._turns.remove(key, child)
        if key not in self._turns:
            del self._turn_keys[bisect_left(self._turn_keys, key)]
        for fingerprint in child.run.turns.streamed:
            self._streaming.remove(fingerprint, child)
            self._lengths[fingerprint.length] -= 1
            if not self._lengths[fingerprint.length]:
                del self._lengths[fingerprint.length]
        if (text := child.run.turns.last_text) is not None:
            self._texts.remove((text, child.call is None), child)

    def before_turn(self, turn: int) -> Subagent | None:
        """The subagent in the nearest earlier turn; of several, those with answered calls first, then the last to speak."""
        place = bisect_left(self._turn_keys, (turn,))
        return self._turns.newest(self._turn_keys[place - 1]) if place else None

    def streaming(self, text: str) -> Subagent | None:
        """The last to speak whose open message may have `text` as its whole text."""
        return self._last_to_speak(self._streaming.newest(prefix) for prefix in self._prefixes(to_utf16(text)))

    def last_with_text(self, text: str) -> Subagent | None:
        """The last to speak of those that have sent `text`."""
        fingerprint = fingerprint_of(to_utf16(text))
        return self._last_to_speak(self._texts.newest((fingerprint, unlinked)) for unlinked in (True, False))

    def first_unlinked_with_text(self, text: str) -> Subagent | None:
        """The first to speak of those that have sent `text` and are linked to no call."""
        return self._texts.oldest((fingerprint_of(to_utf16(text)), True))

    def _prefixes(self, data: bytes) -> Iterable[Fingerprint]:
        """The fingerprints of each beginning of `data` that is as long as some streamed text, hashing `data` once."""
        # Whichever are fewer, so that the work is bounded by the text and by the number of subagents.
        if len(self._lengths) <= len(data):
            lengths = sorted(length for length in self._lengths if length <= len(data))
        else:
            lengths = [length for length in range(len(data) + 1) if length in self._lengths]
        hash = blake2b(digest_size=16)
        for begin, end in pairwise([0, *lengths]):
            hash.update(data[begin:end])
            yield Fingerprint(end, hash.digest())

    def _last_to_speak(self, found: Iterable[Subagent | None]) -> Subagent | None:
        return max((child for child in found if child is not None), key=self._numbers.__getitem__, default=None)


def turn_key(child: Subagent) -> TurnKey:
    number = child.run.turns.number
    return -inf if number is None else number, child.run.calls.all_answered


def has_sent(child: Subagent, text: str) -> bool:
    """Whether `text` is the last text that the subagent sent."""
    return child.run.turns.last_text == fingerprint_of(to_utf16(text))
