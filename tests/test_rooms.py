"""The rooms of the package: imports run downwards, without a circle.

Every import counts: at the top of a file, inside a function, and under TYPE_CHECKING. A circle that only a type checker
sees is still two files that cannot be read one after the other.
"""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import agui_middleware

ROOT = Path(agui_middleware.__file__).parent

# From the ground up. A room imports from those before it; rooms of one floor do not know each other.
FLOORS = [
    {"protocol"},
    {"filters"},
    {"downgrades"},
    {"config"},
    {"stream"},
    {"history"},
    {"asgi"},
    {"__init__", "testing"},
    {"agent_events", "checking", "proxy"},
    {"demo"},
    {"cli"},
    {"__main__"},
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
MODULES = sorted(ROOT.rglob("*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path): path for path in MODULES}


def imports(path: Path) -> set[str]:
    """The modules of the package that a file imports, wherever the import stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            members = {f"{node.module}.{name.name}" for name in node.names}
            found |= (members & NAMES.keys()) or {node.module or ""}
    return found & NAMES.keys()


def room_of(name: str) -> str:
    return name.split(".")[1] if "." in name else "__init__"


@pytest.mark.parametrize("name", NAMES)
def test_imports_run_downwards(name: str) -> None:
    own = room_of(name)
    upwards = {other for other in imports(NAMES[name]) if FLOOR_OF[room_of(other)] > FLOOR_OF[own]}
    beside = {
        other for other in imports(NAMES[name]) if room_of(other) != own and FLOOR_OF[room_of(other)] == FLOOR_OF[own]
    }
    assert not upwards | beside, f"{name} imports from a room above it or beside it"


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {name: imports(path) - {name} for name, path in NAMES.items()}
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_every_room_has_its_floor() -> None:
    assert {room_of(name) for name in NAMES} <= FLOOR_OF.keys()


def test_only_these_files_know_starlette() -> None:
    """All that knows ASGI is in `asgi/` and at the edges. Paths are in Starlette's syntax."""
    rooms = [
        path for path in MODULES if room_of(name_of(path)) in ("protocol", "filters", "downgrades", "config", "stream")
    ]
    knows = {path.stem for path in rooms if re.search(r"^(from|import) starlette", path.read_text(), re.MULTILINE)}
    assert knows == {"path_table"}
    assert "starlette" in (ROOT / "asgi" / "middleware.py").read_text()


def test_files_of_one_name_are_the_same_thing() -> None:
    """A command of `cli/` has the name of the room that it starts, and every room may have its `__init__`."""
    by_name: dict[str, set[str]] = {}
    for path in MODULES:
        by_name.setdefault(path.stem, set()).add(room_of(name_of(path)))
    doubled = {name: rooms - {"cli"} for name, rooms in by_name.items() if len(rooms - {"cli"}) > 1}
    assert doubled.keys() <= {"__init__"}
