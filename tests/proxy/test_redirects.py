"""Addresses of the upstream in a response's headers, and responses that no server may pass on."""

import anyio
import httpx
import pytest

from agui_middleware.proxy import Proxy
from agui_middleware.proxy.redirects import Redirects
from tests.conftest import Run
from tests.proxy.upstream import PATIENCE, listening
from tests.robustness.exchange import Exchange


def moved(value: str, upstream: str = "http://agent:3000", root: str = "", name: str = "location") -> str:
    headers = Redirects(httpx.URL(upstream), root).rewrite([(name.encode(), value.encode("latin-1"))])
    assert headers[0][0] == name.encode()
    return headers[0][1].decode("latin-1")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("http://agent:3000/agent/", "/agent/"),
        ("http://AGENT:3000/agent/?a=b#c", "/agent/?a=b#c"),
        ("https://agent:3000/agent/", "/agent/"),  # of an upstream that believes X-Forwarded-Proto
        ("//agent:3000/agent/", "/agent/"),
        ("http://user@agent:3000/agent/", "/agent/"),
        ("http://agent:3000", "/"),
        ("http://agent:3000//evil.example/x", "/evil.example/x"),
        (r"http://agent:3000/\evil.example/x", "/evil.example/x"),
        ("/agent/", "/agent/"),
        ("agent/", "agent/"),
        ("", ""),
        ("http://agent:4000/agent/", "http://agent:4000/agent/"),
        ("http://agent/agent/", "http://agent/agent/"),
        ("https://login.example/?next=http://agent:3000/", "https://login.example/?next=http://agent:3000/"),
        ("mailto:somebody@example.com", "mailto:somebody@example.com"),
        ("ftp://agent:3000/x", "ftp://agent:3000/x"),
        ("http://agent:port/", "http://agent:port/"),
        ("http://[agent/", "http://[agent/"),
    ],
)
def test_an_address_of_the_upstreams_becomes_a_path(value: str, expected: str) -> None:
    assert moved(value) == expected
    assert moved(value, name="content-location") == expected
    assert moved(value, name="x-address") == value


@pytest.mark.parametrize(
    ("upstream", "root", "value", "expected"),
    [
        ("http://agent", "", "http://agent:80/x", "/x"),
        ("http://agent:80", "", "http://agent/x", "/x"),
        ("https://agent", "", "https://agent:443/x", "/x"),
        ("http://agent/api/", "", "http://agent/api/x", "/x"),
        ("http://agent/api", "", "/api/x", "/x"),
        ("http://agent/api", "", "/apiary", "/apiary"),
        ("http://agent/api", "", "http://agent/login", "http://agent/login"),
        ("http://agent/api", "/mounted", "http://agent/api", "/mounted/"),
        ("http://agent", "/mounted/", "/x?y", "/mounted/x?y"),
    ],
)
def test_the_paths_of_both_count(upstream: str, root: str, value: str, expected: str) -> None:
    assert moved(value, upstream, root) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("5; url=http://agent:3000/x", "5; url=/x"),
        ("0;URL='http://agent:3000/x'", "0;URL='/x'"),
        ("1, http://agent:3000/x", "1, /x"),
        ("5", "5"),
        ("5; url=https://login.example/", "5; url=https://login.example/"),
    ],
)
def test_a_refresh_is_a_redirect(value: str, expected: str) -> None:
    assert moved(value, name="refresh") == expected


async def _answered(answer: str) -> Exchange:
    async with listening() as upstream, Proxy(upstream.url, idle_timeout=PATIENCE) as proxy:
        exchange = Exchange()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(exchange.run, proxy)
            connection = await upstream.connection()
            await connection.send(answer.replace("UPSTREAM", upstream.url).replace("\n", "\r\n").encode())
        return exchange


def test_a_client_is_not_sent_past_the_proxy(run: Run) -> None:
    async def scenario() -> None:
        exchange = await _answered("HTTP/1.1 307 Moved\nLocation: UPSTREAM/agent/\nContent-Length: 0\n\n")
        assert exchange.sent[0]["status"] == 307
        assert (b"location", b"/agent/") in exchange.sent[0]["headers"]

    run(scenario)


def test_a_length_beside_chunks_is_dropped(run: Run) -> None:
    async def scenario() -> None:
        head = "HTTP/1.1 200 OK\nContent-Length: 1\nTransfer-Encoding: chunked\n\n"
        exchange = await _answered(head + "2\nok\n0\n\n")
        assert not [name for name, _ in exchange.sent[0]["headers"] if name == b"content-length"]
        assert exchange.body == b"ok"

    run(scenario)


def test_a_status_that_does_not_exist_is_a_bad_gateway(run: Run) -> None:
    async def scenario() -> None:
        exchange = await _answered("HTTP/1.1 999 What\nContent-Length: 0\n\n")
        assert exchange.sent[0]["status"] == 502
        assert exchange.complete

    run(scenario)
