"""A look at the bytes of an event, before its messages are read for what it may not hold at all.

A snapshot has thousands of messages, a plan for an old release a dozen filters that read them, and most snapshots hold
nothing of what most filters deal with.
"""

import re
from typing import Final

from agui_middleware.event import Event

_ESCAPED_ASCII: Final = re.compile(rb"\\u00[2-7]")


def may_hold(event: Event, *words: bytes) -> bool:
    """Whether the JSON of an event holds one of these ASCII words, as it is or, for all one can tell, in escapes."""
    raw = event.raw
    return any(word in raw for word in words) or _ESCAPED_ASCII.search(raw) is not None
