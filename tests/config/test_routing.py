"""Which route decides for a request, and when subagents are hidden though the route does not say so."""

from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.routing import Match as StarletteMatch
from starlette.routing import Route as StarletteRoute

from agui_middleware.config.path_table import PathTable
from agui_middleware.config.routes import Route
from agui_middleware.config.routing import Match, Routing
from tests.work import work_of


def scope_of(path: str, method: str = "POST", root: str = "", **more: Any) -> dict[str, Any]:
    """The scope of a path as a client sends it, encoded."""
    return {
        "type": "http",
        "method": method,
        "path": unquote(path),
        "raw_path": path.encode(),
        "root_path": root,
        **more,
    }


def decided(routes: list[Route], *args: Any, **more: Any) -> Match | None:
    return Routing(routes).find(scope_of(*args, **more))


def hidden(path: str, **more: Any) -> Route:
    return Route(path=path, visibility="hidden", **more)


SHOWN, HIDDEN = Match(0, False), Match(0, True)
ELSEWHERE = Match(1, True)  # behind one route


# Where no route hides.


@pytest.mark.parametrize(
    ("route", "method", "path", "root", "matches"),
    [
        ("/agent", "POST", "/agent", "", True),
        ("/agent", "GET", "/agent", "", False),
        ("/agent", "POST", "/agents", "", False),
        ("/agent", "POST", "/x/agent", "", False),
        ("/agents/{name}", "POST", "/agents/x", "", True),
        ("/agents/{name}", "POST", "/agents/x/y", "", False),
        ("/agents/{name}", "POST", "/agents/", "", False),
        ("/agents/{id:int}", "POST", "/agents/5", "", True),
        ("/agents/{id:int}", "POST", "/agents/x", "", False),
        ("/agents/{a}-{b}/run", "POST", "/agents/x-y/run", "", True),
        ("/agents/{a}-{b}/run", "POST", "/agents/xy/run", "", False),
        ("/{rest:path}", "POST", "/", "", True),
        ("/{rest:path}", "POST", "/a/b/c", "", True),
        ("/a/{rest:path}/run", "POST", "/a/b/c/run", "", True),
        ("/a/{rest:path}/run", "POST", "/a/b/c", "", False),
        ("/agent", "POST", "/api/agent", "/api", True),
        ("/agent", "POST", "/agent", "/api", True),
        ("/api/agent", "POST", "/api/agent", "/api", False),
        ("/", "POST", "/api/", "/api", True),
        # As other frameworks and proxies write the same path.
        ("/agent", "POST", "/agent/", "", True),
        ("/agent", "POST", "/Agent", "", True),
        ("/agent", "POST", "//agent///", "", True),
        ("/agent", "GET", "//agent///", "", False),
        ("/agent/", "POST", "/agent", "", True),
        ("/agent", "POST", "/agents/", "", False),
        ("/agent", "POST", "agent", "", True),
        ("/agent", "POST", "http://h/agent", "", True),
        ("/agent", "POST", "x:/agent", "", True),
        ("/agent", "POST", "http:agent", "", True),
        ("/agent", "POST", "//h/agent", "", True),
        ("/agent", "POST", "/x/../agent", "", True),
        ("/agent", "POST", "/./agent/.", "", True),
        ("/agent", "POST", "/agent%0A", "", True),
        ("/agent", "POST", "/ag%0Dent", "", True),
        ("/agent", "POST", "/agent?x", "", True),
        ("/agent", "POST", "/%2561gent", "", True),
        ("/agent", "POST", r"\agent", "", True),
        ("/agent", "POST", "/agent;v=1", "", True),
        ("/", "POST", "//", "", True),
        ("/agents/Ü/{name}", "POST", "/AGENTS/ü//X/", "", True),
        ("/agents/{id:int}", "POST", "/Agents/1", "", True),
        ("/agents/{name}", "POST", "/agents;a/;b/x;c=/", "", True),
        ("/public/{rest:path}", "POST", "/public/a%0Ab", "", True),
        ("/public/{name}", "POST", "/public/a%0Ab", "", True),
        ("/public/{name}", "POST", "/public/a%2Fb", "", True),
        ("/public/{name}", "POST", "/mounted/public//a%2fb;c/", "/mounted", True),
        ("/public/{name}", "POST", "/public/a%2Fb/c", "", False),
        ("/", "POST", "/public/a", "", False),
    ],
)
def test_a_route_takes_its_path_however_it_is_spelled(
    route: str, method: str, path: str, root: str, matches: bool
) -> None:
    assert decided([Route(path=route)], path, method, root) == (SHOWN if matches else None)
    # One that hides takes every method that no other takes, and what no route takes is hidden.
    strict = decided([hidden(route)], path, method, root)
    assert strict == HIDDEN if matches else strict in (HIDDEN, ELSEWHERE)


