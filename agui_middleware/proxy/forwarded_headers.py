"""The headers that a proxy removes and those that it adds (RFC 9110 §7.6)."""

from starlette.types import Scope

Headers = list[tuple[bytes, bytes]]

# About one connection only. `Trailer` announces trailers, which ASGI servers do not pass on. CGI turns a header named
# `Proxy` into the environment variable HTTP_PROXY (httpoxy).
_HOP_BY_HOP = frozenset(
    {b"connection", b"keep-alive", b"proxy", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"http2-settings"}
)
# Some frameworks (Symfony, Zend, IIS) take the path from these, so that it differs from the path that the routes matched.
_OTHER_PATH = frozenset({b"x-original-url", b"x-rewrite-url"})
# The server in front of the proxy answers `Expect`; the body is framed anew; the host is the upstream's.
_ANSWERED_HERE = frozenset({b"expect", b"content-length", b"host"})
_CLIENT_ADDRESS = (b"x-forwarded-", b"x-real-ip", b"forwarded")


def end_to_end(headers: Headers) -> Headers:
    """The headers without those about one connection: the ones that RFC 9110 lists and those that `Connection` names."""
    named = {word.strip().lower() for name, value in headers if name == b"connection" for word in value.split(b",")}
    gone = _HOP_BY_HOP | named
    return [(name, value) for name, value in headers if name not in gone and not name.startswith(b"proxy-")]


def _is_disguised(name: bytes) -> bool:
    """Whether a name with underscores is read as one of the removed headers: CGI and WSGI do not tell `_` from `-`."""
    plain = name.replace(b"_", b"-")
    taken = _HOP_BY_HOP | _OTHER_PATH | _ANSWERED_HERE
    return plain != name and (plain in taken or plain.startswith((b"proxy-", *_CLIENT_ADDRESS)))


def for_upstream(scope: Scope, host: bytes, trust_forwarded: bool) -> Headers:
    """The headers of the request to the upstream at `host`, except those that frame its body.

    `trust_forwarded`: keep the client's address as a proxy in front of this one reports it; otherwise it is set anew.
    """
    received: Headers = [(name.lower(), value) for name, value in scope["headers"]]
    gone = _OTHER_PATH | _ANSWERED_HERE
    kept = [(name, value) for name, value in end_to_end(received) if name not in gone and not _is_disguised(name)]
    if not trust_forwarded:
        kept = [(name, value) for name, value in kept if not name.startswith(_CLIENT_ADDRESS)]
    present = {name for name, _ in kept}
    requested = next((value for name, value in received if name == b"host"), b"")
    hops = [value for name, value in kept if name == b"x-forwarded-for"]
    if scope.get("client"):
        hops.append(scope["client"][0].encode())
    kept = [(name, value) for name, value in kept if name != b"x-forwarded-for"]
    if hops:  # one field: a framework that reads only the first would miss the nearer hops
        kept.append((b"x-forwarded-for", b", ".join(hops)))
    if b"x-forwarded-proto" not in present:
        kept.append((b"x-forwarded-proto", scope.get("scheme", "http").encode()))
    if requested and b"x-forwarded-host" not in present:
        kept.append((b"x-forwarded-host", requested))
    kept.append((b"via", scope.get("http_version", "1.1").encode() + b" agui-middleware"))
    return [(b"host", host), *kept]


def framing(received: Headers) -> Headers | None:
    """How the request's body is framed: by its length, in chunks, or `None` if the headers do not say.

    With `Transfer-Encoding` a `Content-Length` is ignored and not forwarded (RFC 9112 §6.3).
    """
    if any(name.lower() == b"transfer-encoding" for name, _ in received):
        return CHUNKED
    lengths = {value for name, value in received if name.lower() == b"content-length"}
    return [(b"content-length", length) for length in lengths] or None


CHUNKED: Headers = [(b"transfer-encoding", b"chunked")]
