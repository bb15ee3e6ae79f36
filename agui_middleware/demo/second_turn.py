"""What a client posts with its next run after a stream, and what the agent gets of it."""

from typing import Any, Final

import msgspec
from msgspec import Raw

from agui_middleware.config.plan import Plan
from agui_middleware.history.capture import Capture
from agui_middleware.history.merge import restore
from agui_middleware.history.readings import reading_of
from agui_middleware.history.upgrade import upgraded
from agui_middleware.protocol.conversation import Conversation
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.json_object import JsonObject
from agui_middleware.protocol.posted import MessageHead, Messages, Posted, as_message

_LIMIT: Final = 1024 * 1024
_ASKED: Final = {"id": "user-1", "role": "user", "content": "A day in Lisbon, please."}
_GOES_ON: Final = {"id": "user-2", "role": "user", "content": "And the day after?"}


class SecondTurn:
    """Follows a stream on both sides of the filters, for a client that held one message of its user's before it.

    The client is imagined from what the table of downgrades declares for its release.
    """

    def __init__(self, plan: Plan) -> None:
        first = _posting([_message(_ASKED)])
        self._client = plan.client
        self._capture = Capture(first, first, None, plan.client, _LIMIT)
        self._held = Conversation(first.messages, reading_of(plan.client))

    def agent_sent(self, event: Event) -> None:
        """An event of the agent's."""
        self._capture.agent_sent(event)

    def client_got(self, event: Event) -> None:
        """An event that the client gets."""
        self._capture.client_got(event)
        self._held.take(event)

    def passed(self, event: Event) -> None:
        """An event that the client gets as the agent has sent it."""
        self.agent_sent(event)
        self.client_got(event)

    def summary(self) -> dict[str, Any]:
        """`posted`, the messages that the client posts with its next run, `given`, those that the agent gets of it, both as
        JSON in strings, and `restored`, the places in `given` of what differs.
        """
        held = [message for message in self._held.messages() if message[0].role != "activity"]  # no client posts them
        posted = _posting([*held, _message(_GOES_ON)])
        given, kept = upgraded(posted, self._client), self._capture.finish()
        if kept is not None:
            given = restore(given, kept, self._client).posted
        before, after = _texts(posted), _texts(given)
        return {
            "posted": before,
            "given": after,
            "restored": [place for place, message in enumerate(after) if message not in before],
        }


def _message(message: dict[str, str]) -> tuple[MessageHead, Raw]:
    return as_message(JsonObject.of(msgspec.json.encode(message)))


def _posting(messages: Messages) -> Posted:
    empty = Posted.read(b'{"threadId":"demo","runId":"run-2","messages":[],"tools":[],"context":[],"state":{}}')
    assert empty is not None  # it is one
    return empty.with_messages(messages)


def _texts(posted: Posted) -> list[str]:
    return [bytes(raw).decode("utf-8", "replace") for _, raw in posted.messages]
