"""The headers of a response whose body is rewritten, and of the request that asks for one."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from starlette.types import Scope

Headers = list[tuple[bytes, bytes]]

DOWNGRADE = b"x-ag-ui-downgrade"

# Extensions by which a server sends a file that the app never holds, so that it could not be read here.
UNREAD_EXTENSIONS = frozenset({"http.response.pathsend", "http.response.zerocopysend"})
_BINARY = b"application/vnd.ag-ui.event+proto"  # AG-UI's other encoding, which cannot be rewritten here
# What servers send what has no type of its own as. A stream may be labelled so by mistake, and clients read it.
_TEXTS = frozenset({b"text/plain", b"application/octet-stream"})
_MEDIA_TYPE = re.compile(rb"[!#$%&'*+.^_`|~0-9a-z-]+/[!#$%&'*+.^_`|~0-9a-z-]+")
_JSON = frozenset({b"application/json"})
_WITHOUT_BODY = frozenset({204, 205, 304})
_WILDCARDS = frozenset({b"*/*", b"application/*"})
# They describe the bytes that the app wrote; a server or a cache would hold the rewritten ones against them.
_DIGESTS = (b"content-md5", b"digest", b"content-digest", b"repr-digest")
_OF_THE_BODY = frozenset({b"content-length", b"etag", b"accept-ranges", *_DIGESTS})
# With these a client asks for bytes that cannot be read here: compressed, or from their middle on.
_SHAPES_THE_BODY = frozenset({b"accept-encoding", b"range", b"if-range"})


def normalised(headers: Iterable[Sequence[bytes | str]] | None) -> Headers:
    """Headers as pairs of bytes with lower-case names. Raises `TypeError` or `ValueError` for anything else."""
    return [
        (name.lower(), value) if type(name) is type(value) is bytes else (_bytes(name).lower(), _bytes(value))
        for name, value in headers or ()
    ]


def is_event_stream(headers: Headers) -> bool:
    """Whether a media type is `text/event-stream`, in any case and with any parameters.

    It may be one of several, in a list or in several fields: clients read the body in any case.
    """
    for name, value in headers:  # noqa: SIM110  # each response is asked; `any` of a generator would take twice as long
        if name == b"content-type" and b"text/event-stream" in _types_in(value):
            return True
    return False


def may_be_events(status: int, headers: Headers, *, texts: bool) -> bool:
    """Whether a response that is not labelled as an event stream may be one.

    That is where it has no type, several, or one that is malformed; with `texts`, also for plain text and octets.
    """
    if status in _WITHOUT_BODY or (b"content-length", b"0") in headers:
        return False
    types = _media_types(headers)
    known = len(types) == 1 and all(map(_MEDIA_TYPE.fullmatch, types))
    return not known or (texts and not types.isdisjoint(_TEXTS))


def is_protobuf(headers: Headers) -> bool:
    """Whether the media type is that of AG-UI's binary encoding."""
    return _BINARY in _media_types(headers)


def content_coding(headers: Headers) -> str | None:
    """The content coding, such as `gzip`, if there is one."""
    for name, value in headers:
        if name == b"content-encoding" and (coding := value.strip().lower()) not in (b"", b"identity"):
            return coding.decode("latin-1")
    return None


def is_plain_json(fields: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a request's body is JSON and not compressed."""
    types: frozenset[bytes] = frozenset()
    for name, value in fields:
        lowered = name.lower()
        if lowered == b"content-type":
            types |= _types_in(value)
        elif lowered == b"content-encoding" and content_coding([(lowered, value)]) is not None:
            return False
    return types == _JSON or (len(types) == 1 and all(type.endswith(b"+json") for type in types))


def expects_continue(fields: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a client sends the body only once it is asked for it (RFC 9110, 10.1.1)."""
    for name, value in fields:  # noqa: SIM110  # as for `is_event_stream`
        if name.lower() == b"expect" and value.strip().lower() == b"100-continue":
            return True
    return False


def with_length(scope: Scope, length: int | None) -> Scope:
    """A copy of an HTTP scope whose body has another length, or one that is not known yet."""
    described = (b"content-length", b"transfer-encoding", *_DIGESTS)
    fields = [(name, value) for name, value in scope.get("headers", ()) if name.lower() not in described]
    framing = (b"transfer-encoding", b"chunked") if length is None else (b"content-length", b"%d" % length)
    return {**scope, "headers": [*fields, framing]}


def for_rewritten_body(headers: Headers, vary: tuple[str, ...], summary: str | None) -> Headers:
    """Without what described the body, with `vary` extended by the names that decided, and with a `summary` if any."""
    kept: Headers = []
    varies = b""
    for field in headers:
        if field[0] not in _OF_THE_BODY:
            kept.append(field)
            if field[0] == b"vary":
                varies = b"%b,%b" % (varies, field[1])
    if vary and (missing := _not_in(varies, vary)):
        kept.append((b"vary", missing))
    if summary is not None:
        kept.append((DOWNGRADE, summary.encode()))
    return kept


def with_vary(headers: Headers, names: Sequence[str]) -> Headers:
    """A copy in which `vary` has all of `names`."""
    missing = _missing(headers, tuple(names)) if names else b""
    return [*headers, (b"vary", missing)] if missing else [*headers]


def _missing(headers: Headers, names: tuple[str, ...]) -> bytes:
    return _not_in(b",".join([value for name, value in headers if name == b"vary"]), names)


@lru_cache(maxsize=256)
def _not_in(present: bytes, names: tuple[str, ...]) -> bytes:
    """The names that a value of `vary` does not have, as another one. An app has few such values."""
    varies = {field.strip().lower() for field in present.split(b",")}
    return ", ".join([name for name in names if name.encode() not in varies and b"*" not in varies]).encode()


def wants_events(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a request names event streams in `Accept`, as every AG-UI client does."""
    return any(name.lower() == b"accept" and b"text/event-stream" in value.lower() for name, value in headers)


def for_readable_body(headers: Headers) -> Headers:
    """The request's headers without what asks for a body that cannot be read here, so far as another one is accepted."""
    kept = [(name, value) for name, value in headers if name.lower() not in _SHAPES_THE_BODY]
    accepted = b",".join([value for name, value in kept if name.lower() == b"accept"])
    readable = _readable(accepted)
    if readable == accepted:
        return kept
    return [(name, value) for name, value in kept if name.lower() != b"accept"] + [(b"accept", readable)]


@lru_cache(maxsize=256)
def _readable(accepted: bytes) -> bytes:
    """`Accept` without the binary encoding: with a weight of 0 if a wildcard allows it (RFC 9110, 12.4.2)."""
    ranges = [part.strip() for part in accepted.split(b",")]
    others = [part for part in ranges if _media_type(part) != _BINARY]
    wild = any(_media_type(part) in _WILDCARDS for part in others)
    if not any(others) or not (wild or len(others) < len(ranges)):
        return accepted
    return b", ".join([*others, _BINARY + b";q=0"] if wild else others)


def _media_types(headers: Headers) -> set[bytes]:
    return {type for name, value in headers if name == b"content-type" for type in _types_in(value)}


@lru_cache(maxsize=256)
def _types_in(value: bytes) -> frozenset[bytes]:
    """The media types in one `Content-Type`. An app has a few, and clients send one or two."""
    return frozenset(_media_type(part) for part in value.split(b","))


def _media_type(value: bytes) -> bytes:
    return value.partition(b";")[0].strip().lower()


def _bytes(value: bytes | str) -> bytes:
    return value.encode("latin-1", "replace") if isinstance(value, str) else bytes(memoryview(value))
