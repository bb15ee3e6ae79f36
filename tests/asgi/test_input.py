"""`Context.input`: the posted RunAgentInput, for the filters that ask for it."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterable
from functools import wraps
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Context, Event, JsonObject, Route, Settings
from agui_middleware.filters import EVERYTHING, Filter, handles, needs_input
from agui_middleware.proxy import Proxy
from agui_middleware.testing import decode_events, encode_events
from tests.asgi import test_turn as conversation
from tests.asgi.test_posted_input import BINARY, RUN, Agent, request, same
from tests.asgi.test_server import PATIENCE, serving
from tests.clients.client import HERE, Client
from tests.notation import Json, stream
from tests.proxy.servers import serving as serving_with_lifespan
from tests.robustness.exchange import END, EVENT_STREAM, Exchange

PRIVATE = "agui_middleware.filters.tools:server_tools_private"
EVENTS = {"content-type": "text/event-stream"}
Seen = list[JsonObject | None]


def input_filter(seen: Seen) -> Filter:
    @needs_input
    @handles(EVERYTHING)
    async def look(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
        seen.append(context.input)
        async for event in events:
            yield event

    return look


async def seen_of(
    exchange: Exchange, app: ASGIApp | None = None, make: Callable[[Seen], Filter] = input_filter, **settings: Any
) -> JsonObject | None:
    """What a filter sees of a request."""
    seen: Seen = []
    route = Route(path="/agent", methods=["GET", "POST", "PUT"], filters=[make(seen)])
    await exchange.run(AGUIMiddleware(app or Agent(), Settings(routes=[route], **settings)))
    [input] = seen
    return input


@pytest.mark.parametrize("release", [None, "0.0.58"])
@pytest.mark.parametrize("cut", [len(BINARY), 7])
async def test_a_filter_sees_the_input_as_it_was_posted(release: str | None, cut: int) -> None:
    """As 0.0.58 wrote it, though the agent gets it upgraded."""
    agent = Agent()
    exchange = request(release, [BINARY[start : start + cut] for start in range(0, len(BINARY), cut)])
    input = await seen_of(exchange, agent)
    assert input is not None
    assert input.raw == BINARY
    assert input["threadId"] == "t"
    assert same(agent.body, BINARY) == (release is None)


async def test_any_method_may_post_an_input() -> None:
    exchange = request(None, [BINARY])
    exchange.scope["method"] = "PUT"
    assert await seen_of(exchange) is not None


async def test_a_filter_that_awaits_sees_it_too_and_so_does_one_in_a_wrapper() -> None:
    def awaiting(seen: Seen) -> Filter:
        @needs_input
        async def look(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
            await asyncio.sleep(0)
            seen.append(context.input)
            async for event in events:
                yield event

        return look

    def wrapped(seen: Seen) -> Filter:
        look = input_filter(seen)

        @wraps(look)
        def called(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
            return look(events, context)

        return called

    for make in (awaiting, wrapped):
        assert await seen_of(request(None, [BINARY]), make=make) is not None


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"5", b'"x"', b"\xff{}", b'{"a":\xff"b"}', b'{"a":1} {}'])
async def test_what_is_not_a_json_object_is_no_input(body: bytes) -> None:
    agent = Agent()
    assert await seen_of(request(None, [body]), agent) is None
    assert agent.body == body


@pytest.mark.parametrize(
    "fields",
    [
        {"content_type": b"text/plain"},
        {"content_type": b"multipart/form-data; boundary=json"},
        {"content_encoding": b"gzip"},
    ],
)
async def test_what_is_not_plain_json_is_no_input(fields: dict[str, bytes]) -> None:
    assert await seen_of(request(None, [BINARY], **fields)) is None


async def test_a_request_without_a_type_has_no_input() -> None:
    assert await seen_of(Exchange(method="GET", body=[b""])) is None


async def test_an_input_over_the_limit_is_not_known() -> None:
    """It is handed on as it came, and what was read of it is not kept."""
    agent, parts = Agent(), [BINARY[:40], BINARY[40:]]
    assert await seen_of(request(None, parts), agent, max_request_bytes=len(BINARY) - 1) is None
    assert [message["body"] for message in agent.messages] == parts
    assert await seen_of(request(None, parts), max_request_bytes=len(BINARY)) is not None


async def test_with_expect_it_is_known_if_the_app_has_read_it_when_it_answers() -> None:
    async def answers_first(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        await receive()
        await send({"type": "http.response.body", "body": RUN, "more_body": True})
        await send(END)

    expecting = {"expect": b"100-continue"}
    assert await seen_of(request(None, [BINARY], **expecting)) is not None
    assert await seen_of(request(None, [BINARY], **expecting), answers_first) is None
    assert await seen_of(request(None, [BINARY]), answers_first) is not None


async def test_a_client_that_leaves_while_it_posts_has_no_input() -> None:
    messages: list[Message] = [{"type": "http.request", "body": BINARY[:30], "more_body": True}]

    async def receive() -> Message:
        return messages.pop() if messages else {"type": "http.disconnect"}

    async def heedless(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        await send({"type": "http.response.body", "body": RUN})

    seen: Seen = []
    exchange = request(None, [BINARY])
    app = AGUIMiddleware(heedless, filters=[input_filter(seen)])
    await app(exchange.scope, receive, exchange.send)
    assert seen == [None]


async def test_nobody_else_has_the_body_read_ahead() -> None:
    """Neither a filter that does not ask, nor a route beside the one whose filter does."""

    async def agent(scope: Scope, receive: Receive, send: Send) -> None:
        assert exchange._body  # nobody has read it yet
        await Agent()(scope, receive, send)

    seen: Seen = []

    async def look(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
        seen.append(context.input)
        async for event in events:
            yield event

    routes = [Route(path="/agent", filters=[look]), Route(path="/other", filters=[PRIVATE])]
    exchange = request(None, [BINARY])
    await exchange.run(AGUIMiddleware(agent, Settings(routes=routes)))
    upgraded = request("0.0.58", [BINARY])  # read for its upgrade, but not for the filter
    await upgraded.run(AGUIMiddleware(Agent(), Settings(routes=routes)))
    assert seen == [None, None]


# `server_tools_private`, over sockets.

TOOL: Json = {"name": "confirm", "description": "Asks the user.", "parameters": {"type": "object", "properties": {}}}
CALLS = encode_events(
    stream(
        'RS r; TS m; TC m hi; TE m; KS c m; KA c {"q":"secret"}; KE c; KR c t; SUB+ s; KS e @s; KA e {} @s; KE e @s; SUB- s;'
        'KS d m toolCallName="confirm"; KA d {}; KE d; RF r'
    )
)


async def calling(scope: Scope, receive: Receive, send: Send) -> None:
    """An agent that calls its own tool, that of a subagent and the client's, and does not look at what was posted."""
    await send(EVENT_STREAM)
    await send({"type": "http.response.body", "body": CALLS, "more_body": True})
    await send(END)


