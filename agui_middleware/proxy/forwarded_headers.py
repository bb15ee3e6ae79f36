"""The headers that a proxy takes away and those that it adds (RFC 9110 §7.6)."""

from starlette.types import Scope

Headers = list[tuple[bytes, bytes]]

# Of one connection only; a `Trailer` announces what ASGI servers do not hand on. `Proxy` is no header: CGI makes a setting
# of it (httpoxy).
_HOP_BY_HOP = frozenset(
    {b"connection", b"keep-alive", b"proxy", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"http2-settings"}
)
# With these some frameworks (Symfony, Zend, IIS) answer for another path than that which routes looked at.
_OTHER_PATH = frozenset({b"x-original-url", b"x-rewrite-url"})
# The server here asks for the body itself, the body is delimited anew, and the host is the upstream's own.
_ANSWERED_HERE = frozenset({b"expect", b"content-length", b"host"})
_WHO_ASKS = (b"x-forwarded-", b"x-real-ip", b"forwarded")


def end_to_end(headers: Headers) -> Headers:
    """Without what concerns one connection only: what RFC 9110 lists, and what `Connection` names."""
    named = {word.strip().lower() for name, value in headers if name == b"connection" for word in value.split(b",")}
    gone = _HOP_BY_HOP | named
    return [(name, value) for name, value in headers if name not in gone and not name.startswith(b"proxy-")]


def _is_disguised(name: bytes) -> bool:
    """Whether a name with underscores is read as one of those that are taken away: CGI and WSGI know no difference."""
    plain = name.replace(b"_", b"-")
    taken = _HOP_BY_HOP | _OTHER_PATH | _ANSWERED_HERE
    return plain != name and (plain in taken or plain.startswith((b"proxy-", *_WHO_ASKS)))


def for_upstream(scope: Scope, host: bytes, trust_forwarded: bool) -> Headers:
    """The headers of the request to the upstream at `host`, but for the framing of its body.

    `trust_forwarded`: a proxy before this one says who asks, and is believed; else who asks is said here anew.
    """
    received: Headers = [(name.lower(), value) for name, value in scope["headers"]]
    gone = _OTHER_PATH | _ANSWERED_HERE
    kept = [(name, value) for name, value in end_to_end(received) if name not in gone and not _is_disguised(name)]
    if not trust_forwarded:
        kept = [(name, value) for name, value in kept if not name.startswith(_WHO_ASKS)]
    told = {name for name, _ in kept}
    asked = next((value for name, value in received if name == b"host"), b"")
    hops = [value for name, value in kept if name == b"x-forwarded-for"]
    if scope.get("client"):
        hops.append(scope["client"][0].encode())
    kept = [(name, value) for name, value in kept if name != b"x-forwarded-for"]
    if hops:  # one field, since frameworks that look at one only would take the farthest for all
        kept.append((b"x-forwarded-for", b", ".join(hops)))
    if b"x-forwarded-proto" not in told:
        kept.append((b"x-forwarded-proto", scope.get("scheme", "http").encode()))
    if asked and b"x-forwarded-host" not in told:
        kept.append((b"x-forwarded-host", asked))
    kept.append((b"via", scope.get("http_version", "1.1").encode() + b" agui-middleware"))
    return [(b"host", host), *kept]


def framing(received: Headers) -> Headers | None:
    """How the request's body is delimited: by its length, in chunks, or `None` where the headers do not say.

    Chunks come before a length, which is not sent on then (RFC 9112 §6.3).
    """
    if any(name.lower() == b"transfer-encoding" for name, _ in received):
        return CHUNKED
    lengths = {value for name, value in received if name.lower() == b"content-length"}
    return [(b"content-length", length) for length in lengths] or None


CHUNKED: Headers = [(b"transfer-encoding", b"chunked")]
