"""How a path may be read by the frameworks, proxies and URL parsers between a client and an agent.

Servers, frameworks and proxies disagree on what a path means. Litestar serves `//agent/` as `/agent`, Express `/AGENT`,
Java's servlets `/agent;v=1`; Starlette's `{name}` takes a line end and its `{rest:path}` does not; Quart and Node's `URL`
read `http://h/agent` and `//h/agent` as `/agent`. No list of spellings is complete, so that nothing is shown because of one:
a path that is not plain is never shown beside a route that hides (see `Routing`). The list here serves to find the route
whose filters apply.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

# No slash first, empty and dot segments, what some reader cuts off, replaces or decodes once more, control characters, and
# white space at the end.
_NOT_PLAIN = re.compile(r"\A(?!/)|//|/\.{1,2}(?:/|\Z)|[;\\%?#\x00-\x1f\x7f-\x9f\u2028\u2029]|\s\Z")
_ENCODED = re.compile(rb"%(2f|5c|00)", re.IGNORECASE)
_PARAMETERS = re.compile(r";[^/]*")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")  # URL parsers drop them
_SLASHES = re.compile(r"//+")
_ORIGIN = re.compile(r"\A([a-z][a-z0-9+.-]*:)?(//[^/]*)?", re.IGNORECASE)

ROOT_SEGMENTS: Final = 8
"""The most segments of a root path that an app sets for itself and no server reports. For deeper paths see `is_deep`."""


def own_path(scope: Mapping[str, Any]) -> str:
    """The app's own path: without `root_path` where it is under it, as Starlette has it since 0.33."""
    path: str = scope["path"]
    root: str = scope.get("root_path") or ""
    if root and path.startswith(root) and path[len(root) : len(root) + 1] in ("", "/"):
        return path[len(root) :]
    return path  # a proxy has taken the root path off


def is_plain(scope: Mapping[str, Any], path: str) -> bool:
    """Whether every reader sees the same segments in the app's own path."""
    return _NOT_PLAIN.search(path) is None and _ENCODED.search(scope.get("raw_path") or b"") is None


def normalised(path: str) -> str:
    """A path without what some reader ignores: parameters, empty segments, a slash at the end, control characters, case."""
    return _plainly(_SLASHES.sub("/", "/" + _CONTROLS.sub("", _PARAMETERS.sub("", path)).rstrip()))


def _plainly(path: str) -> str:
    return (path.rstrip("/") or "/").lower()


def is_deep(path: str) -> bool:
    """Whether a path has more segments than `under_other_roots` takes off, so that a route may match what is behind them."""
    return normalised(path).count("/") > ROOT_SEGMENTS + 1


def readings(scope: Mapping[str, Any], path: str, plain: bool) -> list[str]:
    """The app's own path, normalised, in each way in which it may be read. The first is the usual one."""
    if plain:
        return [_plainly(path)]
    found = [path, _resolved(path)]
    raw = (scope.get("raw_path") or b"").decode("latin-1").lower()
    if "%2f" in raw:  # a slash inside a segment, where segments are separated before they are decoded (Sanic, Express)
        kept = own_path({"path": unquote(raw.replace("%2f", "%252f")), "root_path": scope.get("root_path", "").lower()})
        found += [kept, _resolved(kept)]
    return list(dict.fromkeys(map(normalised, found)))


def _resolved(path: str) -> str:
    """As the URL standard reads it: without an origin, `\\` as a slash, decoded, cut, and dot segments resolved."""
    path = _ORIGIN.sub("", unquote(path), count=1)
    segments: list[str] = []
    for segment in re.split("[?#]", path.replace("\\", "/"), maxsplit=1)[0].split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment not in ("", "."):
            segments.append(segment)
    return "/" + "/".join(segments)


def under_other_roots(scope: Mapping[str, Any], path: str) -> Iterator[str]:
    """The path under root paths that the server does not report as Starlette reads them, normalised.

    An app may set one of its own (FastAPI's `root_path`, Django's FORCE_SCRIPT_NAME): a few segments at the front. Litestar
    cuts at the root path wherever it stands.
    """
    whole: str = scope["path"]
    root: str = scope.get("root_path") or ""
    if root:
        yield from map(normalised, (whole, whole.partition(root)[2], whole.removeprefix(root)))
    rest = normalised(path)
    for _ in range(ROOT_SEGMENTS):
        cut = rest.find("/", 1)
        if cut < 0:
            return
        rest = rest[cut:]
        yield rest