def served(app: ASGIApp) -> AGUIMiddleware:
    return AGUIMiddleware(app, Settings(routes=[Route(path="/agent", filters=[PRIVATE])]))


READ = """
const { createRequire } = await import("node:module");
const [release, url, tools] = process.argv.slice(1);
const { HttpAgent } = createRequire(process.cwd() + "/package.json")(`ag-ui-client-${release}`);
const agent = new HttpAgent({ url, threadId: "t", headers: { "x-ag-ui-client-version": release } });
await agent.runAgent({ runId: "r", tools: JSON.parse(tools) });
console.log(JSON.stringify(agent.messages));
"""


async def messages_of(release: str, url: str, tools: Iterable[Json]) -> Any:
    """What a release holds after a run with these tools of its own."""
    node = shutil.which("node")
    assert node is not None
    line = [node, "--input-type=module", "-e", READ, release, f"{url}/agent", json.dumps(list(tools))]
    process = await asyncio.create_subprocess_exec(
        *line, cwd=HERE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env={**os.environ}
    )
    out, error = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert process.returncode == 0, error
    return json.loads(out)


def names(messages: Any) -> list[str]:
    return [call["function"]["name"] for message in messages for call in message.get("toolCalls", ())]


@pytest.mark.parametrize("release", ["0.0.36", "0.0.58", "1.0.0"])
async def test_a_real_client_gets_the_calls_of_its_own_tools(client: Callable[[str], Client], release: str) -> None:
    client(release)  # skips where it is missing
    async with serving(served(calling)) as url:
        messages = await messages_of(release, url, [TOOL])
        assert names(messages) == ["confirm"]
        assert "secret" not in json.dumps(messages)
        assert names(await messages_of(release, url, [])) == []


