"""What a server writes that no client reads: one record says which fault, who is known for it, and which filter helps."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Route, Settings
from agui_middleware.asgi.fault_watch import ALL_EXAMINED, FIRST_BODIES, ONE_IN
from agui_middleware.filters.contract import Filter, Loss
from agui_middleware.filters.producer_faults import fault_of, missing_repairs
from agui_middleware.filters.repair import repair
from agui_middleware.filters.repair_also import FAULTS, repair_also
from agui_middleware.testing import encode_events, run_filter
from tests.filters.test_repair_also import FAULTY, USAGE, whole
from tests.notation import Json, stream
from tests.robustness.exchange import END, EVENT_STREAM, Exchange, body, sends


def started(**members: object) -> list[Json]:
    [start, end] = stream("RS r; RF r")
    return [start | members, end]


STREAMS = {
    **{fault: [whole(wrong) for wrong, _ in cases] for fault, cases in FAULTY.items()},
    "usage-object": [wrong for wrong, _ in USAGE],
    "null-members": [
        started(parentRunId=None),
        started(input=None),
        stream("RS r; KS c parentMessageId=null; KE c; RF r"),
        stream("RS r; KS c; KE c; KR c t role=null; RF r"),
        stream('RS r; TS m; TC m "null" metadata=null; TE m; RF r'),
        stream("RS r; TS m subagentRunId=null; TE m; RF r"),
        stream('RS r; RF r usage=[{"provider":null}]'),
        stream("RS r; RE x usage=null"),
        stream('RS r; RF r outcome={"type":"success","pendingToolCallIds":null}'),
        started(timestamp=None, rawEvent=None),
    ],
    "reasoning-role": [stream('RS r; GS g role="assistant"; GE g; RF r')],
}
HEALTHY = stream('RS r; TS m; TC m null; TE m; CUSTOM c value=null; STATE snapshot={"a":null}; RF r')


@pytest.fixture(autouse=True)
def _level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)


def hints(caplog: pytest.LogCaptureFixture) -> list[str]:
    records = [vars(record) for record in caplog.records if record.name == "agui_middleware.stream"]
    return [record["fault"] for record in records if "fault" in record]


def frames(events: list[Json]) -> Iterator[bytes]:
    return (encode_events([event]) for event in events)


def wrapped(events: list[Json], *filters: Filter, **fields: Any) -> AGUIMiddleware:
    route = Route(path="/agent", filters=list(filters))
    return AGUIMiddleware(sends(*frames(events)), Settings(routes=[route], **fields))


EVERY_STREAM = [(fault, events) for fault, streams in STREAMS.items() for events in streams]


@pytest.mark.parametrize(("fault", "events"), EVERY_STREAM)
async def test_a_fault_that_no_filter_repairs_is_one_record(
    fault: str, events: list[Json], caplog: pytest.LogCaptureFixture
) -> None:
    exchange = Exchange()
    await exchange.run(wrapped(events))
    assert exchange.body == b"".join(frames(events))  # it is not repaired
    assert hints(caplog) == [fault]
    [record] = [record for record in caplog.records if "fault" in vars(record)]
    assert vars(record)["route"] == "/agent"
    assert vars(record)["feature"] in record.getMessage()
    assert "repair:repair" in record.getMessage() or f'faults = ["{fault}"]' in record.getMessage()


@pytest.mark.parametrize(("fault", "events"), EVERY_STREAM)
async def test_a_fault_that_the_route_repairs_is_none(
    fault: str, events: list[Json], caplog: pytest.LogCaptureFixture
) -> None:
    await Exchange().run(wrapped(events, repair, repair_also()))
    one = repair_also([fault]) if fault in FAULTS else repair
    await Exchange().run(wrapped(events, one))
    assert hints(caplog) == []


def test_what_a_route_does_not_repair() -> None:
    assert len(missing_repairs([])) == 2
    assert missing_repairs([repair, repair_also()]) == []
    assert missing_repairs([repair_also()]) == [repair]
    [rest] = missing_repairs([repair, repair_also(["left-open"]), repair_also(["doubled-end"])])
    assert vars(rest)["faults"] == {"chunk-inside", "usage-object"}


@pytest.mark.parametrize(("fault", "events"), EVERY_STREAM)
async def test_every_report_of_a_repair_is_about_a_fault(fault: str, events: list[Json]) -> None:
    losses: list[Loss] = []
    for filter in (repair, repair_also()):
        await run_filter(filter, events, losses=losses)
    assert {fault_of(loss.feature).name for loss in losses} == {fault}


async def test_a_healthy_stream_is_not_mentioned(caplog: pytest.LogCaptureFixture) -> None:
    await Exchange().run(wrapped(HEALTHY))
    assert hints(caplog) == []


async def test_faults_are_counted_for_each_route(caplog: pytest.LogCaptureFixture) -> None:
    [nulls, *_], [role] = STREAMS["null-members"], STREAMS["reasoning-role"]
    app = sends(*frames([*nulls, *role, *nulls]))
    middleware = AGUIMiddleware(app, Settings(routes=[Route(path="/agent"), Route(path="/other")]))
    for path in ("/agent", "/other", "/agent"):
        await Exchange(path).run(middleware)
    assert hints(caplog) == ["null-members", "reasoning-role"] * 2


async def test_of_many_responses_one_of_64_is_examined(caplog: pytest.LogCaptureFixture) -> None:
    [faulty, *_] = STREAMS["null-members"]
    now = HEALTHY

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await sends(*frames(now))(scope, receive, send)

    middleware = AGUIMiddleware(app, Settings(routes=[Route(path="/agent")]))
    for _ in range(ALL_EXAMINED):
        await Exchange().run(middleware)
    now = faulty
    for _ in range(ALL_EXAMINED + 1, ONE_IN):
        await Exchange().run(middleware)
    assert hints(caplog) == []
    await Exchange().run(middleware)
    assert hints(caplog) == ["null-members"]


async def test_without_warnings_nothing_is_examined(caplog: pytest.LogCaptureFixture) -> None:
    for _, events in EVERY_STREAM:
        await Exchange().run(wrapped(events, warn=False))
    assert hints(caplog) == []


def sent(*messages: object) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for message in messages:
            await send(message)  # type: ignore[arg-type]  # bodies of other types too, which servers take

    return app


NULL = encode_events(started(parentRunId=None))


@pytest.mark.parametrize(
    "messages",
    [
        [{**EVENT_STREAM, "headers": [(b"content-type", b"application/json")]}, body(NULL), END],
        [{**EVENT_STREAM, "headers": [*EVENT_STREAM["headers"], (b"content-encoding", b"gzip")]}, body(NULL), END],
        [EVENT_STREAM, {**body(NULL), "body": bytearray(NULL)}, END],
        [EVENT_STREAM, body(b'data: {"type":"RUN_STARTED","a":null\n\ndata: null\n\n: null\n\n'), END],
    ],
    ids=["json", "compressed", "no bytes", "malformed"],
)
async def test_what_cannot_be_read_is_not_examined(messages: list[object], caplog: pytest.LogCaptureFixture) -> None:
    await Exchange().run(AGUIMiddleware(sent(*messages), Settings(routes=[Route(path="/agent")])))
    assert hints(caplog) == []


async def test_a_message_without_a_body_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    app = sent(EVENT_STREAM, {"type": "http.response.body", "more_body": True}, body(NULL), END)
    await Exchange().run(AGUIMiddleware(app, Settings(routes=[Route(path="/agent")])))
    assert hints(caplog) == ["null-members"]


async def test_no_more_is_examined_than_an_event_may_be_long(caplog: pytest.LogCaptureFixture) -> None:
    [faulty, *_] = STREAMS["null-members"]
    late = [*stream("RS q"), *stream(f"CUSTOM {'x' * 300} value=0"), *faulty]
    await Exchange().run(wrapped(late, max_event_bytes=400))
    assert hints(caplog) == []


TOKENS = stream("RS r; TS m; " + "TC m x; " * FIRST_BODIES)


async def test_of_many_tokens_the_first_are_examined(caplog: pytest.LogCaptureFixture) -> None:
    end = stream("TE m; RF r")
    await Exchange().run(wrapped([*TOKENS, *stream("TC m x metadata=null"), *end]))
    assert hints(caplog) == []
    await Exchange().run(wrapped([*TOKENS[:-4], *stream("TC m x metadata=null"), *end]))
    assert hints(caplog) == ["null-members"]


async def test_what_follows_many_tokens_is_examined(caplog: pytest.LogCaptureFixture) -> None:
    await Exchange().run(wrapped([*TOKENS, *stream("TE m; TE m; RF r")]))
    assert hints(caplog) == ["doubled-end"]


@pytest.mark.parametrize("framed", [b"".join, lambda sent: b"".join(sent).replace(b"\n", b"\r\n")], ids=["LF", "CRLF"])
async def test_what_a_token_brings_in_its_body_is_examined(framed: Any, caplog: pytest.LogCaptureFixture) -> None:
    bodies = [*frames(TOKENS), framed([*frames(stream("TC m x; TE m"))]), *frames(stream("RF r"))]
    await Exchange().run(AGUIMiddleware(sends(*bodies), Settings(routes=[Route(path="/agent")])))
    assert hints(caplog) == []  # a call that found no TE m would be left open


async def test_a_frame_in_pieces_is_examined(caplog: pytest.LogCaptureFixture) -> None:
    sent = b"".join(frames(stream("TC m x; TE m; TE m; RF r")))
    bodies = [*frames(TOKENS), sent[:70], *(sent[at : at + 1] for at in range(70, len(sent)))]
    await Exchange().run(AGUIMiddleware(sends(*bodies), Settings(routes=[Route(path="/agent")])))
    assert hints(caplog) == ["doubled-end"]
