"""What a client posts with the run after a stream, and what the agent receives."""

from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec import Raw

from agui_middleware.config.plan import Plan
from agui_middleware.history.answers import as_resume
from agui_middleware.history.capture import Capture
from agui_middleware.history.merge import restore
from agui_middleware.history.open_interrupts import OpenInterrupts
from agui_middleware.history.readings import reading_of
from agui_middleware.history.upgrade import upgraded
from agui_middleware.protocol.conversation import Conversation
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.interrupt_dialects import ON_INTERRUPT, interrupts_of
from agui_middleware.protocol.json_object import JsonObject, encode
from agui_middleware.protocol.posted import MessageHead, Messages, Posted, as_message
from agui_middleware.protocol.releases import ClientVersion
from agui_middleware.stream.witnessed import Witness

_LIMIT: Final = 1024 * 1024
_ASKED: Final = {"id": "user-1", "role": "user", "content": "A day in Lisbon, please."}
_GOES_ON: Final = {"id": "user-2", "role": "user", "content": "And the day after?"}
_APPROVED: Final = {"approved": True}
_HANDS_ON_CUSTOM: Final = ClientVersion(0, 0, 34)
"""Releases before it do not hand CUSTOM events to the application, so that nobody there can answer one."""
_ANSWERS: Final = ("resume", "forwardedProps")
_AT_ONCE: Final = datetime.min.replace(tzinfo=UTC)  # a recording may be older than its interrupts lasted


class SecondTurn:
    """Follows a stream on both sides of the filters, for a client that starts with one user message.

    No client runs: what it keeps is derived from the table of downgrades for its release, or from that of SDKs.
    Ids that an SDK gives results of its own are not shown. Where the last run has paused, its user approves what it asks: in
    the dialect in which the client was asked, and as CopilotKit's `useInterrupt` does it, which echoes the question.
    """

    def __init__(self, plan: Plan) -> None:
        first = _posting([_message(_ASKED)])
        self._client = plan.named_client
        self._capture = Capture(first, first, None, plan.named_client, _LIMIT)
        self._held = Conversation(first.messages, reading_of(plan.named_client))
        self._interrupts = OpenInterrupts(plan.interrupts)
        self._puts_into_custom = plan.interrupts == "custom"
        self._hears_custom = plan.client is None or plan.client >= _HANDS_ON_CUSTOM
        self._announced: Any = None
        self._answer: dict[str, Any] = {}

    def witness(self) -> Witness:
        """Itself, as what a rewriter shows its events to."""
        return Witness(self, lambda started: started, self._interrupts.agent_sent, self._client_was_asked)

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

    def _client_was_asked(self, event: Event) -> None:
        """Take a CUSTOM event that the client receives, or one that ends a run."""
        self._interrupts.client_got(event)
        if event.head.type != "CUSTOM":
            self._answer = _answer(event, self._announced)
            self._announced = None
        elif event.get("name") == ON_INTERRUPT and self._hears_custom:
            self._announced = event.get("value")

    def taker(self, token: Event, written: bytes) -> None:
        """Take no chunk unread: the client's side of the next turn is read from the events."""

    def summary(self) -> dict[str, Any]:
        """Return both sides of the next turn.

        - `posted`: the messages that the client posts, each as a string of JSON;
        - `given`: the messages that the agent receives, likewise;
        - `restored`: the indexes in `given` of messages that the client did not post like that;
        - `answer`: `{posted, given}`, the members of the input that answer the last run, as the client posts them and as the
          agent receives them, each a string of JSON. Null where that run waits for nothing.
        """
        held = [
            message for message in self._held.messages() if message[0].role != "activity"
        ]  # clients do not post activities
        typed = [] if self._answer else [_message(_GOES_ON)]
        posted = _posting([*held, *typed]).with_members(**self._answer)
        given, kept = upgraded(posted, self._client), self._capture.finish()
        if kept is not None:
            given = restore(given, kept, self._client).posted
        if self._puts_into_custom:
            given = as_resume(given, self._interrupts.open or [], _AT_ONCE).posted
        before, after = _texts(posted), _texts(given)
        return {
            "posted": before,
            "given": after,
            "restored": [place for place, message in enumerate(after) if message not in before],
            "answer": {"posted": _answer_in(posted), "given": _answer_in(given)} if self._answer else None,
        }


def _answer(run_end: Event, announced: Any) -> dict[str, Any]:
    """The members of the next input with an approval; none where the run does not wait for it."""
    interrupts = interrupts_of(run_end)
    if interrupts:
        answer = {"status": "resolved", "payload": _APPROVED}
        return {"resume": [{"interruptId": each["id"], **answer} for each in interrupts]}
    if announced is None:
        return {}
    return {"forwardedProps": {"command": {"resume": _APPROVED, "interruptEvent": announced}}}


def _message(message: dict[str, str]) -> tuple[MessageHead, Raw]:
    return as_message(JsonObject.of(msgspec.json.encode(message)))


def _posting(messages: Messages) -> Posted:
    empty = Posted.read(b'{"threadId":"demo","runId":"run-2","messages":[],"tools":[],"context":[],"state":{}}')
    assert empty is not None  # a valid RunAgentInput
    return empty.with_messages(messages)


def _texts(posted: Posted) -> list[str]:
    return [bytes(raw).decode("utf-8", "replace") for _, raw in posted.messages]


def _answer_in(posted: Posted) -> str:
    members = {name: value for name in _ANSWERS if (value := posted.input.get(name))}
    return encode(members).decode("utf-8", "replace")
