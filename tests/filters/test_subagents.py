"""`inline` and `hidden`, rule by rule: for each rule a valid stream, and what the two make of it."""

from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

import pytest

from agui_middleware import Context, Event, SubagentVisibility, rewrite
from agui_middleware.filters.subagents import attributed, hidden, inline
from agui_middleware.protocol.event import MalformedEvent
from agui_middleware.testing import encode_events, run_filter
from tests.clients.client import Client
from tests.notation import Json, stream, untagged


class Rule(NamedTuple):
    """A stream behind RUN_STARTED and before RUN_FINISHED, and what is left of it; `inline=None`: all, without its tags."""

    events: str
    hidden: str
    inline: str | None = None


# A rule's events in short notation, see `tests.notation`.
INTERRUPT = 'RF r outcome={"type":"interrupt","interrupts":[%s,{"id":"j","reason":"ask"}]}'
TAGGED, FREE = (
    '{"id":"i","reason":"approve","toolCallId":"c","subagentRunId":"s"}',
    '{"id":"i","reason":"approve","toolCallId":"c"}',
)
OPAQUE = '{"subagentRunId":"s"}'
PAYLOADS = (
    f"CUSTOM x value={OPAQUE} metadata={OPAQUE}; RAW rawEvent={OPAQUE}; AS a content={OPAQUE}; KS c; KA c {OPAQUE}"
)
PENDING = 'RF r outcome={"type":"success","pendingToolCallIds":%s}'

