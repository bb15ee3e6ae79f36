from typing import Any

import pytest

from agui_middleware.asgi import headers


def test_headers_are_pairs_of_bytes_with_lower_case_names() -> None:
    given: Any = [("Content-Type", "text/plain"), [b"X-A", bytearray(b"1")], (b"x-b", memoryview(b"\xff"))]
    assert headers.normalised(given) == [(b"content-type", b"text/plain"), (b"x-a", b"1"), (b"x-b", b"\xff")]
    assert headers.normalised(None) == headers.normalised(()) == []


@pytest.mark.parametrize("given", [[(b"a", 5)], [(b"a", None)], [(b"a",)], 5, [b"abc"]])
def test_what_is_no_header_is_refused(given: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        headers.normalised(given)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"text/event-stream", True),
        (b"text/event-stream; charset=utf-8", True),
        (b"text/event-stream;charset=utf-8;x=y", True),
        (b" Text/EVENT-Stream ;", True),
        (b"text/event-streams", False),
        (b"text/plain; text/event-stream", False),
        (b"application/json", False),
        (b"", False),
    ],
)
def test_the_media_type_in_any_case_and_with_any_parameters(value: bytes, expected: bool) -> None:
    assert headers.is_event_stream([(b"content-type", value)]) is expected
    assert not headers.is_protobuf([(b"content-type", value)])


def test_no_content_type_is_no_event_stream() -> None:
    assert not headers.is_event_stream([(b"accept", b"text/event-stream")])


def test_the_binary_encoding_is_told_by_its_media_type() -> None:
    assert headers.is_protobuf([(b"content-type", b"application/vnd.ag-ui.event+proto; x=y")])


@pytest.mark.parametrize(
    ("values", "coding"),
    [
        ([], None),
        ([b""], None),
        ([b"identity"], None),
        ([b" Identity "], None),
        ([b"GZIP"], "gzip"),
        ([b"identity", b"br"], "br"),
        ([b"gzip, br"], "gzip, br"),
        ([b"\xff"], "ÿ"),
    ],
)
def test_the_content_coding(values: list[bytes], coding: str | None) -> None:
    assert headers.content_coding([(b"content-encoding", value) for value in values]) == coding


def test_what_describes_the_body_goes_and_the_rest_keeps_its_order() -> None:
    names = [
        b"a",
        b"content-length",
        b"etag",
        b"b",
        b"content-md5",
        b"digest",
        b"repr-digest",
        b"accept-ranges",
        b"set-cookie",
    ]
    kept = headers.for_rewritten_body([(name, b"x") for name in [*names, b"set-cookie"]], (), None)
    assert kept == [(b"a", b"x"), (b"b", b"x"), (b"set-cookie", b"x"), (b"set-cookie", b"x")]


@pytest.mark.parametrize(
    ("varies", "added"),
    [
        ([], [b"x-client, x-other"]),
        ([b"Origin"], [b"x-client, x-other"]),
        ([b"Origin", b"Accept-Encoding"], [b"x-client, x-other"]),
        ([b"Origin, X-Client"], [b"x-other"]),
        ([b"X-CLIENT", b"x-other"], []),
        ([b"*"], []),
        ([b"origin, *"], []),
    ],
)
def test_vary_is_extended_by_what_is_missing(varies: list[bytes], added: list[bytes]) -> None:
    before = [(b"vary", value) for value in varies]
    after = headers.for_rewritten_body(before, ("x-client", "x-other"), None)
    assert after == [*before, *((b"vary", value) for value in added)]


def test_a_summary_says_what_happened() -> None:
    assert headers.for_rewritten_body([], (), "client=0.0.58") == [(b"x-ag-ui-downgrade", b"client=0.0.58")]


def test_a_request_for_a_readable_body_asks_for_no_coding_and_no_range() -> None:
    request = [
        (b"Accept", b"text/event-stream"),
        (b"Accept-Encoding", b"gzip"),
        (b"range", b"bytes=5-"),
        (b"If-Range", b"x"),
    ]
    assert headers.for_readable_body(request) == [(b"Accept", b"text/event-stream")]


BINARY = b"application/vnd.ag-ui.event+proto"


@pytest.mark.parametrize(
    ("accepted", "readable"),
    [
        ([b"text/event-stream"], b"text/event-stream"),
        ([BINARY + b", text/event-stream"], b"text/event-stream"),
        ([b"text/event-stream;q=0.5", BINARY.title() + b" ; q=1"], b"text/event-stream;q=0.5"),
        ([b"*/*"], b"*/*, " + BINARY + b";q=0"),
        ([b"text/html, application/*;q=0.1," + BINARY], b"text/html, application/*;q=0.1, " + BINARY + b";q=0"),
        ([BINARY], BINARY),
        ([b""], b""),
    ],
)
def test_a_request_for_a_readable_body_accepts_no_binary_encoding_beside_another(
    accepted: list[bytes], readable: bytes
) -> None:
    request = [(b"Accept", value) for value in accepted]
    [(_, value)] = headers.for_readable_body(request)
    assert value == readable


def test_a_request_that_accepts_nothing_in_particular_still_does() -> None:
    assert headers.for_readable_body([(b"host", b"x")]) == [(b"host", b"x")]
