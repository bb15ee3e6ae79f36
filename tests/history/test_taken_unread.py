"""Tokens that are like the one before are kept without being read: the record is that of a stream in which each is read."""

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_middleware import ClientVersion, Context, Event
from agui_middleware.config.planning import make_plan
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.filters.redact import redact
from agui_middleware.history.capture import Capture
from agui_middleware.history.echo import Echo
from agui_middleware.history.record import Kept
from agui_middleware.stream.witnessed import Options, Witness, WitnessedRewriter
from tests.history.remembered import read
from tests.history.threads import posted, user


@per_event("RAW")
def end_the_run(_: Context) -> Step:
    """One that makes an event that ends a run of another."""
    return lambda event: Event(type="RUN_FINISHED", threadId="t", runId="r")


PLANS = {
    "ended": make_plan(None, filters=[end_the_run]),
    "inline": make_plan(ClientVersion.parse("0.0.58")),
    "hidden": make_plan(None, "hidden"),
    "0.0.36": make_plan(ClientVersion.parse("0.0.36")),
    "redacted": make_plan(ClientVersion.parse("1.0.0"), filters=[redact("secret")]),
}
IDS, TAGS = ("m", "n"), ("", "s")


def frame(**members: object) -> bytes:
    return b"data: %b\n\n" % msgspec.json.encode(members)


def opened(id: str, tag: str) -> bytes:
    tags = {"subagentRunId": tag} if tag else {}
    return frame(type="TEXT_MESSAGE_START", messageId=id, role="assistant", **tags)


def token(id: str, delta: str, tag: str = "", **members: object) -> bytes:
    tags = {"subagentRunId": tag} if tag else {}
    return frame(type="TEXT_MESSAGE_CONTENT", messageId=id, **members, **tags, delta=delta)


def call(id: str, delta: str) -> bytes:
    return frame(type="TOOL_CALL_ARGS", toolCallId=id, delta=delta)


class Followed:
    """One response, and what is kept of it."""

    def __init__(self, plan: str) -> None:
        before = read(posted([user("u1")]), PLANS[plan].client or ClientVersion(1, 0, 0))
        self.capture = Capture(before, before, None, PLANS[plan].named_client, 1 << 20)
        witness = Witness(self.capture, Echo(before, before).as_posted)
        options = Options(sniff=False, verify=False, log=None)
        self.rewriter = WitnessedRewriter(PLANS[plan], Context(PLANS[plan].client), 100_000, witness, **options)

    def feed(self, chunks: Sequence[bytes]) -> tuple[bytes, Kept | None]:
        written = b"".join(map(self.rewriter.feed, chunks)) + self.rewriter.finish()
        self.rewriter.close()
        kept = self.capture.finish()
        for chain in kept.chains if kept is not None else ():
            chain.stamp = 0
        return written, kept


def each_read(frames: Sequence[bytes]) -> list[bytes]:
    """The same bytes, so that no chunk is an event."""
    return [half for one in frames for half in (one[:9], one[9:])]


STARTED = frame(type="RUN_STARTED", threadId="t", runId="r")
texts = st.builds(token, st.sampled_from(IDS), st.sampled_from(["a", "secret", "b\u00e9", '"']), st.sampled_from(TAGS))
stamped = st.builds(
    token, st.sampled_from(IDS), st.just("d"), st.sampled_from(TAGS), timestamp=st.sampled_from([1000, 1001])
)
marked = st.builds(token, st.sampled_from(IDS), st.just("c"), metadata=st.fixed_dictionaries({"k": st.integers(0, 3)}))
starts = st.builds(opened, st.sampled_from(IDS), st.sampled_from(TAGS))
chunks = st.builds(
    lambda id: frame(type="TEXT_MESSAGE_CHUNK", messageId=id, role="assistant", delta="k"), st.sampled_from(IDS)
)
ends = st.builds(lambda id: frame(type="TEXT_MESSAGE_END", messageId=id), st.sampled_from(IDS))
snapshots = st.builds(
    lambda ids: frame(
        type="MESSAGES_SNAPSHOT",
        messages=[user("u1"), *({"id": id, "role": "assistant", "content": "z"} for id in ids)],
    ),
    st.lists(st.sampled_from(IDS), unique=True),
)
calls = st.builds(call, st.just("c"), st.sampled_from(["1", "2"]))
opened_calls = st.builds(
    lambda id: frame(type="TOOL_CALL_START", toolCallId="c", toolCallName="f", parentMessageId=id), st.sampled_from(IDS)
)
runs_of_tokens = st.builds(lambda one, times: [one] * times, st.one_of(texts, calls), st.integers(2, 6))
moves = st.one_of(
    runs_of_tokens,
    st.lists(stamped, min_size=2, max_size=4),
    st.one_of(starts, ends, marked, chunks, snapshots, opened_calls).map(lambda one: [one]),
)


