"""Whatever names the client: any bytes, any number, anywhere. Never an error, and never a client's say over a route's."""

import asyncio
import gc
import logging
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agui_middleware import AGUIMiddleware, Route, Settings
from tests.robustness.agents import FRAMES, HIDDEN, INLINE, RUN
from tests.robustness.exchange import Exchange, sends

pytestmark = pytest.mark.untraced

NAME = b"x-ag-ui-client-version"
VERSIONS = [
    b"0.0.58",
    b"1.0.0",
    b"v0.0.59",
    b"@ag-ui/client@0.0.36",
    b"0.0.59-canary.3",
    b"99999.0.0",
    b"0.0",
    b"\xff\xfe",
]
anything = st.binary(max_size=300) | st.sampled_from(VERSIONS)
header_fields = st.lists(st.tuples(st.sampled_from([NAME, NAME.upper(), b"accept", b"x-other"]), anything), max_size=6)
queries = st.lists(
    st.builds(
        lambda name, value: name + b"=" + value, st.sampled_from([NAME, b"X-AG-UI-Client-Version", b"%ff"]), anything
    )
    | anything,
    max_size=5,
).map(b"&".join)
bodies = st.lists(
    anything | st.sampled_from([b'{"protocolVersion":', b'"1.0"', b"}", b"[" * 3000, b'{"protocolVersion":"1.0"}']),
    max_size=5,
)
quiet = settings(deadline=None)


def served(app: AGUIMiddleware, exchange: Exchange) -> Exchange:
    logging.disable(logging.CRITICAL)
    try:
        return asyncio.run(exchange.run(app))
    finally:
        logging.disable(logging.NOTSET)


async def reading(scope: Any, receive: Any, send: Any) -> None:
    """Reads the whole request before it answers, as an agent does."""
    while (await receive()).get("more_body"):
        pass
    await sends(*FRAMES)(scope, receive, send)


@given(header_fields, queries, bodies, st.sampled_from(["current", "0.0.58"]))
@quiet
def test_a_request_may_hold_anything(fields: Any, query: bytes, body: list[bytes], default_client: str) -> None:
    """The run arrives as one kind of client reads it or another; `auto` knows no third."""
    app = AGUIMiddleware(reading, Settings(default_client=default_client))
    exchange = served(app, Exchange(headers=fields, query=query, body=body or [b""]))
    assert exchange.events in (RUN, INLINE) or "0.0.36" in str(exchange.sent[0])
    assert exchange.complete


@given(header_fields, queries, bodies)
@quiet
def test_a_route_that_hides_hides_from_everybody(fields: Any, query: bytes, body: list[bytes]) -> None:
    app = AGUIMiddleware(reading, Settings(routes=[Route(path="/agent", visibility="hidden")]))
    exchange = served(app, Exchange(headers=fields, query=query, body=body or [b""]))
    assert exchange.events == HIDDEN


@given(st.binary(max_size=60).map(lambda name: b"/" + name), st.text(max_size=5), st.binary(max_size=5))
@quiet
def test_a_path_may_be_anything(raw_path: bytes, method: str, root_path: bytes) -> None:
    app = AGUIMiddleware(
        sends(*FRAMES), Settings(routes=[Route(path="/agent", visibility="hidden"), Route(path="/{x:path}")])
    )
    exchange = Exchange(raw_path.decode("latin-1"), method=method)
    exchange.scope["root_path"] = root_path.decode("latin-1")
    assert served(app, exchange).events in (HIDDEN, RUN)


@pytest.mark.parametrize("kind", ["header", "query", "body"])
def test_what_clients_name_is_not_kept(kind: str) -> None:
    """Three hundred clients that name a different release in 60 KiB each leave nothing of it behind."""
    app = AGUIMiddleware(reading, Settings(default_client="0.0.58"))

    async def ask(number: int) -> None:
        named = b"%d" % number + b"0" * 60_000
        if kind == "header":
            await Exchange(headers=[(NAME, named)]).run(app)
        elif kind == "query":
            await Exchange(query=NAME + b"=" + named).run(app)
        else:
            await Exchange(body=[b'{"protocolVersion":"%b"}' % named]).run(app)

    async def scenario() -> None:
        await ask(0)
        tracemalloc.start()
        try:
            for number in range(300):
                await ask(number)
            gc.collect()
            kept = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        assert kept < 512 * 1024

    logging.disable(logging.CRITICAL)  # pytest keeps what is logged, and with it whole requests
    try:
        asyncio.run(scenario())
    finally:
        logging.disable(logging.NOTSET)
