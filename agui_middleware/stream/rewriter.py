"""One recorded or running stream through one plan: bytes in, bytes out. No ASGI."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial

from agui_middleware.config.plan import Plan
from agui_middleware.filters.contract import Context
from agui_middleware.protocol.errors import EventTooLarge
from agui_middleware.protocol.event import Event, MalformedEvent
from agui_middleware.protocol.event_types import EventType
from agui_middleware.stream.chain import Chain, Rest
from agui_middleware.stream.pump import DONE
from agui_middleware.stream.sniff import may_be_agui
from agui_middleware.stream.sse import Comment, Decoder, Fields, Frame, Item, UnknownField, encode, encode_comment

logger: logging.Logger = logging.getLogger("agui_middleware")

Write = Callable[[bytes], Awaitable[None]]

_TYPES = frozenset(EventType)
_TURNS = frozenset({"RUN_STARTED", "RUN_ERROR"})
_TYPE_NAMES = frozenset(type.encode() for type in EventType)


class Undeliverable(BaseException):
    """`write` raised `error` while a filter was at work: nothing that a filter should see, or be blamed for."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class Stream:
    """Decodes, filters and encodes one stream; what leaves is handed to `write`.

    `start`, any number of `at_once` and `feed`, `finish` if the stream ended well, and `close` whatever happened. They raise
    what `write` raises and nothing else. Once `ended`, the stream takes no more: what it had to say, RUN_ERROR included, was
    written. Where `failure` is set, that is why: an error of a filter, `MalformedEvent` or `EventTooLarge`.

    `doubtful`: it may be no AG-UI; one whose first event is of no AG-UI type is written as it comes. `verify`: see
    `Settings.debug`.
    """

    def __init__(
        self,
        plan: Plan,
        context: Context,
        write: Write,
        max_event_bytes: int,
        *,
        doubtful: bool = False,
        verify: bool = False,
    ) -> None:
        self._plan = plan
        self._rewrites = plan.rewrites
        self._together = plan.composition.together
        self._write = write
        self._decoder = Decoder(max_event_bytes)
        self._chain = Chain(plan.composition, context, self._emit)
        self.at_once: Callable[[bytes], bytes | Rest | None] | None = None
        """What a chunk becomes that need not be waited for, the chunk itself where it passes; or what is left to be done for
        it, which is `go_on`'s. `None`: it is for `feed` to take, as all are while this is `None`."""
        self._doubtful = doubtful
        self._verify = verify
        if not doubtful:
            self._decide()
        self._held: list[bytes] = []  # of a doubtful stream, as it came
        self._held_size = 0
        self._limit = max_event_bytes  # of what is held, comments between the lines of one event included
        self._unsettled: list[Item] = []  # the same, decoded
        self._raw = False  # no AG-UI: everything passes as it comes
        self._out: list[bytes | Event] = []  # frames; an event, where its SSE fields are yet to be put
        self._errored = False  # the last run ended with RUN_ERROR; behind it a client reads nothing but another run
        self.ended: bool = False

    @property
    def failure(self) -> Exception | None:
        return self._chain.failure

    async def start(self) -> None:
        """Let filters do what they do before the first event."""
        if not self._doubtful:
            await self._run(self._chain.start())
            self.ended = self._chain.ended

    async def feed(self, chunk: bytes) -> None:
        """Take the next bytes; what becomes of them was written once this is awaited, except for what a filter holds."""
        if self._raw:
            await self._write(chunk)
            return
        items = self._decoder.feed(chunk)
        if self._doubtful:
            items = await self._settle(chunk, items)
        await self._run(self._take(items))

    async def go_on(self, rest: Rest) -> None:
        """Do what `at_once` left to be done."""
        await self._run(rest())

    async def finish(self, complete: bool = True) -> None:
        """The stream has ended: write what is left, be it an event without its blank line or what filters held back.

        Not `whole`: it broke off, so that only what filters held back is left. An event without its end may be half of one.
        """
        if self._doubtful and complete and self._plan.hides:
            await self._look(self._decoder.finish(), last=True)
        elif self._doubtful and complete:
            await self._pass_raw()
        if not (self._raw or self._doubtful):
            await self._run(self._take(self._decoder.finish() if complete else [], last=True))

    async def close(self) -> None:
        """Unwind the filters."""
        await self._chain.close()

    async def _run(self, step: Awaitable[None]) -> None:
        undeliverable: Exception | None = None
        try:
            await step
        except Undeliverable as error:
            undeliverable = error.error
        if undeliverable is not None:
            raise undeliverable  # out here, so that it does not become the context of its own wrapper
        self.ended = self._chain.ended
        await self._flush()

    async def _take(self, items: list[Item], last: bool = False) -> None:
        for item in items:
            if self.ended:
                return
            if type(item) is Frame:
                await self._take_data(item.data, item.fields)
            elif type(item) is Comment:
                # No text that nobody read leaves a route that hides.
                self._out.append(encode_comment(b"" if self._plan.hides else item.text))
            elif type(item) is UnknownField:
                await self._skip(item.line)
            else:
                await self._chain.fail(EventTooLarge())
            self.ended = self._chain.ended
            if self._out and not self._together:
                await self._flush()  # a filter may wait long over the next item
        if last and not self.ended:
            await self._chain.finish()

    def _take_data(self, data: bytes | None, fields: Fields | None) -> Awaitable[None]:
        if data is None or (data[:1] != b"{" and data.lstrip(b" \t\n")[:1] != b"{"):
            # Not an event at all: an empty frame, `[DONE]`, an old sse-starlette ping. Fatal as data, harmless as this.
            bare = data is not None or self._plan.hides
            self._out.append(encode_comment() if bare else encode(None, fields))
            return self._skip(data or b"")
        line = data if 10 not in data else data.replace(b"\n", b" ")  # in JSON, a line end is but white space
        if not self._rewrites:
            self._out.append(encode(line if line is data or _is_event(line) else data, fields))
            return DONE
        try:
            event = Event.parse(line, fields)
        except MalformedEvent as error:
            logger.warning("an event could not be read: %s", error)
            if self._plan.hides:
                return self._chain.fail(error)
            self._out.append(encode(data, fields))
            return DONE
        return self._chain.push(event)

    def _skip(self, line: bytes) -> Awaitable[None]:
        """Pass over what every client skips, unless it may be a piece of an event, which said whose something is."""
        if self._plan.hides and b"{" in line:
            return self._chain.fail(MalformedEvent("a torn event"))
        return DONE

    def _emit(self, event: Event) -> Awaitable[None]:
        type = event.head.type
        if type == "RUN_ERROR":
            if self._errored and self._chain.failure is not None:
                return DONE
            self._errored = True
        elif type == "RUN_STARTED":
            self._errored = False
        if self._verify and not event.is_unmutated():
            raise RuntimeError(f"a filter changed a value inside {type} in place; use Event.replace")
        event.raw  # noqa: B018  # encoded here, where a filter that put in what is no JSON is to blame
        self._out.append(event)
        # One with fields waits for what else comes of its frame: the last piece takes them.
        return DONE if self._together or event.fields is not None else self._deliver()

    async def _deliver(self) -> None:
        try:
            await self._flush()
        except Exception as error:
            raise Undeliverable(error) from error

    def _flush(self) -> Awaitable[None]:
        return self._write(self._drained()) if self._out else DONE

    def _drained(self) -> bytes:
        out, self._out = self._out, []
        return b"".join(_frames(out))

    def _decide(self) -> None:
        """How the chunks of what is AG-UI for certain are taken."""
        if not self._rewrites:
            self.at_once = self._decoder.one_frame
        elif self._together and not self._verify:
            self.at_once = self._rewritten

    def _rewritten(self, chunk: bytes) -> bytes | Rest | None:
        if self._decoder.one_frame(chunk) is None:
            return None
        try:
            event = Event.parse(chunk[6:-2])
        except MalformedEvent:
            return None
        walked = self._chain.walk(event)
        if walked is None:
            return b""
        if type(walked) is not Event:
            return walked
        if walked.fields is not None or walked.head.type in _TURNS:
            self._emit(walked)
            return self._drained()
        try:
            return chunk if walked is event else b"data: %b\n\n" % walked.raw
        except Exception as error:  # a filter put in what is no JSON
            return partial(self._chain.fail, error)

    async def _settle(self, chunk: bytes, items: list[Item]) -> list[Item]:
        """Find out from its first event whether the stream is AG-UI, and give what is to be taken by now.

        Comments before the first event pass as they come, so that a slow agent's pings arrive.
        """
        self._held.append(chunk)
        self._held_size += len(chunk)
        self._unsettled += items
        if self._plan.hides:
            await self._look(items)
            return []
        first = next((item for item in items if not _is_silent(item)), None)
        if type(first) is Frame and _is_event(first.data or b"", _TYPES):
            self._doubtful = False
            self._decide()
            self._held, items = [], self._unsettled
            await self.start()
            return items
        if first is not None or self._held_size > self._limit:
            await self._pass_raw()
        elif self._decoder.idle:
            await self._write_held()
        return []

    async def _look(self, items: list[Item], last: bool = False) -> None:
        """Where subagents are hidden, look at every frame until one may be AG-UI. Those before it have left as they came."""
        if any(map(_may_be_agui, items)) or self._held_size > self._limit:
            self._doubtful = False
            self._decide()
            unsettled = [*self._unsettled, *items] if last else self._unsettled
            self._held, self._unsettled = [], []
            await self.start()
            await self._run(self._take(unsettled, last=last))
        elif last or self._decoder.idle:
            await self._write_held()

    async def _pass_raw(self) -> None:
        self._raw, self._doubtful = True, False
        self.at_once = _as_it_is
        await self._write_held()

    async def _write_held(self) -> None:
        held = b"".join(self._held)
        self._held, self._held_size, self._unsettled = [], 0, []
        if held:
            await self._write(held)


