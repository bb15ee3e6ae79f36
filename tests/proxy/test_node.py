"""A server in Node that writes with @ag-ui/encoder, read through the proxy by published releases of @ag-ui/client."""

import asyncio
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agui_middleware import AGUIMiddleware, Route, Settings
from agui_middleware.proxy import Proxy
from tests.clients.client import HERE as CLIENTS
from tests.clients.client import Client
from tests.proxy.servers import http, serving
from tests.proxy.upstream import PATIENCE
from tests.robustness.exchange import events_of
from tests.robustness.frameworks import missing

OLD = {"accept": "text/event-stream", "x-ag-ui-client-version": "0.0.58"}
BINARY = "application/vnd.ag-ui.event+proto"
HEADERS = b"host: x\r\naccept: text/event-stream\r\nconnection: close\r\ncontent-length: 0\r\n"
NODE = Path(__file__).parent / "node"
READER = CLIENTS.parent.parent / "examples" / "client.mjs"
ANSWER = 'assistant answer: "Rome is the older one."'
FINDING = 'assistant finding{tag}: "Founded in 753 BC."'

# What leads to the hidden agent, or may, in the eyes of a server that is not strict.
SPELLINGS = [
    *("/public/agent", "/public/agent/", "//public//agent", "/PUBLIC/Agent", "/%70ublic/agent", "/public%2Fagent"),
    *("/public;a=1/agent;b", "/x/../public/agent", "/x/%2e%2e/public/agent", "/./public/agent", "/public\\agent"),
    *("/public/agent%00", "/public/agent?x", "/public%5Cagent", "/x/..%2Fpublic/agent", "/PUBLIC/./agent;"),
]


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    """The URL of the Node server."""
    node = shutil.which("node")
    if node is None or not (NODE / "node_modules").is_dir():
        missing("Node or @ag-ui/encoder is not installed: npm ci --prefix tests/proxy/node")
    with subprocess.Popen([node, str(NODE / "upstream.mjs")], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None  # as asked for
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.kill()


async def read_by(release: str, url: str) -> tuple[int | None, str]:
    """The exit code of a client that reads from this URL, and what it prints."""
    node = shutil.which("node")
    assert node is not None
    environment = {**os.environ, "CLIENTS": str(CLIENTS)}
    process = await asyncio.create_subprocess_exec(
        *(node, str(READER), release, url), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    )
    printed, _ = await process.communicate()
    return process.returncode, printed.decode()


async def journal(upstream: str) -> Any:
    async with http() as client:
        return (await client.get(f"{upstream}/journal")).json()


@pytest.mark.parametrize("release", ["0.0.45", "0.0.58", "1.0.0"])
async def test_every_client_reads_it_through_the_proxy(
    client: Callable[[str], Client], upstream: str, release: str
) -> None:
    """Node's fetch takes gzip, and the server would give it: the releases that are served a rewrite get none."""
    client(release)  # skips where it is not installed
    settings = Settings(routes=[Route(path="/public", visibility="hidden"), Route(path="/agent")])
    async with serving(AGUIMiddleware(Proxy(upstream), settings)) as url:
        code, printed = await read_by(release, f"{url}/agent")
        assert (code, ANSWER in printed) == (0, True)
        assert FINDING.format(tag=" (rome)" if release == "1.0.0" else "") in printed
        code, printed = await read_by(release, f"{url}/public")
        assert (code, ANSWER in printed, "finding" in printed) == (0, True, False)


async def test_without_the_proxy_an_old_client_dies(client: Callable[[str], Client], upstream: str) -> None:
    client("0.0.58")
    code, printed = await read_by("0.0.58", f"{upstream}/agent")
    assert code == 1
    assert "type: Invalid discriminator value" in printed


@pytest.mark.parametrize("parser", ["h11", "httptools"])
@pytest.mark.parametrize("raw", SPELLINGS)
async def test_hidden_holds_however_the_path_is_spelled(upstream: str, raw: str, parser: str) -> None:
    """The server answers each path with the same run: the worst that one could do that is not strict."""
    hide = Route(path="/public/agent", visibility="hidden")
    settings = Settings(routes=[hide, Route(path="/{rest:path}", visibility="attributed")])
    async with serving(AGUIMiddleware(Proxy(upstream), settings), http=parser) as url:
        host, port = url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"POST %b HTTP/1.1\r\n%b\r\n" % (raw.encode(), HEADERS))
        answer = await asyncio.wait_for(reader.read(), PATIENCE)
        writer.close()
        await writer.wait_closed()
    status = re.match(rb"HTTP/1.1 (\d+)", answer)
    assert status is not None
    assert b"753" not in answer
    assert (status[1], b"Rome is the older one." in answer) in ((b"200", True), (b"400", False))


async def accepting(upstream: str, accept: str) -> httpx.Response:
    settings = Settings(routes=[Route(visibility="hidden")])
    async with serving(AGUIMiddleware(Proxy(upstream), settings)) as url, http() as client:
        return await client.post(f"{url}/agent", headers={"accept": accept})


@pytest.mark.parametrize("accept", ["*/*", f"{BINARY}, text/event-stream;q=0.5"])
async def test_who_accepts_the_binary_encoding_too_gets_what_can_be_read(upstream: str, accept: str) -> None:
    """@ag-ui/encoder prefers the binary one wherever it is accepted."""
    response = await accepting(upstream, accept)
    assert "Rome is the older one." in response.text
    assert "753" not in response.text


async def test_hidden_refuses_the_binary_encoding(upstream: str) -> None:
    response = await accepting(upstream, BINARY)
    assert response.status_code == 500
    assert "binary encoding" in response.text


async def test_each_event_arrives_before_the_server_sends_the_next(upstream: str) -> None:
    shown = ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]
    async with (
        serving(AGUIMiddleware(Proxy(upstream), Settings())) as url,
        http() as client,
        client.stream("POST", f"{url}/agent?stop", headers=OLD, json={"runId": "mine"}) as response,
    ):
        chunks, seen = response.aiter_raw(), b""
        while seen.count(b"\n\n") < len(shown):
            seen += await anext(chunks)
        assert [event["type"] for event in events_of(seen)] == shown
        await client.get(f"{upstream}/go-on")
        seen += b"".join([chunk async for chunk in chunks])
    assert events_of(seen)[-1] == {"type": "RUN_FINISHED", "threadId": "thread", "runId": "mine"}


async def test_a_client_that_leaves_is_told_to_the_server(upstream: str) -> None:
    before = len((await journal(upstream))["ends"])
    async with serving(AGUIMiddleware(Proxy(upstream), Settings())) as url, http() as client:
        async with client.stream("POST", f"{url}/agent?stop", headers=OLD) as response:
            chunks, seen = response.aiter_raw(), b""
            while b"753" not in seen:
                seen += await anext(chunks)
        async with asyncio.timeout(PATIENCE):
            while len(told := (await journal(upstream))["ends"]) == before:
                pass
    assert told[before:] == ["the client left"]


async def test_runs_one_after_another_take_one_connection(upstream: str) -> None:
    before = (await journal(upstream))["connections"]
    async with serving(AGUIMiddleware(Proxy(upstream), Settings())) as url, http() as client:
        for _ in range(10):
            response = await client.post(f"{url}/agent", headers=OLD, json={"runId": "again"})
            assert b'"runId":"again"' in response.content
        assert (await client.get(f"{url}/journal")).json()["connections"] == before + 1