RULES: dict[str, Rule] = {
    "what is the parent's stays as it is": Rule(
        "TS m; TC m hi; TE m; KS c; KA c {}; KE c; KR c t", "TS m; TC m hi; TE m; KS c; KA c {}; KE c; KR c t"
    ),
    "the lifecycle goes": Rule(
        'SUB+ s description="d"; SUB+ u parentSubagentRunId="s"; SUB! u; SUB- s result=1', "", ""
    ),
    "a subagent's text": Rule("TS m; TC m hi; TS n @s; TC n psst @s; TE m; TE n @s", "TS m; TC m hi; TE m"),
    "tags need no announcement, may come before it and behind the end": Rule(
        "TS n @s; TE n @s; SUB+ s; TS o @s; SUB- s; TC o x @s; TE o @s", "", "TS n; TE n; TS o; TC o x; TE o"
    ),
    "continuations without a tag go with their opener": Rule(
        "TS n @s; TC n psst; TE n; KS c @s; KA c {}; KE c; GS g @s; GC g hm; GE g", ""
    ),
    "a result does not take over a message that somebody else has begun": Rule(
        "KS c; KE c; TS n @s; KR c n; TC n psst; TE n; KS d @s; KE d; TS m; KR d m; TC m hi; TE m",
        "KS c; KE c; KR c n; TS m; TC m hi; TE m",
    ),
    "an owner is kept behind the close": Rule("TS n @s; TE n; TS n; TC n more; TE n", ""),
    "an owner is kept across the runs of a stream": Rule(
        "TS n @s; TE n; KS c @s; KE c; RF r; RS q; TS n; TC n more; TE n; KR c t; EV message n", "RF r; RS q"
    ),
    "parallel subagents": Rule(
        "TS n @s; TS o @u; TS m; TC o x; TC n y; TC m z; TE m; TE n; TE o", "TS m; TC m z; TE m"
    ),
    "a subagent's steps go, also while the parent has one of that name open": Rule(
        "STEP+ a; STEP+ a @s; STEP+ a @u; STEP- a @s; STEP- a @u; STEP- a", "STEP+ a; STEP- a", "STEP+ a; STEP- a"
    ),
    "a subagent's steps go, whoever ends first": Rule(
        "STEP+ a; STEP+ a @s; STEP- a; STEP- a @s", "STEP+ a; STEP- a", "STEP+ a; STEP- a"
    ),
    "a step of a run that failed is forgotten": Rule(
        "STEP+ a @s; RE x; RS q; STEP+ a; STEP- a", "RE x; RS q; STEP+ a; STEP- a", "RE x; RS q; STEP+ a; STEP- a"
    ),
    "a result goes with the call, whoever executed it": Rule("KS c @s; KE c; KR c t; KS d @s; KE d; KR d v @u", ""),
    "a result for the parent's call stays, whoever executed it": Rule("KS c; KE c; KR c t @s", "KS c; KE c; KR c t"),
    "also a second one, and one in a later run": Rule(
        "KS c; KE c; KR c t; KR c v @s; RF r; RS q; KR c w @s", "KS c; KE c; KR c t; KR c v; RF r; RS q; KR c w"
    ),
    "a result for a call that nobody has seen goes with its tag": Rule("KR x t; KR y v @s", "KR x t"),
    "encrypted values go with what they belong to": Rule(
        "TS n @s; TE n; KS c @s; KE c; GS g @s; GE g; TS m; TE m; EV message n; EV tool-call c; EV message g; EV message m",
        "TS m; TE m; EV message m",
    ),
    "also with a tool message": Rule(
        "KS c @s; KE c; KR c t; EV message t; KS d; KE d; KR d v; EV message v", "KS d; KE d; KR d v; EV message v"
    ),
    "a message's value is not that of a call of the same id": Rule(
        "TS q; TE q; TS c @s; TE c; KS c q; KE c; EV message c; EV tool-call c",
        "TS q; TE q; KS c q; KE c; EV tool-call c",
    ),
    "a call begins the message that it belongs to": Rule(
        "KS c p @s; KE c; TS p; TE p; EV message p; KS d p; KE d; KS e; KE e; TS e; TE e", "KS e; KE e; TS e; TE e"
    ),
    "under its own id, if it names none": Rule("KS c @s; KE c; TS c; TE c; EV message c", ""),
    "a reasoning span and its message share their id": Rule(
        "SPAN+ g @s; GS g; GC g hm; GE g; SPAN- g; SPAN+ h; SPAN- h", "SPAN+ h; SPAN- h"
    ),
    "an activity goes with its opener": Rule("AS a @s; AD a; AS a replace=false @s; AS b; AD b", "AS b; AD b"),
    "an activity that a subagent has replaced stays the subagent's": Rule(
        "AS a; AD a; AS a @s; AD a; AS a; AD a", "AS a; AD a"
    ),
    "an activity that is only added to keeps its owner": Rule("AS a @s; AS a replace=false; AD a", ""),
    "what a subagent adds to the parent's activity goes, and the activity stays the parent's": Rule(
        "AS a; AS a replace=false @s; AD a", "AS a; AD a"
    ),
    "a call without a tag is whoever's the message is that carries it": Rule(
        "TS n @s; TE n; KS c n; KA c {}; KE c; KR c t; TS m; TE m; KS d m; KE d; KR d v",
        "TS m; TE m; KS d m; KE d; KR d v",
    ),
    "a call with a tag is a subagent's, also in a message that nobody has opened": Rule("KS c x @s; KE c; KR c t", ""),
    "the run's state stays, without its tag": Rule("STATE @s; PATCH @s", "STATE; PATCH"),
    "custom and raw events": Rule("CUSTOM x @s; RAW @s; CUSTOM y; RAW", "CUSTOM y; RAW"),
    "payloads are not looked into": Rule(
        f"{PAYLOADS}; KE c; RF r result={OPAQUE}; RS q", f"{PAYLOADS}; KE c; RF r result={OPAQUE}; RS q"
    ),
    # Chunks.
    "chunks without an id get the id that their attribution resolved to": Rule(
        "TK m a; TK n b @s; TK _ c; TK _ d @s; TK _ e",
        "TK m a; TK m c; TK m e",
        "TK m a; TK n b; TK m c; TK n d; TK m e",
    ),
    "also the parent's, behind an event that lost its tag": Rule(
        "TK m a; CUSTOM x @s; TK _ b", "TK m a; TK m b", "TK m a; CUSTOM x; TK m b"
    ),
    "also behind a subagent's state, which stays": Rule(
        "TK m a; STATE @s; TK _ b", "TK m a; STATE; TK m b", "TK m a; STATE; TK m b"
    ),
    "a chunk without id and tag is the only subagent's that has one open": Rule(
        "TK n a @s; TK _ b; TS m; TE m; TK _ c", "TS m; TE m", "TK n a; TK n b; TS m; TE m; TK n c"
    ),
    "a tool chunk that reopens gets its name back, and what carried it": Rule(
        "KK c 1 f m; KK d x g @s; KK _ 2; KK c 3",
        "KK c 1 f m; KK c 2; KK c 3",
        "KK c 1 f m; KK d x g; KK c 2 f m; KK c 3",
    ),
    "and never a field that its opener lacked": Rule(
        "KK c 1 f; STATE @s; KK _ 2", "KK c 1 f; STATE; KK c 2 f", "KK c 1 f; STATE; KK c 2 f"
    ),
    "a text chunk that reopens gets its role and name as the opener had them": Rule(
        'TK m a role="user" name="Ann"; STATE @s; TK _ b; TK o c @s; TK p d; STATE @s; TK _ e',
        'TK m a role="user" name="Ann"; STATE; TK m b role="user" name="Ann"; TK p d; STATE; TK p e',
        'TK m a role="user" name="Ann"; STATE; TK m b role="user" name="Ann"; TK o c; TK p d; STATE; TK p e',
    ),
    "what opens anew is left as it is": Rule("KK c 1 f; TK m a; KK c 2 f", "KK c 1 f; TK m a; KK c 2 f"),
    "a chunk reopens what only a hidden event had closed, and may then say nothing that contradicts its first opener": Rule(
        'TS n @s; TK m a; TC n psst; TK m b name="search"; TE n', "TK m a; TK m b"
    ),
    "reasoning chunks": Rule(
        "GK g a; GK h b @s; GK _ c; GK _ d @s", "GK g a; GK g c", "GK g a; GK h b; GK g c; GK h d"
    ),
    "chunks of a call are whoever's the message is that carries it": Rule(
        "TS n @s; TE n; KK c 1 f n; KK _ 2; KR c t", "", "TS n; TE n; KK c 1 f n; KK c 2; KR c t"
    ),
    "the end of a subagent closes its chunks, and a snapshot all": Rule(
        "TK n a @s; SUB+ s; SUB- s; TK m b; SNAP; TK m c", "TK m b; SNAP; TK m c", "TK n a; TK m b; SNAP; TK m c"
    ),
    "what was closed no longer fits, also where no reader has it open": Rule(
        "TK n a @s; STATE; SUB+ s; SUB- s; TK o b @u; KK c 1 f @v; TK _ d",
        "STATE",
        "TK n a; STATE; TK o b; KK c 1 f; TK o d",
    ),
    # What carries messages.
    "a snapshot": Rule("SNAP u:user m n@s g:reasoning@s", "SNAP u:user m", "SNAP u:user m n g:reasoning"),
    "a tool message of a snapshot goes where its call went": Rule(
        "SNAP m+c n+d@s t=c@s v=d w=x@s y=z", "SNAP m+c t=c y=z", "SNAP m+c n+d t=c v=d w=x y=z"
    ),
    "also before its call": Rule("SNAP t=c n+c@s", "SNAP", "SNAP t=c n+c"),
    "also while the call is open": Rule(
        "KS c; KR c t @s; SNAP c+c; SNAP c+c t=c@s; KE c",
        "KS c; KR c t; SNAP c+c; SNAP c+c t=c; KE c",
        "KS c; KR c t; SNAP c+c; SNAP c+c t=c; KE c",
    ),
    "a snapshot gives the parent's to a subagent, and nothing to the parent": Rule(
        "TS n @s; TE n; TS m; TE m; SNAP n m@s; TS n; TC n gone; TE n; TS m; TC m gone; TE m",
        "TS m; TE m; SNAP",
        "TS n; TE n; TS m; TE m; SNAP n m; TS n; TC n gone; TE n; TS m; TC m gone; TE m",
    ),
    "and whose a call, a reasoning or an activity is": Rule(
        "SNAP n+c@s g:reasoning@s; KR c t; EV message g; SNAP a:activity@s; AD a",
        "SNAP; SNAP",
        "SNAP n+c g:reasoning; KR c t; EV message g; SNAP a:activity; AD a",
    ),
    "what is open keeps its visibility until it closes": Rule(
        "TS n @s; TS m; SNAP n m@s; TC n x; TC m y; TE n; TE m; TS n; TE n; TS m; TE m",
        "TS m; SNAP; TC m y; TE m",
        "TS n; TS m; SNAP n m; TC n x; TC m y; TE n; TE m; TS n; TE n; TS m; TE m",
    ),
    "the input echo": Rule(
        "RF r; RS q m n@s; TS n; TE n; TS m; TE m", "RF r; RS q m; TS m; TE m", "RF r; RS q m n; TS n; TE n; TS m; TE m"
    ),
    "an echo without the tags decides nothing": Rule(
        "TS n @s; TE n; GS g @s; GE g; AS a @s; RF r; RS q u:user n g:reasoning a:activity; TS n; TE n; TS u; TE u",
        "RF r; RS q u:user; TS u; TE u",
    ),
    "an echo that puts a subagent's call into a parent's message": Rule(
        "KS c n @s; KE c; KR c t @s; TS m; TE m; RF r; RS q m+c t=c; KS d m; KE d",
        "TS m; TE m; RF r; RS q m; KS d m; KE d",
    ),
    "an echo in which it stands beside the parent's own": Rule(
        "KS c n @s; KE c; KS d m; KE d; RF r; RS q m+c+d t=c v=d",
        "KS d m; KE d; RF r; RS q m+d v=d",
    ),
    "a call in a message that has lost its tag is a subagent's too": Rule(
        "TS n @s; TE n; RF r; RS q u:user n+c t=c; KR c v", "RF r; RS q u:user"
    ),
    "a snapshot that has lost the tags shows nothing, nor does an echo after it": Rule(
        "TS n @s; TE n; GS g @s; GE g; SNAP n g:reasoning m; RF r; RS q n g:reasoning m",
        "SNAP m; RF r; RS q m",
    ),
    "interrupts stay, without their tag": Rule(
        f"KS c @s; KE c; {INTERRUPT % TAGGED}; RS q",
        f"{INTERRUPT % FREE}; RS q",
        f"KS c; KE c; {INTERRUPT % FREE}; RS q",
    ),
    "pending calls, without the hidden ones": Rule(
        "KS c @s; KE c; KS d; KE d; " + PENDING % '["c","d"]' + "; RS q", "KS d; KE d; " + PENDING % '["d"]' + "; RS q"
    ),
    "usage and metadata of the run stay": Rule(
        'RF r usage=[{"inputTokens":1}] metadata={"a":1}; RS q', 'RF r usage=[{"inputTokens":1}] metadata={"a":1}; RS q'
    ),
}
EVERY_RULE = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
TEXT, SUBAGENTS_TEXT = stream("TS m; TC m hi; TE m"), stream("TS n @s; TC n psst @s; TE n @s")


