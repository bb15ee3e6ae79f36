import json
import os
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from pydantic import ValidationError
from pydantic_settings import SettingsError
from starlette.routing import Match

from agui_middleware import AGUIMiddleware, ClientVersion, Context, Event, Route, Settings, SubagentVisibility
from agui_middleware.filters.reasoning import without_reasoning
from agui_middleware.filters.tools import allow_tools


async def a_filter(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    async for event in events:
        yield event


not_callable = "text"
HERE = "tests.config.test_settings"
TOOLS = "agui_middleware.filters.tools:allow_tools"
PROMOTE = "agui_middleware.filters.promote"


@pytest.fixture(autouse=True)
def _empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither files nor an environment of the machine's own."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.upper().startswith("AGUI_")]:
        monkeypatch.delenv(name)


def test_defaults() -> None:
    settings = Settings()
    assert settings.routes == []
    assert settings.headers == ["x-ag-ui-client-version"]
    assert settings.default_client == "current"
    assert settings.max_event_bytes == settings.max_request_bytes == 10 * 1024 * 1024
    assert (settings.fix_framing, settings.warn, settings.debug) == (True, True, False)


def test_defaults_of_a_route() -> None:
    route = Route()
    assert (route.path, route.methods) == ("/{path:path}", ["POST"])
    assert (route.visibility, route.legacy_visibility, route.hides) == ("auto", "inline", False)
    assert (route.filters, route.client, route.default_client, route.enabled) == ([], None, None, True)


WRITTEN: dict[str, Any] = {
    "default_client": "0.0.58",
    "headers": ["X-Client", "x-other"],
    "max_event_bytes": 1000,
    "fix_framing": False,
    "warn": False,
    "routes": [
        {"path": "/public/{name}", "visibility": "hidden"},
        {"path": "/agent", "filters": ["without-debug", f"{HERE}:a_filter"], "legacy_visibility": "hidden"},
        {
            "path": "/old",
            "client": "v0.0.45",
            "default_client": "current",
            "methods": ["get", "POST"],
            "enabled": False,
        },
    ],
}
TOML = """
default_client = "0.0.58"
headers = ["X-Client", "x-other"]
max_event_bytes = 1000
fix_framing = false
warn = false
{prefix}
path = "/public/{{name}}"
visibility = "hidden"
{prefix}
path = "/agent"
filters = ["without-debug", "tests.config.test_settings:a_filter"]
legacy_visibility = "hidden"
{prefix}
path = "/old"
client = "v0.0.45"
default_client = "current"
methods = ["get", "POST"]
enabled = false
"""


def from_python(monkeypatch: pytest.MonkeyPatch) -> Settings:
    return Settings(**WRITTEN)


def from_the_environment(monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, value in WRITTEN.items():
        text = json.dumps(value) if isinstance(value, list) else str(value)
        monkeypatch.setenv(f"AGUI_{name.upper()}", text)
    return Settings()


def from_toml(monkeypatch: pytest.MonkeyPatch) -> Settings:
    Path("agui_middleware.toml").write_text(TOML.format(prefix="[[routes]]"))
    return Settings()


def from_pyproject(monkeypatch: pytest.MonkeyPatch) -> Settings:
    table = "[project]\nname = 'x'\n[tool.agui_middleware]" + TOML.format(prefix="[[tool.agui_middleware.routes]]")
    Path("pyproject.toml").write_text(table)
    return Settings()


@pytest.mark.parametrize("read", [from_python, from_the_environment, from_toml, from_pyproject])
def test_settings_from_every_source(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = read(monkeypatch)
    assert settings.default_client == ClientVersion(0, 0, 58)
    assert settings.headers == ["x-client", "x-other"]
    assert (settings.max_event_bytes, settings.fix_framing, settings.warn) == (1000, False, False)
    public, agent, old = settings.routes
    assert (public.path, public.visibility, public.hides) == ("/public/{name}", "hidden", True)
    assert (agent.path, agent.filters, agent.legacy_visibility) == ("/agent", ["without-debug", a_filter], "hidden")
    assert (old.client, old.default_client) == (ClientVersion(0, 0, 45), "current")
    assert (old.methods, old.enabled) == (["GET", "POST"], False)


def test_python_comes_before_the_environment_before_toml_before_pyproject(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["max_event_bytes = {}", "fix_framing = {}", "warn = {}", "debug = {}"]
    Path("pyproject.toml").write_text("[tool.agui_middleware]\n" + "\n".join(lines).format(4, *["true"] * 3))
    Path("agui_middleware.toml").write_text("\n".join(lines[:3]).format(3, "false", "false"))
    monkeypatch.setenv("AGUI_MAX_EVENT_BYTES", "2")
    monkeypatch.setenv("AGUI_FIX_FRAMING", "true")
    settings = Settings(max_event_bytes=1)
    assert (settings.max_event_bytes, settings.fix_framing, settings.warn, settings.debug) == (1, True, False, True)


def test_a_pyproject_without_the_table_says_nothing() -> None:
    Path("pyproject.toml").write_text("[tool.other]\nwarn = false\n")
    assert Settings().warn


def test_the_middleware_reads_its_settings_where_none_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGUI_DEFAULT_CLIENT", "0.0.58")
    assert AGUIMiddleware(_app).settings.default_client == ClientVersion(0, 0, 58)


@pytest.mark.parametrize("value", list(SubagentVisibility))
def test_a_visibility_may_be_given_as_such(value: SubagentVisibility) -> None:
    route = Route(visibility=value)
    assert route.visibility == value.value
    assert route.hides is (value is SubagentVisibility.HIDDEN)


def test_releases_may_be_given_as_such() -> None:
    version = ClientVersion(0, 0, 58)
    assert Route(client=version).client is version
    assert Settings(default_client=version).default_client is version


@pytest.mark.parametrize(
    ("settings", "field", "allowed"),
    [
        ({"default_client": "1.0"}, "default_client", "'current' or a release of @ag-ui/client, such as '0.0.58'"),
        ({"default_client": 58}, "default_client", "'current' or a release of @ag-ui/client, such as '0.0.58'"),
        ({"default_client": "latest"}, "default_client", "'current' or a release of @ag-ui/client, such as '0.0.58'"),
        ({"headers": ["a b"]}, "headers.0", "should match pattern"),
        ({"headers": [""]}, "headers.0", "should match pattern"),
        ({"headers": "x"}, "headers", "valid list"),
        ({"max_event_bytes": 0}, "max_event_bytes", "greater than 0"),
        ({"max_request_bytes": 0}, "max_request_bytes", "greater than 0"),
        ({"max_event_bytes": "much"}, "max_event_bytes", "valid integer"),
        ({"fix_framing": "perhaps"}, "fix_framing", "valid boolean"),
        ({"unadvertized": "0.0.58"}, "unadvertized", "allowed: routes, headers, default_client,"),
        ({"routes": [{"path": "agent"}]}, "routes.0.path", "a path starts with '/'"),
        ({"routes": [{"path": ""}]}, "routes.0.path", "a path starts with '/'"),
        ({"routes": [{"path": "/{a:b}"}]}, "routes.0.path", "Unknown path convertor 'b'"),
        ({"routes": [{"path": "/{a}/{a}"}]}, "routes.0.path", "Duplicated param name a"),
        ({"routes": [{}, {"visibility": "hide"}]}, "routes.1.visibility", "'auto', 'attributed', 'inline' or 'hidden'"),
        ({"routes": [{"legacy_visibility": "attributed"}]}, "routes.0.legacy_visibility", "'inline' or 'hidden'"),
        ({"routes": [{"methods": ["GET "]}]}, "routes.0.methods.0", "should match pattern"),
        ({"routes": [{"client": "current"}]}, "routes.0.client", "a release of @ag-ui/client, such as '0.0.58'"),
        ({"routes": [{"client": "0.0"}]}, "routes.0.client", "a release of @ag-ui/client, such as '0.0.58'"),
        ({"routes": [{"default_client": ""}]}, "routes.0.default_client", "'current' or a release of @ag-ui/client"),
        ({"routes": [{"enabled": "perhaps"}]}, "routes.0.enabled", "valid boolean"),
        ({"routes": [{"visible": "auto"}]}, "routes.0.visible", "allowed: path, methods, visibility,"),
        ({"routes": [{"filters": ["no_such_package:x"]}]}, "routes.0.filters.0", "No module named 'no_such_package'"),
        ({"routes": [{"filters": ["broken:x"]}]}, "routes.0.filters.0", "importing 'broken:x' raised KeyError: 'HOME'"),
        ({"routes": [{"filters": [f"{HERE}:no_filter"]}]}, "routes.0.filters.0", "cannot import name 'no_filter'"),
        (
            {"routes": [{"filters": [f"{HERE}:not_callable"]}]},
            "routes.0.filters.0",
            "'package.module:name', a callable, or a table",
        ),
        ({"routes": [{"filters": [{"names": []}]}]}, "routes.0.filters.0", "names in `use` what makes the filter"),
        ({"routes": [{"filters": [{"use": TOOLS}]}]}, "routes.0.filters.0", "missing 1 required positional argument"),
        ({"routes": [{"filters": [{"use": TOOLS, "names": "x"}]}]}, "routes.0.filters.0", "a list of names of tools"),
        ({"routes": [{"filters": [{"use": "builtins:list"}]}]}, "routes.0.filters.0", "does not make a filter"),
        ({"routes": [{"filters": [{"use": f"{HERE}:Awaited"}]}]}, "routes.0.filters.0", "it does not yield"),
        ({"routes": [{"filters": [TOOLS]}]}, "routes.0.filters.0", "does not take events and context"),
        (
            {"routes": [{"filters": [{"use": f"{PROMOTE}:promote_results", "tools": ["plan"], "path": "plan"}]}]},
            "routes.0.filters.0",
            "path is a JSON pointer",
        ),
        ({"routes": [{"filters": [5]}]}, "routes.0.filters.0", "a name given to `filters=`, an import string"),
    ],
)
def test_a_wrong_value_fails_at_construction_and_names_the_field_and_what_is_allowed(
    settings: dict[str, Any], field: str, allowed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.py").write_text("raise KeyError('HOME')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValidationError) as raised:
        Settings(**settings)
    [error] = raised.value.errors()
    assert ".".join(map(str, error["loc"])) == field
    assert allowed in error["msg"]


def test_a_wrong_value_in_the_environment_names_the_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGUI_ROUTES", '[{"visibility": "hide"}]')
    with pytest.raises(ValidationError, match=r"routes\.0\.visibility"):
        Settings()
    monkeypatch.setenv("AGUI_ROUTES", "[{")
    with pytest.raises(SettingsError, match=r'"routes".*; AGUI_HEADERS and AGUI_ROUTES are JSON: Expecting property'):
        Settings()


@pytest.mark.parametrize("file", ["agui_middleware.toml", "pyproject.toml"])
def test_a_file_that_is_no_toml_is_named(file: str) -> None:
    Path(file).write_text("routes = ")
    with pytest.raises(ValueError, match=f"^{file} is no TOML: Invalid value"):
        Settings()


@pytest.mark.parametrize(("named", "allowed"), [({}, "none was given"), ({"b": a_filter, "a": a_filter}, "'a', 'b'")])
def test_a_filter_that_nobody_named_fails_at_construction_and_says_which_there_are(
    named: dict[str, Any], allowed: str
) -> None:
    settings = Settings(routes=[Route(), Route(filters=[a_filter, "debug"])])
    message = f"routes.1.filters.1: no filter is named 'debug'; `filters=` has: {allowed}"
    with pytest.raises(ValueError, match="no filter is named") as raised:
        AGUIMiddleware(_app, settings, filters=named)
    assert str(raised.value) == message


def test_filters_may_be_named_imported_or_given() -> None:
    route = Route(filters=["mine", f"{HERE}:a_filter", a_filter, SubagentVisibility.hidden()])
    middleware = AGUIMiddleware(_app, Settings(routes=[route]), filters={"mine": a_filter})
    assert middleware is not None
    assert route.filters == ["mine", a_filter, a_filter, SubagentVisibility.hidden()]


def test_filters_that_take_arguments_are_made_from_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("agui_middleware.toml").write_text(
        f"""
        [[routes]]
        filters = [{{ use = "{TOOLS}", names = ["search"] }}, "agui_middleware.filters.reasoning:without_reasoning"]
        """
    )
    [made, named] = Settings().routes[0].filters
    assert named is without_reasoning
    assert callable(made)
    monkeypatch.setenv("AGUI_ROUTES", json.dumps([{"filters": [{"use": TOOLS, "names": []}]}]))
    assert [callable(filter) for filter in Settings().routes[0].filters] == [True]


def test_what_has_no_signature_may_be_a_filter() -> None:
    assert Route(filters=[max]).filters == [max]


class Iterates:
    """Made by each response, and the stream of it."""

    def __init__(self, events: AsyncIterator[Event], context: Context) -> None:
        self.events = events

    def __aiter__(self) -> AsyncIterator[Event]:
        return self.events


class Called:
    def __call__(self, events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
        return a_filter(events, context)


class Awaited:
    async def __call__(self, events: AsyncIterator[Event], context: Context) -> None: ...


async def yields_nothing(events: AsyncIterator[Event], context: Context) -> None: ...


def is_not_async(events: Any, context: Context) -> Iterator[Event]:
    yield from events


NO_FILTERS: list[tuple[Any, str]] = [
    (allow_tools, "does not take events and context"),
    (yields_nothing, "is a coroutine function: it does not yield"),
    (Awaited(), "is a coroutine function: it does not yield"),
    (is_not_async, "is a generator function that is not async"),
    (dict, "is a class whose instances are no async iterators"),
]
FILTERS = [Iterates, Called(), Called().__call__, lambda events, context: a_filter(events, context), partial(a_filter)]


@pytest.mark.parametrize(("value", "why"), [*NO_FILTERS, ("nope", "is not callable"), (5, "is not callable")])
def test_what_is_given_by_name_and_is_no_filter_fails_at_construction(value: Any, why: str) -> None:
    with pytest.raises(ValueError, match="filters") as raised:
        AGUIMiddleware(_app, Settings(), filters={"fine": a_filter, "x": value})
    said = f"filters['x']: {value!r} {why}; a filter is an async generator function of events and context"
    assert str(raised.value) == said


@pytest.mark.parametrize(("value", "why"), NO_FILTERS)
def test_what_a_route_is_given_and_is_no_filter_fails_at_construction(value: Any, why: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Route(filters=[a_filter, value])
    [error] = raised.value.errors()
    assert error["loc"] == ("filters", 1)
    assert f"{value!r} {why}; a filter is an async generator function" in error["msg"]


@pytest.mark.parametrize("value", FILTERS)
def test_whatever_may_give_an_async_iterator_may_be_a_filter(value: Any) -> None:
    assert Route(filters=[value]).filters == [value]
    assert AGUIMiddleware(_app, Settings(), filters={"x": value}) is not None


def test_settings_and_routes_do_not_change() -> None:
    settings = Settings(routes=[Route()])
    with pytest.raises(ValidationError, match="frozen"):
        settings.warn = False
    with pytest.raises(ValidationError, match="frozen"):
        settings.routes[0].enabled = False


FULL, PARTIAL, NONE = Match.FULL, Match.PARTIAL, Match.NONE


@pytest.mark.parametrize(
    ("route", "method", "path", "root_path", "match"),
    [
        ("/agent", "POST", "/agent", "", FULL),
        ("/agent", "GET", "/agent", "", PARTIAL),
        ("/agent", "POST", "/agent/", "", NONE),
        ("/agent", "POST", "/agents", "", NONE),
        ("/agent", "POST", "/Agent", "", NONE),
        ("/agents/{name}", "POST", "/agents/x", "", FULL),
        ("/agents/{name}", "POST", "/agents/x/y", "", NONE),
        ("/agents/{id:int}", "POST", "/agents/5", "", FULL),
        ("/agents/{id:int}", "POST", "/agents/x", "", NONE),
        ("/{rest:path}", "POST", "/", "", FULL),
        ("/{rest:path}", "POST", "/a/b/c", "", FULL),
        ("/agent", "POST", "/api/agent", "/api", FULL),
        ("/agent", "POST", "/agent", "/api", FULL),
        ("/api/agent", "POST", "/api/agent", "/api", NONE),
        ("/", "POST", "/api/", "/api", FULL),
    ],
)
def test_a_route_matches_as_starlettes_does(route: str, method: str, path: str, root_path: str, match: Match) -> None:
    scope = {"type": "http", "method": method, "path": path, "root_path": root_path}
    assert Route(path=route).matches(scope) is match


@pytest.mark.parametrize(
    ("route", "method", "path", "match"),
    [
        ("/agent", "POST", "/agent/", FULL),
        ("/agent", "GET", "/agent/", PARTIAL),
        ("/agent", "POST", "//agent///", FULL),
        ("/agent/", "POST", "/agent", FULL),
        ("/agent", "POST", "/agents/", NONE),
        ("/", "POST", "//", FULL),
        ("/agents/Ü/{name}", "POST", "/AGENTS/ü//X/", FULL),
        ("/agents/{id:int}", "GET", "/Agents/1", PARTIAL),
        ("/agent", "POST", "/agent;v=1", FULL),
        ("/agents/{name}", "POST", "/agents;a/;b/x;c=/", FULL),
    ],
)
def test_a_route_that_hides_takes_its_path_in_other_spellings(route: str, method: str, path: str, match: Match) -> None:
    """The framework behind it may do so, and nothing may pass it unread."""
    scope = {"type": "http", "method": method, "path": path, "root_path": ""}
    assert Route(path=route, visibility="hidden").matches(scope) is match
    assert Route(path=route).matches(scope) is NONE


@pytest.mark.parametrize(
    ("route", "sent", "match"),
    [
        ("/public/{name}", "/public/a%2Fb", FULL),
        ("/public/{name}", "/mounted/public//a%2fb;c/", FULL),
        ("/public/{name}", "/public/a%2Fb/c", NONE),
        ("/", "/public/a", NONE),
    ],
)
def test_a_route_that_hides_takes_an_encoded_slash_as_part_of_a_segment(route: str, sent: str, match: Match) -> None:
    """As some frameworks do (Sanic, Express)."""
    scope = {"type": "http", "method": "POST", "path": unquote(sent), "raw_path": sent.encode()}
    scope["root_path"] = "/mounted" if sent.startswith("/mounted") else ""
    assert Route(path=route, visibility="hidden").matches(scope) is match


async def _app(scope: Any, receive: Any, send: Any) -> None:
    """Never called."""
