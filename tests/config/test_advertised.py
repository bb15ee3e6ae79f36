import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_middleware import ClientVersion
from agui_middleware.config.advertised import advertised, from_body, parse_advertised
from agui_middleware.protocol.releases import RELEASES, nearest_release
from tests.clients.client import RELEASES as INSTALLED

parse = ClientVersion.parse

# Oldest first; the prereleases are the example of https://semver.org, item 11.
ORDER = [
    "0.0.9",
    "0.0.57",
    "0.0.58",
    "0.0.59-alpha",
    "0.0.59-alpha.1",
    "0.0.59-alpha.beta",
    "0.0.59-beta",
    "0.0.59-beta.2",
    "0.0.59-beta.11",
    "0.0.59-rc.1",
    "0.0.59",
    "0.0.100",
    "0.1.0",
    "0.10.0",
    "1.0.0-canary.3",
    "1.0.0",
    "1.0.1",
    "10.0.0",
]


@pytest.mark.parametrize(
    "value",
    [
        "0.0.58",
        "v0.0.58",
        "^0.0.58",
        "~0.0.58",
        "=0.0.58",
        "@ag-ui/client@0.0.58",
        "@ag-ui/client/0.0.58",
        "@ag-ui/client@^0.0.58",
        "@ag-ui/client/v0.0.58",
        " 0.0.58\t",
        "0.0.58+build.7",
    ],
)
def test_every_spelling_of_a_release_is_read(value: str) -> None:
    assert parse(value) == ClientVersion(0, 0, 58)
    assert str(parse(value)) == "0.0.58"
    assert parse_advertised([value]) == ClientVersion(0, 0, 58)


@pytest.mark.parametrize("value", ["0.0.59-canary.3", "v0.0.59-canary.3", "@ag-ui/client@0.0.59-canary.3+b"])
def test_prereleases_are_read(value: str) -> None:
    version = parse(value)
    assert str(version) == "0.0.59-canary.3"
    assert parse("0.0.58") < version < parse("0.0.59")


MALFORMED = [
    *(
        [
            "0",
            "0.0",
            "1.0",
            "0.0.58.1",
            "garbage",
            "0.0.x",
            "*",
            "latest",
            "current",
            ">=0.0.58",
            "vv0.0.58",
            "V0.0.58",
            "00.0.58",
            "0.0.058",
            "-1.0.0",
            "0.0.58-",
            "0.0.58+",
        ]
    ),
    *(["@ag-ui/core@0.0.58", "ag-ui/client@0.0.58", "@ag-ui/client@", "0,0,58", "0.0.²", f"0.0.{chr(0x665)}"]),
    *("", " ", "0.0.58 || 1.0.0", "0.0.58-a b", "0. 0.58", "0.0.58\x00", "0.0.58\n0.0.59"),
    *("9" * 4096, "0.0." + "9" * 10, "0.0.58-" + "a" * 65, " " * 4096 + "0.0.58", "v" * 4096),
]


@pytest.mark.parametrize("value", MALFORMED)
def test_anything_else_is_no_release_and_counts_as_absent(value: str) -> None:
    with pytest.raises(ValueError, match="is no release of @ag-ui/client"):
        parse(value)
    assert parse_advertised([value]) is None


@pytest.mark.parametrize(
    ("values", "oldest"),
    [
        ([], None),
        (["0.0.58", "0.0.58"], "0.0.58"),
        (["1.0.0", "0.0.59"], "0.0.59"),
        (["0.0.100", "@ag-ui/client@0.0.99", "1.0.0"], "0.0.99"),
        (["1.0.0, 0.0.45,v0.0.58"], "0.0.45"),
        (["garbage", "0.0.58"], "0.0.58"),
        (["garbage, 1.0.0"], "1.0.0"),
        (["garbage", ""], None),
        (["1.0.0," * 15 + "0.0.58"], "0.0.58"),
        (["1.0.0," * 16 + "0.0.58"], "1.0.0"),
    ],
)
def test_of_several_hops_the_oldest_release_counts(values: list[str], oldest: str | None) -> None:
    """A browser behind a runtime: what either does not read stops the run."""
    assert parse_advertised(values) == (oldest and parse(oldest))


@given(st.text())
def test_no_text_is_an_error_when_advertised(value: str) -> None:
    assert parse_advertised([value]) == parse_advertised([value.strip()])


def test_releases_compare_as_npm_compares_them() -> None:
    shuffled = random.Random(0).sample(ORDER, len(ORDER))
    assert [str(version) for version in sorted(map(parse, shuffled))] == ORDER


