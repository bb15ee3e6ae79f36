import itertools
import json
import logging
import re
from collections.abc import AsyncIterator
from types import FunctionType
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_middleware import ClientVersion, Context, Event, Filter
from agui_middleware.config.planning import make_plan
from agui_middleware.filters import handles
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.filters.source import EventSource
from agui_middleware.protocol.errors import EventTooLarge
from agui_middleware.protocol.event import MalformedEvent
from agui_middleware.stream.async_rewriter import AsyncRewriter, make_rewriter
from agui_middleware.testing import decode_events, encode_events
from tests.conftest import Run
from tests.notation import stream
from tests.strategies import cuts, plain, runs, streams
from tests.work import memory_of, work_of

Events = AsyncIterator[Event]
ERROR = '{{"type":"RUN_ERROR","message":"The {}.","code":"AGUI_{}"}}'
TOO_LARGE = ERROR.format("agent sent an event that is too large", "EVENT_TOO_LARGE").encode()
MALFORMED = ERROR.format("agent sent an event that could not be read", "MALFORMED_EVENT").encode()
FAILED = ERROR.format("event stream could not be prepared for this client", "FILTER_ERROR").encode()
A, B = b'{"type":"A"}', b'{"type":"B"}'
BROKEN = b'{"type":'
SECRETS = b'{"type":"CUSTOM","name":"SECRET","value":1,"subagentRunId":"s"}'


def frames(*payloads: bytes) -> bytes:
    return b"".join(b"data: %b\n\n" % payload for payload in payloads)


class Driven:
    """A stream, and what it has written."""

    def __init__(
        self,
        *filters: Filter,
        client: str | None = None,
        visibility: str = "auto",
        limit: int = 10_000,
        sniff: bool = False,
        verify: bool = False,
    ) -> None:
        plan = make_plan(ClientVersion.parse(client) if client else None, visibility, filters=filters)
        self.written: list[bytes] = []
        context = Context(plan.client)
        rewriter = make_rewriter(plan, context, limit, sniff=sniff, verify=verify)
        self.stream = AsyncRewriter(rewriter, plan.composition.awaiting, context, self.write)

    async def write(self, data: bytes) -> None:
        self.written.append(data)

    async def take(self, chunk: bytes) -> None:
        """A chunk, as a responder has it taken."""
        if self.stream.awaits:
            await self.stream.feed(chunk)
        elif written := self.stream.rewriter.feed(chunk):
            await self.write(written)

    async def run(self, *chunks: bytes) -> bytes:
        """All of a stream, as a responder drives it."""
        try:
            await self.stream.start()
            for chunk in chunks:
                await self.take(chunk)
                if self.stream.ended:
                    break
            else:
                await self.stream.finish()
        finally:
            await self.stream.close()
        return b"".join(self.written)


def bytewise(data: bytes) -> list[bytes]:
    return [data[index : index + 1] for index in range(len(data))]


def framewise(data: bytes) -> list[bytes]:
    """As most servers send it, one event a chunk."""
    return [frame for frame in re.split(rb"(?<=\n\n)", data) if frame]


CUTS = {"whole": lambda data: [data], "framewise": framewise, "bytewise": bytewise}
EVERY_CUT = pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)


def declared(filter: Any, type: str) -> Filter:
    """The same filter, declaring that it looks at one type only; the given one does not."""
    copy = FunctionType(filter.__code__, filter.__globals__, closure=filter.__closure__)
    return handles(type)(copy)


async def passes(events: Events, _: Context) -> Events:
    async for event in events:
        yield event


async def drops_b(events: Events, _: Context) -> Events:
    async for event in events:
        if event.type != "B":
            yield event


async def doubles(events: Events, _: Context) -> Events:
    async for event in events:
        yield event
        yield event.replace(n=2)


async def fails_on_b(events: Events, _: Context) -> Events:
    async for event in events:
        if event.type == "B":
            raise ZeroDivisionError("SECRET")
        yield event


async def returns_on_b(events: Events, _: Context) -> Events:
    async for event in events:
        if event.type == "B":
            return
        yield event


# Framing: the same where nothing is rewritten and where something is.


