"""Tokens that are like the one before leave as the filters would have them leave."""

import gc
from collections.abc import AsyncIterator, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_middleware import ClientVersion, Context, Event, Filter
from agui_middleware.config.planning import make_plan
from agui_middleware.filters.composition import Composition
from agui_middleware.filters.declared import EVERYTHING, Step, handles, per_event
from agui_middleware.filters.source import EventSource
from agui_middleware.protocol.event_types import TOKENS
from agui_middleware.protocol.releases import RELEASES
from agui_middleware.stream.repeated import LONGEST, MOST, TRIES
from agui_middleware.stream.rewriter import Rewriter
from tests.strategies import Json, plain, runs

LIMIT = 100_000
STARTED = b'{"type":"RUN_STARTED","threadId":"t","runId":"r"}'
OPENED = b'{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}'
PLANS = [
    pytest.param((None, "inline"), id="inline"),
    pytest.param((None, "hidden"), id="hidden"),
    pytest.param(("0.0.58", "auto"), id="0.0.58"),
    pytest.param(("0.0.36", "auto"), id="0.0.36"),
]


def frame(event: bytes) -> bytes:
    return b"data: %b\n\n" % event


def token(delta: bytes = b'"x"', id: bytes = b"m", tag: bytes = b"") -> bytes:
    owner = b'"subagentRunId":"%b",' % tag if tag else b""
    return b'{"type":"TEXT_MESSAGE_CONTENT",%b"messageId":"%b","delta":%b}' % (owner, id, delta)


def rewriter(
    client: str | None, visibility: str, *filters: Filter, limit: int = LIMIT, verify: bool = False
) -> Rewriter:
    plan = make_plan(None if client is None else ClientVersion.parse(client), visibility, filters=filters)
    return Rewriter(plan, Context(plan.client, max_event_bytes=limit), limit, verify=verify)


def output(stream: Rewriter, chunks: list[bytes]) -> bytes:
    out = b""
    for chunk in chunks:
        out += stream.feed(chunk)
        if stream.ended:
            break
    else:
        out += stream.finish()
    stream.close()
    return out