def whole(events: str) -> list[Json]:
    return stream(f"RS r; {events}; RF r")


def inlined(rule: Rule) -> list[Json]:
    return untagged(whole(rule.events)) if rule.inline is None else whole(rule.inline)


async def run_both(events: list[Json]) -> tuple[list[Json], list[Json]]:
    return await run_filter(inline, events), await run_filter(hidden, events)


@EVERY_RULE
async def test_inline(rule: Rule) -> None:
    assert await run_filter(inline, whole(rule.events)) == inlined(rule)


@EVERY_RULE
async def test_hidden(rule: Rule) -> None:
    assert await run_filter(hidden, whole(rule.events)) == whole(rule.hidden)


@EVERY_RULE
async def test_attributed_leaves_all_as_it_is(rule: Rule) -> None:
    events = whole(rule.events)
    assert await run_filter(attributed, events) == events
    assert rewrite(encode_events(events), visibility="attributed") == encode_events(events)


async def test_attributed_can_be_called_as_any_other_filter() -> None:
    event = Event(type="CUSTOM", subagentRunId="s")

    async def source() -> AsyncIterator[Event]:
        yield event

    assert [left async for left in attributed(source(), Context())] == [event]


@EVERY_RULE
@pytest.mark.parametrize("mode", ["inline", "hidden"])
def test_what_was_rewritten_is_rewritten_to_itself(rule: Rule, mode: str) -> None:
    once = rewrite(encode_events(whole(rule.events)), visibility=mode)
    assert rewrite(once, visibility=mode) == once


