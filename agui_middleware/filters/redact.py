"""A pattern, such as that of card numbers, kept out of what a client reads.

    Route(path="/agent", filters=[redact(r"\\b\\d{4}(?:[ -]?\\d{4}){3}\\b")])

and in TOML, `filters = [{ use = "agui_middleware.filters.redact:redact", pattern = '\\bsk-\\w+' }]`. It needs the extra
`redact`. `filters/README.md` lists where a text hides, and what is done there.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from typing import Final

from agui_middleware.filters.chunks import expand_chunks
from agui_middleware.filters.contract import Context, Filter
from agui_middleware.filters.declared import EVERYTHING, handles
from agui_middleware.filters.functions import filter_factory
from agui_middleware.filters.masked_members import mask_members
from agui_middleware.filters.masking import DocumentMasker, Mask, Masker, PieceMasker
from agui_middleware.protocol.budget import Index
from agui_middleware.protocol.event import UNSET, Event, JsonObject, as_id
from agui_middleware.protocol.messages import edit_elements, edit_object

# A text in pieces: the events that carry it, by the type of its pieces.
_MESSAGE: Final = "TEXT_MESSAGE_CONTENT"
_REASONING: Final = "REASONING_MESSAGE_CONTENT"
_ARGUMENTS: Final = "TOOL_CALL_ARGS"
_MASKERS: Final[dict[str, Callable[[Mask], PieceMasker]]] = {
    _MESSAGE: Masker,
    _REASONING: Masker,
    _ARGUMENTS: DocumentMasker,
    "THINKING_TEXT_MESSAGE_CONTENT": Masker,
}
_ENDS: Final = {
    "TEXT_MESSAGE_END": _MESSAGE,
    "REASONING_MESSAGE_END": _REASONING,
    "TOOL_CALL_END": _ARGUMENTS,
    "THINKING_TEXT_MESSAGE_END": "THINKING_TEXT_MESSAGE_CONTENT",
}
_ENDS_ALL: Final = frozenset({"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"})


@filter_factory
def redact(
    pattern: str | re.Pattern[str], replacement: str = "…", *, longest: int = 1000, raw_events: bool = False
) -> Filter:
    """A filter that puts `replacement` in the place of what matches a regular expression, wherever an event carries text.

    - `pattern`: in the syntax of `re`. It sees one text at a time: a message, a string of the arguments of a call, a string
      in a state.
    - `longest`: how many characters a match may have. What may still become a match is held back up to that many
      characters, at most until its text ends; a longer one is replaced as if it were a match.
    - `raw_events`: keep RAW events, and mask each of their strings. They often repeat a text piece by piece, and a piece
      does not match: by default they are removed, which is reported.

    Ids, types, roles, and the names of tools, steps, activities, subagents and members stay, since clients go by them.
    Raises `TypeError` and `ValueError` for arguments that are none of these.
    """
    if not isinstance(pattern, str) and not (isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str)):
        raise TypeError("pattern is a regular expression, as a string")
    if not isinstance(replacement, str):
        raise TypeError("replacement is a string")
    if isinstance(longest, bool) or not isinstance(longest, int) or longest < 1:
        raise ValueError("longest is a number of characters, at least 1")
    if not isinstance(raw_events, bool):
        raise TypeError("raw_events is true or false")
    mask = Mask(pattern, replacement, longest)

    @handles(EVERYTHING)
    async def redacted(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
        texts = _Texts(mask, raw_events, context)
        async with aclosing(expand_chunks(events, context)) as expanded:
            async for event in expanded:
                for output in texts.take(event):
                    yield output
        for output in texts.end_all():
            yield output

    return redacted


class _Texts:
    """The open texts of a response."""

    __slots__ = ("_context", "_held", "_mask", "_open", "_raw_events")

    def __init__(self, mask: Mask, raw_events: bool, context: Context) -> None:
        self._mask = mask
        self._raw_events = raw_events
        self._context = context
        self._open: Index[tuple[str, str | None], PieceMasker] = Index(context.budget)
        self._held: dict[tuple[str, str | None], Event] = {}  # what is held back of a text, as a piece of it

    def take(self, event: Event) -> Iterator[Event]:
        """What leaves for an event."""
        type = event.head.type
        if type in _MASKERS and isinstance(event.get("delta"), str):
            yield from self._piece(event)
            return
        if type == "RAW" and not self._raw_events:
            self._context.lost("RAW events", "redacted: they repeat texts piece by piece")
            return
        if type in _ENDS:
            yield from self._end(_key(_ENDS[type], event))
        elif type in _ENDS_ALL:
            yield from self.end_all()
        yield mask_members(self._restated(event) if type == "MESSAGES_SNAPSHOT" else event, self._mask)

    def end_all(self) -> Iterator[Event]:
        """What is held back, once nothing more comes."""
        for key in list(self._open):
            yield from self._end(key)

    def _piece(self, event: Event) -> Iterator[Event]:
        key, delta = _key(event.head.type, event), event["delta"]
        if key not in self._open:
            self._open[key] = _MASKERS[key[0]](self._mask)
        masker = self._open[key]
        waited = masker.held != ""
        text = masker.feed(delta)
        self._hold(key, event)
        if text == delta and not waited and not masker.held:
            yield mask_members(event, self._mask)
        elif text or "metadata" in event:
            # The raw event repeats the piece, with what is held back or was in front.
            yield mask_members(event.without("rawEvent"), self._mask).replace(delta=text)

    def _hold(self, key: tuple[str, str | None], piece: Event | None) -> Event | None:
        """Keep what is held back of a text as an event like `piece`; return what was kept before."""
        before = self._held.pop(key, None)
        if before is not None:
            self._context.release(before)
        if piece is not None and (held := self._open[key].held):
            members = {name: piece[name] for name in ("messageId", "toolCallId", "subagentRunId") if name in piece}
            self._held[key] = Event(type=key[0], **members, delta=held)
            self._context.hold(self._held[key])
        return before

    def _end(self, key: tuple[str, str | None]) -> Iterator[Event]:
        held = self._hold(key, None)
        masker = self._open.pop(key, None)
        if masker is not None and held is not None:
            yield held.replace(delta=masker.finish())

    def _restated(self, snapshot: Event) -> Event:
        """A snapshot that restates open texts, without their ends that may still become a match: these stay held back."""
        return edit_elements(snapshot, "messages", self._restated_message) if self._open else snapshot

    def _restated_message(self, message: JsonObject) -> JsonObject:
        kind = _REASONING if message.get("role") == "reasoning" else _MESSAGE
        message = self._restated_text(message, "content", (kind, as_id(message.get("id"))))
        return edit_elements(message, "toolCalls", self._restated_call)

    def _restated_call(self, call: JsonObject) -> JsonObject:
        key = (_ARGUMENTS, as_id(call.get("id")))
        return edit_object(call, "function", lambda function: self._restated_text(function, "arguments", key))

    def _restated_text(self, holder: JsonObject, name: str, key: tuple[str, str | None]) -> JsonObject:
        text = holder.get(name)
        if key not in self._open or not isinstance(text, str):
            return holder
        self._open[key] = _MASKERS[key[0]](self._mask)
        decided = self._open[key].feed(text)
        self._hold(key, Event(type=key[0], **{"toolCallId" if key[0] == _ARGUMENTS else "messageId": key[1]}))
        return holder if decided == text else holder.replace(**{name: decided})


def _key(type: str, event: Event) -> tuple[str, str | None]:
    head = event.head
    id = head.toolCallId if type == _ARGUMENTS else head.messageId
    return type, None if id is UNSET else as_id(id)