@pytest.mark.parametrize("filters", [(), (passes,), (declared(passes, "A"),)], ids=["framing", "a filter", "declared"])
@EVERY_CUT
@pytest.mark.parametrize(
    ("given_", "written"),
    [
        (frames(A, B), frames(A, B)),
        (b'data: {"type":"A"}\r\n\r\ndata: {"type":"B"}\r\n\r\n', frames(A, B)),
        (b'data: {"type":"A"}\r\rdata: {"type":"B"}\r\r', frames(A, B)),
        (b'\xef\xbb\xbfdata:{"type":"A"}\n\n', frames(A)),
        (b'data: {"type":\ndata: "A",\ndata: "n": 1.0}\n\n', frames(b'{"type": "A", "n": 1.0}')),
        (b'data: {"type":"A"}\n\ndata: {"type":"B"}', frames(A, B)),
        (b'data: {"type":"A"}\n', frames(A)),
        (b"x: y\n" + frames(A), frames(A)),
        (b"x: {}\n" + frames(A), frames(A)),
        (b'data:  \t {"type":"A"}\n\n', frames(b' \t {"type":"A"}')),
        # Comments, and what is no event at all, which becomes one.
        (b": ping\n\n" + frames(A) + b": pong\n", b": ping\n\n" + frames(A) + b": pong\n\n"),
        (b'data: {"type":\n: ping\ndata: "A"}\n\n', b": ping\n\n" + frames(b'{"type": "A"}')),
        (b"data:\n\n" + frames(A), b":\n\n" + frames(A)),
        (b"data: [DONE]\n\ndata: 3\n\ndata: null\n\ndata: []\n\ndata: x\n\n", b":\n\n" * 5),
        (b"event: ping\ndata: 2031-01-01 00:00:00\n\n" + frames(A), b":\n\n" + frames(A)),
        # What tries to be an event and fails goes out as it came.
        (frames(b'{"type":"A"', b'{"a":1}', b'{"type":1}', b"{"), frames(b'{"type":"A"', b'{"a":1}', b'{"type":1}', b"{")),
        (b"data: {\ndata: \n\n", b"data: {\ndata: \n\n"),
        # A line end inside a string is no JSON; a space in its place would be.
        (b'data: {"type":"A","n":"x\ndata: y"}\n\n', b'data: {"type":"A","n":"x\ndata: y"}\n\n'),
        (b"id: 1\ndata: {x\n\n", b"id: 1\ndata: {x\n\n"),
        (frames(b'{"type":"A","a":NaN}'), frames(b'{"type":"A","a":NaN}')),
        # Payloads are never decoded and encoded again.
        (frames(b'{"type":"A","a":"\xff\x00"}'), frames(b'{"type":"A","a":"\xff\x00"}')),
        (frames('{"type":"A","a":"\u2028\x85"}'.encode()), frames('{"type":"A","a":"\u2028\x85"}'.encode())),
        (frames(rb'{"type":"A","a":"\ud83d","n":1e400,"m":1.0}'), frames(rb'{"type":"A","a":"\ud83d","n":1e400,"m":1.0}')),
        # The other fields stay with their event; an id alone moves a consumer's cursor.
        (b"id: 7\nevent: x\nretry: 5\n" + frames(A) + frames(B), b"id: 7\nevent: x\nretry: 5\n" + frames(A) + frames(B)),
        (b"id: 7\n\n" + frames(A), b"id: 7\n\n" + frames(A)),
        (b"event: A\n" + frames(A), b"event: A\n" + frames(A)),
    ],
)  # fmt: skip
async def test_framing(given_: bytes, written: bytes, cut: Any, filters: tuple[Filter, ...]) -> None:
    assert await Driven(*filters).run(*cut(given_)) == written


@given(st.data())
async def test_every_framing_and_every_cut_gives_the_payloads_as_they_were(data: st.DataObject) -> None:
    events = data.draw(runs(max_moves=8))
    original = data.draw(streams(events))
    filters = data.draw(st.sampled_from([(), (passes,), (declared(passes, "RAW"),)]))
    whole = await Driven(*filters, limit=1 << 20).run(original)
    assert decode_events(whole) == events
    assert await Driven(*filters, limit=1 << 20).run(*data.draw(cuts(original))) == whole
    assert b"\r" not in whole
    assert await Driven(*filters, limit=1 << 20).run(whole) == whole


@given(st.data())
async def test_what_is_rewritten_is_the_same_for_every_cut(data: st.DataObject) -> None:
    original = data.draw(streams(data.draw(runs(max_moves=8))))
    visibility = data.draw(st.sampled_from(["inline", "hidden"]))
    client = data.draw(st.sampled_from([None, "0.0.58"]))
    whole = await Driven(client=client, visibility=visibility, limit=1 << 20).run(original)
    cut = await Driven(client=client, visibility=visibility, limit=1 << 20).run(*data.draw(cuts(original)))
    assert cut == whole


async def test_an_event_leaves_with_the_chunk_that_completes_it() -> None:
    for filters in [(), (passes,)]:
        driven = Driven(*filters)
        await driven.stream.start()
        await driven.stream.feed(b'data: {"type":')
        assert driven.written == []
        await driven.stream.feed(b'"A"}\n\n: pi')
        assert driven.written == [frames(A)]
        await driven.stream.feed(b"ng\n")
        assert driven.written == [frames(A), b": ping\n\n"]
        await driven.stream.close()


