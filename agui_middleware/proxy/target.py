"""Where a request goes: the upstream's URL, and the path and query that were asked for, byte for byte."""

import re
from urllib.parse import quote, unquote

import httpx
from starlette.types import Scope

# RFC 3986 §3.3; what a server has decoded and no raw path tells is encoded again.
_PATH_SAFE = "/:@!$&'()*+,;=~"
# A path that servers resolve to another one (WHATWG URL, RFC 3986 §5.2.4), or cut: where it leads is not where routes look.
# Two slashes first are a host to `new URL(path, base)`, as in a server of Node's.
_AMBIGUOUS = re.compile(r"^//|(^|[/\\])\.{1,2}([/\\;]|$)|\\|[\x00-\x1f\x7f-\x9f]")
# What RFC 9112 §3.2.1 has in a request line. A fragment is no part of it, and URL parsers cut it off.
_TARGET = re.compile(rb"[\x21\x22\x24-\x7e]+")


class Unforwardable(ValueError):
    """A request whose path does not say beyond doubt what it asks for."""


class Upstream:
    """The server behind. `url` is http or https, may have a path, which comes before that of each request.

    Raises `ValueError` where it has anything else, or no host.
    """

    def __init__(self, url: str) -> None:
        try:
            self.url: httpx.URL = httpx.URL(url)
        except httpx.InvalidURL as error:
            raise ValueError(f"upstream: {url!r} is no URL: {error}") from None
        if self.url.scheme not in ("http", "https") or not self.url.host:
            raise ValueError(
                f"upstream: {url!r} is not of the form 'http://host:port/path' or 'https://host:port/path'"
            )
        if self.url.userinfo or self.url.query or self.url.fragment:
            raise ValueError("upstream: credentials, a query and a fragment are not taken; only a path is")
        self.host: bytes = self.url.netloc
        self._base = self.url.raw_path.rstrip(b"/")

    def target(self, scope: Scope) -> bytes:
        """Path and query to ask the upstream for. Raises `Unforwardable`."""
        query: bytes = scope.get("query_string", b"")
        target = self._base + _raw_path(scope) + (b"?" + query if query else b"")
        if not _TARGET.fullmatch(target):
            raise Unforwardable("a character that has no place in a request line")
        return target


def _raw_path(scope: Scope) -> bytes:
    """The app's own path as it was spelled, which has to say what the server has made of it: routes look at that."""
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
    """As Starlette has it: a path that is not under its root is one of the app's own already."""
    rest = path.removeprefix(root)
    return rest if rest[:1] in ("", "/") else path
