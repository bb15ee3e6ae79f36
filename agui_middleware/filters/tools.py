"""Tool calls that a route shows, by the name of the tool.

    Route(path="/public", filters=[allow_tools(["search", "weather"])])

and in TOML, `filters = [{ use = "agui_middleware.filters.tools:allow_tools", names = ["search", "weather"] }]`; or by who
declared the tool, `filters = ["agui_middleware.filters.tools:server_tools_private"]`.

With a call go its arguments, its result, their encrypted values, its entry in snapshots, in the input echo and among the
pending calls, and the message that only it made, with an empty text or none. What it told a subagent to do is the
subagent's, and interrupts stay, since the client has to answer them. Nothing is reported as lost: the route wants that.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable
from contextlib import aclosing
from typing import Any

from agui_middleware.filters.chunks import expand_chunks
from agui_middleware.filters.contract import Context, Filter
from agui_middleware.filters.declared import EVERYTHING, handles
from agui_middleware.filters.functions import filter_factory
from agui_middleware.filters.needs_input import needs_input
from agui_middleware.protocol.budget import Budget, Index
from agui_middleware.protocol.event import UNSET, Event, JsonObject, as_id
from agui_middleware.protocol.event_types import EVENT_KINDS
from agui_middleware.protocol.messages import calls_of, edit_elements, edit_messages, edit_object, messages_of


@filter_factory
def allow_tools(names: Collection[str]) -> Filter:
    """A filter that shows calls of these tools, and of no other.

    A call that an earlier response opened is shown once a snapshot or the input echo has said its name.
    """
    return _filter(_names(names).__contains__, unknown=False)


@filter_factory
def deny_tools(names: Collection[str]) -> Filter:
    """A filter that shows no calls of these tools.

    A result for a call that an earlier response opened, or that comes before its call, is shown, unless a snapshot or the
    input echo has said its name.
    """
    denied = _names(names)
    return _filter(lambda name: name not in denied, unknown=True)


@needs_input
@handles(EVERYTHING)
async def server_tools_private(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Show calls of the tools that the client declared in the `tools` of its request, and of no other: what a server calls
    for itself stays with it, also where a subagent calls.

    RAW events and `rawEvent` go too, since they repeat calls as the agent's framework has them; the former is reported as
    lost. Where `Context.input` is `None` no call is shown at all, and the first that is not is reported.

    The client says what it declares: who declares a tool by the name of a server's sees its calls. Against clients that are
    not trusted there is `allow_tools`.
    """
    declared, calls = _posted(context.input)
    shown = _ClientCalls(declared or frozenset(), context, is_known=declared is not None)
    shown.read(calls)
    async with aclosing(_shown(events, context, shown)) as left:
        async for event in left:
            yield event


def _posted(input: JsonObject | None) -> tuple[frozenset[str] | None, list[JsonObject]]:
    """The names of the tools that a client declares, `None` where its input is not known, and the calls that it knows."""
    if input is None:
        return None, []
    tools = [tool.get("name") for tool in input.get_list("tools") or () if isinstance(tool, JsonObject)]
    calls = [call for message in input.get_list("messages") or () for call in calls_of(message)]
    return frozenset(name for name in tools if isinstance(name, str)), calls


def _names(names: Collection[str]) -> frozenset[str]:
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError("names is a list of names of tools")
    return frozenset(names)


