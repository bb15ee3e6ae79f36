"""Rewrites addresses of the upstream in its responses, which would lead clients past the proxy."""

import re
from urllib.parse import SplitResult, urlsplit, urlunsplit

import httpx

from agui_middleware.proxy.forwarded_headers import Headers

_REFRESH = re.compile(r"""(\s*[\d.]+\s*[;,]\s*(?:url\s*=\s*)?["']?)([^"']*)(["']?\s*)""", re.IGNORECASE)
_ADDRESSES = frozenset({b"location", b"content-location"})
_PORTS = {"http": 80, "https": 443}


class Redirects:
    """Rewrites `Location`, `Content-Location` and `Refresh`, as nginx's `proxy_redirect` does, for a proxy at `root`.

    An address on the upstream's host becomes a path, which clients resolve against the proxy's address, whatever its name.
    The scheme is not compared, since the upstream may follow `X-Forwarded-Proto`. Addresses of other hosts, and those
    outside the upstream's path, which the proxy does not serve, stay as they are.
    """

    def __init__(self, upstream: httpx.URL, root: str) -> None:
        self._netloc = upstream.netloc.decode("ascii").lower()
        self._origin = upstream.host.lower(), upstream.port or _PORTS[upstream.scheme]
        self._base = upstream.path.rstrip("/")
        self._root = root.rstrip("/")

    def rewrite(self, headers: Headers) -> Headers:
        """The headers with the proxy's addresses in place of the upstream's. Their names are in lower case."""
        return [(name, self._field(name, value)) for name, value in headers]

    def _field(self, name: bytes, value: bytes) -> bytes:
        if name in _ADDRESSES:
            return self._address(value.decode("latin-1")).encode("latin-1")
        if name == b"refresh" and (match := _REFRESH.fullmatch(value.decode("latin-1"))):
            return f"{match[1]}{self._address(match[2])}{match[3]}".encode("latin-1")
        return value

    def _address(self, value: str) -> str:
        try:
            parts = urlsplit(value)
            own = self._is_own(parts)
        except ValueError:  # not a URL: clients do not follow it either
            return value
        if not own or not f"{parts.path}/".startswith(f"{self._base}/"):
            return value
        # A single slash: two would begin a host name.
        path = self._root + "/" + parts.path[len(self._base) :].lstrip("/\\")
        return urlunsplit(("", "", path, parts.query, parts.fragment))

    def _is_own(self, parts: SplitResult) -> bool:
        """Whether an address is on the upstream's host: by its host, or an absolute path without one."""
        if not parts.netloc:
            return not parts.scheme and parts.path.startswith("/")
        if parts.scheme not in ("", "http", "https"):
            return False
        if parts.netloc.lower() == self._netloc:
            return True
        default = _PORTS.get(parts.scheme, self._origin[1])
        return ((parts.hostname or "").lower(), parts.port or default) == self._origin
