"""The tool calls of one run, and their results."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from agui_middleware.agent_events.models import ToolCall, ToolResult
from agui_middleware.agent_events.run_emitter import Voice


@dataclass(slots=True, eq=False)
class Call:
    """One call under its AG-UI id. `message` holds it, None as long as only its result or its nested run was seen."""

    id: str
    tool: str
    message: str | None = None
    answered: bool = False
    delegated: bool = False
    """A nested run of this call has come to its end."""


class Calls:
    """Knows the calls of a run by the loop's own ids, and gives each an id that no other call of the stream has.

    That is the loop's id wherever it is free, since the answer to a call comes back under it. A loop that uses an id
    again, as one that numbers the calls of each turn does, or a nested run that counts as its caller does, gets
    `call_1-2`: for clients, two calls of one id are one call.
    """

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._latest: dict[str, Call] = {}
        self._open: dict[str, Call] = {}

    def announce(self, event: ToolCall, message: str) -> None:
        call = self._latest.get(event.id)
        if call is None or call.message is not None:
            call = self._new(event.id, event.name)
        call.tool, call.message = event.name, message
        if not call.answered:
            self._open[event.id] = call
        arguments = json.dumps(event.input, ensure_ascii=False, separators=(",", ":"))
        self._voice.emit("TOOL_CALL_START", toolCallId=call.id, toolCallName=call.tool, parentMessageId=message)
        self._voice.emit("TOOL_CALL_ARGS", toolCallId=call.id, delta=arguments)
        self._voice.emit("TOOL_CALL_END", toolCallId=call.id)

    def answer(self, event: ToolResult) -> Call:
        """Note that the call has its result, which `tell` then says."""
        call = self.named(event.id, event.name)
        call.answered = True
        self._open.pop(event.id, None)
        return call

    def tell(self, call: Call, event: ToolResult) -> None:
        # The event has no member for a failure; its metadata becomes the tool message's.
        failure = {"metadata": {"isError": True}} if event.is_error else {}
        self._voice.emit(
            "TOOL_CALL_RESULT",
            messageId=self._voice.new_id(f"result-{call.id}"),
            toolCallId=call.id,
            role="tool",
            content=event.content,
            **failure,
        )

    def named(self, id: str, tool: str) -> Call:
        """The newest call with this id of the loop's; noted as a call of `tool` if nothing has been heard of it."""
        return self._latest.get(id) or self._new(id, tool)

    @property
    def all_answered(self) -> bool:
        """Whether there were calls, and all have their results: what a run waits for before its next turn."""
        return bool(self._latest) and not self._open

    def is_open(self, id: str) -> bool:
        return id in self._open

    def open(self, tool: str) -> Iterator[Call]:
        """The calls of `tool` that wait for their result, oldest first."""
        return (call for call in self._open.values() if call.tool == tool)

    def _new(self, id: str, tool: str) -> Call:
        call = self._latest[id] = Call(self._voice.outbox.tool_call_ids.claim(id), tool)
        return call
