import json
import sys
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from agui_middleware.protocol.json_object import JsonObject, MalformedEvent
from tests.protocol.test_json_scan import DEEP, json_values
from tests.work import memory_of

RAW = rb'{"n":9007199254740993,"one":1.0,"text":"\u00e9\ud83d","list":[1,{"a":1.50},"x"],"inner":{"b":1e5,"c":[]},"z":null}'


def test_it_is_a_mapping_of_its_members() -> None:
    value = JsonObject.of(RAW)
    assert value == json.loads(RAW)
    assert list(value) == ["n", "one", "text", "list", "inner", "z"]
    assert len(value) == 6
    assert value["text"] == "é\ud83d"
    assert value["z"] is None
    assert value.get("absent") is None
    assert "z" in value
    assert "absent" not in value
    with pytest.raises(KeyError):
        value["absent"]


def test_it_keeps_its_bytes() -> None:
    value = JsonObject.of(RAW)
    assert dict(value)
    assert value.raw is RAW


def test_a_member_is_decoded_once() -> None:
    value = JsonObject.of(RAW)
    assert value["inner"] is value["inner"]


def test_replace_keeps_the_bytes_of_the_other_members_and_their_order() -> None:
    value = JsonObject.of(RAW)
    changed = value.replace(one=2, new=[True])
    assert changed.raw == RAW.replace(b"1.0", b"2")[:-1] + b',"new":[true]}'
    assert changed["new"] == [True]
    assert value.raw == RAW


def test_without_keeps_the_bytes_of_the_other_members() -> None:
    value = JsonObject.of(RAW)
    assert value.without("n", "z", "absent").raw == RAW.replace(b'"n":9007199254740993,', b"").replace(
        b',"z":null', b""
    )
    assert value.without("absent") is value
    assert value.without() is value


def test_values_put_in_may_be_objects_raw_json_and_mappings() -> None:
    inner = JsonObject.of(b'{"x":1.0}')

    value = JsonObject(
        {"a": inner, "b": Raw(b"1.00"), "c": [inner, {"d": inner}], "e": MappingProxyType({"f": 1}), "g": (1, None)}
    )
    assert value.raw == b'{"a":{"x":1.0},"b":1.00,"c":[{"x":1.0},{"d":{"x":1.0}}],"e":{"f":1},"g":[1,null]}'
    assert value["b"] == 1.0
    assert value.get_object("a") is inner
    assert dict(value.get_object("e") or {}) == {"f": 1}


def test_raw_json_of_several_lines_goes_on_one() -> None:
    """A line end between two tokens is but white space, and would tear the frame apart."""
    value = JsonObject({"a": 1}).replace(b=Raw(b'{\n"c":\r\n[]}'), d=[Raw(b"\n1")])
    assert not set(b"\r\n") & set(value.raw)
    assert json.loads(value.raw) == {"a": 1, "b": {"c": []}, "d": [1]}


@pytest.mark.parametrize("value", ["\ud83d", ["\ud83d"], ("\ude00", 1), {"\ud83d": {"a": "\ud83d"}}, {1: "\ud83d"}])
def test_lone_surrogates_go_out_as_escapes(value: Any) -> None:
    raw = JsonObject({"a": 1, "b": value, "c": Raw(b"1.0"), "d": JsonObject.of(b'{"x":1.0}')}).raw
    assert raw.startswith(b'{"a":1,"b":')
    assert raw.endswith(b',"c":1.0,"d":{"x":1.0}}')
    assert json.loads(raw)["b"] == json.loads(json.dumps(value))


@pytest.mark.parametrize(
    "value", [object(), {"a": {1, object()}}, ["\ud83d", object()], {"\ud83d": object()}, {"\ud83d"}]
)
def test_what_is_no_json_is_refused_when_it_is_written(value: Any) -> None:
    with pytest.raises(TypeError):
        _ = JsonObject({"a": value}).raw


@given(st.dictionaries(st.text(), json_values), st.dictionaries(st.text(), json_values))
def test_replaced_members_read_and_write_as_given(before: dict[str, Any], changes: dict[str, Any]) -> None:
    value = JsonObject.of(json.dumps(before).encode())
    changed = JsonObject({**value.members(), **changes})
    assert json.loads(changed.raw) == {**before, **changes}
    assert dict(changed) == {**before, **changes}