def halves(frames: list[bytes]) -> Iterator[bytes]:
    """The same bytes, so that no chunk is an event: each event is read and filtered."""
    for data in frames:
        yield data[: len(data) // 2]
        yield data[len(data) // 2 :]


def agree(client: str | None, visibility: str, frames: list[bytes], limit: int = LIMIT) -> bytes:
    out = output(rewriter(client, visibility, limit=limit), frames)
    assert out == output(rewriter(client, visibility, limit=limit), list(halves(frames)))
    return out


@pytest.mark.parametrize(("client", "visibility"), [param.values[0] for param in PLANS])
@pytest.mark.parametrize(
    "second",
    [
        token(b'"another"'),
        token(rb'"an escape \" and \n and \u00e9"'),
        token('"\U0001f600"'.encode()),
        token(b' "a space before"'),
        token(b'"a space behind" '),
        token(b'\n"a line end before"'),
        token(b'"a line end behind"\r'),
        token(b'""'),
        token(b"null"),
        token(b'{"delta":"x"}'),
        token(b'"x","subagentRunId":"s"'),
        token(b'"x","delta":"y"'),
        token(b'"x"}'),
        token(b'"x"') + b" ",
        token(b'"x'),
        token(b'"a control \x01 character"'),
        token(b'"a line\nend"'),
        token(rb'"a wrong escape \x"'),
        token(rb'"half an escape \"'),
        token(rb'"half an emoji \ud83d"'),
        token(b'"no UTF-8 \xff"'),
        token(b'"x"}\n\ndata: {"type":"CUSTOM","name":"n","value":"v"'),
        token(b'"x"') + b"\n\n" + token(b'"y"'),
        token(b'"x"') + b"\nid: 7",
    ],
)
def test_the_second_of_two_tokens_leaves_as_if_it_had_been_read(client: str, visibility: str, second: bytes) -> None:
    for tag in (b"", b"s"):
        first = token(tag=tag)
        repeated = second.replace(b'"messageId"', b'"subagentRunId":"s","messageId"') if tag else second
        agree(client, visibility, [frame(data) for data in (STARTED, OPENED, first, repeated, first, repeated, first)])


@pytest.mark.parametrize(
    "first",
    [
        rb'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","a \"delta":"x"}',
        rb'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","d\u0065lta":"y","delta":"x"}',
        rb'{"type":"TEXT_MESSAGE_CONTENT","delta":"y","messageId":"m","delta":"x"}',
        rb'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","rawEvent":{"delta":"x"}}',
        rb'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","messageId":"n","subagentRunId":"s","delta":"x"}',
        rb'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","subagentRunId":"s","subagentRunId":"u","delta":"x"}',
        rb'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","subagentRunId":7,"delta":"x"}',
        rb'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","subagentRunId":"\u0073","delta":"x"}',
        rb'{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "subagentRunId": "s", "delta": "x"}',
        rb'{"delta":"x","type":"TEXT_MESSAGE_CONTENT","messageId":"m","subagentRunId":"s"}',
        rb'{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"x"}',
        rb'{"type":"CUSTOM","name":"n","delta":"x"}',
        rb'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","rawEvent":{"delta":"x"},"subagentRunId":"s","delta":"x"}',
        rb'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","rawEvent":{"delta":"x"},"subagentRunId":"s","delta" :"x"}',
        rb'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","rawEvent":{"delta":"x"},"d\u0065lta":"x"}',
        rb'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","subagentRunId":"s"}',
        rb'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","subagentRunId":"s","timestamp":1.50}',
        rb'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x" ,"subagentRunId":"s"}',
        rb'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","metadata":{"a":"x"}}',
        rb'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","messageId":"n"}',
    ],
)
@pytest.mark.parametrize(("client", "visibility"), [param.values[0] for param in PLANS])
def test_tokens_of_other_shapes_leave_as_if_they_had_been_read(client: str, visibility: str, first: bytes) -> None:
    second = first.replace(b'"x"', b'"another"')
    agree(client, visibility, [frame(data) for data in (STARTED, OPENED, first, second, first, second)])


@st.composite
def lively(draw: st.DrawFn) -> list[Json]:
    """A run whose tokens are followed by others that are like them."""
    texts = st.sampled_from(['"', "\\", "\n", "\ud83d", "\U0001f600", "", "null", '"delta":"x"', "a word "])
    events: list[Json] = []
    stamps = st.dictionaries(st.just("timestamp"), st.sampled_from([7, 1700000000123, 1700000000124, 1.5, None]))
    for event in draw(runs(max_moves=8)):
        more = draw(st.lists(texts, max_size=3)) if event["type"] in TOKENS else []
        events.append(event)
        events += ({"type": event["type"], **draw(stamps), **event, "delta": text} for text in more)
    return events


@given(lively(), st.sampled_from([None, *map(str, RELEASES)]), st.sampled_from(["inline", "hidden"]))
def test_runs_leave_as_if_each_event_had_been_read(events: list[Json], client: str | None, visibility: str) -> None:
    agree(client, visibility, [plain([event]) for event in events])


def alternating(ids: tuple[bytes, bytes] = (b"m", b"n"), tag: bytes = b"") -> list[bytes]:
    """The frames of a run with two texts that stream at the same time."""
    opened = [OPENED.replace(b'"m"', b'"%b"' % id) for id in ids]
    tokens = [token(b'"%d"' % number, id, tag) for number in range(6) for id in ids]
    return [frame(event) for event in (STARTED, *opened, *tokens, *[each.replace(b"START", b"END") for each in opened])]


STAMP = b'"timestamp":1700000000123,'


def stamped(text: bytes, number: bytes = b"1700000000124") -> bytes:
    """The token with another timestamp."""
    return text.replace(b"1700000000123", number)


@pytest.mark.parametrize(
    "second",
    [
        *(b"1700000000124", b"1700000000123", b"7", b"0700000000124", b"-700000000124", b"170000000012.5"),
        *(b'"70000000012"', b"null,       1", b"1700000000124,", b" 700000000124", b"1700000000e10"),
    ],
)
@pytest.mark.parametrize(("client", "visibility"), [param.values[0] for param in PLANS])
@pytest.mark.parametrize(
    "first",
    [
        b'{"type":"TEXT_MESSAGE_CONTENT",%b"messageId":"m","delta":"x"}' % STAMP,
        b'{"type":"TEXT_MESSAGE_CONTENT",%b"subagentRunId":"s","messageId":"m","delta":"x"}' % STAMP,
        b'{"type":"TEXT_MESSAGE_CONTENT","subagentRunId":"s",%b"messageId":"m","delta":"x"}' % STAMP,
        b'{"type":"TEXT_MESSAGE_CONTENT",%b%b"messageId":"m","delta":"x"}' % (STAMP, STAMP),
        b'{"type":"TEXT_MESSAGE_CONTENT","metadata":{%b"a":1},"messageId":"m","delta":"x"}' % STAMP,
        b'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x",%b"a":1}' % STAMP,
        b'{"type":"TEXT_MESSAGE_CONTENT",%b"messageId":"m","delta":"x","timestamp":1}' % STAMP,
        b'{"type": "TEXT_MESSAGE_CONTENT", "timestamp": 1700000000123, "messageId": "m", "delta": "x"}',
        b'{"type":"THINKING_TEXT_MESSAGE_CONTENT",%b"delta":"x"}' % STAMP,
    ],
)
def test_tokens_with_timestamps_leave_as_if_they_had_been_read(
    client: str | None, visibility: str, first: bytes, second: bytes
) -> None:
    tokens = [first, stamped(first, second), stamped(first), first]
    agree(client, visibility, [frame(data) for data in (STARTED, OPENED, *tokens)])


@pytest.mark.parametrize("space", [b"", b" "])
def test_a_token_with_a_timestamp_of_its_own_is_not_read(space: bytes) -> None:
    calls: list[str] = []
    text = (
        b'{"type":"TEXT_MESSAGE_CONTENT","timestamp":%b1700000000123,"subagentRunId":"s","messageId":"m","delta":"x"}'
    )
    chunks = [frame(stamped(text % space, b"%d" % number)) for number in range(1700000000000, 1700000000100)]
    out = output(rewriter(None, "inline", counting(calls, repeats=REPEATS)), chunks)
    assert out == b"".join(chunks).replace(b'"subagentRunId":"s",', b"")
    assert calls == ["x"]


@pytest.mark.parametrize("stamp", [None, 5])
def test_a_timestamp_that_a_filter_changes_is_not_repeated(stamp: int | None) -> None:
    def changed(_: Context) -> Step:
        return lambda event: event.without("timestamp") if stamp is None else event.replace(timestamp=stamp)

    text = b'{"type":"TEXT_MESSAGE_CONTENT",%b"messageId":"m","delta":"x"}' % STAMP
    stream = rewriter(None, "auto", per_event(*REPEATS, repeats=REPEATS)(changed))
    left = text.replace(STAMP, b"" if stamp is None else b'"timestamp":5,')
    assert output(stream, [frame(text), frame(stamped(text))]) == frame(left) * 2


def test_texts_that_alternate_wait_with_their_timestamps() -> None:
    frames = [
        data.replace(b'"messageId"', b'"timestamp":%d,"messageId"' % (1700000000000 + number))
        for number, data in enumerate(alternating(tag=b"s"))
    ]
    out = agree("0.0.36", "auto", frames)
    assert all(b"%d" % number in out for number in range(1700000000001, 1700000000001 + len(frames) - 1))


def counting(calls: list[str], **options: tuple[str, ...]) -> Filter:
    @per_event(EVERYTHING, **options)  # type: ignore[arg-type]  # the one option is a tuple of types
    def count(_: Context) -> Step:
        def show(event: Event) -> Event:
            calls.append(event.get("delta", event.type))
            return event

        return show

    return count


REPEATS = ("TEXT_MESSAGE_CONTENT",)


def test_a_filter_that_promises_to_repeat_itself_is_not_called_again_until_something_else_comes() -> None:
    calls: list[str] = []
    texts = [token(b'"a"'), token(b'"b"'), STARTED, token(b'"c"'), token(b'"d"'), token(b'"e"', id=b"n"), token(b'"f"')]
    output(rewriter(None, "auto", counting(calls, repeats=REPEATS)), [frame(text) for text in texts])
    assert calls == ["a", "RUN_STARTED", "c", "e"]


@pytest.mark.parametrize("broken", [b'{"type":"TEXT', b"not JSON", b'{"type":1}', b"[DONE]"])
def test_what_is_no_event_ends_the_repetition_too(broken: bytes) -> None:
    calls: list[str] = []
    texts = [token(b'"a"'), broken, token(b'"b"')]
    output(rewriter(None, "auto", counting(calls, repeats=REPEATS)), [frame(text) for text in texts])
    assert calls == ["a", "b"]


@pytest.mark.parametrize(
    "members",
    [b'"x"', b'"x","subagentRunId":"s"', b'"x","timestamp":7', rb'"\"x\"\\","metadata":{"a":"x"}', b' "x", "a": 1'],
)
def test_what_follows_the_delta_may_be_anything_that_repeats(members: bytes) -> None:
    calls: list[str] = []
    texts = [token(members), token(members.replace(b"x", b"y", 1)), token(members + b',"b":1')]
    assert output(rewriter(None, "auto", counting(calls, repeats=REPEATS)), [*map(frame, texts)]) == b"".join(
        map(frame, texts)
    )
    assert len(calls) == 2


def test_a_filter_that_promises_nothing_is_called_with_each_event() -> None:
    calls: list[str] = []
    output(rewriter(None, "auto", counting(calls)), [frame(token(b'"a"')), frame(token(b'"b"'))])
    assert calls == ["a", "b"]


def test_where_changes_in_place_are_looked_for_every_event_is_read() -> None:
    calls: list[str] = []
    filters = counting(calls, repeats=REPEATS)
    output(rewriter(None, "auto", filters, verify=True), [frame(token(b'"a"')), frame(token(b'"b"'))])
    assert calls == ["a", "b"]


def test_a_generator_is_resumed_unless_it_skips_the_type() -> None:
    calls: list[str] = []

    @handles(EVERYTHING)
    async def skips_behind_a(events: EventSource, _: Context) -> AsyncIterator[Event]:
        async for event in events:
            calls.append(event["delta"])
            events.skipped = REPEATS if event["delta"] == "a" else ()
            yield event

    texts = [frame(token(b'"%b"' % text)) for text in (b"a", b"b", b"c")]
    assert output(rewriter(None, "auto", skips_behind_a), texts) == b"".join(texts)
    assert calls == ["a"]
    assert output(rewriter(None, "auto", skips_behind_a), texts[1:]) == b"".join(texts[1:])
    assert calls == ["a", "b", "c"]


@pytest.mark.parametrize("tag", [b"", b"s"])
def test_of_two_texts_that_alternate_the_tokens_of_one_pass_and_those_of_the_other_wait_unread(tag: bytes) -> None:
    frames = alternating(tag=tag)
    agree("0.0.36", "auto", frames)
    stream = rewriter("0.0.36", "auto")
    out = [stream.feed(data) for data in frames[:-2]]
    first, second = (data.partition(b'"delta"')[0] for data in frames[3:5])
    assert out[3::2] == [data.replace(b'"subagentRunId":"s",', b"") for data in frames[3::2]][:6]
    assert out[4::2] == [b""] * 6
    assert (stream._repeated.starts[first][-1], list(stream._repeated.starts)) == (None, [first, second])
    assert stream._repeated.starts[second][-1] is not None
    stream.close()


def test_what_waits_unread_counts() -> None:
    """As it does where each event is read: the run ends at the same token."""
    frames = alternating()
    ends = [b"AGUI_EVENT_TOO_LARGE" in agree("0.0.36", "auto", frames, limit=limit) for limit in range(700, 6000, 50)]
    assert ends == sorted(ends, reverse=True)
    assert {True, False} == set(ends)


def test_tokens_of_what_has_never_been_opened_wait_unread_too() -> None:
    frames = alternating()
    waits = frame(b'{"type":"CUSTOM","name":"x","value":1}')
    out = agree("0.0.36", "auto", [*frames[:2], waits, *frames[3:]])
    assert out == b"".join([*frames[:2], *frames[3:-1:2], waits, *frames[4:-1:2], frames[-1]])


@pytest.mark.parametrize("room", [False, True])
def test_a_generator_whose_tokens_are_kept_is_resumed_where_there_is_no_room(room: bool) -> None:
    seen: list[str] = []
    kept: list[bytes] = []

    def keep(token: Event) -> bool:
        if room:
            kept.append(token.raw)
        return room

    @handles(*REPEATS)
    async def keeps(events: EventSource, _: Context) -> AsyncIterator[Event]:
        events.keepers = dict.fromkeys(REPEATS, lambda event: None if event["messageId"] == "a" else keep)
        async for event in events:
            seen.append(event["delta"])
            yield event

    texts = [token(b'"%b"' % text, id=text) for text in (b"a", b"b", b"a", b"b")]
    out = output(rewriter(None, "auto", keeps), [*map(frame, texts)])
    if room:
        assert (seen, kept, out) == ([], [texts[1], texts[3]], frame(texts[0]) * 2)
    else:
        assert (seen, kept, out) == (["b", "b"], [], b"".join(map(frame, texts)))


def test_of_a_token_that_waits_only_the_head_is_remembered() -> None:
    stream = rewriter("0.0.36", "auto")
    for chunk in alternating()[:5]:
        stream.feed(chunk)
    stream.close()
    assert [kept[0].raw for *_, kept in stream._repeated.starts.values() if kept is not None] == [b""]


def test_a_delta_that_a_filter_changes_is_not_repeated() -> None:
    def marked(_: Context) -> Step:
        return lambda event: event.replace(delta=event["delta"] + "!")

    stream = rewriter(None, "auto", per_event(*REPEATS, repeats=REPEATS)(marked))
    assert b'"delta":"b!"' in output(stream, [frame(token(b'"a"')), frame(token(b'"b"'))])


@pytest.mark.parametrize("kind", ["raises", "no JSON"])
def test_behind_a_failure_nothing_is_repeated(kind: str) -> None:
    @per_event(*REPEATS, repeats=REPEATS)
    def fails(_: Context) -> Step:
        def show(event: Event) -> Event:
            if event["messageId"] == "m":
                return event
            if kind == "raises":
                raise RuntimeError
            return event.replace(value=object())

        return show

    stream = rewriter(None, "auto", fails)
    assert stream.feed(frame(token())) == frame(token())
    assert stream.feed(frame(token(b'"y"'))) == frame(token(b'"y"'))
    assert b"AGUI_FILTER_ERROR" in stream.feed(frame(token(id=b"n")))
    assert stream.ended
    assert stream.feed(frame(token(b'"z"'))) == b""
    stream.close()


def test_a_token_that_is_too_large_ends_the_run_though_it_is_like_the_last() -> None:
    large = token(b'"%b"' % (b"x" * 1000))
    line = len(b"data: ") + len(large)
    for limit, ends in ((line, False), (line - 1, True)):
        out = agree(None, "inline", [frame(data) for data in (token(), token(), large)], limit=limit)
        assert (b"AGUI_EVENT_TOO_LARGE" in out) is ends


def test_what_is_remembered_is_bounded() -> None:
    stream = rewriter(None, "inline")
    for number in range(3 * MOST):
        for _ in range(2):
            stream.feed(frame(token(id=b"%d" % number, tag=b"s")))
        assert 0 < len(stream._repeated.starts) <= MOST
    stream.feed(frame(STARTED))
    stream.feed(frame(token(id=b"m" * LONGEST)))
    assert not stream._repeated.starts
    stream.close()


def test_tokens_that_are_never_alike_are_soon_not_compared_any_more() -> None:
    stream = rewriter(None, "inline")
    for number in range(2 * TRIES):
        stream.feed(frame(STARTED))
        stream.feed(frame(token(id=b"%d" % number)))
        assert bool(stream._repeated.starts) is (number < TRIES)
    stream.close()


def test_a_plan_says_which_types_may_repeat_and_which_generators_must_skip_them() -> None:
    for release in RELEASES:
        for visibility in ("inline", "hidden"):
            composition = make_plan(release, visibility).composition
            assert {"TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS"} <= composition.repeats.keys()
    assert Composition([counting([])]).repeats == {}
    assert Composition([]).repeats == dict.fromkeys(TOKENS, ())


@pytest.mark.parametrize(("client", "visibility"), [param.values[0] for param in PLANS])
def test_a_token_leaves_nothing_that_the_garbage_collector_has_to_look_at(client: str | None, visibility: str) -> None:
    stream = rewriter(client, visibility)
    for chunk in [frame(STARTED), frame(OPENED), *[frame(token(tag=b"s"))] * 2]:
        stream.feed(chunk)
    chunks = [frame(token(b'"%d"' % number, tag=b"s")) for number in range(1000)]
    gc.collect()
    before = len(gc.get_objects())
    for chunk in chunks:
        stream.feed(chunk)
    assert len(gc.get_objects()) == before
    stream.close()
