"""The declaration of a protocol version.

`protocolVersion` came with 1.0. Who translates a stream declares what it emits, so a stream that was translated for an
older client declares nothing: AG-UI's page on versioning.
"""

from collections.abc import AsyncIterator

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event


@handles("RUN_STARTED")
async def without_protocol_version(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    """Take `protocolVersion` off RUN_STARTED."""
    async for event in events:
        yield event.without("protocolVersion")


@handles("RUN_STARTED")
async def older_protocol_version(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    """Declare 1.0 in place of 1.1. What comes after 1.1 is not known here, and its declaration stays."""
    async for event in events:
        yield event.replace(protocolVersion="1.0") if event.get("protocolVersion") == "1.1" else event
