import json
import os
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from pydantic_settings import SettingsError

from agui_middleware import AGUIMiddleware, ClientVersion, Context, Event, Route, Settings, SubagentVisibility
from agui_middleware.cli.proxy import proxy
from agui_middleware.cli.serve import serve
from agui_middleware.config.environment import COMMAND_LINE, variable
from agui_middleware.filters import filter_factory
from agui_middleware.filters.reasoning import without_reasoning
from agui_middleware.filters.redact import redact
from agui_middleware.filters.tools import allow_tools


async def a_filter(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    async for event in events:
        yield event


@filter_factory
def makes_none() -> Any:
    return 7


not_callable = "text"
HERE = "tests.config.test_settings"
TOOLS = "agui_middleware.filters.tools:allow_tools"
PROMOTE = "agui_middleware.filters.promote"


@pytest.fixture(autouse=True)
def _empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither files nor an environment of the machine's own."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.upper().startswith("AGUI_MIDDLEWARE_")]:
        monkeypatch.delenv(name)


def test_defaults() -> None:
    settings = Settings()
    assert settings.routes == []
    assert settings.headers == ["x-ag-ui-client-version"]
    assert settings.default_client == "current"
    assert settings.max_event_bytes == settings.max_request_bytes == 10 * 1024 * 1024
    assert (settings.fix_framing, settings.warn, settings.debug) == (True, True, False)
    assert (settings.history, settings.history_ttl, settings.history_timeout) == (None, timedelta(days=7), 1)
    assert (settings.history_limit, settings.history_memory_limit) == (2**20, 64 * 2**20)


def test_defaults_of_a_route() -> None:
    route = Route()
    assert (route.path, route.methods) == ("/{path:path}", ["POST"])
    assert (route.visibility, route.legacy_visibility, route.hides) == ("auto", "inline", False)
    assert (route.filters, route.client, route.default_client, route.enabled) == ([], None, None, True)
    assert (route.history, route.history_without_subagents) == (True, False)


@pytest.mark.parametrize(
    ("given", "lifetime"), [(60, 60), ("60", 60), ("1.5", 1.5), ("P7D", 7 * 86400), (timedelta(hours=1), 3600)]
)
def test_a_lifetime_is_seconds_or_a_duration(given: Any, lifetime: float, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings(history_ttl=given).history_ttl.total_seconds() == lifetime
    monkeypatch.setenv("AGUI_MIDDLEWARE_HISTORY_TTL", given if isinstance(given, str) else str(lifetime))
    assert Settings().history_ttl.total_seconds() == lifetime


@pytest.mark.parametrize(
    "url", ["memory://", "sqlite:///a/b.db", "redis://h:1/2", "rediss://u:p@h", "valkey://h", "valkeys://h"]
)
def test_the_url_of_a_store(url: str) -> None:
    assert Settings(history=url).history == url


def test_no_password_of_a_url_stands_in_an_error() -> None:
    with pytest.raises(ValidationError) as raised:
        Settings(history="mysql://user:secret@host/0")
    assert "mysql://***@host/0" in str(raised.value)
    assert "secret" not in str(raised.value)


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
        monkeypatch.setenv(f"AGUI_MIDDLEWARE_{name.upper()}", text)
    return Settings()


def from_toml(monkeypatch: pytest.MonkeyPatch) -> Settings:
    Path("agui_middleware.toml").write_text(TOML.format(prefix="[[routes]]"))
    return Settings.load()


def from_a_named_file(monkeypatch: pytest.MonkeyPatch) -> Settings:
    Path("elsewhere").mkdir()
    Path("elsewhere/agents.toml").write_text(TOML.format(prefix="[[routes]]"))
    return Settings.load("elsewhere/agents.toml")


def from_pyproject(monkeypatch: pytest.MonkeyPatch) -> Settings:
    table = "[project]\nname = 'x'\n[tool.agui_middleware]" + TOML.format(prefix="[[tool.agui_middleware.routes]]")
    Path("pyproject.toml").write_text(table)
    return Settings.load()


def from_a_named_pyproject(monkeypatch: pytest.MonkeyPatch) -> Settings:
    from_pyproject(monkeypatch)
    Path("elsewhere").mkdir()
    Path("pyproject.toml").rename("elsewhere/pyproject.toml")
    return Settings.load(Path("elsewhere/pyproject.toml"))


SOURCES = [from_python, from_the_environment, from_toml, from_a_named_file, from_pyproject, from_a_named_pyproject]


@pytest.mark.parametrize("read", SOURCES)
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


def test_the_environment_comes_before_toml_before_pyproject(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["max_event_bytes = {}", "fix_framing = {}", "warn = {}", "debug = {}"]
    Path("pyproject.toml").write_text("[tool.agui_middleware]\n" + "\n".join(lines).format(4, *["true"] * 3))
    Path("agui_middleware.toml").write_text("\n".join(lines[:3]).format(3, "false", "false"))
    monkeypatch.setenv("AGUI_MIDDLEWARE_MAX_EVENT_BYTES", "2")
    monkeypatch.setenv("agui_middleware_fix_framing", "true")
    settings = Settings.load()
    assert (settings.max_event_bytes, settings.fix_framing, settings.warn, settings.debug) == (2, True, False, True)
    assert settings == Settings(max_event_bytes=2, fix_framing=True, warn=False, debug=True)


def test_arguments_come_before_the_environment_and_no_file_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("pyproject.toml").write_text("[tool.agui_middleware]\nwarn = false\n")
    Path("agui_middleware.toml").write_text("routes = ")
    monkeypatch.setenv("AGUI_MIDDLEWARE_MAX_EVENT_BYTES", "2")
    monkeypatch.setenv("AGUI_MIDDLEWARE_DEBUG", "true")
    settings = Settings(max_event_bytes=1)
    assert (settings.max_event_bytes, settings.warn, settings.debug) == (1, True, True)


def test_a_named_file_is_the_only_one() -> None:
    Path("agui_middleware.toml").write_text("warn = false")
    Path("other.toml").write_text("debug = true")
    assert Settings.load("other.toml") == Settings(debug=True)


def test_a_pyproject_without_the_table_says_nothing_unless_it_is_named() -> None:
    Path("pyproject.toml").write_text("[tool.other]\nwarn = false\n")
    assert Settings.load() == Settings()
    with pytest.raises(ValueError, match=r"^pyproject\.toml has no table \[tool\.agui_middleware\]$"):
        Settings.load("pyproject.toml")


def test_the_middleware_reads_its_settings_where_none_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("agui_middleware.toml").write_text("warn = false")
    monkeypatch.setenv("AGUI_MIDDLEWARE_DEFAULT_CLIENT", "0.0.58")
    settings = AGUIMiddleware(_app).settings
    assert (settings.default_client, settings.warn) == (ClientVersion(0, 0, 58), False)


@pytest.mark.parametrize("name", ["AGUI_MIDDLEWARE_ROUTE", "AGUI_MIDDLEWARE_UNADVERTIZED", "Agui_Middleware_x"])
@pytest.mark.parametrize("read", [Settings, Settings.load, lambda: AGUIMiddleware(_app, Settings())])
def test_a_misspelt_environment_variable_is_refused(name: str, read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "[]")
    with pytest.raises(
        ValueError, match=f"^the environment variable {name} is unknown; allowed: AGUI_MIDDLEWARE_"
    ) as it:
        read()
    for allowed in (*Settings.model_fields, "upstream", "port"):
        assert f"AGUI_MIDDLEWARE_{allowed.upper()}" in str(it.value)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("DEFAULT_CLIENTS", "; did you mean 'AGUI_MIDDLEWARE_DEFAULT_CLIENT'?"),
        ("VISIBILITY", """; it is a field of a route, as in AGUI_MIDDLEWARE_ROUTES='[{"visibility": ...}]'"""),
        ("XYZ", ", AGUI_MIDDLEWARE_UPSTREAM"),
    ],
)
def test_a_misspelt_environment_variable_is_told_what_was_meant(
    name: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"AGUI_MIDDLEWARE_{name}", "x")
    with pytest.raises(ValueError, match=f"AGUI_MIDDLEWARE_{name} is unknown") as raised:
        Settings()
    assert str(raised.value).endswith(hint)


@pytest.mark.parametrize("path", ["/agents/x:run", "/a{b}c", "/{rest:path}", "/a/*x", "/a<b>"])
def test_a_path_may_have_what_only_looks_like_another_syntax(path: str) -> None:
    assert Route(path=path).path == path


@pytest.mark.parametrize(
    "name",
    ["HOST", "CONFIG", "SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTP", "PORT_8000_TCP", "PORT_8000_TCP_ADDR"],
)
def test_names_of_the_command_line_and_of_kubernetes_are_not_misspelt(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service named agui-middleware puts such names into every pod of its namespace."""
    monkeypatch.setenv(f"AGUI_MIDDLEWARE_{name}", "x")
    assert Settings() == Settings.load()


def test_the_environment_may_give_every_option_of_the_commands_that_serve() -> None:
    options = [option for command in (serve, proxy) for option in command.params if option.envvar]
    assert {option.envvar for option in options} == {variable(name) for name in COMMAND_LINE}


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
        (
            {"default_client": "1.0"},
            "default_client",
            "expected 'current', a release of @ag-ui/client,",
        ),
        (
            {"default_client": 58},
            "default_client",
            "expected 'current', a release of @ag-ui/client,",
        ),
        (
            {"default_client": "latest"},
            "default_client",
            "expected 'current', a release of @ag-ui/client,",
        ),
        ({"headers": ["a b"]}, "headers.0", "expected letters, digits and any of"),
        ({"headers": [""]}, "headers.0", "expected letters, digits and any of"),
        ({"headers": "x"}, "headers", "valid list"),
        ({"max_event_bytes": 0}, "max_event_bytes", "greater than 0"),
        ({"max_request_bytes": 0}, "max_request_bytes", "greater than 0"),
        ({"max_event_bytes": "much"}, "max_event_bytes", "valid integer"),
        ({"fix_framing": "perhaps"}, "fix_framing", "valid boolean"),
        (
            {"history": "mysql://host"},
            "history",
            "one of 'memory://', 'sqlite://', 'redis://', 'rediss://', 'valkey://'",
        ),
        ({"history": "memory"}, "history", "begins with one of 'memory://'"),
        ({"history": "sqlite://"}, "history", "the path of a file behind 'sqlite://'"),
        ({"history": 5}, "history", "valid string"),
        ({"history_ttl": 0}, "history_ttl", "greater than 0"),
        ({"history_ttl": "a week"}, "history_ttl", "valid timedelta"),
        ({"history_timeout": 0}, "history_timeout", "greater than 0"),
        ({"history_limit": 0}, "history_limit", "greater than 0"),
        ({"default_clent": "0.0.58"}, "default_clent", "debug; did you mean 'default_client'?"),
        ({"visibility": "hidden"}, "visibility", "; it is a field of a route, as in routes = [{ visibility = ... }]"),
        ({"unadvertized": "0.0.58"}, "unadvertized", "allowed: routes, headers, default_client,"),
        ({"routes": [{"path": "agent"}]}, "routes.0.path", "a path starts with '/'"),
        ({"routes": [{"path": ""}]}, "routes.0.path", "a path starts with '/'"),
        *(
            ({"routes": [{"path": path}]}, "routes.0.path", "'{name}' for one segment, and '{name:path}' for all")
            for path in ("/agent/*", "/**/agent", "/agent/:name", "/agent/<name>/x", "/agent/{name", "/}")
        ),
        ({"routes": [{"path": "/{a:b}"}]}, "routes.0.path", "Unknown path convertor 'b'"),
        ({"routes": [{"path": "/{a}/{a}"}]}, "routes.0.path", "Duplicated param name a"),
        ({"routes": [{}, {"visibility": "hide"}]}, "routes.1.visibility", "'auto', 'attributed', 'inline' or 'hidden'"),
        ({"routes": [{"legacy_visibility": "attributed"}]}, "routes.0.legacy_visibility", "'inline' or 'hidden'"),
        ({"routes": [{"methods": ["GET "]}]}, "routes.0.methods.0", "expected letters, digits and any of"),
        (
            {"routes": [{"client": "current"}]},
            "routes.0.client",
            "expected a release of @ag-ui/client, such as '0.0.58'",
        ),
        ({"routes": [{"client": "0.0"}]}, "routes.0.client", "expected a release of @ag-ui/client, such as '0.0.58'"),
        (
            {"routes": [{"default_client": ""}]},
            "routes.0.default_client",
            "expected 'current', a release of @ag-ui/client",
        ),
        ({"routes": [{"enabled": "perhaps"}]}, "routes.0.enabled", "valid boolean"),
        ({"routes": [{"visible": "auto"}]}, "routes.0.visible", "allowed: path, methods, visibility,"),
        ({"routes": [{"filters": ["no_such_package:x"]}]}, "routes.0.filters.0", "No module named 'no_such_package'"),
        (
            {"routes": [{"filters": ["reasoning:without_reasoning"]}]},
            "routes.0.filters.0",
            "the ready-made filters are named as 'agui_middleware.filters.reasoning:without_reasoning'",
        ),
        ({"routes": [{"filters": [f"{TOOLS}s"]}]}, "routes.0.filters.0", "; did you mean 'allow_tools'?"),
        ({"routes": [{"filters": [":x"]}]}, "routes.0.filters.0", "nonempty module name"),
        ({"routes": [{"filters": ["broken:x"]}]}, "routes.0.filters.0", "importing 'broken:x' raised KeyError: 'HOME'"),
        ({"routes": [{"filters": [f"{HERE}:no_filter"]}]}, "routes.0.filters.0", "cannot import name 'no_filter'"),
        (
            {"routes": [{"filters": [f"{HERE}:not_callable"]}]},
            "routes.0.filters.0",
            "'package.module:name', a callable, or a table",
        ),
        ({"routes": [{"filters": [{"names": []}]}]}, "routes.0.filters.0", "`use` names a filter factory"),
        ({"routes": [{"filters": [{"use": 7}]}]}, "routes.0.filters.0", "`use` names a filter factory"),
        (
            {"routes": [{"filters": [{"use": "builtins:list"}]}]},
            "routes.0.filters.0",
            "not declared with @filter_factory",
        ),
        (
            {"routes": [{"filters": [{"use": "os:system", "command": "x"}]}]},
            "routes.0.filters.0",
            "so it is not called",
        ),
        ({"routes": [{"filters": [{"use": f"{HERE}:Awaited"}]}]}, "routes.0.filters.0", "so it is not called"),
        ({"routes": [{"filters": [{"use": f"{HERE}:not_callable"}]}]}, "routes.0.filters.0", "so it is not called"),
        ({"routes": [{"filters": [{"use": f"{HERE}:makes_none"}]}]}, "routes.0.filters.0", "does not make a filter: 7"),
        ({"routes": [{"filters": [{"use": TOOLS}]}]}, "routes.0.filters.0", "missing 1 required positional argument"),
        ({"routes": [{"filters": [{"use": TOOLS, "names": "x"}]}]}, "routes.0.filters.0", "a list of names of tools"),
        ({"routes": [{"filters": [TOOLS]}]}, "routes.0.filters.0", "makes filters, and has to be called"),
        (
            {"routes": [{"filters": [{"use": f"{PROMOTE}:promote_results", "tools": ["plan"], "path": "plan"}]}]},
            "routes.0.filters.0",
            "path is a JSON pointer",
        ),
        (
            {"routes": [{"filters": [5]}]},
            "routes.0.filters.0",
            "expected a name given to `named_filters=`, an import",
        ),
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


def test_a_wrong_value_in_the_environment_names_the_field_and_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGUI_MIDDLEWARE_ROUTES", '[{"visibility": "hide"}]')
    for read in (Settings, Settings.load):
        with pytest.raises(ValidationError, match=r"routes\.0\.visibility\n.*\(in AGUI_MIDDLEWARE_ROUTES\)"):
            read()
    monkeypatch.setenv("AGUI_MIDDLEWARE_ROUTES", "[{")
    names = "AGUI_MIDDLEWARE_HEADERS and AGUI_MIDDLEWARE_ROUTES"
    with pytest.raises(SettingsError, match=f'"routes".*; {names} are JSON: Expecting property'):
        Settings()


FILES = ["agui_middleware.toml", "pyproject.toml"]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"routes = ", "{} is not TOML: Invalid value"),
        (b"# caf\xe9", "{} is not UTF-8, as TOML has to be: invalid continuation byte at byte 5|{} is not UTF-8"),
        (None, "{} cannot be read: Is a directory"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(content: bytes | None, message: str, file: str, named: bool) -> None:
    Path(file).mkdir() if content is None else Path(file).write_bytes(content)
    with pytest.raises(ValueError, match="^" + message.format(file, file)):
        Settings.load(file if named else None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("tool = 7", "pyproject.toml: tool is 7, and not a table"),
        ("tool.agui_middleware = 'x'", "pyproject.toml: tool.agui_middleware is 'x', and not a table"),
    ],
)
def test_a_table_that_is_none_is_named(content: str, message: str) -> None:
    Path("pyproject.toml").write_text(content)
    with pytest.raises(ValueError, match="and not a table") as raised:
        Settings.load()
    assert str(raised.value) == message


def test_a_file_that_is_named_has_to_be_there() -> None:
    with pytest.raises(ValueError, match=r"^nowhere\.toml cannot be read: No such file or directory$"):
        Settings.load("nowhere.toml")


@pytest.mark.parametrize("file", FILES)
def test_a_wrong_or_unknown_field_of_a_file_names_the_file(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A field that the environment gives is not blamed on the file, which has it too."""
    table = "[tool.agui_middleware]\n" if file == "pyproject.toml" else ""
    Path(file).write_text(f"{table}max_event_bytes = -1\nunadvertised = '0.0.58'\nwarn = 'perhaps'\n")
    monkeypatch.setenv("AGUI_MIDDLEWARE_WARN", "whatever")
    for named in (file, None):
        with pytest.raises(ValidationError) as raised:
            Settings.load(named)
        found = {error["loc"]: error["msg"].rpartition(" (in ")[2] for error in raised.value.errors()}
        places = {("max_event_bytes",): file, ("unadvertised",): file, ("warn",): "AGUI_MIDDLEWARE_WARN"}
        assert found == {loc: f"{place})" for loc, place in places.items()}
        assert "There is no such field; allowed: routes, headers," in str(raised.value)


@pytest.mark.parametrize(("named", "allowed"), [({}, "none was given"), ({"b": a_filter, "a": a_filter}, "'a', 'b'")])
def test_a_filter_that_nobody_named_fails_at_construction_and_says_which_there_are(
    named: dict[str, Any], allowed: str
) -> None:
    settings = Settings(routes=[Route(), Route(filters=[a_filter, "debug"])])
    message = f"routes.1.filters.1: no filter is named 'debug'; `named_filters=` has: {allowed}"
    with pytest.raises(ValueError, match="no filter is named") as raised:
        AGUIMiddleware(_app, settings, named_filters=named)
    assert str(raised.value) == message


def test_filters_may_be_named_imported_or_given() -> None:
    route = Route(filters=["mine", f"{HERE}:a_filter", a_filter, SubagentVisibility.hidden()])
    middleware = AGUIMiddleware(_app, Settings(routes=[route]), named_filters={"mine": a_filter})
    assert middleware is not None
    assert route.filters == ["mine", a_filter, a_filter, SubagentVisibility.hidden()]


def test_filters_that_take_arguments_are_made_from_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("agui_middleware.toml").write_text(
        f"""
        [[routes]]
        filters = [{{ use = "{TOOLS}", names = ["search"] }}, "agui_middleware.filters.reasoning:without_reasoning"]
        """
    )
    [made, named] = Settings.load().routes[0].filters
    assert named is without_reasoning
    assert callable(made)
    monkeypatch.setenv("AGUI_MIDDLEWARE_ROUTES", json.dumps([{"filters": [{"use": TOOLS, "names": []}]}]))
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
    (allow_tools, "makes filters, and has to be called with its arguments"),
    (redact, "makes filters, and has to be called with its arguments"),  # may be called with two: it failed each run
    (lambda events: events, "does not take events and context"),
    (yields_nothing, "is a coroutine function: it does not yield"),
    (Awaited(), "is a coroutine function: it does not yield"),
    (is_not_async, "is a generator function that is not async"),
    (dict, "is a class whose instances are no async iterators"),
]
FILTERS = [Iterates, Called(), Called().__call__, lambda events, context: a_filter(events, context), partial(a_filter)]


@pytest.mark.parametrize(("value", "why"), [*NO_FILTERS, ("nope", "is not callable"), (5, "is not callable")])
def test_what_is_given_by_name_and_is_no_filter_fails_at_construction(value: Any, why: str) -> None:
    with pytest.raises(ValueError, match="filters") as raised:
        AGUIMiddleware(_app, Settings(), named_filters={"fine": a_filter, "x": value})
    said = f"named_filters['x']: {value!r} {why}; a filter is an async generator function of events and context"
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
    assert AGUIMiddleware(_app, Settings(), named_filters={"x": value}) is not None


def test_settings_and_routes_do_not_change() -> None:
    settings = Settings(routes=[Route()])
    with pytest.raises(ValidationError, match="frozen"):
        settings.warn = False
    with pytest.raises(ValidationError, match="frozen"):
        settings.routes[0].enabled = False


async def _app(scope: Any, receive: Any, send: Any) -> None:
    """Never called."""


@pytest.mark.parametrize("field", ["client", "default_client"])
def test_an_sdk_that_is_refused_is_refused_with_the_reason(field: str) -> None:
    with pytest.raises(ValidationError, match="reads only UUIDs"):
        Route.model_validate({field: "ag-ui-client@0.1.0"})
