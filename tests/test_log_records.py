"""A client cannot fill the log: what it can cause is counted, and logged at powers of ten."""

import ast
import logging

import pytest

from agui_middleware import AGUIMiddleware, Route, Settings
from agui_middleware.testing import encode_events
from tests.notation import stream
from tests.robustness.exchange import Exchange, sends
from tests.test_rooms import MODULES, ROOT

UNLIMITED = {
    "stream/recording.py": "`rewrite` is called by a program, for one stream, and no middleware calls it",
}
"""Files that log each record, by the reason why no client can cause them."""


def getters(tree: ast.AST) -> list[ast.AST]:
    """The calls of `getLogger`, and whatever else names it."""
    return [node for node in ast.walk(tree) if getattr(node, "attr", getattr(node, "id", None)) == "getLogger"]


def limited(tree: ast.AST) -> list[ast.AST]:
    """The calls of `getLogger` whose logger nobody has but the log that counts: `RateLimitedLog(logging.getLogger(…))`."""
    return [
        argument.func
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "RateLimitedLog"
        for argument in call.args
        if isinstance(argument, ast.Call)
    ]


def unlimited(source: str) -> bool:
    tree = ast.parse(source)
    return len(getters(tree)) != len(limited(tree))


def test_every_logger_is_limited_or_has_a_reason() -> None:
    found = {path.relative_to(ROOT).as_posix() for path in MODULES if unlimited(path.read_text())}
    assert found == UNLIMITED.keys()


@pytest.mark.parametrize("name", ["warnings", "print_exc", "print_exception", "excepthook", "lastResort"])
def test_nothing_is_said_past_the_loggers(name: str) -> None:
    naming = [path for path in MODULES if name in {*names(ast.parse(path.read_text()))}]
    assert naming == []


def names(tree: ast.AST) -> list[str]:
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute | ast.alias)]
    return [str(getattr(node, "attr", getattr(node, "id", getattr(node, "name", "")))) for node in named]


@pytest.mark.parametrize(
    "source",
    ["log = logging.getLogger('a')", "getLogger('a').warning('b')", "from logging import getLogger as g"],
)
def test_what_the_walk_would_find(source: str) -> None:
    assert unlimited(source) or "getLogger" in names(ast.parse(source))
    assert not unlimited("log = RateLimitedLog(logging.getLogger('a'))")


MADE_UP = {
    "older releases": ["0.0.{}", "0.{}.0", "0.0.36-x{}", "0.0.36+{}"],
    "newer releases": ["0.0.36", "1.0.{}", "1.{}.0", "{}.0.0"],
    "SDKs": ["ag_ui@0.1.{}", "ag-ui-protocol@0.{}", "com.ag-ui@0.0.{}", "Dojo@{}"],
    "nobody": ["{}", "x{}", "\\x{}"],
}


@pytest.mark.parametrize("names", MADE_UP.values(), ids=MADE_UP)
@pytest.mark.parametrize("hides", [False, True])
async def test_made_up_clients_and_paths_do_not_fill_the_log(
    names: list[str], hides: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    sent = encode_events(stream("RS r parentRunId=null; SUB+ s; TS m @s; TC m x @s; TE m; SUB- s; AS a; RF r"))
    routes = [Route(path="/agent", client=None), *([Route(path="/secret", visibility="hidden")] if hides else [])]
    app = AGUIMiddleware(sends(sent), Settings(routes=routes))

    async def ask(numbers: range) -> int:
        for number in numbers:
            name = names[number % len(names)].format(number).encode()
            path = f"/other/{number}" if hides and number % 2 else "/agent"
            await Exchange(path, headers=[(b"x-ag-ui-client-version", name)]).run(app)
        return len(caplog.records)

    some = await ask(range(400))
    assert 0 < some < 120
    assert await ask(range(400, 800)) <= some + 2  # a release that had not been drawn
