"""What `check` finds and counts, on streams small enough to be read."""

import json

import pytest

from agui_middleware import ClientVersion
from agui_middleware.checking import Finding, Report, Verdict, check
from agui_middleware.checking.misreadings import MISREAD_AS_CHANGED
from agui_middleware.checking.reader import Reader, Received
from agui_middleware.downgrades import DOWNGRADES
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.json_scan import MOST_BRACKETS
from agui_middleware.testing import encode_events
from tests.checking.shapes import shapes
from tests.notation import stream

RUN = "RS r; %s; RF r"


async def report_on(events: str, release: str, visibility: str = "auto") -> Report:
    return await check(encode_events(stream(events)), ClientVersion.parse(release), visibility)


def told(findings: list[Finding]) -> list[tuple[int, str]]:
    return [(finding.place, finding.feature) for finding in findings]


@pytest.mark.parametrize(
    ("events", "release", "refused"),
    [
        ("SUB+ s; TS m @s; TE m; SUB- s", "0.0.58", [(1, "unknown-types"), (4, "unknown-types")]),
        ("SUB+ s; TS m @s; TE m; SUB- s", "0.0.59", []),
        ("KS c _ parentMessageId=null; KE c", "0.0.57", [(1, "null-parents")]),
        ("KK c {} search _ parentMessageId=null", "0.0.57", [(1, "null-parents")]),
        ("TS m; TS n; TE m; TE n", "0.0.36", [(2, "interleaving")]),
        ("TS m; TS n; TE m; TE n", "0.0.37", []),
        ("TK m a; STATE; TK m b", "0.0.36", []),
        ("TS m; TK n a; TE m", "0.0.36", [(2, "interleaving")]),
        ('TS m role="user"; TE m', "0.0.36", [(1, "text-roles")]),
        ("RF r; RS r", "0.0.36", [(2, "several-runs")]),
        ("RE x; RS r", "0.0.58", [(2, "runs-after-error")]),
        ("STEP+ a; STEP+ a @s; STEP- a @s; STEP- a", "0.0.58", [(2, "subagents")]),
        ("CUSTOM x", "0.0.30", [(2, "unchanged-runs")]),
        ('TS m; TC m _ delta=""; TE m', "0.0.49", [(2, "empty-deltas")]),
        ('KS c; KE c; KR c t content=[{"type":"text","text":"a"}]', "0.0.59", [(3, "result-parts")]),
        # 1.0.0 compares what a chunk repeats with what the first one had, and makes a content event of a bare `rawEvent`.
        ('TK m a role="assistant"; TK m b role="user"', "0.0.59", []),
        ('TK m a role="assistant"; TK m b role="user"', "1.0.0", [(2, "malformed")]),
        ("TK m a @s; TE m; TK m rawEvent=1", "0.0.59", [(4, "malformed")]),
        ("TK m a @s; TE m; TK m rawEvent=1", "1.0.0", [(3, "malformed"), (4, "malformed")]),
        ("SNAP m:wizard; TS m @s; TE m", "1.0.0", []),  # a message of an unknown role is left out, and owns nothing
        ("SNAP m; TS m @s; TE m", "1.0.0", [(2, "malformed")]),
        ("SNAP messages={}", "1.0.0", [(1, "malformed")]),
        ("SNAP messages=[1]", "1.0.0", [(1, "malformed")]),
        ('SNAP messages=[{"id":"u","role":"user","content":"hi"}]', "1.0.0", []),
        # 1.0.0 leaves out a part whose source it does not know.
        ('SNAP messages=[{"id":"u","role":"user","content":[{"type":"image","source":{"type":"?"}}]}]', "1.0.0", []),
    ],
)
async def test_what_is_refused_is_told_with_its_place(
    events: str, release: str, refused: list[tuple[int, str]]
) -> None:
    report = await report_on(RUN % events, release)
    assert told(report.refused) == refused
    assert all(finding.event is not None for finding in report.refused)
    assert (report.verdict is Verdict.REFUSED) == bool(refused)


