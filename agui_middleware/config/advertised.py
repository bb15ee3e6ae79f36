"""How a request names the release that reads its response: a header, a query parameter, or the posted input."""

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from agui_middleware.config.named_clients import RefusedClient, from_user_agent, parse_client
from agui_middleware.config.readers import Reader
from agui_middleware.protocol.releases import MAX_LENGTH, ClientVersion

logger: logging.Logger = logging.getLogger("agui_middleware")

_PROTOCOL_VERSION = re.compile(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})", re.ASCII)


def advertised(headers: Iterable[tuple[bytes, bytes]], query: bytes, names: Sequence[str]) -> Iterator[list[str]]:
    """What the request says under each of `names` that it carries, in its headers and then in its query.

    One entry for each time that it says so. A query parameter needs no CORS preflight, unlike a header.
    """
    if headers:
        fields = [(name.decode("latin-1").lower(), value) for name, value in headers]
        for name in names:
            if values := [value.decode("latin-1") for key, value in fields if key == name.lower()]:
                yield values
    if query:
        parameters = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
        for name in names:
            if values := [value for key, value in parameters if key.lower() == name.lower()]:
                yield values


def user_agent(headers: Iterable[tuple[bytes, bytes]]) -> Reader | None:
    """The SDK that the request's `User-Agent` names, if that is one whose name is telling."""
    values = (value for name, value in headers if name.lower() == b"user-agent")
    readers = (from_user_agent(value[:MAX_LENGTH].decode("latin-1")) for value in values)
    return next((reader for reader in readers if reader is not None and not reader.refused), None)


class _Input(msgspec.Struct, gc=False):
    protocolVersion: Any = None


_decode_input = msgspec.json.Decoder(_Input).decode


def from_body(body: bytes) -> ClientVersion | None:
    """The oldest release that speaks the `protocolVersion` of a posted RunAgentInput, if it names one.

    A protocol version and a release are different axes: protocol 1.0 came with release 1.0.0, and no release before it
    sends a protocol version. Its absence proves nothing.
    """
    try:
        version = _decode_input(body).protocolVersion
    except (msgspec.DecodeError, ValueError, RecursionError):  # the first is a `ValueError` since 0.21
        return None
    match = _PROTOCOL_VERSION.fullmatch(version) if isinstance(version, str) else None
    return ClientVersion(int(match[1]), int(match[2]), 0) if match else None


def parse_advertised(values: Sequence[str]) -> ClientVersion | Reader | None:
    """One value that names a release or an SDK; anything else, or more than one, counts as absent."""
    return _parsed(values[0]) if len(values) == 1 and len(values[0]) <= MAX_LENGTH else None


@lru_cache(maxsize=256)
def _parsed(value: str) -> ClientVersion | Reader | None:
    try:
        return parse_client(value)
    except RefusedClient as refused:  # logged once, as long as the cache holds it
        logger.warning("a client is not served and counts as absent: %s", refused)
        return None
    except ValueError:
        return None