@EVERY_RULE
def test_the_stream_of_a_rule_is_valid_and_so_is_what_is_left(client: Callable[[str], Client], rule: Rule) -> None:
    original = encode_events(whole(rule.events))
    streams = [original, *(rewrite(original, visibility=mode) for mode in ("inline", "hidden"))]
    assert [outcome.error for outcome in client("1.0.0").read_many(streams)] == [None] * 3


# What is not valid: nothing is repaired, and hiding fails closed.


async def test_a_step_end_without_a_tag_is_judged_by_who_has_a_step_open() -> None:
    """1.0.0 wants the exact tag of its start at a step's end."""
    for left in await run_both(stream("STEP+ a @s; STEP+ b; STEP- a; STEP- b; STEP- a @s")):
        assert left == stream("STEP+ b; STEP- b")


async def test_a_step_end_that_ends_nothing_is_left_for_the_client_to_reject() -> None:
    events = stream("STEP- a; STEP+ b; STEP- b; STEP- b")
    assert await run_both(events) == (events, events)


@pytest.mark.parametrize("tag", [None, 5, ["s"], {"id": "s"}, True, ""])
async def test_a_malformed_tag_is_not_repaired_and_hides_unless_it_is_null(tag: Any) -> None:
    events = [{**item, "subagentRunId": tag} for item in TEXT]
    assert await run_both(events) == (TEXT if tag == "" else events, events if tag is None else [])