@pytest.mark.parametrize(
    ("events", "release", "misread"),
    [
        ("TK m a @s; TK n b @z; TK _ c @s; TK _ d @z", "0.0.58", [(3, "chunks")]),
        ("TK m a @s; TK n b @z; TK _ c @s; TK _ d @z", "0.0.59", []),
        ("KS c; KE c; KS c; KE c", "0.0.57", [(3, "reopened-calls")]),
        ("KS c; KE c", "0.0.57", []),
        ("TS m; TE m; TS m; TE m", "0.0.43", [(3, "reopened-texts")]),
        ("STATE snapshot=null", "0.0.59", [(1, "empty-state")]),
    ],
)
async def test_what_is_misread_is_told_with_its_place(
    events: str, release: str, misread: list[tuple[int, str]]
) -> None:
    report = await report_on(RUN % events, release)
    assert (told(report.refused), told(report.misread)) == ([], misread)
    assert report.verdict is (Verdict.MISREAD if misread else Verdict.READ)


async def test_the_middlewares_work_is_counted_by_type() -> None:
    report = await report_on(RUN % "SUB+ s; TK m a @s; TK _ b @s; SUB- s; CUSTOM x", "0.0.58")
    assert report.effect is not None
    counted = {
        type: (fates.unchanged, fates.changed, fates.dropped, fates.added)
        for type, fates in report.effect.fates.items()
    }
    assert counted == {
        "RUN_STARTED": (1, 0, 0, 0),
        "SUBAGENT_STARTED": (0, 0, 1, 0),
        "TEXT_MESSAGE_CHUNK": (0, 2, 0, 0),
        "SUBAGENT_FINISHED": (0, 0, 1, 0),
        "CUSTOM": (1, 0, 0, 0),
        "RUN_FINISHED": (1, 0, 0, 0),
        "TEXT_MESSAGE_CONTENT": (0, 0, 0, 1),
        "TEXT_MESSAGE_END": (0, 0, 0, 1),
    }
    assert [loss.feature for loss in report.effect.losses] == ["subagents"]


async def test_what_is_held_back_is_neither_dropped_nor_changed() -> None:
    report = await report_on(RUN % "TS m; TS n; TC n b; TC m a; TE m; TE n", "0.0.36")
    assert report.effect is not None
    assert not report.effect.changes


async def test_reasoning_that_becomes_thinking_is_changed() -> None:
    report = await report_on(RUN % "SPAN+ g; GS g; GC g hm; GE g; SPAN- g", "0.0.44")
    assert report.effect is not None
    reasoning = [fates for type, fates in report.effect.fates.items() if type.startswith("REASONING_")]
    assert [(fates.changed, fates.dropped) for fates in reasoning] == [(1, 0)] * 5


async def test_a_chunk_that_fits_nothing_is_counted_as_it_stands() -> None:
    report = await report_on(RUN % "TK m a @s; TK n b @z; TK _ c", "1.0.0")
    assert report.effect is not None
    assert report.effect.fates["TEXT_MESSAGE_CHUNK"].unchanged == 3


async def test_hidden_that_cannot_be_told_ends_the_run() -> None:
    report = await check(b'data: {"type":"MESSAGES_SNAPSHOT","messages":{}}\n\n', None, "hidden")
    assert report.effect is None
    assert report.failure is not None
    assert report.failure["code"] == "AGUI_MALFORMED_EVENT"


EVENTS = encode_events(stream("RS r; TS m; TE m; RF r"))


async def test_the_framing_is_looked_at() -> None:
    assert told((await check(EVENTS.replace(b"\n", b"\r\n"), None)).refused) == [(0, "framing")]
    assert told((await check(EVENTS + b"data: [DONE]\n\n", None)).refused) == [(4, "framing")]
    spaceless = EVENTS.replace(b"data: ", b"data:")
    assert (await check(spaceless, ClientVersion(0, 0, 43))).verdict is Verdict.READ
    assert told((await check(spaceless, ClientVersion(0, 0, 42))).misread) == [(0, "framing")]
    assert told((await check(spaceless, ClientVersion(0, 0, 30))).refused) == [(0, "framing")]
    assert told((await check(b": nothing\n\n", ClientVersion(0, 0, 30))).refused) == [(0, "framing")]


async def test_one_object_a_line_has_no_framing() -> None:
    lines = EVENTS.replace(b"data: ", b"").replace(b"\n\n", b"\r\n")
    report = await check(lines, ClientVersion(0, 0, 58))
    assert (report.events, report.verdict) == (4, Verdict.READ)