async def test_a_comment_leaves_at_once_also_while_a_filter_holds_all_back() -> None:
    async def holds(events: Events, _: Context) -> Events:
        for event in [event async for event in events]:
            yield event

    driven = Driven(holds)
    await driven.stream.start()
    await driven.stream.feed(frames(A))
    await driven.stream.feed(b": ping\n\n")
    assert driven.written == [b": ping\n\n"]
    await driven.stream.finish()
    assert driven.written == [b": ping\n\n", frames(A)]
    await driven.stream.close()


@pytest.mark.parametrize("drops", [drops_b, declared(drops_b, "B")], ids=["a filter", "declared"])
async def test_a_dropped_event_leaves_nothing_behind(drops: Filter) -> None:
    driven = Driven(drops)
    assert await driven.run(frames(A, B, B), frames(B), b"id: 5\nretry: 9\n" + frames(B), frames(A)) == frames(A, A)
    assert b"" not in driven.written


@per_event("A", "B")
def one_late(_: Context) -> Any:
    """Lets out each event when the next one comes."""
    held: list[Event] = []

    def step(event: Event) -> Event | None:
        held.append(event)
        return held.pop(0) if len(held) > 1 else None

    return step


async def test_an_event_that_was_held_back_leaves_with_its_own_fields() -> None:
    driven = Driven(one_late)
    assert await driven.run(b"id: 5\n" + frames(A), frames(B)) == b"id: 5\n" + frames(A)


@pytest.mark.parametrize("doubling", [doubles, declared(doubles, "A")], ids=["a filter", "declared"])
@EVERY_CUT
async def test_an_event_may_become_several(doubling: Filter, cut: Any) -> None:
    twice = b'{"type":"A","n":2}'
    assert await Driven(doubling).run(*cut(frames(A, A))) == frames(A, twice, A, twice)


async def test_what_a_chunk_becomes_leaves_in_one_piece_where_no_filter_waits() -> None:
    driven = Driven(visibility="inline")
    await driven.run(frames(A, B) + b": ping\n\n" + frames(A))
    assert driven.written == [frames(A, B) + b": ping\n\n" + frames(A)]


@pytest.mark.parametrize("fields", [b"", b"id: 1\n"])
def test_what_a_filter_yields_leaves_before_it_waits_for_the_next_event(run: Run, fields: bytes) -> None:
    """Interlock: the filter waits for what only the arrival of its last event sets, within one chunk."""

    async def scenario() -> None:
        arrived = {b"A": anyio.Event(), b"B": anyio.Event()}

        async def waits(events: Events, _: Context) -> Events:
            async for event in events:
                if event.type == "B":
                    await arrived[b"A"].wait()
                yield event

        class Recorded(Driven):
            async def write(self, data: bytes) -> None:
                await super().write(data)
                for name, event in arrived.items():
                    if b'"%b"' % name in data:
                        event.set()

        with anyio.fail_after(5):
            driven = Recorded(waits)
            await driven.run(b"".join(fields + frames(payload) for payload in (A, B)))
        assert driven.written == [fields + frames(A), fields + frames(B)]

    run(scenario)


# The fields of a frame.


async def test_of_the_events_that_came_of_one_frame_the_last_takes_its_id() -> None:
    driven = Driven(doubles)
    twice = b'{"type":"A","n":2}'
    assert await driven.run(b"id: 7\nevent: x\nretry: 5\n" + frames(A), frames(B)) == (
        b"event: x\n" + frames(A) + b"id: 7\nevent: x\nretry: 5\n" + frames(twice) + frames(B, b'{"type":"B","n":2}')
    )


async def test_an_injected_event_carries_no_fields() -> None:
    async def injects(events: Events, _: Context) -> Events:
        async for event in events:
            yield Event(type="NEW")
            yield event

    assert await Driven(injects).run(b"id: 7\n" + frames(A)) == frames(b'{"type":"NEW"}') + b"id: 7\n" + frames(A)


@pytest.mark.parametrize(
    ("name", "type", "expected"),
    [
        ("RAW", "CUSTOM", "CUSTOM"),
        ("RAW", "RAW", "RAW"),
        ("message", "CUSTOM", "message"),
        ("RAW", "LATER", "RAW"),
        ("RAW", "A\n\ndata: {}", "RAW"),
        ("RAW", "\ud83d", "RAW"),
    ],
)
async def test_the_name_of_a_frame_follows_the_type_where_it_is_a_type(name: str, type: str, expected: str) -> None:
    async def renames(events: Events, _: Context) -> Events:
        async for event in events:
            yield event.replace(type=type)

    written = await Driven(renames).run(f"event: {name}\n".encode() + frames(b'{"type":"RAW"}'))
    assert written == f"event: {expected}\n".encode() + frames(b'{"type":%b}' % json.dumps(type).encode())


def test_frames_with_ids_are_written_in_linear_time() -> None:
    def work(count: int) -> int:
        chunk = b"".join(b"id: %d\n" % number + frames(A) for number in range(count))
        return work_of(lambda: anyio.run(lambda: Driven(passes).run(chunk))) + work_of(
            lambda: anyio.run(lambda: Driven(visibility="inline").run(chunk))
        )

    work(1)
    assert work(800) < 2.2 * work(400)


