"""A tool's result as the run's state, for user interfaces that render the state.

    Route(path="/agent", filters=[promote_results(["plan"], path="/plan")])

and in TOML, `filters = [{ use = "agui_middleware.filters.promote:promote_results", tools = ["plan"], path = "/plan" }]`.
"""

import re
from collections.abc import AsyncIterator, Collection, Iterator
from typing import Any, Final

from msgspec import Raw

from agui_middleware.filters.contract import Context, Filter
from agui_middleware.filters.declared import EVERYTHING, handles
from agui_middleware.filters.functions import filter_factory
from agui_middleware.protocol.budget import Index
from agui_middleware.protocol.event import UNSET, Event, as_id
from agui_middleware.protocol.json_object import MalformedEvent, decode
from agui_middleware.protocol.messages import calls_of, messages_of
from agui_middleware.protocol.ownership import Ownership

_POINTER: Final = re.compile(r"(/([^/~]|~[01])*)+")  # RFC 6901, but for the whole document


@filter_factory
def promote_results(tools: Collection[str], *, path: str | None = None, subagents: bool = False) -> Filter:
    """A filter that puts the results of these tools into the state, behind the result.

    - `path`: a JSON pointer (RFC 6901) to where the result goes, with a STATE_DELTA that adds or replaces it; what is above
      it must be there, or clients ignore the patch. `None`: the result is the whole state, with a STATE_SNAPSHOT.
    - `subagents`: also the results of calls that a subagent made. The state is shared: a route that hides subagents would
      show these results in it.

    A result that is JSON becomes its value, any other text a string, and content parts become a list. Raises `ValueError`
    for a `path` that is none.
    """
    if isinstance(tools, str) or not all(isinstance(tool, str) for tool in tools):
        raise TypeError("tools is a list of names of tools")
    if not isinstance(subagents, bool):
        raise TypeError("subagents is true or false")
    if path is not None and _POINTER.fullmatch(path) is None:
        raise ValueError(f"path is a JSON pointer, such as '/plan', not {path!r}")
    promoted = frozenset(tools)

    @handles(EVERYTHING)
    async def promote(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
        owners = Ownership(budget=context.budget)
        calls: Index[str | None, bool] = Index(context.budget)  # whether they are of these tools
        async for event in events:
            owned = owners.take(event)
            calls.update((id, isinstance(name, str) and name in promoted) for id, name in _called(event))
            yield event
            promotes = event.type == "TOOL_CALL_RESULT" and calls.get(as_id(event.head.toolCallId), False)
            if promotes and (subagents or not owned):
                yield _state(event, path)

    return promote


def _called(event: Event) -> Iterator[tuple[str | None, Any]]:
    """The calls that an event names, with the names of their tools."""
    if event.type in ("TOOL_CALL_START", "TOOL_CALL_CHUNK") and "toolCallName" in event:
        yield as_id(event.head.toolCallId), event["toolCallName"]
    if event.type in ("MESSAGES_SNAPSHOT", "RUN_STARTED"):
        for message in messages_of(event) or ():
            for call in calls_of(message):
                function = call.get_object("function")
                if function is not None:
                    yield as_id(call.get("id")), function.get("name")


def _state(result: Event, path: str | None) -> Event:
    # With the tag of the result, it closes no chunks but those that the result has closed.
    tag = {} if result.head.subagentRunId is UNSET else {"subagentRunId": result.head.subagentRunId}
    value = _value(result.get("content"))
    if path is None:
        return Event(type="STATE_SNAPSHOT", snapshot=value, **tag)
    return Event(type="STATE_DELTA", delta=[{"op": "add", "path": path, "value": value}], **tag)


def _value(content: Any) -> Any:
    """JSON in its own bytes, so that its numbers stay as they are."""
    if not isinstance(content, str):
        return content
    try:
        text = content.encode()
        decode(text, "content")
    except (UnicodeEncodeError, MalformedEvent):
        return content
    return Raw(text)