@pytest.mark.parametrize("tag", [None, 5])
async def test_a_malformed_tag_inside_is_not_repaired(tag: Any) -> None:
    snapshot, echo, paused = stream(f"SNAP m; RS q m; {INTERRUPT % TAGGED}")
    for holder in (snapshot["messages"][0], echo["input"]["messages"][0], paused["outcome"]["interrupts"][0]):
        holder["subagentRunId"] = tag
    in_line, shown = await run_both([snapshot, echo, paused])
    assert in_line == [snapshot, echo, paused]
    empty = [*stream("SNAP"), {**echo, "input": {**echo["input"], "messages": []}}, paused]
    assert shown == (in_line if tag is None else empty)


@pytest.mark.parametrize("members", [{}, {"subagentRunId": None}, {"subagentRunId": 5}])
@pytest.mark.parametrize("type", ["SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR"])
async def test_a_lifecycle_event_goes_also_where_it_names_no_subagent(type: str, members: Json) -> None:
    assert await run_both([{"type": type, "name": "secret", **members}]) == ([], [])


@pytest.mark.parametrize(
    "events", ["TK _ a", "TK m a; KK _ b", "KK c a", "TK _ a messageId=5", "TK _ a messageId=null"]
)
async def test_what_a_chunk_cannot_be_resolved_against_is_left_for_the_client_to_reject(events: str) -> None:
    assert await run_both(stream(events)) == (stream(events), stream(events))


async def test_a_chunk_that_fits_two_subagents_is_left_inline_and_hidden() -> None:
    """1.0.0 ends the run there; whose it is nobody knows, only that it is not the parent's."""
    events = stream("TK n a @s; TK o b @u; TK _ secret")
    assert await run_both(events) == (untagged(events), [])


async def test_a_chunk_whose_tag_contradicts_its_id_is_hidden() -> None:
    assert await run_filter(hidden, stream("TK m a; TK m secret @s")) == stream("TK m a")