# Faults of the agent's stream.


async def test_a_malformed_event_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    await Driven(passes).run(frames(b'{"SECRET"'))
    [record] = caplog.records
    assert (record.name, record.levelno) == ("agui_middleware.stream", logging.WARNING)
    assert "could not be read" in record.getMessage()
    assert "SECRET" not in record.getMessage()


@handles("A")
async def holding_a(events: EventSource, context: Context) -> Events:
    held: list[Event] = []
    events.let_go = lambda: [held.pop() for _ in held[:]]
    async for event in events:
        if event.head.type == "A":
            held.append(event)  # noqa: PERF401 (`let_go` takes them meanwhile)
    for event in held:
        yield event


async def test_what_is_let_go_leaves_once_and_in_front_of_a_malformed_event() -> None:
    driven = Driven(holding_a, holding_a)
    assert await driven.run(frames(A, B)) == frames(B, A)
    assert await Driven(holding_a, holding_a).run(frames(A, BROKEN, B)) == frames(A, BROKEN, B)


async def test_a_filter_that_fails_to_let_go_ends_the_run() -> None:
    @handles("A")
    async def failing(events: EventSource, context: Context) -> Events:
        events.let_go = lambda: [Event(type="C", value=1 / 0)]
        async for event in events:
            yield event

    driven = Driven(failing, holding_a)
    assert await driven.run(frames(A, BROKEN, B)) == frames(FAILED, A)
    assert isinstance(driven.stream.failure, ZeroDivisionError)


@pytest.mark.parametrize(
    "broken", [b'{"type":"A"', b"{}", b'{"type":null}', b'{"SECRET":1}', b'{"type":"A","a":NaN}', b"{"]
)
@EVERY_CUT
async def test_hidden_ends_the_run_at_a_malformed_event(broken: bytes, cut: Any) -> None:
    driven = Driven(visibility="hidden")
    assert await driven.run(*cut(frames(A, broken, B))) == frames(A, MALFORMED)
    assert driven.stream.ended
    assert isinstance(driven.stream.failure, MalformedEvent)


TORN = [
    b'{"type":"A"}\n\n',
    b'ata: {"type":"A"}\n\n',
    b"data: [{}]\n\n",
    b"x: {\n\n",
    b"data: x{\n\n",
    b'data:  "{"\n\n',
]


@pytest.mark.parametrize("torn", TORN)
@EVERY_CUT
async def test_hidden_ends_the_run_at_what_may_be_a_piece_of_a_torn_event(torn: bytes, cut: Any) -> None:
    """What every reader skips may have said that the next events are a subagent's."""
    skipped = b":\n\n" if torn.startswith(b"data") else b""
    ended = frames(A) + skipped + frames(MALFORMED)
    assert await Driven(visibility="hidden").run(*cut(frames(A) + torn + frames(B))) == ended
    assert await Driven(visibility="inline").run(*cut(frames(A) + torn + frames(B))) == frames(A) + skipped + frames(B)


async def test_hidden_lets_no_text_out_that_nobody_read() -> None:
    given_ = b": SECRET\n\ndata: SECRET\n\nid: SECRET\n\nSECRET: x\n" + frames(A) + frames(SECRETS)
    assert await Driven(visibility="hidden").run(given_) == b":\n\n" * 3 + frames(A)
    assert await Driven(visibility="hidden").run(b"id: SECRET\nevent: SECRET\n" + frames(SECRETS)) == b""


@pytest.mark.parametrize(
    "options", [{}, {"visibility": "inline"}, {"visibility": "hidden"}, {"client": "0.0.58"}], ids=str
)
@EVERY_CUT
async def test_an_event_that_is_too_large_ends_the_run(options: Any, cut: Any) -> None:
    driven = Driven(**options, limit=100)
    first, large = b'{"type":"RUN_STARTED"}', b'{"type":"RAW","event":"%b"}' % (b"x" * 100)
    assert await driven.run(*cut(frames(first, large, first))) == frames(first, TOO_LARGE)
    assert driven.stream.ended
    assert isinstance(driven.stream.failure, EventTooLarge)


async def test_what_is_open_is_closed_before_the_run_is_ended() -> None:
    driven = Driven(client="0.0.58", limit=200)
    await driven.run(encode_events(stream("RS r; TK m a")), b"data: " + b"x" * 300)
    expected = stream("RS r; TS m; TC m a; TE m; RE x")
    assert [event["type"] for event in decode_events(b"".join(driven.written))] == [event["type"] for event in expected]


async def test_a_stream_that_just_ends_gets_no_terminal_event() -> None:
    assert await Driven(client="0.0.58").run(encode_events(stream("RS r; TS m"))) == encode_events(stream("RS r; TS m"))