@pytest.mark.parametrize(
    ("recording", "place", "reason"),
    [
        (b'{"type":"RUN_STARTED","threadId":"t","runId":"r"}\n{"type":1}\n', 1, "one JSON object with a `type`"),
        (EVENTS + b'data: {"type"\n\n', 4, "not one JSON object in `data:` lines"),
        (EVENTS.replace(b"\n\n", b"\n"), 0, "not one JSON object in `data:` lines"),
    ],
)
async def test_what_is_not_an_event_is_rejected_where_it_is(recording: bytes, place: int, reason: str) -> None:
    [found] = [found for found in (await check(recording, None)).refused if found.event is None]
    assert found.place == place
    assert reason in found.reason


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        ('"data":"aGk=","mimeType":"image/png"', ""),
        ('"data":"","url":"u","mimeType":"image/png"', ""),
        ('"data":3,"mimeType":"image/png"', "`messages[0].content[0].data` is the number 3; it takes a string"),
        ('"data":3', ""),  # a part without a MIME type is left out
        ('"mimeType":"image/png"', ""),
    ],
)
async def test_1_0_0_turns_binary_parts_into_media_parts_or_leaves_them_out(part: str, fault: str) -> None:
    snapshot = f'SNAP messages=[{{"id":"u","role":"user","content":[{{"type":"binary",{part}}}]}}]'
    refused = (await report_on(RUN % snapshot, "1.0.0")).refused
    assert (len(refused), fault in "".join(one.reason for one in refused)) == (bool(fault), True)


def nested(depth: int) -> dict[str, str]:
    return {"{": '{"a":' * depth + "1" + "}" * depth, "[": "[" * depth + "]" * depth}


DEEP = nested(MOST_BRACKETS - 1)  # one more is the event's own
DEEPER = nested(MOST_BRACKETS)


def deep(opens: str, fault: str = "", values: dict[str, str] = DEEP) -> bytes:
    """A text whose raw event is nested deeper than Python's parser goes."""
    begin, text, end = (
        encode_events(stream("RS r; SUB+ s")),
        b'"messageId":"m"',
        encode_events(stream("TE m; SUB- s; RF r")),
    )
    members = f'"role":"assistant","subagentRunId":"s"{fault},"rawEvent":{values[opens]}'
    return begin + b'data: {"type":"TEXT_MESSAGE_START",%b,%b}\n\n' % (text, members.encode()) + end


@pytest.mark.parametrize("opens", DEEP)
async def test_a_deep_value_is_read_as_far_as_it_matters(opens: str) -> None:
    assert (await check(deep(opens), None)).verdict is Verdict.READ
    assert told((await check(deep(opens, ',"name":3'), None)).refused)[0] == (2, "malformed")
    as_metadata = (await check(deep(opens).replace(b"rawEvent", b"metadata"), None)).refused
    assert told(as_metadata)[:1] == ([] if opens == "{" else [(2, "malformed")])


@pytest.mark.parametrize("opens", DEEP)
async def test_a_deep_value_is_read_in_what_the_middleware_changed(opens: str) -> None:
    """It took all members that the middleware had written anew for null."""
    report = await check(deep(opens), ClientVersion(0, 0, 58))
    assert (report.verdict, report.helped) == (Verdict.REFUSED, True)


@pytest.mark.parametrize("opens", DEEP)
async def test_what_only_the_middleware_finds_too_deep_is_judged_as_a_client_reads_it(opens: str) -> None:
    """It passes the event as it came, with a tag that 0.0.58 ignores; on a route that hides it ends the run."""
    report = await check(deep(opens, values=DEEPER), None)
    assert (report.verdict, report.events) == (Verdict.READ, 6)
    assert told((await check(deep(opens, ',"name":3', DEEPER), None)).refused)[0] == (2, "malformed")
    report = await check(deep(opens, values=DEEPER), ClientVersion(0, 0, 58))
    assert (report.verdict, report.helped) == (Verdict.REFUSED, True)
    hidden = await check(deep(opens, values=DEEPER), ClientVersion(0, 0, 58), "hidden")
    assert (hidden.helped, hidden.effect) == (False, None)
    torn = deep(opens, values={opens: DEEPER[opens][:-1]})
    assert told((await check(torn, None)).refused)[0] == (2, "framing")


async def test_1_0_0_bounds_a_frame() -> None:
    """10 MiB, in UTF-16 units of the frame."""
    frame = b'data: {"type":"CUSTOM","name":"x","value":"%b"}'
    within = 10 * 2**20 - len(frame) + len("%b")
    for length, refused in ((within, []), (within + 1, [(1, "framing")])):
        recording = encode_events(stream("RS r")) + frame % (b"a" * length) + b"\n\n" + encode_events(stream("RF r"))
        assert told((await check(recording, ClientVersion(1, 0, 0))).refused) == refused
        assert told((await check(recording, ClientVersion(0, 0, 59))).refused) == []