@pytest.mark.parametrize("id", [None, 5, [], {}])
async def test_events_whose_id_is_of_a_wrong_type_pass_unless_they_are_tagged(id: Any) -> None:
    codes = ("TS", "TC", "TE", "TK", "KS", "KA", "KE", "KK", "KR", "GS", "AS", "AD", "EV", "STEP+", "STEP-")
    odd = {"messageId": id, "toolCallId": id, "entityId": id, "stepName": id}
    malformed = [{**event, **odd} for event in stream(";".join(codes))]
    assert await run_both(malformed) == (malformed, malformed)
    assert await run_filter(hidden, [{**event, "subagentRunId": "s"} for event in malformed]) == []


UNSEARCHABLE: list[Json] = [
    *({"type": "MESSAGES_SNAPSHOT", "messages": messages} for messages in ({"m": 1}, "secret", [["secret"]], [None])),
    *({"type": "RUN_STARTED", "input": echo} for echo in (["secret"], {"messages": 5}, {"messages": ["secret"]})),
]
NOTHING_TO_HIDE: list[Json] = [
    *([*stream("SNAP"), {"type": "MESSAGES_SNAPSHOT"}, {"type": "MESSAGES_SNAPSHOT", "messages": None}]),
    {"type": "MESSAGES_SNAPSHOT", "messages": [{}, {"role": "tool"}, {"toolCalls": [5, {}]}, {"toolCalls": "x"}]},
    *({"type": "RUN_STARTED", "input": echo} for echo in (None, {}, {"messages": None})),
    *({"type": "RUN_FINISHED", "outcome": outcome} for outcome in (None, "success", {"pendingToolCallIds": 5})),
    {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": [5]}},
]


@pytest.mark.parametrize("malformed", UNSEARCHABLE)
async def test_messages_in_a_shape_that_cannot_be_searched_end_a_run_that_hides(malformed: Json) -> None:
    assert await run_filter(inline, [malformed]) == [malformed]
    with pytest.raises(MalformedEvent):
        await run_filter(hidden, [malformed])


@pytest.mark.parametrize("event", NOTHING_TO_HIDE)
async def test_what_holds_nothing_to_hide_passes(event: Json) -> None:
    assert await run_both([event]) == ([event], [event])


async def test_a_type_from_after_the_protocol_goes_with_the_entity_that_it_is_about() -> None:
    before = stream("TS n @s; TE n; KS c @s; KE c; TS m; TE m")
    members = [{"messageId": "n"}, {"toolCallId": "c"}, {"entityId": "n"}, {"parentMessageId": "n"}]
    about: list[Json] = [{"type": "LATER", **member} for member in members]
    others: list[Json] = [{"type": "LATER"}, {"type": "LATER", "messageId": "m"}, {"type": "LATER", "toolCallId": 5}]
    in_line, shown = await run_both([*before, *about, *others])
    assert in_line == [*untagged(before), *about, *others]
    assert shown == [*stream("TS m; TE m"), *others]


THINKING_TYPES = ("START", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "END")
THINKING: list[Json] = [{"type": f"THINKING_{type}"} for type in THINKING_TYPES]


def thought(first: int, last: int, *tagged: int) -> list[Json]:
    """The THINKING_* events from one place to another, those in `tagged` with a tag."""
    return [
        {**event, "subagentRunId": "s"} if place in tagged else event
        for place, event in enumerate(THINKING)
        if first <= place <= last
    ]


@pytest.mark.parametrize(
    ("subagents", "left"),
    [
        (thought(0, 4, 0), []),
        (thought(0, 4, 0, 4), []),
        (thought(0, 0, 0) + THINKING + thought(4, 4), []),
        (thought(1, 3, 1), []),
        (thought(1, 2, 1) + thought(1, 3), []),
        (thought(1, 2, 1) + thought(0, 4), []),
        (thought(0, 1) + thought(1, 3, 1) + thought(1, 4), thought(0, 1) + thought(1, 4)),
        (thought(4, 4, 4) + thought(3, 3, 3), []),
        (thought(0, 1, 0) + stream("RE x; RS q"), stream("RE x; RS q")),
    ],
)
async def test_thinking_is_judged_by_what_a_subagent_has_open(subagents: list[Json], left: list[Json]) -> None:
    """THINKING_* name no entity. The parent's own, behind it, stay."""
    assert await run_both([*subagents, *THINKING]) == (untagged([*subagents, *THINKING]), [*left, *THINKING])


# The modes.


def test_the_modes_are_strings_of_their_names_and_give_their_filters() -> None:
    modes = {"ATTRIBUTED": "attributed", "INLINE": "inline", "HIDDEN": "hidden"}
    assert {mode.name: str(mode) for mode in SubagentVisibility} == modes
    assert SubagentVisibility("inline") is SubagentVisibility.INLINE
    assert [mode.filter() for mode in SubagentVisibility] == [attributed, inline, hidden]
    assert (SubagentVisibility.inline(), SubagentVisibility.hidden()) == (inline, hidden)


async def test_the_filter_of_a_mode_can_be_driven_by_hand() -> None:
    async def events() -> AsyncIterator[Event]:
        for event in [*SUBAGENTS_TEXT, *TEXT]:
            yield Event(**event)

    assert [event async for event in SubagentVisibility.HIDDEN.filter()(events(), Context())] == TEXT
    assert [event async for event in SubagentVisibility.ATTRIBUTED.filter()(events(), Context())] == [
        *SUBAGENTS_TEXT,
        *TEXT,
    ]


def test_events_that_do_not_change_keep_their_bytes() -> None:
    odd = rb'data: {"delta" : "\u00e9\ud83d", "messageId":"m", "type":"TEXT_MESSAGE_CONTENT", "n":1.0, "k":9007199254740993}'
    tagged = odd.replace(b'"messageId":"m"', b'"messageId":"n","subagentRunId":"s"')
    original = encode_events(stream("TS m; TS n @s")) + odd + b"\n\n" + tagged + b"\n\n"
    in_line, shown = (rewrite(original, visibility=mode).split(b"\n\n") for mode in ("inline", "hidden"))
    assert in_line[2:] == [odd, odd.replace(b'"messageId":"m"', b'"messageId":"n"'), b""]
    assert shown[1:] == [odd, b""]


@pytest.mark.parametrize(
    "event",
    [
        b'{"type":"MESSAGES_SNAPSHOT","messages":[ {"id" : "m", "n":1.0} ]}',
        b'{"type":"RUN_STARTED","input":{"messages":[ {"id" : "m"} ], "n":1.0}}',
        b'{"type":"RUN_FINISHED","outcome":{"type":"success", "pendingToolCallIds":[ "c" ]}}',
        b'{"type":"RUN_FINISHED","outcome":{"type":"interrupt", "interrupts":[ {"id":"i", "n":1.0} ]}}',
        b'{"type":"STATE_SNAPSHOT", "snapshot":{ "n":1.0}}',
    ],
)
@pytest.mark.parametrize("mode", ["inline", "hidden"])
def test_what_carries_nothing_of_a_subagents_keeps_its_bytes(event: bytes, mode: str) -> None:
    assert rewrite(b"data: %b\n\n" % event, visibility=mode) == b"data: %b\n\n" % event


async def test_an_echo_that_has_lost_its_tags_keeps_a_message_that_says_something_besides_the_call() -> None:
    events = stream("KS c n @s; KE c; RF r; RS q m+c")
    silent = {**events[-1], "input": {**events[-1]["input"], "messages": [{**message_of(events[-1]), "content": ""}]}}
    assert message_of((await run_filter(hidden, events))[-1]) == {"id": "m", "role": "assistant", "content": "hello"}
    assert (await run_filter(hidden, [*events[:-1], silent]))[-1]["input"]["messages"] == []


def message_of(event: Json) -> Json:
    messages: list[Json] = [dict(message) for message in event["input"]["messages"]]
    return messages[0]


async def test_a_subagents_call_does_not_take_over_the_message_that_the_parent_has_begun() -> None:
    """1.0.0 ends the run there."""
    events = whole("TS p; TE p; KS c p @s; KE c; TS p; TE p")
    assert await run_filter(hidden, events) == whole("TS p; TE p; TS p; TE p")
