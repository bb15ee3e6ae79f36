"""The declaration of a protocol version.

`protocolVersion` came with 1.0. Who translates a stream declares what it emits, so a stream that was translated for an
older client declares nothing: AG-UI's page on versioning.
"""

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.protocol.event import Event


@per_event("RUN_STARTED")
def without_protocol_version(_: Context) -> Step:
    """Take `protocolVersion` off RUN_STARTED."""

    def drop(event: Event) -> Event:
        # Most servers declare none: a look at the bytes is a tenth of decoding the members.
        return event.without("protocolVersion") if event.may_contain(b'"protocolVersion"') else event

    return drop


@per_event("RUN_STARTED")
def older_protocol_version(_: Context) -> Step:
    """Declare 1.0 in place of 1.1. What comes after 1.1 is not known here, and its declaration stays."""

    def declare(event: Event) -> Event:
        return event.replace(protocolVersion="1.0") if event.get("protocolVersion") == "1.1" else event

    return declare
