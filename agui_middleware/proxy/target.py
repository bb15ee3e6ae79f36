"""The target of a request to the upstream: its URL, then the requested path and query, byte for byte."""

import re
from urllib.parse import quote, unquote

import httpx
from starlette.types import Scope

# RFC 3986 §3.3: characters that stay as they are when a path is encoded again because the scope has no matching raw path.
_PATH_SAFE = "/:@!$&'()*+,;=~"
# A path that some servers resolve to another one (WHATWG URL, RFC 3986 §5.2.4) or cut off, so that it is not the path that
# routes match. `new URL(path, base)`, common in Node, takes two leading slashes for the start of a host.
_AMBIGUOUS = re.compile(r"^//|(^|[/\\])\.{1,2}([/\\;]|$)|\\|[\x00-\x1f\x7f-\x9f]")
# The characters of a request line (RFC 9112 §3.2.1), without `#`: URL parsers cut a fragment off.
_TARGET = re.compile(rb"[\x21\x22\x24-\x7e]+")


class Unforwardable(ValueError):
    """A request whose path is ambiguous: servers may read it in different ways."""


class Upstream:
    """The upstream. `url` is an http or https URL; its path, if any, is put before the path of each request.

    Raises `ValueError` if `url` has no host, or has credentials, a query or a fragment.
    """

    def __init__(self, url: str) -> None:
        try:
            self.url: httpx.URL = httpx.URL(url)
        except httpx.InvalidURL as error:
            raise ValueError(f"upstream: {url!r} is not a URL: {error}") from None
        if self.url.scheme not in ("http", "https") or not self.url.host:
            raise ValueError(
                f"upstream: {url!r} is not of the form 'http://host:port/path' or 'https://host:port/path'"
            )
        if self.url.userinfo or self.url.query or self.url.fragment:
            raise ValueError("upstream: a URL with credentials, a query or a fragment is not supported; only a path is")
        self.host: bytes = self.url.netloc
        self._base = self.url.raw_path.rstrip(b"/")

    def target(self, scope: Scope) -> bytes:
        """The path and query to request from the upstream. Raises `Unforwardable`."""
        query: bytes = scope.get("query_string", b"")
        target = self._base + _raw_path(scope) + (b"?" + query if query else b"")
        if not _TARGET.fullmatch(target):
            raise Unforwardable("a character that is not allowed in a request line")
        return target


def _raw_path(scope: Scope) -> bytes:
    """The path below the app's root, as the client spelled it if it decodes to the path that routes match."""
    root: str = scope.get("root_path", "")
    path: str = _without(root, scope["path"]) or "/"
    if not path.startswith("/") or _AMBIGUOUS.search(path):
        raise Unforwardable("a path that servers read in different ways")
    raw: bytes | None = scope.get("raw_path")
    if raw is not None:
        raw = raw.removeprefix(quote(root, safe=_PATH_SAFE).encode())
        if unquote(raw.decode("latin-1")) == path:
            return raw
    return quote(path, safe=_PATH_SAFE).encode()


def _without(root: str, path: str) -> str:
    """The path below `root`. As in Starlette, a path that does not begin with `root` is already relative to the app."""
    rest = path.removeprefix(root)
    return rest if rest[:1] in ("", "/") else path
