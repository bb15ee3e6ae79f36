"""The tool calls of one run, and their results."""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from enum import Enum

from agui_middleware.agent_events.models import ToolCall, ToolResult
from agui_middleware.agent_events.run_emitter import RunEmitter


class Delegation(Enum):
    """How far the nested run of a call is."""

    NONE = "none"
    RUNNING = "running"
    ENDED = "ended"


@dataclass(slots=True, eq=False)
class Call:
    """One call under its AG-UI id. `message` holds it; None as long as only its result or its nested run was seen."""

    id: str
    tool: str
    message: str | None = None
    is_open: bool = False
    answered: bool = False
    delegation: Delegation = Delegation.NONE


@dataclass(slots=True)
class OpenCalls:
    """The unanswered calls of one tool, by how far their nested runs are."""

    by_delegation: dict[Delegation, dict[Call, None]] = field(default_factory=lambda: {each: {} for each in Delegation})

    def __bool__(self) -> bool:
        return any(self.by_delegation.values())

    def add(self, call: Call) -> None:
        self.by_delegation[call.delegation][call] = None

    def remove(self, call: Call) -> None:
        del self.by_delegation[call.delegation][call]


class Calls:
    """Knows the calls of a run by the loop's ids, and gives each an id that no other call of the stream has.

    That is the loop's id where it is free, since the answer to a call comes back under it. A loop that reuses an id, such
    as one that numbers the calls of each turn, or a nested run that counts as its caller does, gets `call_1-2`: to clients
    two calls of one id are one call.
    """

    def __init__(self, emitter: RunEmitter) -> None:
        self._emitter = emitter
        self._latest: dict[str, Call] = {}
        self._open: dict[str, Call] = {}
        self._open_by_tool: dict[str, OpenCalls] = {}

    def start(self, event: ToolCall, message: str) -> None:
        call = self._latest.get(event.id)
        if call is None or call.message is not None:
            call = self._new(event.id, event.name)
        call.tool, call.message = event.name, message
        if not call.answered:
            self._open_call(event.id, call)
        arguments = json.dumps(event.input, ensure_ascii=False, separators=(",", ":"))
        self._emitter.emit("TOOL_CALL_START", toolCallId=call.id, toolCallName=call.tool, parentMessageId=message)
        self._emitter.emit("TOOL_CALL_ARGS", toolCallId=call.id, delta=arguments)
        self._emitter.emit("TOOL_CALL_END", toolCallId=call.id)

    def answer(self, event: ToolResult) -> Call:
        """Record that the call has its result, which `emit_result` then sends."""
        call = self.named(event.id, event.name)
        call.answered = True
        self._close_call(event.id)
        return call

    def emit_result(self, call: Call, event: ToolResult) -> None:
        # TOOL_CALL_RESULT has no member for a failure; its metadata becomes the tool message's.
        failure = {"metadata": {"isError": True}} if event.is_error else {}
        self._emitter.emit(
            "TOOL_CALL_RESULT",
            messageId=self._emitter.new_id(f"result-{call.id}"),
            toolCallId=call.id,
            role="tool",
            content=event.content,
            **failure,
        )

    def named(self, id: str, tool: str) -> Call:
        """The newest call with this id of the loop's, recorded as a call of `tool` if it is new."""
        return self._latest.get(id) or self._new(id, tool)

    @property
    def all_answered(self) -> bool:
        """Whether there were calls, and all have their results: a run waits for that before its next turn."""
        return bool(self._latest) and not self._open

    @property
    def open_ids(self) -> Iterable[str]:
        """The loop's ids of the unanswered calls."""
        return self._open.keys()

    def is_open(self, id: str) -> bool:
        return id in self._open

    def has_open(self, tool: str) -> bool:
        """Whether a call of `tool` is unanswered."""
        return bool(self._open_by_tool.get(tool))

    def without_run(self, tool: str) -> Collection[Call]:
        """The unanswered calls of `tool` without a nested run; if all have had one, those whose nested run has ended."""
        calls = self._open_by_tool.get(tool, OpenCalls()).by_delegation
        return calls[Delegation.NONE] or calls[Delegation.ENDED]

    def set_delegation(self, call: Call, delegation: Delegation) -> None:
        if call.is_open:
            self._open_by_tool[call.tool].remove(call)
        call.delegation = delegation
        if call.is_open:
            self._open_by_tool[call.tool].add(call)

    def _open_call(self, id: str, call: Call) -> None:
        self._close_call(id)
        self._open[id] = call
        call.is_open = True
        self._open_by_tool.setdefault(call.tool, OpenCalls()).add(call)

    def _close_call(self, id: str) -> None:
        call = self._open.pop(id, None)
        if call is not None:
            self._open_by_tool[call.tool].remove(call)
            call.is_open = False

    def _new(self, id: str, tool: str) -> Call:
        call = self._latest[id] = Call(self._emitter.buffer.tool_call_ids.claim(id), tool)
        return call
