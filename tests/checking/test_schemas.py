"""The table of schemas next to the schemas that the releases before 1.0.0 have in them, member for member."""

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agui_middleware.checking import kinds
from agui_middleware.checking.kinds import Kind
from agui_middleware.checking.schemas import EVENTS, schemas_of, versions_of
from agui_middleware.protocol.event_types import EventType
from agui_middleware.protocol.releases import RELEASES, ClientVersion
from tests.clients.fixtures import unavailable

Json = dict[str, Any]

SCRIPT = Path(__file__).with_name("schemas.mjs")
LEAVES: dict[Kind, Json] = {
    kinds.ANY: {"kind": "any"},
    kinds.STRING: {"kind": "string"},
    kinds.NOT_EMPTY: {"kind": "string", "refined": True},
    kinds.NUMBER: {"kind": "number", "checks": []},
    kinds.COUNT: {"kind": "number", "checks": ["int", "min0"]},
    kinds.BOOLEAN: {"kind": "boolean"},
    kinds.RECORD: {"kind": "record"},
}


def written(kind: Kind) -> Json:
    """A kind of the table as schemas.mjs writes it."""
    match kind:
        case kinds.Value():
            return LEAVES[kind]
        case kinds.OneOf():
            return {"kind": "one-of", "values": list(kind.values)}
        case kinds.Optional():
            return {**written(kind.kind), "optional": True, **({"nullable": True} if kind.or_null else {})}
        case kinds.ListOf():
            described = {"kind": "list", "of": written(kind.kind), "least": kind.least}
            return {"kind": "union", "of": [{"kind": "string"}, described]} if kind.or_text else described
        case kinds.ObjectOf():
            members = {name: written(member) for name, member in kind.members.items()}
            return {"kind": "object", "members": members, "closed": kind.closed, "refined": bool(kind.needs_one)}
        case kinds.Tagged():
            return {"kind": "tagged", "by": kind.by, "kinds": {tag: written(one) for tag, one in kind.kinds.items()}}
    raise TypeError(kind)


def plain(schema: Any, tag: str = "") -> Any:
    """A description without what is said twice: the tags of tagged objects, refinements of what is refined inside, and
    that a value which may be anything may be absent.
    """
    if isinstance(schema, list):
        return [plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("kind") == "any":
        return {"kind": "any"}
    if schema.get("kind") == "union" and all(one["kind"] == "one-of" for one in schema["of"]):
        schema = {**schema, "kind": "one-of", "values": [value for one in schema["of"] for value in one["values"]]}
        del schema["of"]
    if schema.get("kind") == "tagged":
        members = {one: plain(kind, schema["by"]) for one, kind in schema["kinds"].items()}
        return {name: value for name, value in schema.items() if name not in ("kinds", "refined")} | {"kinds": members}
    if schema.get("kind") == "object":
        members = {name: plain(member) for name, member in schema["members"].items() if name != tag}
        return {"kind": "object", "members": members, "closed": schema["closed"], "optional": schema.get("optional")}
    return {name: plain(value) for name, value in schema.items()}


@pytest.fixture(scope="module")
def theirs() -> dict[ClientVersion, Json]:
    node = shutil.which("node")
    if node is None:
        unavailable("Node is not installed")

    def described(release: ClientVersion) -> Json:
        done = subprocess.run([node, str(SCRIPT), str(release)], capture_output=True, check=False)
        if done.returncode:
            unavailable(done.stderr.decode())
        schemas: Json = json.loads(done.stdout)
        return schemas

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(RELEASES[:-1], pool.map(described, RELEASES[:-1]), strict=True))


@pytest.mark.parametrize("release", RELEASES[:-1], ids=str)
def test_the_table_has_the_schemas_of_the_release(release: ClientVersion, theirs: dict[ClientVersion, Json]) -> None:
    ours = {type: plain(written(kind), "type") for type, kind in schemas_of(release).items()}
    real = {type: plain(kind, "type") for type, kind in theirs[release].items()}
    assert ours.keys() == real.keys()
    for type in real:
        assert ours[type] == real[type], type


def test_every_event_type_has_a_schema_and_each_version_in_it_is_a_release() -> None:
    assert EVENTS.keys() == set(EventType)
    assert versions_of(EVENTS.values()) <= set(RELEASES)


def test_a_kind_that_differs_between_releases_judges_nothing_before_it_is_settled() -> None:
    kind = kinds.Since("1.0.0", kinds.STRING, kinds.NUMBER)
    with pytest.raises(NotImplementedError):
        kind.fault("a", "name")
    assert kind.at(ClientVersion(1, 0, 0)).fault("a", "name") is None
