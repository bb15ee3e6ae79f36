"""Notices that a client which does not name its release is sent what many releases reject."""

import re
from collections.abc import Awaitable

from starlette.types import Message, Send

from agui_middleware.config.rate_limited_log import RateLimitedLog
from agui_middleware.downgrades.guard import KNOWN_SINCE

_HEAD = 256
"""The bytes of a chunk in which its type is looked for. Producers write it first, and one event a chunk."""

_REJECTED = re.compile(rb'"type": ?"(%b)"' % "|".join(KNOWN_SINCE).encode())


def watch_for_rejected_events(send: Send, log: RateLimitedLog) -> Send:
    """`send`, with one log record for the first event that older releases do not know.

    For a client that does not name its release where no `default_client` is configured, so that it gets every event as it
    is: releases from before 1.0.0 never name themselves, and abort the whole run on the first such event.
    """
    noticed = False

    def watching(message: Message) -> Awaitable[None]:
        nonlocal noticed
        if not noticed and (found := _REJECTED.search(message.get("body", b""), 0, _HEAD)):
            noticed = True
            _report(found[1].decode(), log)
        return send(message)

    return watching


def _report(type: str, log: RateLimitedLog) -> None:
    message = (
        "a client that did not name its release was sent %s, and @ag-ui/client before %s aborts the run at it; "
        "set default_client to the oldest release that you still serve, or to 'current' if there is none"
    )
    fields = {"event_type": type, "fixed_in": KNOWN_SINCE[type]}
    log.warning("default_client", message, type, KNOWN_SINCE[type], fields=fields)
