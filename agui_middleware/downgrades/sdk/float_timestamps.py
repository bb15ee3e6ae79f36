"""Timestamps with a fraction.

AG-UI's timestamps are integers, but Python's `time.time() * 1000` has a fraction, and JavaScript cannot tell 1.0 from 1.
Kotlin and ragas drop every event with one, so that they see no run at all; Go, .NET and Dart 0.1.0 raise.
"""

import re
from typing import Final

from msgspec import Raw

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import EVERYTHING, Step, per_event
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.event_types import TOKENS

_FLOAT: Final = re.compile(rb'"timestamp"\s*:\s*-?\d+[.eE]')


@per_event(EVERYTHING, repeats=TOKENS)
def integer_timestamps(_: Context) -> Step:
    """Cut the fraction off."""

    def show(event: Event) -> Event:
        if _FLOAT.search(event.raw) is None:
            return event
        timestamp = event.get("timestamp")  # the match may be inside another member
        if isinstance(timestamp, Raw):  # a number beyond all doubles, which stays undecoded
            return event.without("timestamp")
        return event.replace(timestamp=int(timestamp)) if isinstance(timestamp, float) else event

    return show
