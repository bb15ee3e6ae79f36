"""Which requests are served, who the client is, and what the middleware says of it."""

import logging
from collections.abc import AsyncIterator, Iterable
from functools import partial
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, ClientVersion, Context, Event, Route, Settings
from agui_middleware.asgi.request import Body
from agui_middleware.config.options import RouteOptions
from agui_middleware.config.plan import Choice
from agui_middleware.config.routes import ELSEWHERE
from agui_middleware.config.routing import Match
from agui_middleware.filters.contract import Loss
from agui_middleware.filters.tools import deny_tools
from agui_middleware.testing import encode_events
from tests.notation import stream
from tests.robustness.exchange import Exchange, sends

STREAM = stream("RS r; SUB+ s; TS n @s; TC n psst @s; TE n @s; SUB- s; TS m; TC m hi; TE m; RF r")
ATTRIBUTED, INLINE = (
    encode_events(STREAM),
    encode_events(stream("RS r; TS n; TC n psst; TE n; TS m; TC m hi; TE m; RF r")),
)
HIDDEN = encode_events(stream("RS r; TS m; TC m hi; TE m; RF r"))
AGENT = sends(*[encode_events([event]) for event in STREAM])
NAME = b"x-ag-ui-client-version"


async def ask(app: ASGIApp, path: str = "/agent", **request: Any) -> Exchange:
    return await Exchange(path, **request).run(app)


def header(exchange: Exchange, name: str) -> list[str]:
    fields: Iterable[tuple[bytes, bytes]] = exchange.sent[0].get("headers", ())
    return [value.decode() for key, value in fields if key == name.encode()]


# The first example of the README, and what it does.


async def test_with_zero_configuration_an_old_client_is_served_and_a_new_one_gets_every_byte() -> None:
    app = AGUIMiddleware(AGENT)
    assert (await ask(app)).body == ATTRIBUTED
    assert (await ask(app, headers=[(NAME, b"1.1.0")])).body == ATTRIBUTED
    assert (await ask(app, headers=[(NAME, b"0.0.59")])).body == ATTRIBUTED
    assert (await ask(app, headers=[(NAME, b"0.0.58")])).body == INLINE


async def test_add_middleware() -> None:
    async def agent(_: Request) -> Response:
        return StreamingResponse(iter([ATTRIBUTED]), media_type="text/event-stream")

    app = Starlette(routes=[StarletteRoute("/agent", agent, methods=["POST"])])
    app.add_middleware(AGUIMiddleware)
    assert (await ask(app, headers=[(NAME, b"0.0.58")])).body == INLINE


async def test_one_endpoint_is_wrapped_in_a_line_and_no_path_and_no_method_is_looked_at() -> None:
    endpoint = AGUIMiddleware(AGENT, visibility="hidden")
    app = Starlette(
        routes=[StarletteRoute("/a/{name}", endpoint), Mount("/mounted", AGUIMiddleware(AGENT, client="0.0.58"))]
    )
    for path in ("/a/b", "/a/%2F;", "/a/b\n"):
        for method in ("GET", "POST", "PUT"):
            assert (await ask(app, path, method=method, headers=[(NAME, b"1.0.0")])).body == HIDDEN
    assert (await ask(app, "/mounted/anything", method="GET")).body == INLINE
    for path in ("agent", "//", "", "http://h/x"):
        assert (await ask(endpoint, path)).body == HIDDEN


async def test_an_endpoint_function_is_wrapped_as_starlettes_route_wraps_it() -> None:
    async def agent(_: Request) -> Response:
        return StreamingResponse(iter([ATTRIBUTED]), media_type="text/event-stream")

    def sync(request: Request) -> Response:
        return StreamingResponse(iter([ATTRIBUTED]), media_type="text/event-stream")

    async def configured(option: str, request: Request) -> Response:
        return await agent(request)

    for endpoint in (agent, sync, partial(configured, "x")):
        app = Starlette(
            routes=[StarletteRoute("/agent", AGUIMiddleware(endpoint, visibility="hidden"), methods=["POST"])]
        )
        assert (await ask(app)).body == HIDDEN
        assert (await ask(app, method="GET")).sent[0]["status"] == 405


@pytest.mark.parametrize("app", [5, None, lambda: None, lambda scope, receive: None])
def test_what_is_neither_an_app_nor_an_endpoint_is_refused(app: Any) -> None:
    with pytest.raises(TypeError, match="endpoint"):
        AGUIMiddleware(app)


async def test_an_app_may_be_a_method_or_an_object() -> None:
    class App:
        async def run(self, scope: Scope, receive: Receive, send: Send) -> None:
            await AGENT(scope, receive, send)

        __call__ = run

    for app in (App(), App().run, AGUIMiddleware(AGENT)):
        assert (await ask(AGUIMiddleware(app, visibility="hidden"))).body == HIDDEN
    compiled: Any = max  # has no signature, as functions of some compilers
    assert AGUIMiddleware(compiled).app is compiled


