"""What `hidden` promises, attacked: no byte of a subagent's leaves, whatever a client, an agent or a fault does."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from starlette.types import Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Context, Event, Route, Settings
from tests.robustness.agents import FRAMES, HIDDEN
from tests.robustness.attack import METHODS, NEIGHBOURS, STATUSES, Attack, attacks
from tests.robustness.exchange import BODY, EVENT_STREAM, START, Exchange, events_of, sends
from tests.robustness.leaks import on_every_loop
from tests.strategies import SECRET

attacked = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def leaked(exchange: Exchange) -> bool:
    """Whether a secret is in anything that reached the server, escaped or not."""
    whole = exchange.body
    return SECRET in repr(exchange.sent) or SECRET.encode() in whole or SECRET in json.dumps(events_of(whole))


async def under_attack(attack: Attack) -> Exchange:
    async def failing(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
        seen = 0
        async for each in events:
            if seen == attack.filter_fails_at:
                raise ValueError(SECRET)
            seen += 1
            yield each

    filters: list[Any] = [] if attack.filter_fails_at is None else [failing]
    route = Route(path="/agent", visibility="hidden", filters=filters)
    app = AGUIMiddleware(attack.app, Settings(routes=[route], max_event_bytes=attack.max_event_bytes))
    exchange = attack.exchange()
    try:
        await exchange.run(app)
    except (ValueError, OSError) as error:  # the app's own, the filter's own, the server's own
        event(f"raised: {type(error).__name__}")
    return exchange


@given(attacks())
@attacked
def test_no_byte_of_a_secret_leaves(attack: Attack) -> None:
    logging.disable(logging.CRITICAL)
    try:
        exchange = asyncio.run(under_attack(attack))
    finally:
        logging.disable(logging.NOTSET)
    assert not leaked(exchange)
    event(f"path: {'that of the route' if attack.path == '/agent' else 'another'}")
    event(f"status: {exchange.sent[0]['status'] if exchange.sent else None}")
    event(f"ended by: {exchange.types[-1] if exchange.sent and exchange.types else None}")


async def ask(app: Any, exchange: Exchange) -> Exchange:
    return await exchange.run(AGUIMiddleware(app, Settings(routes=[Route(path="/agent", visibility="hidden")])))


@pytest.mark.parametrize("path", ["/agent", "/agent/", "//agent", "/agent//", "///agent///", "/agent\n"])
@on_every_loop
async def test_no_spelling_of_the_path_is_a_way_round(path: str) -> None:
    """Litestar, for one, serves all but the last of them alike."""
    assert (await ask(sends(*FRAMES), Exchange(path))).events == HIDDEN


@pytest.mark.parametrize("method", METHODS)
@on_every_loop
async def test_no_method_is_a_way_round(method: str) -> None:
    assert (await ask(sends(*FRAMES), Exchange(method=method))).events == HIDDEN


@pytest.mark.parametrize("status", sorted(set(STATUSES)))
@on_every_loop
async def test_no_status_is_a_way_round(status: int) -> None:
    assert (await ask(sends(*FRAMES, start={**EVENT_STREAM, "status": status}), Exchange())).events == HIDDEN


@pytest.mark.parametrize("extension", ["http.response.pathsend", "http.response.zerocopysend"])
@on_every_loop
async def test_no_file_that_the_server_would_read_is_sent(extension: str) -> None:
    """The app is not offered the extension; one that uses it all the same is stopped."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        assert extension not in scope["extensions"]
        await send(EVENT_STREAM)
        await send({"type": extension, "path": "/tmp/SECRET", "file": 7})

    exchange = Exchange()
    exchange.scope["extensions"] = {extension: {}}
    await ask(app, exchange)
    assert not leaked(exchange)
    assert [message["type"] for message in exchange.sent] == [START, BODY]