# Faults of filters.


@pytest.mark.parametrize("fails", [fails_on_b, declared(fails_on_b, "B")], ids=["a filter", "declared"])
@EVERY_CUT
async def test_a_filter_that_raises_ends_the_run_and_says_nothing_of_why(fails: Filter, cut: Any) -> None:
    driven = Driven(fails)
    assert await driven.run(*cut(frames(A, B, A))) == frames(A, FAILED)
    assert driven.stream.ended
    assert isinstance(driven.stream.failure, ZeroDivisionError)


async def test_a_filter_that_raises_at_its_start_ends_the_run_there() -> None:
    async def fails(events: Events, _: Context) -> Events:
        raise ZeroDivisionError
        yield  # type: ignore[unreachable]  # makes it a generator

    driven = Driven(fails)
    await driven.stream.start()
    assert (driven.written, driven.stream.ended) == ([frames(FAILED)], True)
    await driven.stream.feed(frames(A))
    await driven.stream.finish()
    await driven.stream.close()
    assert driven.written == [frames(FAILED)]


async def test_a_filter_that_raises_at_the_end_has_its_run_error_at_the_end() -> None:
    async def fails(events: Events, _: Context) -> Events:
        async for event in events:
            yield event
        raise ZeroDivisionError

    driven = Driven(fails)
    assert await driven.run(frames(A)) == frames(A, FAILED)
    assert isinstance(driven.stream.failure, ZeroDivisionError)


@EVERY_CUT
@pytest.mark.parametrize("kind", ["a filter", "declared"])
async def test_behind_the_agents_own_run_error_a_failure_adds_none(kind: str, cut: Any) -> None:
    """Behind RUN_ERROR a client reads nothing but another run."""

    async def fails(events: Events, _: Context) -> Events:
        async for event in events:
            if event.type == "LAST":
                raise ZeroDivisionError
            yield event

    filter = declared(fails, "LAST") if kind == "declared" else fails
    failed, again = b'{"type":"RUN_ERROR","message":"x"}', b'{"type":"RUN_STARTED"}'
    last = b'{"type":"LAST"}'
    assert await Driven(filter).run(*cut(frames(A, failed, last))) == frames(A, failed)
    assert await Driven(filter).run(*cut(frames(A, failed, again, last))) == frames(A, failed, again, FAILED)
    assert await Driven().run(*cut(frames(failed, failed))) == frames(failed, failed)


async def test_a_filter_that_returns_ends_the_stream() -> None:
    driven = Driven(returns_on_b)
    assert await driven.run(frames(A, B, A)) == frames(A)
    assert (driven.stream.ended, driven.stream.failure) == (True, None)


@pytest.mark.parametrize("value", [object(), {1, object()}])
@EVERY_CUT
async def test_an_event_that_is_no_json_is_its_filters_fault(value: Any, cut: Any) -> None:
    def spoil(event: Event) -> Event:
        return event.replace(value=value) if "bad" in event else event.replace(n=1)

    async def spoils(events: Events, _: Context) -> Events:
        async for event in events:
            yield spoil(event)

    bad, changed = b'{"type":"A","bad":1}', b'{"type":"A","n":1}'
    for filter in (spoils, declared(spoils, "A"), per_event("A")(lambda _: spoil)):
        for before, expected in (([], []), ([A, A], [changed, changed])):
            driven = Driven(filter)
            assert await driven.run(*cut(frames(*before, bad, B))) == frames(*expected, FAILED)
            assert isinstance(driven.stream.failure, TypeError)


@pytest.mark.parametrize("verify", [True, False])
async def test_verify_finds_what_was_changed_in_place(verify: bool) -> None:
    async def mutates(events: Events, _: Context) -> Events:
        async for event in events:
            event.get("list", []).extend(event.get("list", []))
            yield event

    def called(_: Context) -> Step:
        def pass_on(event: Event) -> Event:
            event["list"].extend(event["list"])
            return event

        return pass_on

    empty, changed = b'{"type":"A","list":[]}', b'{"type":"A","list":[1,2]}'
    for filter, cut in itertools.product((mutates, per_event("A")(called)), CUTS.values()):
        driven = Driven(filter, verify=verify)
        left = (B, empty, FAILED) if verify else (B, empty, changed)
        assert await driven.run(*cut(frames(B, empty, changed))) == frames(*left)
        if verify:
            assert "changed a value inside A in place" in str(driven.stream.failure)


async def test_verify_finds_nothing_where_nothing_was_changed() -> None:
    async def reads(events: Events, _: Context) -> Events:
        async for event in events:
            assert event["list"]
            yield event.replace(list=[*event["list"], 3])

    assert await Driven(reads, verify=True).run(frames(b'{"type":"A","list":[1]}')) == frames(
        b'{"type":"A","list":[1,3]}'
    )


