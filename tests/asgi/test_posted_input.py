"""The request's body on its way to the app: read, upgraded, handed on, and otherwise as on the bare app."""

import asyncio
import json
import types
from collections.abc import Callable, Iterable
from typing import Any

import anyio
import pytest
from ag_ui.core import RunAgentInput
from fastapi import FastAPI
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, ClientVersion, Route, Settings
from agui_middleware.asgi.posted_input import PostedInput
from agui_middleware.testing import encode_events
from tests.asgi.test_server import http, serving
from tests.history.bodies import upgrade
from tests.notation import stream
from tests.robustness.exchange import END, EVENT_STREAM, Exchange
from tests.robustness.frameworks import missing

NAME = b"x-ag-ui-client-version"
RUN = encode_events(stream("RS r; TS m; TC m hi; TE m; RF r"))
REST: dict[str, Any] = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}


def posted(part: dict[str, Any], **members: Any) -> bytes:
    messages = [{"id": "u", "role": "user", "content": [part]}]
    return json.dumps({"threadId": "t", "runId": "r", "messages": messages, **REST, **members}).encode()


BINARY = posted({"type": "binary", "mimeType": "image/png", "id": "file-1"})
MEDIA = posted({"type": "image", "source": {"type": "file", "value": "file-1", "mimeType": "image/png"}})