def test_object_and_elements_give_objects_that_keep_their_bytes() -> None:
    value = JsonObject.of(RAW)
    inner, elements = value.get_object("inner"), value.get_list("list")
    assert inner is not None
    assert inner.raw == b'{"b":1e5,"c":[]}'
    assert elements is not None
    assert [type(element) for element in elements] == [Raw, JsonObject, Raw]
    assert elements[1].raw == b'{"a":1.50}'
    assert value.replace(list=elements[:2]).raw == RAW.replace(b',"x"]', b"]")


@pytest.mark.parametrize("name", ["n", "text", "list", "z", "absent"])
def test_object_is_none_for_what_is_no_object(name: str) -> None:
    assert JsonObject.of(RAW).get_object(name) is None
    assert JsonObject(json.loads(RAW)).get_object(name) is None


@pytest.mark.parametrize("name", ["n", "text", "inner", "z", "absent"])
def test_elements_are_none_for_what_is_no_list(name: str) -> None:
    assert JsonObject.of(RAW).get_list(name) is None
    assert JsonObject(json.loads(RAW)).get_list(name) is None


def test_elements_of_a_list_that_was_put_in() -> None:
    elements = JsonObject({"list": [{"a": 1}, 2]}).get_list("list")
    assert elements == [{"a": 1}, 2]
    assert isinstance(elements[0], JsonObject)


def test_elements_that_msgspec_refuses() -> None:
    value = JsonObject.of(b'{"list":[%b,{"\\ud83d":1}]}' % DEEP)
    elements: Any = value.get_list("list")
    assert bytes(elements[0]) == DEEP
    assert elements[1] == {"\ud83d": 1}


@pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="its limit is deeper: what is deeper than that is refused at once"
)
def test_what_cannot_be_decoded_is_malformed() -> None:
    """Only the brackets of what is nested past the interpreter's limit were looked at when it was read."""
    value = JsonObject.of(b'{"deep":%b,"list":[%b,NaN]}' % (DEEP, DEEP))
    assert bytes(value["deep"]) == DEEP
    with pytest.raises(MalformedEvent, match="not a JSON array"):
        value.get_list("list")
    assert value.without("list").raw == b'{"deep":%b}' % DEEP


@pytest.mark.parametrize("raw", [b"[]", b'{"a":NaN}', b'{"a":1', b""])
def test_what_is_no_object_is_malformed_once_it_is_read(raw: bytes) -> None:
    with pytest.raises(MalformedEvent):
        JsonObject.of(raw).members()


@pytest.mark.parametrize(
    ("change", "unchanged"),
    [
        (lambda value: None, True),
        (lambda value: value["inner"], True),
        (lambda value: value["inner"].clear(), False),
        (lambda value: value["list"].append(1), False),
        (lambda value: value["list"][1].update(a=2), False),
    ],
)
def test_unchanged_in_place(change: Callable[[JsonObject], object], unchanged: bool) -> None:
    value = JsonObject.of(RAW)
    change(value)
    assert value.is_unmutated() is unchanged
    assert value.raw == RAW


def test_repr_shows_the_json() -> None:
    assert repr(JsonObject.of(b'{"a":"\xff"}')) == 'JsonObject({"a":"�"})'


def test_members_that_nobody_reads_are_not_decoded() -> None:
    """A snapshot of a megabyte, of which a filter reads one member and drops another."""
    messages = b",".join([b'{"id":"m","role":"user","content":"hello"}'] * 20_000)
    raw = b'{"type":"MESSAGES_SNAPSHOT","tag":"x","messages":[%b]}' % messages

    def read_and_drop() -> None:
        value = JsonObject.of(raw)
        assert value["tag"] == "x"
        assert value.without("tag").raw == raw.replace(b'"tag":"x",', b"")

    _, peak = memory_of(read_and_drop)
    assert peak < 5 * len(raw)  # decoded, the messages alone take eight times their bytes