# The client has left.


@pytest.mark.parametrize("declares", [False, True])
async def test_what_write_raises_is_raised_and_no_filter_is_told_or_blamed(declares: bool) -> None:
    log: list[str] = []

    async def watches(events: Events, _: Context) -> Events:
        try:
            async for event in events:
                try:
                    yield event
                except Exception:
                    log.append("told")
        finally:
            log.append("finally")

    class Left(Driven):
        async def write(self, data: bytes) -> None:
            raise OSError("gone")

    driven = Left(declared(watches, "A") if declares else watches)
    with pytest.raises(OSError, match="gone") as raised:
        await driven.run(frames(A, B))
    assert raised.value.__cause__ is raised.value.__context__ is None
    assert driven.stream.failure is None
    assert log == ["finally"]


def test_a_cancelled_write_unwinds_the_filters(run: Run) -> None:
    async def scenario() -> None:
        log: list[str] = []
        waits = anyio.Event()

        async def watches(events: Events, _: Context) -> Events:
            try:
                async for event in events:
                    yield event
            finally:
                log.append("finally")

        class Slow(Driven):
            async def write(self, data: bytes) -> None:
                waits.set()
                await anyio.sleep_forever()

        driven = Slow(watches)

        async def leave(scope: anyio.CancelScope) -> None:
            await waits.wait()
            scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(leave, group.cancel_scope)
            await driven.run(frames(A))
        assert driven.stream.failure is None
        assert log == ["finally"]

    run(scenario)


# What may be no AG-UI.

RUN = encode_events(stream("RS r; TS n @s; RF r"))


@EVERY_CUT
@pytest.mark.parametrize(
    "stream",
    [
        b"",
        b"data: hello\r\n\r\ndata: world",
        b'event: delta\r\ndata: {"choices":[]}\r\n\r\n',
        b"data: [DONE]\n\n",
        b": ping\r\n\r\nid: 5\r\n\r\nretry: 5\n\ndata: x\n\n",
        b": ping\r\n\r\n: pong",
        b"\xef\xbb\xbfdata: x\n\n",
    ],
)
@pytest.mark.parametrize("visibility", ["inline", "hidden"])
async def test_a_sniffed_stream_that_is_not_ag_ui_passes_as_it_comes(stream: bytes, visibility: str, cut: Any) -> None:
    for filters in [(), (passes,)]:
        driven = Driven(*filters, visibility=visibility, sniff=True)
        assert await driven.run(*cut(stream)) == stream


@EVERY_CUT
@pytest.mark.parametrize(
    "stream", [b'data: {"type":"message_start"}\n\ndata: {"type":"RUN_STARTED"}\r\n\r\n', b"data: {\n\n" + RUN]
)
async def test_its_first_event_decides_where_nothing_is_hidden(stream: bytes, cut: Any) -> None:
    driven = Driven(visibility="inline", sniff=True)
    assert await driven.run(*cut(stream)) == stream


FOREIGN = [
    b'data: {"choices":[{"delta":{"tool_calls":[{"type":"function"}]}}]}\n\n',
    b'event: ping\ndata: {"type":"heartbeat"}\n\n',
    b"data: hello {\ndata: world\n\n",
    b'data: ["RUN_STARTED"]\n\n',
    b'data: {"type":["RUN_STARTED"]}\n\n',
    b": ping\r\n\r\n",
    b"id: 5\n\n",
    b"what: {ever\n\n",
]
HIDDEN_RUN = encode_events(stream("RS r; RF r"))


@EVERY_CUT
@pytest.mark.parametrize("before", [*FOREIGN, b"".join(FOREIGN), b""])
@pytest.mark.parametrize("run", [RUN, RUN.removesuffix(b"\n\n"), RUN.replace(b"\n", b"\r\n")], ids=["", "tail", "crlf"])
async def test_where_subagents_are_hidden_a_sniffed_stream_is_rewritten_from_its_first_event_on(
    cut: Any, before: bytes, run: bytes
) -> None:
    """A heartbeat before the run is not a way around it."""
    driven = Driven(visibility="hidden", sniff=True)
    written = await driven.run(*cut(before + run))
    assert written.endswith(HIDDEN_RUN)
    passed = written.removesuffix(HIDDEN_RUN).replace(b"\r", b"")
    assert passed in {before.replace(b"\r", b""), before.replace(b"\r", b"").replace(FOREIGN[-1], b"")}