class Agent:
    """Reads its body to the end, and remembers what it was given."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.headers: list[tuple[bytes, bytes]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.headers = scope["headers"]
        while not self.messages or self.messages[-1].get("more_body", False):
            self.messages.append(await receive())
        await send(EVENT_STREAM)
        await send({"type": "http.response.body", "body": RUN, "more_body": True})
        await send(END)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages)

    def header(self, name: bytes) -> list[bytes]:
        return [value for key, value in self.headers if key == name]


def request(release: str | None, body: Iterable[bytes], **fields: bytes) -> Exchange:
    parts = list(body)
    headers = {b"content-type": b"application/json", b"content-length": b"%d" % sum(map(len, parts))}
    headers |= {name.replace("_", "-").encode(): value for name, value in fields.items()}
    if release is not None:
        headers[NAME] = release.encode()
    return Exchange(headers=list(headers.items()), body=parts)


async def given(exchange: Exchange, settings: Settings | None = None) -> Agent:
    agent = Agent()
    await exchange.run(AGUIMiddleware(agent, settings))
    return agent


async def upgraded(body: bytes) -> bytes:
    return upgrade(body, ClientVersion(0, 0, 58))


def same(body: bytes, other: bytes) -> bool:
    return bool(json.loads(body) == json.loads(other))


async def test_the_app_gets_the_upgraded_body_with_its_length() -> None:
    agent = await given(request("0.0.58", [BINARY], digest=b"sha-256=x", content_digest=b"sha-256=:x:"))
    assert same(agent.body, MEDIA)
    assert agent.header(b"content-length") == [b"%d" % len(agent.body)]
    assert agent.header(b"digest") == agent.header(b"content-digest") == []
    assert len(agent.messages) == 1


@pytest.mark.parametrize("size", [1, 7, 50])
async def test_a_chunked_body_is_put_together(size: int) -> None:
    parts = [BINARY[start : start + size] for start in range(0, len(BINARY), size)]
    exchange = request("0.0.58", [*parts, b""])
    exchange.scope["headers"] = [*exchange.scope["headers"][:1], (b"Transfer-Encoding", b"chunked"), (NAME, b"0.0.58")]
    agent = await given(exchange)
    assert same(agent.body, MEDIA)
    assert agent.header(b"content-length") == [b"%d" % len(agent.body)]
    assert [name for name, _ in agent.headers if name.lower() == b"transfer-encoding"] == []


async def test_a_body_that_does_not_change_keeps_its_messages_and_its_headers() -> None:
    exchange = request("0.0.58", [MEDIA[:9], MEDIA[9:20], MEDIA[20:]], digest=b"sha-256=x")
    headers = list(exchange.scope["headers"])
    agent = await given(exchange)
    assert [message["body"] for message in agent.messages] == [MEDIA[:9], MEDIA[9:20], MEDIA[20:]]
    assert agent.headers == headers


@pytest.mark.parametrize(
    "fields",
    [
        {"content_type": b"text/plain"},
        {"content_type": b"multipart/form-data; boundary=json"},
        {"content_encoding": b"gzip"},
    ],
)
async def test_other_bodies_pass_as_they_came(fields: dict[str, bytes]) -> None:
    assert (await given(request("0.0.58", [BINARY], **fields))).body == BINARY


@pytest.mark.parametrize(
    "type", [b"application/json", b"Application/JSON; charset=utf-8", b"application/vnd.agui+json"]
)
async def test_json_is_known_by_its_media_type(type: bytes) -> None:
    assert same((await given(request("0.0.58", [BINARY], content_type=type))).body, MEDIA)


async def test_another_method_and_another_path_are_left_alone() -> None:
    settings = Settings(routes=[Route(path="/agent", methods=["POST", "PUT"])])
    put, elsewhere = request("0.0.58", [BINARY]), request("0.0.58", [BINARY])
    put.scope["method"], elsewhere.scope["path"] = "PUT", "/other"
    assert (await given(put, settings)).body == BINARY
    assert (await given(elsewhere, settings)).body == BINARY


async def test_a_body_over_the_limit_passes_as_it_came() -> None:
    parts = [BINARY[:40], BINARY[40:80], BINARY[80:]]
    agent = await given(request("0.0.58", parts), Settings(max_request_bytes=60))
    assert [message["body"] for message in agent.messages] == parts
    assert agent.header(b"content-length") == [b"%d" % len(BINARY)]
    assert same((await given(request("0.0.58", parts), Settings(max_request_bytes=len(BINARY)))).body, MEDIA)


async def test_a_body_over_the_limit_is_not_read_further_ahead() -> None:
    """Of an endless body the app gets the first part before the last one is there."""
    read: list[bytes] = []

    async def receive() -> Message:
        read.append(b"x" * 10)
        return {"type": "http.request", "body": read[-1], "more_body": True}

    incoming = PostedInput({"headers": []}, receive, 25, upgraded)
    await incoming.read()
    assert len(read) == 3
    for count in (3, 3, 3, 4):
        await incoming.receive()
        assert len(read) == count


@pytest.mark.parametrize("release", [None, "1.0.0", "1.1.0"])
async def test_the_body_of_a_client_that_reads_everything_is_not_read_ahead(release: str | None) -> None:
    async def agent(scope: Scope, receive: Receive, send: Send) -> None:
        assert exchange._body  # nobody has read it yet
        await Agent()(scope, receive, send)

    exchange = request(release, [BINARY])
    await exchange.run(AGUIMiddleware(agent))
    assert (await given(request(release, [BINARY]))).body == BINARY


async def test_a_body_that_names_a_protocol_version_tells_who_posts_it() -> None:
    """The client that is assumed would need an upgrade; the one that posts does not."""
    settings = Settings(default_client="0.0.58")
    new = BINARY[:-1] + b',"protocolVersion":"1.0"}'
    assert (await given(request(None, [new]), settings)).body == new
    assert same((await given(request(None, [BINARY]), settings)).body, MEDIA)


async def test_the_body_of_an_sdk_is_upgraded_by_its_own_rows() -> None:
    """Named alone, and beside the release of a runtime that passes its body on."""
    snake = {"thread_id": "t", "run_id": "r", "messages": [], **REST}
    camel = {"threadId": "t", "runId": "r", "messages": [], **REST}
    for client in ("agent-framework-ag-ui@1.7.0", "agent-framework-ag-ui@1.7.0, 0.0.45"):
        agent = await given(request(client, [json.dumps(snake).encode()]))
        assert json.loads(agent.body) == camel
        assert agent.header(b"content-length") == [b"%d" % len(agent.body)]
    assert json.loads((await given(request("0.0.58", [json.dumps(snake).encode()]))).body) == snake


async def test_a_client_that_leaves_while_it_posts_is_one_to_the_app() -> None:
    heard: list[Message] = []

    async def agent(scope: Scope, receive: Receive, send: Send) -> None:
        heard.extend([await receive(), await receive(), await receive()])

    messages: list[Message] = [{"type": "http.request", "body": BINARY[:30], "more_body": True}]

    async def receive() -> Message:
        return messages.pop() if messages else {"type": "http.disconnect"}

    exchange = request("0.0.58", [BINARY])
    await AGUIMiddleware(agent)(exchange.scope, receive, exchange.send)
    assert [message["type"] for message in heard] == ["http.request", "http.disconnect", "http.disconnect"]
    assert heard[0]["body"] == BINARY[:30]


async def test_an_app_that_reads_on_learns_that_the_client_has_left() -> None:
    async def agent(scope: Scope, receive: Receive, send: Send) -> None:
        assert same((await receive())["body"], MEDIA)
        await send(EVENT_STREAM)
        exchange.disconnect()
        assert (await receive())["type"] == "http.disconnect"
        assert (await receive())["type"] == "http.disconnect"

    exchange = request("0.0.58", [BINARY])
    await exchange.run(AGUIMiddleware(agent))


async def test_messages_without_a_body_and_with_other_bytes() -> None:
    messages: list[Message] = [
        {"type": "http.request", "more_body": True},
        {"type": "http.request", "body": bytearray(BINARY), "more_body": True},
        {"type": "http.request"},
    ]

    async def receive() -> Message:
        return messages.pop(0)

    incoming = PostedInput({"headers": []}, receive, 10_000, upgraded)
    await incoming.read()
    assert same((await incoming.receive())["body"], MEDIA)


async def test_a_cancelled_read_goes_on_where_it_was() -> None:
    """An app may give `receive` a deadline, and call it again."""
    gate = anyio.Event()
    messages: list[Message] = [
        {"type": "http.request", "body": BINARY[:50], "more_body": True},
        {"type": "http.request", "body": BINARY[50:], "more_body": False},
    ]

    async def receive() -> Message:
        if len(messages) == 1:
            await gate.wait()
        return messages.pop(0)

    scope = {"headers": [(b"expect", b"100-continue")]}
    incoming = PostedInput(scope, receive, 10_000, upgraded)
    await incoming.read()
    task = asyncio.create_task(incoming.receive())
    await anyio.wait_all_tasks_blocked()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.set()
    assert same((await incoming.receive())["body"], MEDIA)


# `Expect: 100-continue`: a server asks for the body when the app does.


async def test_with_expect_an_app_may_refuse_before_the_body_is_sent() -> None:
    async def refuses(scope: Scope, receive: Receive, send: Send) -> None:
        await Response("no", 401)(scope, receive, send)

    exchange = request("0.0.58", [BINARY], expect=b"100-continue")
    await exchange.run(AGUIMiddleware(refuses))
    assert exchange.sent[0]["status"] == 401
    assert exchange._body  # nobody has asked for it


async def test_with_expect_the_body_is_upgraded_when_the_app_reads_it() -> None:
    agent = await given(request("0.0.58", [BINARY], expect=b"100-continue"))
    assert same(agent.body, MEDIA)
    assert agent.header(b"content-length") == []
    assert agent.header(b"transfer-encoding") == [b"chunked"]


async def test_a_server_asks_for_the_body_only_if_the_app_reads_it() -> None:
    async def answers(scope: Scope, receive: Receive, send: Send) -> None:
        wanted = (b"authorization", b"yes") in scope["headers"]
        reply = JSONResponse(await Request(scope, receive).json()) if wanted else Response(status_code=401)
        await reply(scope, receive, send)

    async def ask(url: str, authorization: bytes) -> bytes:
        host, _, port = url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = (
            b"POST /agent HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n%b: 0.0.58\r\n"
        )
        head += b"authorization: %b\r\nexpect: 100-continue\r\ncontent-length: %d\r\n\r\n"
        writer.write(head % (NAME, authorization, len(BINARY)))
        first = await reader.readuntil(b"\r\n\r\n")
        if b"100 Continue" in first:
            writer.write(BINARY)
        rest = await reader.read()
        writer.close()
        return first + rest

    async with serving(AGUIMiddleware(answers)) as url:
        assert (await ask(url, b"no")).startswith(b"HTTP/1.1 401")
        answer = await ask(url, b"yes")
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200")
    assert same(answer.rpartition(b"\r\n\r\n")[2], MEDIA)


# Frameworks.


async def test_fastapi_with_the_models_of_today_takes_what_an_old_client_posts() -> None:
    app = FastAPI()
    done: list[str] = []

    @app.post("/agent")
    async def run(input: RunAgentInput) -> Response:
        content = input.messages[0].model_dump(by_alias=True, exclude_none=True)["content"]
        assert content == json.loads(MEDIA)["messages"][0]["content"]
        task = BackgroundTask(done.append, input.thread_id)
        return StreamingResponse(iter([RUN]), media_type="text/event-stream", background=task)

    async with serving(AGUIMiddleware(app)) as url, http() as client:
        json_type = {"content-type": "application/json"}
        refused = await client.post(f"{url}/agent", content=BINARY, headers=json_type)
        taken = await client.post(f"{url}/agent", content=BINARY, headers={**json_type, NAME.decode(): "0.0.58"})
    assert (refused.status_code, taken.status_code) == (422, 200)
    assert b"TEXT_MESSAGE_CONTENT" in taken.content
    assert done == ["t"]


async def test_a_body_is_read_several_times_as_often_as_the_app_likes() -> None:
    async def agent(scope: Scope, receive: Receive, send: Send) -> None:
        asked = Request(scope, receive)
        assert await asked.body() == await asked.body()
        assert same(await asked.body(), MEDIA)
        assert int(asked.headers["content-length"]) == len(await asked.body())
        await StreamingResponse(iter([RUN]), media_type="text/event-stream")(scope, receive, send)

    exchange = await request("0.0.58", [BINARY]).run(AGUIMiddleware(agent))
    assert exchange.types[-1] == "RUN_FINISHED"


# The way in: what an old client posts reaches every framework upgraded, through its own way of reading a body.


def starlette_echo() -> ASGIApp:
    from starlette.applications import Starlette
    from starlette.requests import Request as StarletteRequest
    from starlette.routing import Route as StarletteRoute

    async def endpoint(request: StarletteRequest) -> JSONResponse:
        return JSONResponse(await request.json())

    return Starlette(routes=[StarletteRoute("/agent", endpoint, methods=["POST"])])


def litestar_echo() -> ASGIApp:
    from litestar import Litestar, post
    from litestar import Request as LitestarRequest

    @post("/agent", status_code=200)
    async def endpoint(request: LitestarRequest[Any, Any, Any]) -> Any:
        return await request.json()

    return Litestar([endpoint])  # type: ignore[return-value]  # which has types of its own for ASGI


def django_echo() -> ASGIApp:
    from django.conf import settings  # type: ignore[import-untyped]
    from django.core.asgi import get_asgi_application  # type: ignore[import-untyped]
    from django.http import HttpRequest, JsonResponse  # type: ignore[import-untyped]
    from django.urls import path  # type: ignore[import-untyped]

    async def endpoint(request: HttpRequest) -> JsonResponse:
        assert int(request.headers["content-length"]) == len(request.body)
        return JsonResponse(json.loads(request.body))

    urls = types.ModuleType("urls")
    urls.urlpatterns = [path("agent", endpoint)]  # type: ignore[attr-defined]  # where Django looks
    if not settings.configured:
        settings.configure(ALLOWED_HOSTS=["*"], SECRET_KEY="x", MIDDLEWARE=[], LOGGING_CONFIG=None)
    settings.ROOT_URLCONF = urls
    return get_asgi_application()  # type: ignore[no-any-return]


def quart_echo() -> ASGIApp:
    from quart import Quart, request

    app = Quart(__name__)

    @app.post("/agent")
    async def endpoint() -> Any:
        assert request.content_length == len(await request.get_data())
        return await request.get_json()

    return app  # type: ignore[return-value]  # which has types of its own for ASGI


@pytest.mark.parametrize("echo", [starlette_echo, litestar_echo, django_echo, quart_echo])
async def test_every_framework_reads_the_upgraded_body(echo: Callable[[], ASGIApp]) -> None:
    try:
        app = AGUIMiddleware(echo())
    except ModuleNotFoundError as error:
        missing(f"not installed: {error}")
    exchange = await request("0.0.58", [BINARY[:40], BINARY[40:]], host=b"x").run(app)
    assert exchange.sent[0]["status"] == 200
    assert same(exchange.body, MEDIA)