@pytest.mark.parametrize("neighbour", NEIGHBOURS, ids=[repr(neighbour)[:60] for neighbour in NEIGHBOURS])
@pytest.mark.parametrize("torn", [False, True])
@on_every_loop
async def test_no_malformed_neighbour_is_a_way_round(neighbour: bytes, torn: bool) -> None:
    whole = b"".join(FRAMES)
    place = whole.index(b"SECRET") - (20 if torn else len(FRAMES[6]) + len(FRAMES[7]))
    exchange = await ask(sends(whole[:place], b"\n\n" + neighbour, whole[place:]), Exchange())
    assert not leaked(exchange)
    assert exchange.complete


@pytest.mark.parametrize(
    "piece", [b"\xef\xbb\xbfdata: ", b"ta: ", b"Data: ", b" data: ", b"data: x", b"data: \xef\xbb\xbf"]
)
@on_every_loop
async def test_an_opener_that_nobody_can_read_ends_the_run(piece: bytes) -> None:
    """Its continuation has no tag: without the opener nobody knows whose it is."""
    opener = FRAMES[6].replace(b"data: ", piece)
    exchange = await ask(sends(*FRAMES[:6], opener, *FRAMES[7:]), Exchange())
    assert exchange.types == [*(event["type"] for event in HIDDEN[:4]), "RUN_ERROR"]
    assert exchange.events[-1]["code"] == "AGUI_MALFORMED_EVENT"


@pytest.mark.parametrize("client", ["0.0.27", "0.0.36", "0.0.45", "0.0.58", "0.0.59", "1.0.0", "999.0.0", "?"])
@pytest.mark.parametrize("place", ["header", "query", "body", "all"])
@on_every_loop
async def test_no_release_is_given_more(client: str, place: str) -> None:
    named = {
        "headers": [(b"x-ag-ui-client-version", client.encode())] if place in ("header", "all") else [],
        "query": b"x-ag-ui-client-version=%b" % client.encode() if place in ("query", "all") else b"",
        "body": [b'{"protocolVersion":"%b"}' % client.encode()[:3]] if place in ("body", "all") else [b"{}"],
    }
    exchange = await ask(sends(*FRAMES), Exchange(**named))  # type: ignore[arg-type]
    assert exchange.events == HIDDEN


@on_every_loop
async def test_a_tag_is_found_however_its_name_is_written() -> None:
    tagged = b'data: {"type":"CUSTOM","name":"SECRET","value":1,%b:"s"}\n\n'
    names = [b'"subagent\\u0052unId"', b'"\\u0073ubagentRunId"', b'"subagentRunId" ', b' "subagentRunId"\t']
    exchange = await ask(sends(*(tagged % name for name in names)), Exchange())
    assert exchange.events == []


RUN = '{"type":"RUN_STARTED","threadId":"t","runId":"r"}'
OPENED = '{"type":"STEP_STARTED","stepName":"SECRET","subagentRunId":"s"}'
CLOSED = '{"type":"STEP_FINISHED","stepName":"SECRET"}'
CALL = '{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"x","subagentRunId":"s"}'
ENCRYPTED = '{"type":"REASONING_ENCRYPTED_VALUE","entityId":"c","encryptedValue":"SECRET"%s}'
MALFORMED_RUNS = {
    "a step that ends twice": [RUN, OPENED.replace("STARTED", "FINISHED"), OPENED, CLOSED],
    "a step that ends in the next run": [RUN, OPENED, '{"type":"RUN_ERROR","message":"x"}', RUN, CLOSED],
    "an encrypted value without a subtype": [RUN, CALL, ENCRYPTED % ""],
    "an encrypted value of a wrong subtype": [RUN, CALL, ENCRYPTED % ',"subtype":["tool-call"]'],
    "an encrypted value of another subtype": [RUN, CALL, ENCRYPTED % ',"subtype":"tool_call"'],
}


@pytest.mark.parametrize("events", MALFORMED_RUNS.values(), ids=MALFORMED_RUNS)
@on_every_loop
async def test_no_malformed_run_is_a_way_round(events: list[str]) -> None:
    """What a subagent has opened or asked for stays its own, whatever else is wrong with its events."""
    exchange = await ask(sends(*(f"data: {each}\n\n".encode() for each in events)), Exchange())
    assert not leaked(exchange)
    assert "RUN_STARTED" in exchange.types
