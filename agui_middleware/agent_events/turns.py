"""The turns of one run: steps, reasoning and text messages."""

import logging

from agui_middleware.agent_events.run_emitter import Voice

logger: logging.Logger = logging.getLogger(__name__)


class Turns:
    """Each turn is a step, and has one assistant message, which its tool calls share.

    A message stays open until its turn's whole text is known, so that a call that comes between two pieces of text
    does not cut it in two. A loop that announces no turns gets a new message when something else enters the
    conversation.
    """

    def __init__(self, voice: Voice) -> None:
        self.number: int | None = None
        self._voice = voice
        self._step: str | None = None
        self._thinking: str | None = None
        self._message: str | None = None
        self._open = False
        self._spoken = False
        # The pieces of this turn, and where the open message begins among them: a message may have been ended by
        # something else than the turn's whole text, which still comes.
        self._streamed: list[str] = []
        self._begin = 0
        self._concluded = ""

    def start(self, number: int) -> None:
        self.close()
        self._concluded = self._said
        self._forget()
        self.number = number
        self._step = f"turn-{number}"
        self._voice.emit("STEP_STARTED", stepName=self._step)

    def think(self, text: str) -> None:
        # Clients up to 0.0.49 reject an empty piece, and it says nothing to the others; the same goes for `say`.
        if not text:
            return
        if self._thinking is None:
            self._thinking = self._new_id("thinking")
            self._voice.emit("REASONING_START", messageId=self._thinking)
            self._voice.emit("REASONING_MESSAGE_START", messageId=self._thinking, role="reasoning")
        self._voice.emit("REASONING_MESSAGE_CONTENT", messageId=self._thinking, delta=text)

    def say(self, text: str) -> None:
        if not text:
            return
        self._stop_thinking()
        if not self._open:
            self._open_message()
        self._streamed.append(text)
        self._voice.emit("TEXT_MESSAGE_CONTENT", messageId=self._message, delta=text)

    def conclude(self, text: str) -> None:
        """`text` is all that this turn has to say: what has not been streamed of it follows."""
        unsaid = self._unsaid(text)
        if unsaid is None:
            logger.warning("%s: the whole text is not what was streamed; clients keep what was streamed", self._message)
        else:
            self.say(unsaid)
        self._stop_thinking()
        self._end_message()
        self._concluded = text or self._concluded
        self._forget()

    def settle(self, text: str) -> None:
        """`text` is the run's final text. It is said unless the loop has said it, or another text, in its last turn."""
        if not self._said.endswith(text) and (self._open or not self._spoken):
            self.conclude(text)

    def is_streaming(self, text: str) -> bool:
        """Whether `text` may be the whole text of the message that is open."""
        return self._open and self._unsaid(text) is not None

    def has_said(self, text: str) -> bool:
        """Whether `text` is what was said last."""
        return text != "" and text == self._said

    def holder(self) -> str:
        """The id of the message that holds the calls of this turn, which need not have begun."""
        self._stop_thinking()
        if self._message is None:
            self._message = self._new_id("text")
        return self._message

    def interrupt(self) -> None:
        """Something that is not the assistant's enters the conversation."""
        if self.number is None:
            self.close()

    def close(self) -> None:
        """End all that is open, innermost first."""
        self._stop_thinking()
        self._end_message()
        self._message, self._spoken = None, False
        if self._step is not None:
            self._voice.emit("STEP_FINISHED", stepName=self._step)
            self._step = None

    @property
    def _said(self) -> str:
        return "".join(self._streamed) or self._concluded

    def _unsaid(self, text: str) -> str | None:
        """What of the turn's whole text has not been streamed; None if something else has."""
        for begin in (0, self._begin):
            streamed = "".join(self._streamed[begin:])
            if text.startswith(streamed):
                return text[len(streamed) :]
        return None

    def _forget(self) -> None:
        self._streamed.clear()
        self._begin = 0

    def _new_id(self, name: str) -> str:
        return self._voice.new_id(name if self.number is None else f"turn-{self.number}-{name}")

    def _open_message(self) -> None:
        # A message that has ended is not opened again: releases up to 0.0.43 would show it twice.
        if self._spoken:
            self._message = None
        self._voice.emit("TEXT_MESSAGE_START", messageId=self.holder(), role="assistant")
        self._open = True

    def _end_message(self) -> None:
        if self._open:
            self._voice.emit("TEXT_MESSAGE_END", messageId=self._message)
            self._open, self._spoken = False, True
            self._begin = len(self._streamed)

    def _stop_thinking(self) -> None:
        if self._thinking is not None:
            self._voice.emit("REASONING_MESSAGE_END", messageId=self._thinking)
            self._voice.emit("REASONING_END", messageId=self._thinking)
            self._thinking = None
