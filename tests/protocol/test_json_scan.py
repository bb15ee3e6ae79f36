import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_middleware.protocol import json_scan

DEEP = b"[" * 8_000 + b"]" * 8_000

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
separators = st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t:\r\n ")])


def dumped(value: Any, separators: tuple[str, str], ascii: bool) -> bytes:
    return json.dumps(value, separators=separators, ensure_ascii=ascii).encode("utf-8", "surrogatepass")


@given(st.dictionaries(st.text(), json_values), separators, st.booleans())
def test_members_are_the_bytes_of_each_value_by_decoded_name(
    members: dict[str, Any], separators: tuple[str, str], ascii: bool
) -> None:
    found = json_scan.members(b" \n" + dumped(members, separators, ascii) + b"\t")
    assert found == {name: dumped(value, separators, ascii) for name, value in members.items()}


@given(st.lists(json_values), separators, st.booleans())
def test_elements_are_the_bytes_of_each_value(elements: list[Any], separators: tuple[str, str], ascii: bool) -> None:
    found = json_scan.elements(dumped(elements, separators, ascii))
    assert found == [dumped(value, separators, ascii) for value in elements]


@pytest.mark.parametrize(
    ("data", "members"),
    [
        (b"{}", {}),
        (b'{"a":1,"a":2}', {"a": b"2"}),
        (rb'{"\u0061\ud83d":"\ud83d"}', {"a\ud83d": rb'"\ud83d"'}),
        (b'{"a":9007199254740993,"b":1.0,"c":1e400}', {"a": b"9007199254740993", "b": b"1.0", "c": b"1e400"}),
        (b'{"\xff":"\xff"}', {"�": b'"\xff"'}),
        (b'{"a":%b,"b":[%b]}' % (DEEP, DEEP), {"a": DEEP, "b": b"[%b]" % DEEP}),
        (b'{"a":%b}' % DEEP.replace(b"[]", rb'["]]]\"]]]"]'), {"a": DEEP.replace(b"[]", rb'["]]]\"]]]"]')}),
    ],
)
def test_members_of(data: bytes, members: dict[str, bytes]) -> None:
    assert json_scan.members(data) == members


REFUSED = "expected|Expecting|Invalid|Unterminated|is not JSON|not closed|Extra data"
OBJECTS = [
    b"",
    b" ",
    b"{",
    b"[]",
    b'"a"',
    b"{a:1}",
    b"{1:1}",
    b'{"a"}',
    b'{"a" 1}',
    b'{"a":}',
    b'{"a":1,}',
    b'{"a":1 "b":2}',
    b'{"a":1',
    b'{"a":1}}',
    b'{"a":1} {}',
    b'{"a:1}',
    b'{"a":"b}',
    b'{"a":"\x01"}',
    b'{"\x01":1}',
    rb'{"a":"\q"}',
    b'{"a":NaN}',
    b'{"a":Infinity}',
    b'{"a":-Infinity}',
    b'{"a":[NaN]}',
    b'{"a":01}',
    b'{"a":+1}',
    b'{"a":1.}',
    b'{"a":.5}',
    b'{"a":tru}',
    b"{'a':1}",
    b'{"a":1/**/}',
    b'{"a":%b' % DEEP,
    b'{"a":%b}' % DEEP[:-1],
]


@pytest.mark.parametrize("data", OBJECTS)
def test_what_json_parse_refuses_is_no_object(data: bytes) -> None:
    with pytest.raises(ValueError, match=REFUSED):
        json_scan.members(data)


@pytest.mark.parametrize("data", [b"", b"{}", b"[", b"[1", b"[1,]", b"[1 2]", b"[,]", b"[1]]", b"[NaN]", b"1"])
def test_what_json_parse_refuses_is_no_array(data: bytes) -> None:
    with pytest.raises(ValueError, match=REFUSED):
        json_scan.elements(data)


@pytest.mark.parametrize("end", [b"", b"\\", b'"'])
@pytest.mark.parametrize("scan", [lambda deep: json_scan.members(b'{"a":%b' % deep), json_scan.elements])
def test_deep_nesting_that_is_never_closed_is_refused_in_linear_time(
    scan: Callable[[bytes], object], end: bytes
) -> None:
    """A quarter of a million escaped quotes: taken up at each of them, this would not end today."""
    with pytest.raises(ValueError, match="not closed"):
        scan(b"[" * 10_000 + b'"' + rb"\"" * 250_000 + end)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (rb'"\ud83d"', "\ud83d"),
        (b'"\xed\xa0\xbd"', "���"),
        (b'"\xff"', "�"),
        ('"\u2028\x85"'.encode(), "\u2028\x85"),
        (b"9007199254740993", 9007199254740993),
        (b'{"a":[1,null]}', {"a": [1, None]}),
    ],
)
def test_loads(data: bytes, value: Any) -> None:
    assert json_scan.loads(data) == value


@pytest.mark.parametrize("data", [b"NaN", b"[Infinity]", b"", b"{", b"1 2"])
def test_loads_refuses(data: bytes) -> None:
    with pytest.raises(ValueError, match=REFUSED):
        json_scan.loads(data)


def test_loads_says_where_nesting_is_past_the_interpreter() -> None:
    with pytest.raises(RecursionError):
        json_scan.loads(DEEP)