def _filter(shows: Callable[[Any], bool], *, unknown: bool) -> Filter:
    @handles(EVERYTHING)
    async def show_tools(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
        async with aclosing(_shown(events, context, _Calls(shows, unknown, context.budget))) as left:
            async for event in left:
                yield event

    return show_tools


async def _shown(events: AsyncIterator[Event], context: Context, calls: "_Calls") -> AsyncGenerator[Event, None]:
    # Explicit events close chunks. Without some of them, what is left of the chunks would fit into something else.
    async with aclosing(expand_chunks(events, context)) as expanded:
        async for event in expanded:
            shown = calls.show(event)
            if shown is not None:
                yield shown


class _Calls:
    """Which calls of a response are shown."""

    __slots__ = ("_answers", "_shown", "_shows", "_unknown")

    def __init__(self, shows: Callable[[Any], bool], unknown: bool, budget: Budget) -> None:
        self._shows = shows
        self._unknown = unknown  # whether a call is shown whose name nobody has said
        self._shown: Index[str | None, bool] = Index(budget)  # by id; once it is not shown, a call never is
        self._answers: Index[str | None, Any] = Index(budget)  # the messages of results that are not shown

    def show(self, event: Event) -> Event | None:
        """The event with the calls that are shown; `None`: it is about one that is not."""
        head = event.head
        match head.type:
            case "TOOL_CALL_START" | "TOOL_CALL_CHUNK":
                return event if self._learn(head.toolCallId, event.get("toolCallName")) else None
            case "TOOL_CALL_ARGS" | "TOOL_CALL_END":
                return event if self._is_shown(head.toolCallId) else None
            case "TOOL_CALL_RESULT":
                return event if self._shows_answer(head.toolCallId, head.messageId) else None
            case "REASONING_ENCRYPTED_VALUE":
                return event if self._shows_value(event) else None
            case "MESSAGES_SNAPSHOT" | "RUN_STARTED":
                self.read(call for message in messages_of(event) or () for call in calls_of(message))
                return edit_messages(event, self._edit)
            case "RUN_FINISHED":
                return edit_object(event, "outcome", self._edit_outcome)
        about_a_call = head.toolCallId is not UNSET and head.type not in EVENT_KINDS  # of a type from after 1.1
        return event if not about_a_call or self._is_shown(head.toolCallId) else None

    def read(self, calls: Iterable[JsonObject]) -> None:
        """Learn the names of calls that messages carry."""
        for call in calls:
            function = call.get_object("function")
            if function is not None:
                self._learn(call.get("id"), function.get("name"))

    def _learn(self, id: Any, name: Any) -> bool:
        shown = self._shown.get(as_id(id), True) and isinstance(name, str) and self._shows(name)
        self._shown[as_id(id)] = shown
        return shown

    def _is_shown(self, id: Any) -> bool:
        return self._shown.get(as_id(id), self._unknown)

    def _shows_answer(self, call: Any, message: Any) -> bool:
        shown = self._is_shown(call)
        (self._answers.discard if shown else self._answers.add)(as_id(message))
        return shown

    def _shows_value(self, event: Event) -> bool:
        id = event.head.entityId
        return self._is_shown(id) if event.get("subtype") == "tool-call" else as_id(id) not in self._answers

    def _edit(self, message: JsonObject) -> JsonObject | None:
        if message.get("role") == "tool":
            return message if self._shows_answer(message.get("toolCallId"), message.get("id")) else None
        edited = edit_elements(message, "toolCalls", lambda call: call if self._is_shown(call.get("id")) else None)
        if edited is message or edited.get("toolCalls"):
            return edited
        return edited.without("toolCalls") if edited.get("content") else None

    def _edit_outcome(self, outcome: JsonObject) -> JsonObject:
        pending = outcome.get("pendingToolCallIds")
        if not isinstance(pending, list) or all(map(self._is_shown, pending)):
            return outcome
        return outcome.replace(pendingToolCallIds=[id for id in pending if self._is_shown(id)])


class _ClientCalls(_Calls):
    """Which calls are shown to a client that declared the tools of some names."""

    __slots__ = ("_context", "_is_known")

    def __init__(self, declared: frozenset[str], context: Context, *, is_known: bool) -> None:
        super().__init__(declared.__contains__, False, context.budget)
        self._context = context
        self._is_known = is_known  # whether the posted input is

    def show(self, event: Event) -> Event | None:
        if event.head.type == "RAW":
            self._context.lost("RAW events", "they repeat the calls of the server's own tools")
            return None
        event = event.without("rawEvent") if event.may_contain(b"rawEvent") else event
        shown = super().show(event)
        if shown is not event and not self._is_known:
            self._context.lost("tool calls", "the posted input is not known, and so no tool is the client's")
        return shown