@pytest.mark.parametrize(
    ("path", "decides"),
    [("/a", 0), ("/a/", 1), ("/A", 0), ("/A/", 0), ("/b", 2), ("/b/x", 3), ("/b/X/", 2), ("/c/x", 3)],
)
def test_a_route_that_has_the_very_path_comes_before_one_that_has_it_spelled_otherwise(path: str, decides: int) -> None:
    routes = [Route(path="/a"), Route(path="/a/"), Route(path="/b/{name}/"), Route(path="/{x}/{name}")]
    routes.insert(3, Route(path="/b"))
    found = decided(routes, path)
    expected = {"/b": 3, "/b/x": 4, "/c/x": 4}.get(path, decides)
    assert found == Match(expected, False)


def test_the_order_decides_between_routes_with_parameters_and_without() -> None:
    routes = [Route(path="/{name}", methods=["GET"]), Route(path="/a"), Route(path="/{name}"), Route(path="/b")]
    assert decided(routes, "/a", "GET") == Match(0, False)
    assert decided(routes, "/a", "HEAD") == Match(0, False)
    assert decided(routes, "/a") == Match(1, False)
    assert decided(routes, "/b") == Match(2, False)
    assert decided([Route(), *routes], "/a") == Match(0, False)
    # A catch-all does not name a path: another spelling of a route before it is that route's.
    assert decided([*routes, Route()], "/A/") == Match(1, False)
    assert decided([*routes, Route()], "/x/y") == Match(4, False)


def test_a_route_that_is_not_enabled_lets_its_path_through() -> None:
    routes = [Route(path="/off", enabled=False), Route()]
    assert decided(routes, "/off") is None
    assert decided(routes, "/off/") is None
    assert decided(routes, "/on") == Match(1, False)


PATHS = [
    "/agent",
    "/agents/{name}",
    "/agents/{id:int}",
    "/a/{x}/b",
    "/a/{x}-{y}",
    "/{rest:path}",
    "/a/{rest:path}",
    "/",
]
SEGMENT = st.sampled_from(["agent", "agents", "a", "b", "5", "x-y", "x", "Ü"])


@given(st.lists(st.sampled_from(PATHS), max_size=8), st.lists(SEGMENT, max_size=4))
def test_a_table_finds_what_starlette_finds_one_after_the_other(paths: list[str], segments: list[str]) -> None:
    path = "/" + "/".join(segments)
    scope = {"type": "http", "method": "POST", "path": path}
    routes = [StarletteRoute(each, lambda _: None, methods=["POST"]) for each in paths]
    expected = [index for index, route in enumerate(routes) if route.matches(scope)[0] is StarletteMatch.FULL]
    assert PathTable(enumerate(paths)).find(path) == expected


# Where a route hides.


@pytest.mark.parametrize("path", ["/other", "/", "", "/a/b/c", "other", "//", "/agent/x", "/%0A", "http://h/x", "*"])
@pytest.mark.parametrize("method", ["POST", "GET", "X"])
def test_what_no_route_has_is_hidden_where_one_hides(path: str, method: str) -> None:
    assert decided([hidden("/agent")], path, method) == ELSEWHERE
    assert decided([Route(path="/agent")], path, method) is None
    assert decided([hidden("/agent", enabled=False)], path, method) is None