async def test_options_of_one_route_go_with_the_settings_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGUI_MIDDLEWARE_DEFAULT_CLIENT", "0.0.58")
    monkeypatch.setenv("AGUI_MIDDLEWARE_ROUTES", '[{"path": "/agent", "visibility": "hidden"}]')
    assert (await ask(AGUIMiddleware(AGENT, visibility="auto"))).body == INLINE
    assert (await ask(AGUIMiddleware(AGENT, default_client="current"))).body == ATTRIBUTED
    assert (await ask(AGUIMiddleware(AGENT))).body == HIDDEN


async def test_options_of_one_route_take_filters_in_order() -> None:
    async def without_text(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
        async for event in events:
            if not event.type.startswith("TEXT_"):
                yield event

    expected = encode_events(stream("RS r; RF r"))
    assert (await ask(AGUIMiddleware(AGENT, filters=[without_text], visibility="hidden"))).body == expected
    named = AGUIMiddleware(AGENT, filters=["it"], named_filters={"it": without_text}, visibility="hidden")
    assert (await ask(named)).body == expected


async def test_a_stream_that_is_not_ag_ui_passes_where_a_whole_app_is_wrapped() -> None:
    foreign = b'data: {"choices":[]}\r\n\r\n'
    assert (await ask(AGUIMiddleware(sends(foreign), default_client="0.0.58"))).body == foreign


class _Awaited:
    async def __call__(self, *_: Any) -> None: ...


@pytest.mark.parametrize("hook", ["identify", "on_plan", "on_loss", "on_restore", "owner"])
@pytest.mark.parametrize("function", [_Awaited().__call__, _Awaited()])
def test_a_hook_that_nobody_would_await_is_refused(hook: str, function: Any) -> None:
    with pytest.raises(
        TypeError, match=f"{hook}: expected a function that returns its result, got a coroutine function"
    ):
        AGUIMiddleware(AGENT, **{hook: function})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"settings": Settings(), "visibility": "hidden"},
            "give either settings= or options of one route (visibility)",
        ),
        ({"path": "/agent"}, "path: no such option; allowed: visibility, legacy_visibility, filters, client,"),
        ({"visibilty": "hidden"}, "did you mean 'visibility'?"),
        ({"settings": {"default_client": "0.0.58"}}, "settings: expected Settings, got {'default_client': '0.0.58'}"),
        *(
            ({name: "x"}, f"{name}: expected a function, got 'x'")
            for name in ("identify", "on_plan", "on_loss", "owner", "on_restore")
        ),
        ({"filters": {"x": AGENT}}, "those that routes name are named_filters="),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError) as raised:
        AGUIMiddleware(AGENT, **arguments)
    assert message in str(raised.value)


def test_the_options_of_one_route_are_those_of_a_route_that_do_not_choose_requests() -> None:
    assert RouteOptions.__annotations__.keys() == Route.model_fields.keys() - {"path", "methods", "enabled", "history"}


def test_a_wrong_option_names_the_field_and_what_it_allows() -> None:
    with pytest.raises(ValueError, match=r"visibility\n.*'inline' or 'hidden'"):
        AGUIMiddleware(AGENT, visibility="hide")  # type: ignore[arg-type]  # that is the fault