@pytest.mark.parametrize("plan", PLANS)
@given(st.lists(moves, max_size=12))
def test_the_record_is_that_of_a_stream_in_which_each_token_is_read(plan: str, drawn: list[list[bytes]]) -> None:
    frames = [STARTED, opened("m", ""), opened("n", "s"), *(one for move in drawn for one in move)]
    assert Followed(plan).feed(frames) == Followed(plan).feed(each_read(frames))


@pytest.mark.parametrize(
    ("plan", "tag"), [("inline", ""), ("inline", "s"), ("hidden", ""), ("hidden", "s"), ("0.0.36", "")]
)
def test_tokens_are_taken_unread(plan: str, tag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []
    parse = Event.parse

    def count(raw: bytes, fields: object = None) -> Event:
        parsed.append(raw)
        return parse(raw, fields)

    monkeypatch.setattr(Event, "parse", staticmethod(count))
    Followed(plan).feed([STARTED, opened("m", tag), *[token("m", "a", tag)] * 100])
    assert len(parsed) < 10


def test_a_text_that_cannot_be_shared_any_more_is_read() -> None:
    """A token with metadata has parted the two sides: what follows it is kept, and not taken for what both have."""
    frames = [
        STARTED,
        opened("m", ""),
        *[token("m", "a")] * 5,
        token("m", "b", metadata={"k": 1}),
        *[token("m", "a")] * 5,
    ]
    assert Followed("inline").feed(frames) == Followed("inline").feed(each_read(frames))


def test_of_more_starts_than_are_remembered_none_is_taken_for_another() -> None:
    frames = [STARTED, *[opened(f"m{number}", "s") for number in range(40)]]
    frames += [token(f"m{number % 40}", str(number), "s") for number in range(400)]
    assert Followed("hidden").feed(frames) == Followed("hidden").feed(each_read(frames))


def test_tokens_without_a_text_are_read() -> None:
    frames = [STARTED, opened("m", ""), *[token("m", "")] * 20, token("m", "a")]
    assert Followed("inline").feed(frames) == Followed("inline").feed(each_read(frames))


def test_an_event_that_a_filter_makes_the_end_of_a_run_is_one() -> None:
    followed = Followed("ended")
    followed.feed([STARTED, frame(type="RAW", event=1)])
    assert followed.rewriter.run_ended


def test_more_than_may_be_held_of_tokens_that_are_taken_unread_is_not_kept() -> None:
    before = read(posted([user("u1")]), ClientVersion(1, 0, 0))
    capture = Capture(before, before, None, None, 50_000)
    for event in (opened("m", "s"), token("m", "a"), token("m", "b")):
        capture.agent_sent(Event.parse(event[6:-2]))
    take = capture.taker(Event.parse(token("m", "c")[6:-2]), b"")
    assert take is not None
    assert take(token("m", "x" * 100_000)[6:-2])
    assert capture.has_given_up
    assert capture.finish() is None


def test_tokens_with_a_time_of_their_own_are_read_and_kept_alike() -> None:
    frames = [STARTED, opened("m", "s"), *[token("m", "a", "s", timestamp=number) for number in range(20)]]
    written, kept = Followed("inline").feed(frames)
    assert written.count(b"subagentRunId") == 0
    assert (written, kept) == Followed("inline").feed(each_read(frames))
