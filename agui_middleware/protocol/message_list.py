"""The list of a conversation's messages."""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Raw

from agui_middleware.protocol.conversation_entries import Call, Entry
from agui_middleware.protocol.posted import MessageHead


class MessageList:
    """Messages in order, which are found by their ids and by those of their calls: of two of one id, the first."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._calls: dict[str, tuple[Entry, Call | None]] = {}  # the second is read when somebody asks for it
        self._restate(entries)

    def __iter__(self) -> Iterator[Entry]:
        entry = self._first.next
        while entry is not None:
            yield entry
            entry = entry.next

    def find(self, id: Any) -> Entry | None:
        """The first message of an id."""
        return self._by_id.get(id) if type(id) is str else None

    def call(self, id: Any) -> Call | None:
        """The first tool call of an id."""
        found = self._calls.get(id) if type(id) is str else None
        if found is None:
            return None
        holder, call = found
        if call is None:
            for each in holder.calls():  # all at once: to look for each in a message of many would be quadratic
                if self._calls.get(each.id) == (holder, None):
                    self._calls[each.id] = holder, each
        return self._calls[id][1]

    def _restate(self, entries: Iterable[Entry]) -> None:
        self._first = self._last = Entry(MessageHead(), Raw(b"{}"))
        self._by_id: dict[str, Entry] = {}
        self._calls.clear()
        for entry in entries:
            entry.next = None
            self._insert(entry, self._last)

    def _insert(self, entry: Entry, behind: Entry) -> None:
        entry.next, behind.next = behind.next, entry
        if entry.next is None:
            self._last = entry
        if entry.id is not None:
            self._by_id.setdefault(entry.id, entry)
        for id in entry.call_ids():
            self._calls.setdefault(id, (entry, None))