def _as_it_is(chunk: bytes) -> bytes:
    return chunk


def _is_silent(item: Item) -> bool:
    return type(item) is Comment or type(item) is UnknownField or (type(item) is Frame and item.data is None)


def _may_be_agui(item: Item) -> bool:
    if type(item) is Frame:
        return item.data is not None and may_be_agui(item.data)
    return not _is_silent(item) or (type(item) is UnknownField and may_be_agui(item.line))


def _is_event(data: bytes, types: frozenset[str] | None = None) -> bool:
    try:
        event = Event.parse(data.replace(b"\n", b" "))
    except MalformedEvent:
        return False
    return types is None or event.type in types


def _frames(out: list[bytes | Event]) -> list[bytes]:
    """The frames of a flush. Of the events that came of one frame, the last takes its `id` and `retry`: only then is it
    all there.
    """
    frames: list[bytes] = []
    taken: set[int] = set()
    for event in reversed(out):
        if isinstance(event, bytes):
            frames.append(event)
            continue
        fields: Fields | None = event.fields
        if fields is None:
            frames.append(encode(event.raw))
            continue
        first = id(fields) in taken
        taken.add(id(fields))
        # A name that is the event's type follows it; any other is the server's own.
        name = event.type.encode() if fields.event in _TYPE_NAMES and event.type in _TYPES else fields.event
        frames.append(encode(event.raw, Fields(None if first else fields.id, name, None if first else fields.retry)))
    return frames[::-1]
