"""JSON Patch, as far as the strategies draw it: all six operations of RFC 6902 on objects and arrays."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .lanes import Json


def patched(document: Any, patch: list[Json]) -> Any:
    """A patched copy. Raises LookupError, TypeError or ValueError, the document untouched, when one operation fails."""
    document = copy.deepcopy(document)
    for operation in patch:
        document = _operated(document, operation)
    return document


def _operated(document: Any, operation: Json) -> Any:
    path = _pointer(operation["path"])
    match operation["op"]:
        case "add":
            return _put(document, path, copy.deepcopy(operation["value"]), insert=True)
        case "replace":
            _get(document, path)
            return _put(document, path, copy.deepcopy(operation["value"]), insert=False)
        case "remove":
            _pop(document, path)
        case "test":
            if _get(document, path) != operation["value"]:
                raise ValueError(f"{operation['path']} has another value")
        case "copy":
            return _put(document, path, copy.deepcopy(_get(document, _pointer(operation["from"]))), insert=True)
        case "move":
            return _put(document, path, _pop(document, _pointer(operation["from"])), insert=True)
        case unknown:
            raise ValueError(unknown)
    return document


def _pointer(path: str) -> list[str]:
    return [token.replace("~1", "/").replace("~0", "~") for token in path.split("/")[1:]]


def _key(container: Any, token: str) -> Any:
    if isinstance(container, list):
        return len(container) if token == "-" else int(token)
    if isinstance(container, dict):
        return token
    raise TypeError(f"no members in {container!r}")


def _get(document: Any, path: list[str]) -> Any:
    for token in path:
        document = document[_key(document, token)]
    return document


def _put(document: Any, path: list[str], value: Any, *, insert: bool) -> Any:
    if not path:
        return value
    container = _get(document, path[:-1])
    key = _key(container, path[-1])
    if insert and isinstance(container, list):
        if key > len(container):
            raise IndexError(key)
        container.insert(key, value)
    else:
        container[key] = value
    return document


def _pop(document: Any, path: list[str]) -> Any:
    container = _get(document, path[:-1])
    return container.pop(_key(container, path[-1]))