async def test_behind_a_proxy_it_is_the_same(client: Callable[[str], Client]) -> None:
    client("1.0.0")
    async with serving(calling) as upstream, serving_with_lifespan(served(Proxy(upstream))) as url:
        assert names(await messages_of("1.0.0", url, [TOOL])) == ["confirm"]


async def test_where_the_input_is_not_known_no_call_is_shown() -> None:
    body = json.dumps({"threadId": "t", "runId": "r", "messages": [], "tools": [TOOL]}).encode()
    known = await request(None, [body]).run(served(calling))
    unknown = await request(None, [body], content_type=b"text/plain").run(served(calling))
    assert [event["toolCallId"] for event in known.events if event["type"] == "TOOL_CALL_START"] == ["d"]
    assert not [event for event in unknown.events if "toolCallId" in event]
    assert decode_events(unknown.body)[-1]["type"] == "RUN_FINISHED"


class Echoing(conversation.Agent):
    """Repeats, from the second request on, what it was given: in the echo of its input and in a snapshot."""

    async def answer(self, answer: bytes, send: Send) -> None:
        given = self.given[-1]
        echo = {"type": "RUN_STARTED", "threadId": "t", "runId": "r2", "input": given}
        snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": given["messages"]}
        await super().answer(answer or encode_events([echo, snapshot]), send)


@pytest.mark.parametrize("release", ["0.0.58", "1.0.0"])
async def test_with_a_store_the_agent_gets_its_own_calls_back_and_the_client_never_sees_them(release: str) -> None:
    agent = Echoing(CALLS, b"")
    app = AGUIMiddleware(agent, Settings(history="memory://", routes=[Route(path="/agent", filters=[PRIVATE])]))
    call = {"id": "d", "type": "function", "function": {"name": "confirm", "arguments": "{}"}}
    held = {"id": "m", "role": "assistant", "content": "hi", "toolCalls": [call]}
    done = {"id": "a", "role": "tool", "toolCallId": "d", "content": "done"}
    later: conversation.Messages = [conversation.USER, held, done]
    declared = {"tools": [TOOL]}
    first, second = await conversation.talk(app, [conversation.USER], later, client=release, members=declared)
    assert sorted(names(agent.histories[1])) == ["confirm", "search", "search"]
    assert "secret" in json.dumps(agent.histories[1])
    for shown in (first, second):
        assert b"confirm" in shown
        assert b'"search"' not in shown  # the subagent is a researcher
        assert b"secret" not in shown


async def test_where_the_framework_says_that_another_route_has_answered_its_filter_has_no_input() -> None:
    """The route of the path has not asked for it."""
    private = Route(path="/private", visibility="hidden", filters=[PRIVATE])
    fastapi = FastAPI()
    fastapi.add_api_route("/private", lambda: StreamingResponse(iter([CALLS]), headers=EVENTS), methods=["POST"])

    async def rewriting(scope: Scope, receive: Receive, send: Send) -> None:
        scope["path"] = "/private"
        await fastapi(scope, receive, send)

    body = json.dumps({"threadId": "t", "runId": "r", "messages": [], "tools": [TOOL]}).encode()
    for path, shown in (("/private", ["d"]), ("/agent", [])):
        exchange = request(None, [body])
        exchange.scope["path"] = path
        await exchange.run(AGUIMiddleware(rewriting, Settings(routes=[private, Route()])))
        assert [event["toolCallId"] for event in exchange.events if event["type"] == "TOOL_CALL_START"] == shown