@EVERY_CUT
@pytest.mark.parametrize(
    "torn",
    [
        b'data: {"type":"TEXT_MESSAGE_START","mess\n\n',
        b'ta: {"type":"TEXT_MESSAGE_START","subagentRunId":"s"}\n\n',
        b'data: {"name":"SECRET","subagentRunId":\n\n',
        b'data: x{"t\\u0079pe":"CUSTOM","name":"SECRET"\n\n',
        b'data: {"name":"SECRET \xff"}\n\n',
        b"data: {\n\n",
    ],
)
async def test_where_subagents_are_hidden_a_sniffed_stream_with_a_torn_event_ends(cut: Any, torn: bytes) -> None:
    driven = Driven(visibility="hidden", sniff=True)
    written = await driven.run(*cut(FOREIGN[1] + torn + RUN))
    assert written.replace(b":\n\n", b"") == FOREIGN[1] + frames(MALFORMED)


async def test_a_comment_that_holds_an_event_is_blanked_where_subagents_are_hidden() -> None:
    driven = Driven(visibility="hidden", sniff=True)
    assert await driven.run(b": ping\n\n: " + SECRETS + b"\n\n", RUN) == b": ping\n\n:\n\n" + HIDDEN_RUN


@EVERY_CUT
async def test_a_stream_of_one_event_without_its_blank_line_is_hidden(cut: Any) -> None:
    driven = Driven(visibility="hidden", sniff=True)
    assert await driven.run(*cut(b"data: x\n\ndata: " + SECRETS)) == b"data: x\n\n"


async def test_a_run_that_breaks_off_within_its_first_event_leaves_nothing_where_subagents_are_hidden() -> None:
    driven = Driven(visibility="hidden", sniff=True)
    await driven.take(b"data: " + SECRETS)
    await driven.stream.finish(complete=False)
    assert driven.written == []


async def test_where_subagents_are_hidden_a_sniffed_stream_has_the_bound_of_every_other() -> None:
    driven = Driven(visibility="hidden", sniff=True, limit=100)
    written = await driven.run(FOREIGN[1], b"data: " + b"x" * 200, b"\n\n", RUN)
    assert written == FOREIGN[1] + frames(TOO_LARGE)


async def test_frames_that_no_chunk_ends_with_leave_within_the_bound_where_subagents_are_hidden() -> None:
    """What is behind the first that is given out is written anew: the bytes before its chunk's end have left."""
    driven = Driven(visibility="hidden", sniff=True, limit=100)
    pieces = [b"data: 0", *(b"\r\n\r\ndata: %d" % number for number in range(1, 50)), b"\r\n\r\n", RUN]
    for piece in pieces[:20]:
        await driven.take(piece)
    assert driven.written
    for piece in pieces[20:]:
        await driven.take(piece)
    await driven.stream.finish()
    await driven.stream.close()
    assert b"".join(driven.written) == b"".join(b"data: %d\n\n" % number for number in range(50)) + HIDDEN_RUN


@EVERY_CUT
@pytest.mark.parametrize(
    "before",
    [
        b"",
        b": ping\n\n",
        b"\xef\xbb\xbf",
        b"id: 5\n\n: ping\n\n",
        b"\n\n",
    ],
)
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
async def test_a_sniffed_stream_whose_first_event_is_ag_ui_is_rewritten(
    cut: Any, before: bytes, line_end: bytes
) -> None:
    driven = Driven(visibility="inline", sniff=True)
    written = await driven.run(*cut(before + RUN.replace(b"\n", line_end)))
    assert written.removeprefix(before) == encode_events(stream("RS r; TS n; RF r"))


HEARTBEATS = [
    b"event: ping\ndata: 2031-01-01\n\n",
    b"data:\n\n",
    b'data: {"type":"heartbeat"}\n\n',
    b"data: [START]\n\n",
]


@pytest.mark.parametrize("heartbeat", HEARTBEATS)
async def test_a_heartbeat_before_the_first_event_is_looked_past(heartbeat: bytes) -> None:
    """It passes as it came, and decides nothing: it may be of a stream that is not AG-UI."""
    driven = Driven(visibility="inline", sniff=True)
    assert await driven.run(heartbeat, heartbeat, RUN) == heartbeat * 2 + encode_events(stream("RS r; TS n; RF r"))
    driven = Driven(visibility="inline", sniff=True)
    assert await driven.run(heartbeat, b'data: {"choices":[]}\r\n\r\n') == heartbeat + b'data: {"choices":[]}\r\n\r\n'


async def test_comments_of_a_sniffed_stream_leave_at_once() -> None:
    driven = Driven(sniff=True)
    await driven.stream.start()
    await driven.stream.feed(b": ping\n\n")
    assert driven.written == [b": ping\n\n"]
    await driven.stream.close()


async def test_a_sniffed_stream_starts_its_filters_with_its_first_event() -> None:
    log: list[str] = []

    async def says(events: Events, _: Context) -> Events:
        log.append("started")
        async for event in events:
            yield event

    driven = Driven(says, sniff=True)
    await driven.stream.start()
    await driven.stream.feed(b": ping\n\n")
    assert log == []
    await driven.stream.feed(RUN)
    assert log == ["started"]
    await driven.stream.close()


