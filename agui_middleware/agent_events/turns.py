"""The turns of one run: steps, reasoning and text messages."""

import logging
from collections.abc import Set

from agui_middleware.agent_events.run_emitter import RunEmitter
from agui_middleware.agent_events.text_digest import Fingerprint, TextDigest
from agui_middleware.filters.rate_limited_log import RateLimitedLog

process_log: RateLimitedLog = RateLimitedLog(logging.getLogger(__name__))


class Turns:
    """Each turn is a step with one assistant message, which the turn's tool calls share.

    The message stays open until the turn's whole text is known, so that a call between two pieces of text does not cut it
    in two. In a loop that announces no turns, a new message begins when something else enters the conversation.
    """

    def __init__(self, emitter: RunEmitter) -> None:
        self.number: int | None = None
        self._emitter = emitter
        self._step: str | None = None
        self._thinking: str | None = None
        self._message: str | None = None
        self._open = False
        self._has_spoken = False
        # All text of this turn, and that since the last message ended (mostly the same object): a message may be ended by
        # something other than the turn's whole text, which still follows, and repeats either.
        self._turn_text = self._message_text = TextDigest()
        self._completed = TextDigest()

    def start(self, number: int) -> None:
        self.close()
        self._completed = self._last_text
        self._forget()
        self.number = number
        self._step = f"turn-{number}"
        self._emitter.emit("STEP_STARTED", stepName=self._step)

    def add_thinking(self, text: str) -> None:
        # Clients up to 0.0.49 reject an empty delta, and the others gain nothing from it; the same holds for `add_text`.
        if not text:
            return
        if self._thinking is None:
            self._thinking = self._new_id("thinking")
            self._emitter.emit("REASONING_START", messageId=self._thinking)
            self._emitter.emit("REASONING_MESSAGE_START", messageId=self._thinking, role="reasoning")
        self._emitter.emit("REASONING_MESSAGE_CONTENT", messageId=self._thinking, delta=text)

    def add_text(self, text: str) -> None:
        if not text:
            return
        self._end_thinking()
        if not self._open:
            self._start_message()
        self._turn_text.add(text)
        if self._message_text is not self._turn_text:
            self._message_text.add(text)
        self._emitter.emit("TEXT_MESSAGE_CONTENT", messageId=self._message, delta=text)

    def complete(self, text: str) -> None:
        """End the turn's message. `text` is the turn's whole text; the part that was not streamed is added first."""
        unsent = self._rest_of(text)
        if unsent is None:
            message = "%s: the whole text differs from what was streamed; clients keep the latter"
            process_log.warning("other text", message, self._message)
        else:
            self.add_text(unsent)
        self._end_thinking()
        self._end_message()
        self._completed = TextDigest(text) if text else self._completed
        self._forget()

    def add_final_text(self, text: str) -> None:
        """Add the run's final text, unless the loop has sent it, or another text, in its last turn."""
        if not self._last_text.ends_with(text) and (self._open or not self._has_spoken):
            self.complete(text)

    def is_streaming(self, text: str) -> bool:
        """Whether `text` may be the whole text of the open message."""
        return self._open and self._rest_of(text) is not None

    @property
    def streamed(self) -> Set[Fingerprint]:
        """What the whole text of the open message may begin with; nothing where no message is open."""
        return {self._turn_text.fingerprint, self._message_text.fingerprint} if self._open else frozenset()

    @property
    def last_text(self) -> Fingerprint | None:
        """The text of this turn or, before there is any, the last whole text."""
        return self._last_text.fingerprint if self._last_text else None

    def message_id(self) -> str:
        """The id of the message that holds this turn's calls. The message need not have started."""
        self._end_thinking()
        if self._message is None:
            self._message = self._new_id("text")
        return self._message

    def interrupt(self) -> None:
        """Something that is not the assistant's enters the conversation."""
        if self.number is None:
            self.close()

    def close(self) -> None:
        """End everything that is open, innermost first."""
        self._end_thinking()
        self._end_message()
        self._message, self._has_spoken = None, False
        if self._step is not None:
            self._emitter.emit("STEP_FINISHED", stepName=self._step)
            self._step = None

    @property
    def _last_text(self) -> TextDigest:
        return self._turn_text or self._completed

    def _rest_of(self, text: str) -> str | None:
        """The part of the turn's whole text that was not streamed; None if something else was."""
        rest = self._turn_text.rest_of(text)
        return self._message_text.rest_of(text) if rest is None else rest

    def _forget(self) -> None:
        self._turn_text = self._message_text = TextDigest()

    def _new_id(self, name: str) -> str:
        return self._emitter.new_id(name if self.number is None else f"turn-{self.number}-{name}")

    def _start_message(self) -> None:
        # A message that has ended is not opened again: releases up to 0.0.43 would show it twice.
        if self._has_spoken:
            self._message = None
        self._emitter.emit("TEXT_MESSAGE_START", messageId=self.message_id(), role="assistant")
        self._open = True

    def _end_message(self) -> None:
        if self._open:
            self._emitter.emit("TEXT_MESSAGE_END", messageId=self._message)
            self._open, self._has_spoken = False, True
            self._message_text = TextDigest()

    def _end_thinking(self) -> None:
        if self._thinking is not None:
            self._emitter.emit("REASONING_MESSAGE_END", messageId=self._thinking)
            self._emitter.emit("REASONING_END", messageId=self._thinking)
            self._thinking = None