REASONING = "SPAN+ g; GS g; GC g hm; GE g; SPAN- g; %s; TE m"  # the last event, which nothing opened, is refused


@pytest.mark.parametrize(
    ("snapshot", "release", "dropped"),
    [
        ("SNAP a", "0.0.45", True),
        ("SNAP a", "0.0.50", False),
        ("SNAP g:reasoning", "0.0.45", False),
        ("SNAP h:reasoning", "0.0.56", False),
        ("SNAP h:reasoning", "0.0.57", True),
        ("SNAP a", "1.0.0", False),
        ("SNAP h:reasoning", "1.0.0", True),
        ("SNAP h:reasoning", "2.0.0", True),
    ],
)
async def test_a_snapshot_that_drops_reasoning_is_named(snapshot: str, release: str, dropped: bool) -> None:
    report = await report_on(RUN % REASONING % snapshot, release)
    assert report.verdict is Verdict.REFUSED
    assert ("dropped-reasoning" in [cause.name for cause in report.causes]) == dropped


async def test_reasoning_that_is_dropped_without_an_error_is_named_in_a_stream_that_is_read() -> None:
    report = await report_on("RS r; GS g; GC g hm; GE g; SNAP h:reasoning; RF r", "1.0.0")
    assert (report.verdict, report.helped) == (Verdict.READ, None)
    assert [cause.name for cause in report.causes] == ["dropped-reasoning"]
    kept = await report_on("RS r; GS g; GC g hm; GE g; SNAP g:reasoning; RF r", "1.0.0")
    assert (kept.verdict, kept.causes) == (Verdict.READ, [])


@pytest.mark.parametrize(
    ("recording", "release", "cause"),
    [
        (EVENTS.replace(b"\n", b"\r"), "1.0.0", "crlf"),
        (EVENTS + b"data: [DONE]\n\n", "1.0.0", "done"),
        (b"event: ping\ndata: now\n\n" + EVENTS, "1.0.0", "pings"),
        (EVENTS.replace(b"data: ", b"data:"), "0.0.42", "space"),
        (EVENTS.replace(b"threadId", b"thread_id"), "1.0.0", "snake-case"),
        (encode_events(stream('RS r; GS g role="assistant"; GE g; RF r')), "1.0.0", "reasoning-role"),
        (EVENTS.replace(b'"assistant"', b'"assistant","timestamp":null'), "1.0.0", "null-members"),
    ],
)
async def test_a_usual_cause_is_named_alone(recording: bytes, release: str, cause: str) -> None:
    assert [one.name for one in (await check(recording, ClientVersion.parse(release))).causes] == [cause]


async def test_a_recording_without_an_event_has_no_events() -> None:
    assert (await check(b"", None)).events == 0
    assert (await check(b"data: hello\n\n", ClientVersion(0, 0, 58))).events == 0


# Rows that `check` never names: the release merely does not keep, or does not show, what they are about, or does not know
# an event type of theirs, which is reported as `unknown-types`.
UNNAMED = {
    *("activity-authority", "encrypted-value-types", "encrypted-values", "input-echo", "interrupts"),
    *("metadata", "names", "part-members", "protocol-1.1", "protocol-version", "reasoning", "removed-activities"),
    *("removed-reasoning", "result-order", "results", "snapshot-order", "thinking-events", "tool-errors"),
}


def test_every_row_of_the_table_is_named_for_some_shape_or_known_not_to_be() -> None:
    """A new row needs a shape, or a line above."""
    named = {*MISREAD_AS_CHANGED, "chunks"}
    for events in shapes(every_fault=True).values():
        stream = [Received(Event.parse(json.dumps(event).encode())) for event in events]
        for release in ("0.0.27", "0.0.36", "0.0.45", "0.0.57", "0.0.58", "0.0.59"):
            reader = Reader(ClientVersion.parse(release))
            refusals = [*map(reader.take, stream), reader.finish()]
            named |= {refusal.feature for refusal in refusals if refusal is not None}
    assert (named - {"", "unknown-types"}) | UNNAMED == {row.name for row in DOWNGRADES}
    assert not named & UNNAMED