NOT_PLAIN = [
    *("agent", "", "http://h/agent", "x:/agent", "http:agent", "//agent", "/x//agent", "/agent//", "/./agent"),
    *(
        "/x/../agent",
        "/agent/..",
        "/agent/.",
        "/agent;v=1",
        "/agent;",
        "/a%2Fb",
        "/a%2fb",
        "/a%5Cb",
        "/a%00b",
        "/a%0Ab",
    ),
    *(
        "/a%0D",
        "/a%7F",
        "/a%C2%85b",
        "/a%E2%80%A8b",
        r"/a\b",
        "/a%3Fb",
        "/a%23b",
        "/a%252Fb",
        "/agent%20",
        "/agent%C2%A0",
    ),
]


@pytest.mark.parametrize("path", NOT_PLAIN)
def test_a_path_that_is_not_plain_is_hidden_beside_a_route_that_shows(path: str) -> None:
    """Servers, frameworks and proxies read it differently, so that the app may serve what a route hides."""
    for shown in (Route(), Route(path="/{rest:path}"), Route(path="/{name}"), Route(path="/agent")):
        match = decided([hidden("/private"), shown], path)
        assert match is not None
        assert match.hides
        match = decided([hidden("/private"), Route(path="/agent", enabled=False), Route(enabled=False)], path)
        assert match is not None
        assert match.hides


@pytest.mark.parametrize(
    "path", ["/agent", "/Agent", "/agent/", "/a/b", "/a.b", "/...", "/ä", "/a%20b", "/a:b", "/a@b,c"]
)
def test_a_plain_path_shows_beside_a_route_that_hides_another(path: str) -> None:
    assert decided([hidden("/private"), Route()], path) == Match(1, False)
    assert decided([hidden("/private"), Route(enabled=False)], path) is None


@pytest.mark.parametrize("path", ["/a;b", "/a//b", "/agents/..", "/x%0Ay"])
def test_a_route_that_has_exactly_a_path_that_is_not_plain_shows_it(path: str) -> None:
    assert decided([Route(path=unquote(path)), hidden("/private")], path) == SHOWN
    assert decided([hidden("/private"), Route(path=unquote(path), methods=["GET"])], path, "GET") == Match(1, False)


SPELLINGS = [
    "/private",
    "/private/",
    "/PRIVATE",
    "//private",
    "/private;a",
    "/x/../private",
    "private",
    "http://h/private",
]


@pytest.mark.parametrize("path", [*SPELLINGS, "/private%0A", "/%70rivate", "/pri%0Avate", "//h/private"])
def test_a_route_that_hides_has_its_path_in_every_spelling_beside_a_catch_all_before_it(path: str) -> None:
    match = decided([Route(), hidden("/private")], path)
    # The very path is the first route's, as the order says; what is merely read so is hidden.
    assert match == (SHOWN if path in ("/private", "/private/", "/PRIVATE", "/%70rivate") else Match(1, True))
    assert decided([hidden("/private"), Route()], path) == HIDDEN


def test_a_route_that_hides_takes_the_methods_that_no_other_takes() -> None:
    routes = [hidden("/agent"), Route(path="/agent", methods=["GET"])]
    assert decided(routes, "/agent") == HIDDEN
    assert decided(routes, "/agent", "GET") == Match(1, False)
    assert decided(routes, "/agent", "PUT") == HIDDEN
    assert decided(routes, "//agent", "GET") == HIDDEN  # not plain
    both = [hidden("/{name}", methods=["PUT"]), hidden("/agent")]
    assert decided(both, "/agent", "PUT") == HIDDEN
    assert decided(both, "/agent") == Match(1, True)


def test_the_first_route_decides_where_two_have_one_path() -> None:
    assert decided([Route(path="/agent"), hidden("/agent")], "/agent") == SHOWN
    assert decided([hidden("/agent"), Route(path="/agent")], "/agent") == HIDDEN
    assert decided([Route(path="/agents/{name}"), hidden("/{rest:path}")], "/agents/x") == SHOWN
    assert decided([hidden("/agents/{name}"), Route(path="/agents/x")], "/agents/x") == HIDDEN
    # Of two spellings the stricter.
    assert decided([Route(path="/agent"), hidden("/agent")], "/agent/") == Match(1, True)


