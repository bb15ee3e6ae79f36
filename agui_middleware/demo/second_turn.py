"""The messages that a client posts with the run after a stream, and those that the agent receives."""

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
    """Follows a stream on both sides of the filters, for a client that starts with one user message.

    No client runs: what it keeps is derived from the table of downgrades for its release, or from that of SDKs.
    Ids that an SDK gives results of its own are not shown.
    """

    def __init__(self, plan: Plan) -> None:
        first = _posting([_message(_ASKED)])
        self._client = plan.named_client
        self._capture = Capture(first, first, None, plan.named_client, _LIMIT)
        self._held = Conversation(first.messages, reading_of(plan.named_client))

    def agent_sent(self, event: Event) -> None:
        """Take an event of the agent."""
        self._capture.agent_sent(event)

    def client_got(self, event: Event) -> None:
        """Take an event that the client receives."""
        self._capture.client_got(event)
        self._held.take(event)

    def passed(self, event: Event) -> None:
        """Take an event that the client receives as the agent sent it."""
        self.replaced(event, event)

    def replaced(self, event: Event, left: Event) -> None:
        """Take an event of the agent, and the one that the client receives for it."""
        self.agent_sent(event)
        self.client_got(left)

    def taker(self, token: Event, written: bytes) -> None:
        """Take no chunk unread: the client's side of the next turn is read from the events."""

    def summary(self) -> dict[str, Any]:
        """Return both sides of the next turn.

        - `posted`: the messages that the client posts, each as a string of JSON;
        - `given`: the messages that the agent receives, likewise;
        - `restored`: the indexes in `given` of messages that the client did not post like that.
        """
        held = [
            message for message in self._held.messages() if message[0].role != "activity"
        ]  # clients do not post activities
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
    assert empty is not None  # a valid RunAgentInput
    return empty.with_messages(messages)


def _texts(posted: Posted) -> list[str]:
    return [bytes(raw).decode("utf-8", "replace") for _, raw in posted.messages]