def test_equal_releases_hash_alike() -> None:
    assert parse("v1.0.0") == ClientVersion(1, 0, 0) != ClientVersion(1, 0, 0, "rc.1")
    assert len({parse("v1.0.0"), ClientVersion(1, 0, 0), parse("1.0.0+x")}) == 1
    assert parse("1.0.0") != "1.0.0"
    assert parse("1.0.0-rc.1") >= parse("1.0.0-rc.1")


def test_a_release_reads_as_it_is_written() -> None:
    assert repr(parse("v0.0.59-canary.3")) == "ClientVersion.parse('0.0.59-canary.3')"
    assert eval(repr(parse("1.0.0"))) == parse("1.0.0")


def test_the_known_releases_are_those_that_npm_installs() -> None:
    assert tuple(map(str, RELEASES)) == INSTALLED
    assert list(RELEASES) == sorted(RELEASES)


@pytest.mark.parametrize(
    ("version", "counts_as"),
    [
        *((str(release), str(release)) for release in RELEASES),
        ("0.0.1", "0.0.27"),
        ("0.0.29", "0.0.28"),
        ("0.0.33", "0.0.30"),
        ("0.0.59-canary.3", "0.0.58"),
        ("0.0.100", "0.0.59"),
        ("0.9.9", "0.0.59"),
        ("1.0.0-canary.1", "0.0.59"),
        ("1.0.1", "1.0.0"),
        ("1.0.2", "1.0.0"),
        ("1.0.999", "1.0.0"),
        ("1.1.0-rc.1", "1.0.0"),
        ("1.1.0", None),
        ("1.1.1-rc.1", None),
        ("2.0.0", None),
    ],
)
def test_a_version_that_nobody_has_heard_of_counts_as_the_one_below_it_or_as_current(
    version: str, counts_as: str | None
) -> None:
    assert nearest_release(parse(version)) == (counts_as and parse(counts_as))


HEADERS = [(b"accept", b"*/*"), (b"X-Client", b"1"), (b"x-client", b"2"), (b"x-other", b"\xff")]


@pytest.mark.parametrize(
    ("headers", "query", "values"),
    [
        ((), b"", []),
        (HEADERS, b"", [["1", "2", "\xff"]]),
        ((), b"x-other=a&X-Client=0.0.58&x-client=", [["a", "0.0.58", ""]]),
        (HEADERS[3:], b"x-client=%40ag-ui%2Fclient%400.0.58", [["\xff"], ["@ag-ui/client@0.0.58"]]),
        (((b"x-client", b""),), b"x-client", [[""], [""]]),
        ((), b"%ff=\xff&;&&=&%&x-client=%zz\x00", [["%zz\x00"]]),
        (HEADERS[:1], b"accept=1", []),
    ],
)
def test_what_a_request_advertises_in_headers_comes_before_its_query(
    headers: Any, query: bytes, values: list[list[str]]
) -> None:
    assert list(advertised(headers, query, ["x-client", "x-other"])) == values


@given(st.lists(st.tuples(st.binary(), st.binary())), st.binary())
def test_any_headers_and_query_can_be_asked(headers: list[tuple[bytes, bytes]], query: bytes) -> None:
    for values in advertised([*headers, (b"x-client", query)], b"x-client=" + query, ["x-client"]):
        parse_advertised(values)


@pytest.mark.parametrize(
    ("body", "version"),
    [
        ({"protocolVersion": "1.0"}, "1.0.0"),
        ({"protocolVersion": "1.10", "messages": []}, "1.10.0"),
        ({"protocolVersion": "2.0"}, "2.0.0"),
        ({}, None),
        ({"protocolVersion": None}, None),
        ({"protocolVersion": 1.0}, None),
        ({"protocolVersion": "1"}, None),
        ({"protocolVersion": "1.0.0"}, None),
        ({"protocolVersion": "0.0.58"}, None),
        ({"protocolVersion": " 1.0"}, None),
        ({"protocolVersion": "01.0"}, None),
        ({"protocolVersion": "9" * 4096}, None),
        ([], None),
        (None, None),
    ],
)
def test_a_body_tells_by_its_protocol_version(body: Any, version: str | None) -> None:
    assert from_body(json.dumps(body).encode()) == (version and parse(version))


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b'{"protocolVersion":"1.0"', b"null"])
def test_a_body_that_cannot_be_read_tells_nothing(body: bytes) -> None:
    assert from_body(body) is None


@given(st.binary())
def test_no_body_is_an_error(body: bytes) -> None:
    assert from_body(body) is None


def test_a_protocol_version_is_no_release() -> None:
    with pytest.raises(ValueError, match="is no release"):
        parse("1.0")
