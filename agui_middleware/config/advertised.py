"""How a request names the release that reads its response: a header, a query parameter, or the posted input."""

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec

from agui_middleware.config.hops import combined
from agui_middleware.config.named_clients import RefusedClient, from_user_agent, parse_client
from agui_middleware.config.readers import Reader
from agui_middleware.filters.rate_limited_log import RateLimitedLog
from agui_middleware.protocol.releases import MAX_LENGTH, ClientVersion

process_log: RateLimitedLog = RateLimitedLog(logging.getLogger("agui_middleware.request"))

_PARTS: Final = 16
"""The most clients that are read of one value."""

_PROTOCOL_VERSION = re.compile(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})", re.ASCII)


def advertised(headers: Iterable[tuple[bytes, bytes]], query: bytes, names: Sequence[str]) -> Iterator[list[str]]:
    """The values that a request has under any of `names`: of its headers, then of its query. Only where there are some.

    A query parameter needs no CORS preflight, unlike a header.
    """
    wanted, fields = _in_lower_case(tuple(names))
    values = [value.decode("latin-1") for name, value in headers if name.lower() in fields]
    if values:
        yield values
    if query:
        parameters = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
        if values := [value for name, value in parameters if name.lower() in wanted]:
            yield values


@lru_cache(maxsize=16)
def _in_lower_case(names: tuple[str, ...]) -> tuple[frozenset[str], frozenset[bytes]]:
    """The names that one middleware looks for, as parameters and as headers."""
    wanted = frozenset(name.lower() for name in names)
    return wanted, frozenset(name.encode("latin-1", "replace") for name in wanted)


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
    """The release or SDK that the values name, alone or in a list; `None` where they name none.

    Where several hops of a chain name one, each of them has to read the stream: see `combined`. What names neither counts
    as absent.
    """
    clients: list[ClientVersion | Reader] = []
    for value in values:
        for part in value.split(",", _PARTS)[:_PARTS]:
            named = _parsed(part) if len(part) <= MAX_LENGTH else None
            if isinstance(named, RefusedClient):
                process_log.warning(str(named), "a client is not served and counts as absent: %s", named)
            elif named is not None:
                clients.append(named)
    return clients[0] if len(clients) == 1 else combined(tuple(clients)) if clients else None


@lru_cache(maxsize=256)
def _parsed(value: str) -> ClientVersion | Reader | RefusedClient | None:
    try:
        return parse_client(value)
    except RefusedClient as refused:
        return refused.with_traceback(None)  # which would keep the request's frames
    except ValueError:
        return None
