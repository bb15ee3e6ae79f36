"""Whether a frame of an event stream may be an AG-UI event, for streams that may be anything."""

import msgspec

from agui_middleware.protocol.event_types import EventType

_TYPES = frozenset(EventType)
_decode = msgspec.json.Decoder().decode


def may_be_agui(data: bytes) -> bool:
    """Whether `data`, of one frame or a line that is not a field, may be an AG-UI event, or a piece of one.

    A JSON object of an AG-UI type or with an owner is one. Any other JSON is not: OpenAI's and Anthropic's streams, pings.
    What is not JSON may be a torn event if the name of one of these members is in it.
    """
    try:
        members = _decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError):  # the first is a `ValueError` since 0.21
        return b'"type"' in data or b"subagentRunId" in data
    if not isinstance(members, dict):
        return False
    type = members.get("type")
    return "subagentRunId" in members or (isinstance(type, str) and type in _TYPES)