async def test_routes_by_path_the_first_match_wins() -> None:
    async def without_text(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
        async for event in events:
            if not event.type.startswith("TEXT_"):
                yield event

    routes = [
        Route(path="/public/{name}", visibility="hidden"),
        Route(path="/public/{rest:path}", visibility="inline"),
        Route(path="/agent", filters=["without-text"], legacy_visibility="hidden"),
        Route(path="/old", client="0.0.58"),
        Route(path="/off", client="0.0.58", enabled=False),
        Route(path="/off", visibility="hidden"),
    ]
    app = AGUIMiddleware(AGENT, Settings(routes=routes), named_filters={"without-text": without_text})
    assert (await ask(app, "/public/x")).body == HIDDEN
    assert (await ask(app, "/public/x/y")).body == INLINE
    assert (await ask(app, "/agent")).body == encode_events(stream("RS r; SUB+ s; SUB- s; RF r"))
    assert (await ask(app, "/agent", headers=[(NAME, b"0.0.58")])).body == encode_events(stream("RS r; RF r"))
    assert (await ask(app, "/old", headers=[(NAME, b"1.0.0")])).body == INLINE
    assert (await ask(app, "/off")).body == ATTRIBUTED
    assert (await ask(app, "/other", headers=[(NAME, b"0.0.58")])).body == HIDDEN  # since another path is hidden


@pytest.mark.parametrize("path", ["/public", "/public/", "//public", "/public//", "/PUBLIC", "/%70ublic"])
async def test_the_filters_of_a_route_take_its_path_in_the_spellings_that_frameworks_serve(path: str) -> None:
    """Litestar serves `/public/` and `//public` for `/public`: what the route denies left there."""
    agent = sends(encode_events(stream("RS r; KS c; KE c; KR c t; RF r")))
    app = AGUIMiddleware(agent, Settings(routes=[Route(path="/public", filters=[deny_tools(["search"])])]))
    assert (await ask(app, path)).body == encode_events(stream("RS r; RF r"))


async def test_a_route_may_raise_or_lower_what_clients_that_do_not_say_are_taken_for() -> None:
    routes = [
        Route(path="/new", default_client="current"),
        Route(path="/older", default_client="0.0.45"),
        Route(path="/agent"),
    ]
    app = AGUIMiddleware(AGENT, Settings(routes=routes, default_client="0.0.58"))
    assert (await ask(app, "/new")).body == ATTRIBUTED
    assert (await ask(app)).body == INLINE
    assert header(await ask(app, "/older"), "x-ag-ui-downgrade") == ["client=0.0.45; subagents=inline"]


async def test_what_a_route_hides_stays_hidden_whatever_a_client_says() -> None:
    app = AGUIMiddleware(AGENT, Settings(routes=[Route(path="/agent", visibility="hidden")]))
    for version in (b"1.0.0", b"99.0.0", b"0.0.58", b"0.0.59", b"x", b""):
        assert (await ask(app, headers=[(NAME, version)])).body == HIDDEN
        assert (await ask(app, query=NAME + b"=" + version)).body == HIDDEN
    assert (await ask(app, body=[b'{"protocolVersion":"1.0"}'])).body == HIDDEN


@pytest.mark.parametrize("method", ["GET", "PUT", "HEAD", "QUERY"])
async def test_a_route_that_hides_takes_the_methods_that_no_other_route_takes(method: str) -> None:
    hides, gets = Route(path="/agent", visibility="hidden"), Route(path="/agent", methods=["GET"], visibility="inline")
    assert (await ask(AGUIMiddleware(AGENT, Settings(routes=[hides])), method=method)).body == HIDDEN
    app = AGUIMiddleware(AGENT, Settings(routes=[hides, gets]))
    assert (await ask(app, method=method)).body == (INLINE if method in ("GET", "HEAD") else HIDDEN)
    off = hides.model_copy(update={"enabled": False})
    assert (await ask(AGUIMiddleware(AGENT, Settings(routes=[off])), method=method)).body == ATTRIBUTED


async def test_a_route_takes_post_unless_it_says_otherwise() -> None:
    routes = [
        Route(path="/agent", visibility="inline"),
        Route(path="/any", methods=["get", "POST"], visibility="inline"),
    ]
    app = AGUIMiddleware(AGENT, Settings(routes=routes))
    bodies = {
        (path, method): (await ask(app, path, method=method)).body
        for path in ("/agent", "/any")
        for method in ("GET", "POST")
    }
    assert bodies == {
        ("/agent", "GET"): ATTRIBUTED,
        ("/agent", "POST"): INLINE,
        ("/any", "GET"): INLINE,
        ("/any", "POST"): INLINE,
    }


async def test_paths_are_the_apps_own_under_root_path_and_mounts() -> None:
    async def agent(_: Request) -> Response:
        return StreamingResponse(iter([ATTRIBUTED]), media_type="text/event-stream")

    inner = Starlette(routes=[StarletteRoute("/agent", agent, methods=["POST"])])
    settings = Settings(routes=[Route(path="/agent", visibility="hidden")])
    # Around the mounted app: its own path.
    outer = Starlette(routes=[Mount("/api", AGUIMiddleware(inner, settings))])
    assert (await ask(outer, "/api/agent")).body == HIDDEN
    # Around all of it: the whole path.
    whole = AGUIMiddleware(Starlette(routes=[Mount("/api", inner)]), settings)
    assert (await ask(whole, "/api/agent")).body == HIDDEN  # which no route has
    shows = Settings(routes=[Route(path="/api/agent", visibility="inline"), *settings.routes])
    assert (await ask(AGUIMiddleware(whole.app, shows), "/api/agent")).body == INLINE
    # A server's or a proxy's root path is not the app's.
    exchange = Exchange("/prefix/agent")
    exchange.scope["root_path"] = "/prefix"
    assert (await exchange.run(AGUIMiddleware(inner, settings))).body == HIDDEN


# Who is the client: the first source that answers.

OLD, NEW, ODD = b"0.0.58", b"1.0.0", b"garbage"
V58, V59 = ClientVersion(0, 0, 58), ClientVersion(0, 0, 59)


def serving(**settings: Any) -> AGUIMiddleware:
    route = {name: settings.pop(name) for name in ("client",) if name in settings}
    return AGUIMiddleware(reads_and_answers, Settings(routes=[Route(path="/agent", **route)], **settings))


async def reads_and_answers(scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive()).get("more_body"):
        pass
    await AGENT(scope, receive, send)


@pytest.mark.parametrize(
    ("settings", "request_", "served"),
    [
        # The route's own comes first.
        ({"client": "0.0.58"}, {"headers": [(NAME, NEW)], "query": NAME + b"=" + NEW}, INLINE),
        ({"client": "1.0.0"}, {"headers": [(NAME, OLD)], "query": NAME + b"=" + OLD}, ATTRIBUTED),
        # Then the header, of which any may be configured.
        ({}, {"headers": [(NAME, OLD)], "query": NAME + b"=" + NEW}, INLINE),
        ({}, {"headers": [(NAME.upper(), b"@ag-ui/client@0.0.58")]}, INLINE),
        ({}, {"headers": [(NAME, NEW)], "query": NAME + b"=" + OLD}, ATTRIBUTED),
        ({"headers": ["X-A", "x-b"]}, {"headers": [(b"x-b", NEW), (b"x-a", OLD)]}, INLINE),
        ({"headers": ["x-a", "x-b"]}, {"headers": [(b"x-b", OLD)]}, INLINE),
        ({"headers": ["x-a", "x-b"]}, {"headers": [(b"x-a", ODD), (b"x-b", OLD)]}, INLINE),
        ({"headers": ["x-a"]}, {"headers": [(NAME, OLD)]}, ATTRIBUTED),
        ({"headers": []}, {"headers": [(NAME, OLD)], "query": NAME + b"=" + OLD}, ATTRIBUTED),
        # Then the query, which needs no preflight.
        ({}, {"query": b"a=b&X-Ag-Ui-Client-Version=v0.0.58"}, INLINE),
        ({}, {"query": NAME + b"=%40ag-ui%2Fclient%2F0.0.58", "body": [b'{"protocolVersion":"1.0"}']}, INLINE),
        ({}, {"headers": [(NAME, ODD)], "query": NAME + b"=" + OLD}, INLINE),
        # Then the protocol version of the input, where it can change anything.
        ({"default_client": "0.0.58"}, {"body": [b'{"protocolVersion":"1.0"}']}, ATTRIBUTED),
        ({"default_client": "0.0.58"}, {"body": [b'{"proto', b'colVersion":"1.', b'0"}']}, ATTRIBUTED),
        ({"default_client": "0.0.58"}, {"headers": [(NAME, OLD)], "body": [b'{"protocolVersion":"1.0"}']}, INLINE),
        ({"default_client": "0.0.58"}, {"headers": [(NAME, ODD)], "body": [b'{"protocolVersion":"1.0"}']}, ATTRIBUTED),
        ({"default_client": "0.0.58"}, {"body": [b'{"protocolVersion":"0.0.58"}']}, INLINE),
        ({"default_client": "0.0.58"}, {"body": [b"{"]}, INLINE),
        # Then what a client that does not say is taken for: current, unless it is set.
        ({}, {}, ATTRIBUTED),
        ({"default_client": "0.0.58"}, {}, INLINE),
        ({"default_client": "0.0.58"}, {"headers": [(NAME, ODD)], "query": NAME + b"=" + ODD}, INLINE),
        # Of several, the oldest. Malformed, empty or long: absent.
        ({}, {"headers": [(NAME, b"")]}, ATTRIBUTED),
        ({}, {"headers": [(NAME, OLD), (NAME, NEW)]}, INLINE),
        ({}, {"query": NAME + b"=1.0.0&" + NAME + b"=0.0.58"}, INLINE),
        ({}, {"headers": [(NAME, b"1.0.0, 0.0.58")]}, INLINE),
        ({}, {"headers": [(NAME, b" " * 4096 + OLD)]}, ATTRIBUTED),
        ({}, {"headers": [(NAME, b"9" * 4096)]}, ATTRIBUTED),
        ({}, {"headers": [(NAME, b"0.0.58\xff")]}, ATTRIBUTED),
        ({}, {"query": b"%ff&=&;" + NAME + b"=%00"}, ATTRIBUTED),
        ({}, {"headers": [(NAME, b"1.0")]}, ATTRIBUTED),
        # Compared as releases.
        ({}, {"headers": [(NAME, b"0.0.100")]}, ATTRIBUTED),
        ({}, {"headers": [(NAME, b"0.0.59-canary.3")]}, INLINE),
        ({}, {"headers": [(NAME, b"99.9.9")]}, ATTRIBUTED),
        ({}, {"headers": [(NAME, b"0.0.31")]}, None),
    ],
)  # fmt: skip
async def test_who_the_client_is(settings: dict[str, Any], request_: dict[str, Any], served: bytes | None) -> None:
    exchange = await ask(serving(**settings), **request_)
    if served is None:
        assert header(exchange, "x-ag-ui-downgrade") == ["client=0.0.30; subagents=inline"]
    else:
        assert exchange.body == served


@pytest.mark.parametrize(
    ("answer", "served"),
    [
        ("0.0.58", INLINE),
        (V58, INLINE),
        ("v0.0.59", ATTRIBUTED),
        (V59, ATTRIBUTED),
        (None, INLINE),
        ("garbage", INLINE),
    ],
)
async def test_a_chooser_replaces_all_of_it(answer: Any, served: bytes) -> None:
    seen: list[Scope] = []

    def identify(scope: Scope) -> Any:
        seen.append(scope)
        return answer

    settings = Settings(routes=[Route(path="/agent")], default_client="0.0.58")
    app = AGUIMiddleware(AGENT, settings, identify=identify)
    exchange = await ask(app, headers=[(NAME, NEW)], body=[b'{"protocolVersion":"1.0"}'])
    assert exchange.body == served
    assert seen == [exchange.scope]
    assert header(exchange, "vary") == []


async def test_a_route_that_pins_the_client_asks_no_chooser() -> None:
    def identify(scope: Scope) -> str:
        raise AssertionError

    settings = Settings(routes=[Route(path="/agent", client="0.0.58")])
    assert (await ask(AGUIMiddleware(AGENT, settings, identify=identify))).body == INLINE


async def test_a_chooser_that_raises_does_so_before_the_app_runs() -> None:
    def identify(scope: Scope) -> str:
        raise ZeroDivisionError

    async def never(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError

    with pytest.raises(ZeroDivisionError):
        await ask(AGUIMiddleware(never, Settings(routes=[Route()]), identify=identify))


@pytest.mark.parametrize("answer", ["garbage", 58])
async def test_what_a_chooser_may_not_return_is_logged_once(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    app = AGUIMiddleware(AGENT, Settings(routes=[Route(path="/agent")]), identify=lambda _: answer)
    for _ in range(2):
        assert (await ask(app)).body == ATTRIBUTED
    [message] = caplog.messages
    assert message == f"`identify` returned {answer!r}, which is not a release, and counts as absent"


async def test_a_release_that_cannot_be_read_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    app = serving()
    for value in (ODD, b"x" * 4096, b"\xff"):
        await ask(app, headers=[(NAME, value)])
    message, unnamed = caplog.messages
    assert message == "a client named 'garbage', which is not a release of @ag-ui/client, and counts as absent"
    assert "did not name its release" in unnamed


async def test_a_long_release_is_not_logged_at_length(caplog: pytest.LogCaptureFixture) -> None:
    await ask(serving(), headers=[(NAME, b"x\n" * 2048)])
    assert len(caplog.messages[0]) < 200
    assert "\n" not in caplog.messages[0]


async def test_a_scope_without_headers_and_query_is_served() -> None:
    exchange = Exchange("/agent")
    del exchange.scope["headers"], exchange.scope["query_string"], exchange.scope["extensions"]
    assert (await exchange.run(serving(default_client="0.0.58"))).body == INLINE


async def test_a_user_agent_names_the_sdk_where_no_header_does() -> None:
    agent = (b"User-Agent", b"AGUISwift/1.0")
    assert header(await ask(serving(), headers=[agent]), "x-ag-ui-downgrade") == [
        "client=ag-ui-swift@1.0.0; subagents=inline"
    ]
    named = await ask(serving(), headers=[agent, (NAME, b"0.0.58")])
    assert header(named, "x-ag-ui-downgrade") == ["client=0.0.58; subagents=inline"]


# A client that does not say, and gets what older releases reject.

UNNAMED = (
    "a client that did not name its release was sent SUBAGENT_STARTED, and @ag-ui/client before 0.0.59 aborts the run at "
    "it; set default_client to the oldest release that you still serve, or to 'current' if there is none"
)


@pytest.mark.parametrize("settings", [{}, {"routes": [Route(path="/agent")]}])
async def test_a_client_that_does_not_say_and_is_sent_what_releases_reject_is_logged_with_the_cure(
    settings: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    app = AGUIMiddleware(AGENT, Settings(**settings))
    for _ in range(11):
        await ask(app)
    [record] = caplog.records
    assert (record.name, record.levelno, record.getMessage()) == ("agui_middleware.request", logging.WARNING, UNNAMED)
    assert (vars(record)["event_type"], vars(record)["fixed_in"]) == ("SUBAGENT_STARTED", "0.0.59")


@pytest.mark.parametrize(("responses", "records"), [(99, 1), (100, 0), (110, 0), (111, 1)])
async def test_behind_the_first_hundred_responses_one_of_sixteen_is_looked_at(
    responses: int, records: int, caplog: pytest.LogCaptureFixture
) -> None:
    parts = [b'data: {"type":"RUN_STARTED"}\n\n']
    app = AGUIMiddleware(sends(*parts), Settings())
    for _ in range(responses):
        await ask(app)
    app.app = AGENT
    await ask(app)
    assert caplog.messages == [UNNAMED] * records


@pytest.mark.parametrize("before", [b"", b"event: x\nid: 5\n", b"id: 5\r\n", b"event:x\n"])
async def test_an_event_that_releases_reject_is_seen_behind_other_fields(
    before: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    await ask(AGUIMiddleware(sends(before + b'data: {"type":"SUBAGENT_STARTED"}\n\n')))
    assert caplog.messages == [UNNAMED]


@pytest.mark.parametrize(
    ("settings", "request_"),
    [
        ({"default_client": "current"}, {}),  # somebody has decided
        ({"routes": [Route(path="/agent", default_client="current")]}, {}),
        ({"routes": [Route(path="/agent", client="1.0.0")]}, {}),
        ({"routes": [Route(path="/agent", visibility="inline")]}, {}),
        ({}, {"headers": [(NAME, NEW)]}),
        ({}, {"body": [b'{"protocol', b'Version":"1.0"}']}),  # a 1.0.0, without the header
        ({}, {"method": "GET"}),
    ],
)
async def test_nothing_is_logged_where_the_reader_is_known(
    settings: dict[str, Any], request_: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    await ask(AGUIMiddleware(reads_and_answers, Settings(**settings)), **request_)
    assert caplog.messages == []


async def test_nothing_is_logged_of_a_text_that_names_an_event(caplog: pytest.LogCaptureFixture) -> None:
    quoted = [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": '{"type":"SUBAGENT_STARTED"}'}]
    await ask(AGUIMiddleware(sends(encode_events(quoted))))
    assert caplog.messages == []


# The body is teed as the app reads it, and never consumed.


async def test_the_app_reads_the_body_as_it_came() -> None:
    received: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        received.extend([await receive(), await receive()])
        await AGENT(scope, receive, send)

    exchange = await ask(
        AGUIMiddleware(app, Settings(default_client="0.0.58")), body=[b'{"protocolVersion"', b':"1.0"}']
    )
    assert [message["body"] for message in received] == [b'{"protocolVersion"', b':"1.0"}']
    assert [message["more_body"] for message in received] == [True, False]
    assert exchange.body == ATTRIBUTED


async def test_an_app_that_starts_before_it_reads_is_not_waited_for() -> None:
    app = AGUIMiddleware(AGENT, Settings(default_client="0.0.58"))
    assert (await ask(app, body=[b'{"protocolVersion":"1.0"}'])).body == INLINE


async def test_a_body_past_the_bound_tells_nothing() -> None:
    body = [b'{"protocolVersion":"1.0","x":"', b"x" * 1000, b'"}']
    assert (await ask(serving(default_client="0.0.58"), body=body)).body == ATTRIBUTED
    assert (await ask(serving(default_client="0.0.58", max_event_bytes=900), body=body)).body == INLINE


async def test_a_body_is_not_kept_behind_the_start() -> None:
    parts = iter([b"{", b"", b"}", b"later", b"disconnect"])

    async def receive() -> Message:
        part = next(parts)
        return {"type": "http.disconnect"} if part == b"disconnect" else {"type": "http.request", "body": part}

    body = Body(receive, 100)
    for _ in range(3):
        await body.receive()
    assert body.so_far() == b"{}"
    body.drop()
    assert (await body.receive())["body"] == b"later"
    assert (await body.receive())["type"] == "http.disconnect"
    assert body.so_far() == b""


async def test_where_the_body_cannot_change_anything_receive_is_the_servers_own() -> None:
    seen: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)
        await AGENT(scope, receive, send)

    exchange = await ask(AGUIMiddleware(app))
    assert seen == [exchange.scope]
    assert seen[0] is exchange.scope


# What passes with the same objects.


async def test_other_scope_types_pass_with_the_same_objects() -> None:
    seen: list[tuple[Any, ...]] = []

    async def app(*args: Any) -> None:
        seen.append(args)

    middleware = AGUIMiddleware(app, Settings(routes=[Route(visibility="hidden")]))
    for type in ("lifespan", "websocket", "other"):
        args: tuple[Any, ...] = ({"type": type}, object(), object())
        await middleware(*args)
        assert seen.pop() == args


@pytest.mark.parametrize("settings", [Settings(routes=[Route(path="/other")]), Settings(fix_framing=False)])
async def test_a_request_that_nothing_is_done_for_passes_with_the_same_objects(settings: Settings) -> None:
    seen: list[tuple[Any, ...]] = []

    async def app(*args: Any) -> None:
        seen.append(args)

    exchange = Exchange("/agent")
    receive, send = exchange.receive, exchange.send
    await AGUIMiddleware(app, settings)(exchange.scope, receive, send)
    assert seen[0][0] is exchange.scope
    assert seen[0][1:] == (receive, send)


async def test_a_preflight_passes() -> None:
    """A header of its own makes a browser ask first."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        assert send == exchange.send
        await PlainTextResponse("", headers={"access-control-allow-headers": NAME.decode()})(scope, receive, send)

    exchange = Exchange("/agent", method="OPTIONS", headers=[(b"access-control-request-headers", NAME)])
    await exchange.run(AGUIMiddleware(app))
    assert header(exchange, "access-control-allow-headers") == [NAME.decode()]


async def test_the_scope_is_copied_where_the_inner_app_is_asked_not_to_compress() -> None:
    seen: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)
        await AGENT(scope, receive, send)

    fields = [(b"accept", b"text/event-stream"), (b"accept-encoding", b"gzip"), (b"Range", b"bytes=1-"), (NAME, OLD)]
    exchange = Exchange("/agent", headers=fields)
    exchange.scope["extensions"] = {"http.response.pathsend": {}, "http.response.push": {}}
    await exchange.run(AGUIMiddleware(app))
    assert seen[0]["headers"] == [fields[0], fields[3]]
    assert seen[0]["extensions"] == {"http.response.push": {}}
    assert exchange.scope["headers"] == fields
    assert set(exchange.scope["extensions"]) == {"http.response.pathsend", "http.response.push"}
    rest = {name: value for name, value in seen[0].items() if name not in ("headers", "extensions")}
    assert rest == {name: value for name, value in exchange.scope.items() if name not in ("headers", "extensions")}


# One implicit route, where nothing is configured.


async def test_without_routes_every_path_is_served_by_post() -> None:
    app = AGUIMiddleware(AGENT, Settings(default_client="0.0.58"))
    for path in ("/", "/agent", "/a/b/c"):
        assert (await ask(app, path)).body == INLINE
    assert (await ask(app, method="GET")).body == ATTRIBUTED


@pytest.mark.parametrize(
    "stream",
    [
        b'data: {"type":"message_start"}\r\n\r\n',
        b"data: hello\n\n",
        b'event: x\r\ndata: {"choices":[]}\r\n\r\n',
        b"",
        b": hi\n\n",
    ],
)
async def test_without_routes_a_stream_whose_first_event_is_no_ag_ui_is_left_alone(stream: bytes) -> None:
    app = AGUIMiddleware(sends(stream), Settings(default_client="0.0.58"))
    assert (await ask(app)).body == stream


async def test_with_a_route_every_event_stream_is_ag_ui() -> None:
    app = AGUIMiddleware(sends(b"data: hello\r\n\r\n"), Settings(routes=[Route(path="/agent")]))
    assert (await ask(app)).body == b":\n\n"


# Plans, contexts, losses.


async def test_a_filter_knows_client_route_and_scope() -> None:
    seen: list[Context] = []

    async def looks(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
        seen.append(context)
        async for event in events:
            yield event

    route = Route(path="/agent", filters=[looks], visibility="inline")
    app = AGUIMiddleware(AGENT, Settings(routes=[route], max_event_bytes=1234))
    first, second = await ask(app, headers=[(NAME, b"0.0.57")]), await ask(app)
    assert [(context.client, context.route) for context in seen] == [
        (ClientVersion(0, 0, 57), "/agent"),
        (None, "/agent"),
    ]
    assert (seen[0].scope is first.scope, seen[1].scope is second.scope) == (True, True)
    assert seen[0].max_event_bytes == 1234


async def test_a_loss_is_logged_at_every_tenth_power_and_the_hook_gets_each(caplog: pytest.LogCaptureFixture) -> None:
    losses: list[Loss] = []
    app = AGUIMiddleware(AGENT, Settings(default_client="0.0.58"), on_loss=losses.append)
    for _ in range(11):
        await ask(app)
    logged = "lost for @ag-ui/client 0.0.58: subagents: which subagent did what, and its steps; "
    logged += "@ag-ui/client 0.0.59 and newer keep it"
    assert caplog.messages == [logged, f"{logged} (10 times so far)"]
    assert {(record.name, record.levelno) for record in caplog.records} == {("agui_middleware.loss", logging.WARNING)}
    assert [loss.feature for loss in losses] == ["subagents"] * 11


async def test_a_loss_is_logged_for_each_route_and_reader(caplog: pytest.LogCaptureFixture) -> None:
    routes = [Route(path="/agent"), Route(path="/other")]
    app = AGUIMiddleware(AGENT, Settings(routes=routes))
    for _ in range(2):
        for path in ("/agent", "/other"):
            for client in (b"0.0.57", b"0.0.58"):
                await ask(app, path, headers=[(NAME, client)])
    places = {(vars(record)["route"], vars(record)["client"]) for record in caplog.records}
    assert places == {(path, client) for path in ("/agent", "/other") for client in ("0.0.57", "0.0.58")}
    assert len(caplog.records) == len({(record.args, *map(str, places)) for record in caplog.records})


async def test_a_loss_has_fields_for_a_log(caplog: pytest.LogCaptureFixture) -> None:
    await ask(AGUIMiddleware(AGENT, Settings(routes=[Route(path="/agent")], default_client="0.0.58")))
    [record] = caplog.records
    assert {name: vars(record)[name] for name in ("route", "client", "feature", "fixed_in", "count")} == {
        "route": "/agent",
        "client": "0.0.58",
        "feature": "subagents",
        "fixed_in": "0.0.59",
        "count": 1,
    }


async def test_losses_can_be_silenced_and_the_hook_still_hears_of_them(caplog: pytest.LogCaptureFixture) -> None:
    losses: list[Loss] = []
    await ask(AGUIMiddleware(AGENT, Settings(default_client="0.0.58", warn=False), on_loss=losses.append))
    assert caplog.messages == []
    assert [loss.feature for loss in losses] == ["subagents"]


async def test_a_hook_that_raises_is_logged_and_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def raises(loss: Loss) -> None:
        raise ZeroDivisionError

    app = AGUIMiddleware(AGENT, Settings(default_client="0.0.58", warn=False), on_loss=raises)
    assert (await ask(app)).body == INLINE
    assert caplog.messages == ["the hook on_loss raised"]


async def test_the_plan_is_told_to_the_hook_once_a_stream(caplog: pytest.LogCaptureFixture) -> None:
    told: list[tuple[Scope, Choice]] = []
    routes = [Route(path="/agent"), Route(path="/public", visibility="hidden")]
    app = AGUIMiddleware(AGENT, Settings(routes=routes), on_plan=lambda *said: told.append(said))
    exchanges = [await ask(app, path, headers=[(NAME, b"0.0.58")]) for path in ("/agent", "/public", "/other")]
    assert [scope for scope, _ in told] == [exchange.scope for exchange in exchanges]
    assert [choice.route for _, choice in told] == [*routes, ELSEWHERE]
    assert [choice.plan.header_value for _, choice in told] == [
        "client=0.0.58; subagents=inline",
        "client=0.0.58; subagents=hidden",
        "client=0.0.58; subagents=hidden",
    ]

    def raises(*_: Any) -> None:
        raise ZeroDivisionError

    app = AGUIMiddleware(AGENT, Settings(default_client="0.0.58", warn=False), on_plan=raises)
    assert (await ask(app)).body == INLINE
    assert caplog.messages[-1] == "the hook on_plan raised"


async def test_a_response_that_is_no_stream_has_no_plan_to_tell_of() -> None:
    told: list[Any] = []
    await ask(AGUIMiddleware(PlainTextResponse("no stream"), on_plan=lambda *said: told.append(said)))
    assert told == []


async def test_the_app_sees_the_choice_in_its_state() -> None:
    seen: list[Any] = []

    async def agent(request: Request) -> Response:
        choice = request.state.agui
        seen.append((choice.route.path, choice.client))
        await request.body()
        seen.append(choice.client)
        return StreamingResponse(iter([ATTRIBUTED]), media_type="text/event-stream")

    starlette = Starlette(routes=[StarletteRoute("/agent", agent, methods=["POST"])])
    old = ClientVersion.parse("0.0.58")
    app = AGUIMiddleware(starlette, Settings(routes=[Route(path="/agent")], default_client="0.0.58"))
    await ask(app, headers=[(NAME, b"0.0.45")])
    await ask(app)
    newer = await ask(app, body=[b'{"protocolVersion":"1.0"}'])
    assert seen == [
        ("/agent", ClientVersion.parse("0.0.45")),
        ClientVersion.parse("0.0.45"),
        ("/agent", old),
        old,
        ("/agent", old),
        ClientVersion.parse("1.0.0"),
    ]
    assert newer.scope["state"]["agui"].client == ClientVersion.parse("1.0.0")


async def test_what_is_done_nothing_for_has_a_choice_too() -> None:
    exchange = await ask(AGUIMiddleware(AGENT, Settings(fix_framing=False)))
    assert exchange.scope["state"]["agui"].client is None
    assert not exchange.scope["state"]["agui"].plan.rewrites


async def test_what_a_route_takes_from_everybody_is_no_loss(caplog: pytest.LogCaptureFixture) -> None:
    for visibility in ("inline", "hidden"):
        settings = Settings(routes=[Route(path="/agent", visibility=visibility)], default_client="0.0.58")
        await ask(AGUIMiddleware(AGENT, settings))
    assert caplog.messages == []


async def test_debug_finds_what_a_filter_changed_in_place() -> None:
    async def mutates(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
        async for event in events:
            if event.type == "STATE_SNAPSHOT":
                event["snapshot"]["x"] = 1
            yield event

    settings: dict[str, Any] = {"routes": [Route(path="/agent", filters=[mutates])]}
    agent = sends(encode_events(stream("STATE")))
    assert (await ask(AGUIMiddleware(agent, Settings(**settings)))).body == encode_events(stream("STATE"))
    with pytest.raises(RuntimeError, match="in place"):
        await ask(AGUIMiddleware(agent, Settings(**settings, debug=True)))


async def test_one_object_keeps_no_state_of_any_stream() -> None:
    """Of a hundred requests with values of their own nothing is left but one plan a route and release."""
    app = serving()
    for number in range(100):
        await ask(app, headers=[(NAME, b"0.0.58-canary.%d" % number)], query=b"x-ag-ui-client-version=%d" % number)
    assert len(app._plans.of(Match(0, False))._plans) == 1
    assert len(app._reports.request._counts) <= 1
