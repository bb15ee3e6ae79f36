"""What the package promises as a whole: its names, its words, and that the README's code runs."""

import ast
import importlib
import importlib.metadata
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import agui_middleware

ROOT = Path(agui_middleware.__file__).parent
README = (ROOT.parent / "README.md").read_text()
MODULES = [
    module.name
    for module in pkgutil.walk_packages([str(ROOT)], "agui_middleware.")
    if not module.name.endswith(("__main__", ".cli")) and ".agent_events" not in module.name
]
PUBLIC = [name for name in ("agui_middleware", *MODULES) if "__all__" in vars(importlib.import_module(name))]


def test_the_root_exports_what_is_promised_and_nothing_else() -> None:
    names = """
        AGUIMiddleware Choice ClientVersion Context Event EventTooLarge EventType Filter JsonObject Loss MalformedEvent Plan
        Restoration Route Settings SubagentVisibility rewrite
    """
    assert agui_middleware.__all__ == names.split()


@pytest.mark.parametrize("name", PUBLIC)
def test_an_export_list_is_honest(name: str) -> None:
    module = importlib.import_module(name)
    assert sorted(set(module.__all__)) == sorted(module.__all__)
    assert all(hasattr(module, exported) for exported in module.__all__)


def test_everything_public_in_the_root_is_exported() -> None:
    names = [name for name in dir(agui_middleware) if name[0] != "_"]
    public = [name for name in names if not isinstance(getattr(agui_middleware, name), ModuleType)]
    assert public == agui_middleware.__all__
    with pytest.raises(AttributeError, match="'agui_middleware' has no attribute 'Setting'"):
        agui_middleware.Setting  # type: ignore[attr-defined]  # noqa: B018


HEAVY = ["pydantic", "pydantic_settings", "httpx", "httpcore", "anyio", "uvicorn", "click", "opentelemetry", "ag_ui"]
TABLES = "agui_middleware.downgrades"


def test_importing_the_package_imports_nothing_heavy() -> None:
    """Starlette and msgspec are what it costs. Models and tables are imported when the first middleware is made."""
    code = f"""
import sys, starlette.routing, starlette.types, msgspec
before = set(sys.modules)
import agui_middleware
print(*[name for name in {[*HEAVY, TABLES]!r} if name in set(sys.modules) - before])
agui_middleware.AGUIMiddleware(lambda scope, receive, send: None, agui_middleware.Settings(routes=[agui_middleware.Route()]))
print("pydantic" in sys.modules, {TABLES!r} in sys.modules)
"""
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout == "\nTrue True\n"


def test_the_version_is_the_distributions() -> None:
    assert agui_middleware.__version__ == importlib.metadata.version("agui-middleware")


def test_the_package_is_typed() -> None:
    assert (ROOT / "py.typed").is_file()


# Words.


@pytest.mark.parametrize("name", ["agui_middleware", *MODULES])
def test_every_module_says_what_it_is(name: str) -> None:
    assert inspect.getdoc(importlib.import_module(name))


def documented() -> Iterator[tuple[str, Any]]:
    """Everything that a user can reach by a public name from an export list: classes, their members, functions."""
    for name in [*PUBLIC, "agui_middleware.testing"]:
        module = importlib.import_module(name)
        for exported in getattr(module, "__all__", [key for key in vars(module) if key[0] != "_"]):
            value = getattr(module, exported)
            if not (inspect.isclass(value) or inspect.isfunction(value)) or not value.__module__.startswith(
                "agui_middleware"
            ):
                continue
            yield f"{name}.{exported}", value
            for member, attribute in vars(value).items() if inspect.isclass(value) else ():
                if member[0] != "_" and (
                    inspect.isfunction(attribute) or isinstance(attribute, property | classmethod | staticmethod)
                ):
                    yield f"{name}.{exported}.{member}", getattr(value, member)


DOCUMENTED = dict(documented())
# Overrides whose base says it, and hooks of pydantic's own.
SAID_ELSEWHERE = ("Event.type", "Event.without", "Route.model_post_init", "Settings.settings_customise_sources")


@pytest.mark.parametrize("name", [name for name in DOCUMENTED if not name.endswith(SAID_ELSEWHERE)])
def test_every_public_thing_has_a_docstring(name: str) -> None:
    assert inspect.getdoc(DOCUMENTED[name])


def test_the_contract_of_a_filter_is_written_where_it_is_defined() -> None:
    tree = ast.parse((ROOT / "filters" / "contract.py").read_text())
    place = next(
        i
        for i, node in enumerate(tree.body)
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "Filter"
    )
    statement = tree.body[place + 1]
    assert isinstance(statement, ast.Expr)
    words = ast.literal_eval(statement.value)
    for duty in ("cancel scope", "must not yield in `finally`", "drops what continues", "RUN_ERROR"):
        assert duty in words