@pytest.mark.parametrize("visibility", ["inline", "hidden"])
@EVERY_CUT
async def test_filters_that_await_read_all_of_a_sniffed_stream(visibility: str, cut: Any) -> None:
    """The last event without its blank line too."""

    async def without_text(events: Events, _: Context) -> Events:
        async for event in events:
            await anyio.lowlevel.checkpoint()
            if not event.type.startswith("TEXT_"):
                yield event

    text = encode_events(stream("TC m psst")).removesuffix(b"\n\n")
    driven = Driven(without_text, visibility=visibility, sniff=True)
    written = await driven.run(*cut(text))
    assert written == (text if visibility == "inline" else b"")
    driven = Driven(without_text, visibility=visibility, sniff=True)
    assert await driven.run(*cut(b"data: x\n\n")) == b"data: x\n\n"
    driven = Driven(without_text, visibility=visibility, sniff=True)
    assert await driven.run(*cut(RUN + text)) == encode_events(stream("RS r; RF r"))


async def test_what_is_held_of_a_sniffed_stream_is_bounded() -> None:
    """Comments between the lines of one event do not count for the event."""
    driven = Driven(sniff=True, limit=100)
    given_ = [b"data: {\n", *[b": ping\n"] * 50]
    assert await driven.run(*given_) == b"".join(given_)
    driven = Driven(sniff=True, limit=100)
    assert await driven.run(b"data: {", b"x" * 200, b"y") == b"data: {" + b"x" * 200 + b"y"


def test_a_sniffed_stream_is_looked_at_once() -> None:
    def work(count: int) -> int:
        chunks = [b"data: {\n", *[b": x\n"] * count]
        return work_of(lambda: anyio.run(lambda: Driven(sniff=True, limit=1 << 20).run(*chunks)))

    work(1)
    assert work(800) < 2.2 * work(400)


# Without an await.


def test_an_event_in_which_nothing_changes_is_the_very_chunk() -> None:
    for options in (dict[str, Any](), {"visibility": "inline"}, {"client": "0.0.58"}):
        rewriter = Driven(**options).stream.rewriter
        first, chunk = frames(b'{"type":"RUN_STARTED","threadId":"t","runId":"r"}'), plain(stream("TC m psst"))
        assert rewriter.feed(first) == first
        assert rewriter.feed(chunk) is chunk
        rewriter.close()


@pytest.mark.parametrize("options", [{"visibility": "inline"}, {"client": "0.0.36"}], ids=str)
@EVERY_CUT
def test_a_rewriter_awaits_nothing(options: Any, cut: Any) -> None:
    original = encode_events(stream("RS r; SUB+ s; TK m a @s; TK m b @s; SUB- s; RF r"))
    rewriter = Driven(**options).stream.rewriter
    written = b"".join(map(rewriter.feed, cut(original))) + rewriter.finish()
    rewriter.close()
    assert anyio.run(lambda: Driven(**options).run(original)) == written
    assert b"SUBAGENT" not in written


# Growth.


@pytest.mark.parametrize("options", [{"visibility": "inline"}, {"visibility": "hidden"}, {"client": "0.0.58"}], ids=str)
def test_memory_does_not_grow_with_the_events(options: Any) -> None:
    async def scenario() -> None:
        driven = Driven(**options)
        driven.written = Nothing()
        chunk = plain(stream("TC m psst; TC n psst @s"))
        await driven.stream.start()
        await driven.stream.feed(plain(stream("RS r; TS m; TS n @s")))
        for _ in range(1500):
            await driven.take(chunk)
        await driven.stream.close()

    _, peak = memory_of(lambda: anyio.run(scenario))
    assert peak < 1 << 20


class Nothing(list[bytes]):
    def append(self, _: bytes) -> None:
        pass


# What ends a stream behind filters that await, or at its very end.


@pytest.mark.parametrize("filters", [(), (passes,)], ids=["synchronous", "awaiting"])
@pytest.mark.parametrize("tail", [b"\n\n", b""])
async def test_a_torn_event_ends_a_stream_also_as_its_last(filters: Any, tail: bytes) -> None:
    driven = Driven(*filters, visibility="hidden")
    assert await driven.run(frames(A), b"data: {SECRET" + tail) == frames(A, MALFORMED)
    assert isinstance(driven.stream.failure, MalformedEvent)


async def test_a_stream_that_broke_off_behind_a_filter_that_awaits_gives_no_half_event() -> None:
    driven = Driven(passes)
    await driven.stream.start()
    await driven.take(frames(A) + b"data: " + B)
    await driven.stream.finish(complete=False)
    await driven.stream.close()
    assert b"".join(driven.written) == frames(A)


async def test_a_closed_stream_writes_nothing() -> None:
    driven = Driven(sniff=True)
    other = b'data: {"type":"other"}\n\n'
    await driven.stream.feed(other)
    await driven.stream.close()
    await driven.stream.feed(other)
    assert driven.written == [other]