@pytest.mark.parametrize(
    ("path", "root"),
    [
        ("/api/agent", ""),  # FastAPI(root_path="/api"), Django's FORCE_SCRIPT_NAME
        ("/v1/api/agent", ""),
        ("/zzz/api/agent", "/api"),  # hypercorn hands on any path with its root path
        ("/apiagent", "/api"),
        ("/api/agent", "/other"),
        ("/agent", "/agent"),
    ],
)
def test_a_root_path_that_the_server_does_not_report_does_not_show_what_a_route_hides(path: str, root: str) -> None:
    for routes in ([hidden("/agent"), Route()], [hidden("/agent")], [hidden("/agent"), Route(path="/{rest:path}")]):
        match = decided(routes, path, root=root)
        assert match is not None
        assert match.hides
    # A route that names the path decides for it.
    named = Routing([hidden("/agent"), Route(path="/api/agent"), Route()])
    assert named.find(scope_of("/api/agent")) == Match(1, False)


def test_a_root_path_of_more_segments_than_are_tried_is_hidden_without_a_catch_all() -> None:
    assert decided([hidden("/agent")], "/a" * 20 + "/agent") == ELSEWHERE


@pytest.mark.parametrize("shown", [Route(), Route(path="/{rest:path}")])
def test_a_root_path_of_more_segments_than_are_tried_is_hidden_beside_a_catch_all(shown: Route) -> None:
    for depth in range(1, 20):
        match = decided([hidden("/agent"), shown], "/a" * depth + "/agent")
        assert match is not None
        assert match.hides
    assert decided([hidden("/agent"), shown], "/a" * 9) == Match(1, False)
    deep = "/a" * 20
    assert decided([hidden("/agent"), Route(path=deep), shown], deep) == Match(1, False)  # named as it is


# The second opinion: what the framework says has answered.


class Answered:
    def __init__(self, path: str) -> None:
        self.path = path


@pytest.mark.parametrize(
    ("scope", "hides"),
    [
        ({"route": Answered("/private/{name}")}, True),
        ({"route": Answered("/other/{name}")}, False),
        ({"path_template": "/private/{name}"}, True),
        ({"path_template": "/private/{name:str}"}, True),
        ({"path_template": "/other/{name}"}, False),
        ({"path_template": 5}, False),
        ({"route": Answered("/{name}")}, False),  # of a router that was included under a prefix
        ({"route": Answered("/private/{rest:path}")}, True),
        ({}, False),
    ],
)
def test_what_the_framework_says_has_answered_is_hidden_where_a_route_hides_it(scope: Any, hides: bool) -> None:
    routing = Routing([hidden("/private/{name}"), Route()])
    opinion = routing.second_opinion(scope_of("/public/x", **scope), "")
    assert opinion == (HIDDEN if hides else None)


def test_a_root_path_that_the_app_has_put_into_the_scope_is_read() -> None:
    routing = Routing([hidden("/a/b/c/d/e/f/g/h/i/agent"), Route()])
    scope = scope_of("/api/a/b/c/d/e/f/g/h/i/agent")
    assert routing.second_opinion(scope, "") is None
    assert routing.second_opinion({**scope, "app_root_path": "/api"}, "") == HIDDEN
    assert routing.second_opinion({**scope, "root_path": "/api"}, "") == HIDDEN
    mounted = {**scope_of("/m/private"), "app_root_path": "", "root_path": "/m", "route": Answered("/private")}
    assert Routing([hidden("/m/private"), Route()]).second_opinion(mounted, "") == HIDDEN


# Work.


def test_a_request_costs_the_same_among_few_routes_and_many() -> None:
    def work(count: int, path: str, hides: bool) -> int:
        routes = [Route(path=f"/agents/{index}/{{id}}") for index in range(count)]
        routes += [Route(path=f"/agent-{index}") for index in range(count)]
        routing = Routing([*routes, hidden("/last")] if hides else routes)
        scope = scope_of(path)
        routing.find(scope)
        return work_of(lambda: routing.find(scope))

    for path in ("/other", "/agent-5", "/agents/5/x", "/AGENTS/5/x/", "/last"):
        for hides in (True, False):
            assert work(200, path, hides) <= 1.2 * work(20, path, hides)
