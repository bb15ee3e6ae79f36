"""The headers of a response whose body is rewritten, and of the request that asks for one."""

from collections.abc import Iterable, Sequence

from starlette.types import Scope

Headers = list[tuple[bytes, bytes]]

DOWNGRADE = b"x-ag-ui-downgrade"

# Extensions by which a server sends what the app never holds: nothing here could read it.
UNREAD_EXTENSIONS = frozenset({"http.response.pathsend", "http.response.zerocopysend"})
_BINARY = b"application/vnd.ag-ui.event+proto"  # AG-UI's other encoding, which nobody rewrites
_WILDCARDS = frozenset({b"*/*", b"application/*"})
# They describe the bytes that the app wrote, and a server would count or compare those that we write.
_DIGESTS = (b"content-md5", b"digest", b"content-digest", b"repr-digest")
_OF_THE_BODY = frozenset({b"content-length", b"etag", b"accept-ranges", *_DIGESTS})
# With these a client could have the app send bytes that nobody can read here: compressed, or from their middle on.
_SHAPES_THE_BODY = frozenset({b"accept-encoding", b"range", b"if-range"})


def normalised(headers: Iterable[Sequence[bytes | str]] | None) -> Headers:
    """Headers as pairs of bytes with lower-case names. Raises `TypeError` or `ValueError` where they are no such thing."""
    return [(_bytes(name).lower(), _bytes(value)) for name, value in headers or ()]


def is_event_stream(headers: Headers) -> bool:
    """Whether the media type is `text/event-stream`, in any case and with any parameters."""
    return b"text/event-stream" in _media_types(headers)


def is_protobuf(headers: Headers) -> bool:
    """Whether the media type is that of AG-UI's binary encoding."""
    return _BINARY in _media_types(headers)


def content_coding(headers: Headers) -> str | None:
    """The content coding, such as `gzip`, if there is one."""
    codings = [value.strip().lower() for name, value in headers if name == b"content-encoding"]
    return next((coding.decode("latin-1") for coding in codings if coding not in (b"", b"identity")), None)


def is_plain_json(fields: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a request's body is JSON and not compressed."""
    headers = [(name.lower(), value) for name, value in fields]
    types = _media_types(headers)
    json = len(types) == 1 and all(type == b"application/json" or type.endswith(b"+json") for type in types)
    return json and content_coding(headers) is None


def expects_continue(fields: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a client sends the body only once it is asked for it (RFC 9110, 10.1.1)."""
    return any(name.lower() == b"expect" and value.strip().lower() == b"100-continue" for name, value in fields)


def with_length(scope: Scope, length: int | None) -> Scope:
    """A copy of an HTTP scope whose body has another length, or one that is not known yet."""
    described = (b"content-length", b"transfer-encoding", *_DIGESTS)
    fields = [(name, value) for name, value in scope.get("headers", ()) if name.lower() not in described]
    framing = (b"transfer-encoding", b"chunked") if length is None else (b"content-length", b"%d" % length)
    return {**scope, "headers": [*fields, framing]}


def for_rewritten_body(headers: Headers, vary: Sequence[str], summary: str | None) -> Headers:
    """Without what described the body, with `vary` extended by the names that decided, and with a `summary` if any."""
    kept = [(name, value) for name, value in headers if name not in _OF_THE_BODY]
    varies = {field.strip().lower() for name, value in headers if name == b"vary" for field in value.split(b",")}
    missing = [name for name in vary if name.encode() not in varies and b"*" not in varies]
    if missing:
        kept.append((b"vary", ", ".join(missing).encode()))
    if summary is not None:
        kept.append((DOWNGRADE, summary.encode()))
    return kept


def for_readable_body(headers: Headers) -> Headers:
    """The request's headers without what asks for a body that cannot be read here, so far as another one is accepted."""
    kept = [(name, value) for name, value in headers if name.lower() not in _SHAPES_THE_BODY]
    accepted = b",".join(value for name, value in kept if name.lower() == b"accept")
    readable = _readable(accepted)
    if readable == accepted:
        return kept
    return [(name, value) for name, value in kept if name.lower() != b"accept"] + [(b"accept", readable)]


def _readable(accepted: bytes) -> bytes:
    """`Accept` without the binary encoding: with a weight of 0 if a wildcard allows it (RFC 9110, 12.4.2)."""
    ranges = [part.strip() for part in accepted.split(b",")]
    others = [part for part in ranges if _media_type(part) != _BINARY]
    wild = any(_media_type(part) in _WILDCARDS for part in others)
    if not any(others) or not (wild or len(others) < len(ranges)):
        return accepted
    return b", ".join([*others, _BINARY + b";q=0"] if wild else others)


def _media_types(headers: Headers) -> set[bytes]:
    return {_media_type(value) for name, value in headers if name == b"content-type"}


def _media_type(value: bytes) -> bytes:
    return value.partition(b";")[0].strip().lower()


def _bytes(value: bytes | str) -> bytes:
    return value.encode("latin-1", "replace") if isinstance(value, str) else bytes(memoryview(value))
