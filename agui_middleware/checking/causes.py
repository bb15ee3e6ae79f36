"""Usual causes of findings: the faults of servers, how they are recognised, and the remedies."""

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from agui_middleware.checking.recorded import Finding, Item, is_ndjson
from agui_middleware.filters.producer_faults import NULL_MEMBERS, REASONING_ROLE, REPAIR
from agui_middleware.protocol.event import Event, JsonObject, as_id
from agui_middleware.protocol.messages import messages_of
from agui_middleware.protocol.releases import ClientVersion


class Cause(NamedTuple):
    """A cause found in a recording."""

    name: str
    text: str
    """The fault of the server, in one sentence."""
    cure: str
    """The remedy: a change of the server, or a filter or setting of the middleware."""


class Evidence(NamedTuple):
    """The data by which causes are recognised."""

    recording: bytes
    items: Sequence[Item]
    findings: Sequence[Finding]
    client: ClientVersion | None

    @property
    def events(self) -> list[Event]:
        """The events, in order."""
        return [item.event for item in self.items if item.event is not None]


def causes(evidence: Evidence) -> list[Cause]:
    """The causes that apply to a recording. Without findings, only causes of silent losses."""
    rows = _CAUSES if evidence.findings else _SILENT
    return [cause for applies, cause in rows if applies(evidence)]


_BLANK_CR_LINE: Final = re.compile(rb"\r\n?\r")


def _ends_lines_with_cr(evidence: Evidence) -> bool:
    return not is_ndjson(evidence.recording) and _BLANK_CR_LINE.search(evidence.recording) is not None


def _writes_done(evidence: Evidence) -> bool:
    return any(item.data.strip() == b"[DONE]" for item in evidence.items)


def _pings_with_data(evidence: Evidence) -> bool:
    return b"event: ping" in evidence.recording and any(item.event is None for item in evidence.items)


def _leaves_out_the_space(evidence: Evidence) -> bool:
    return any(finding.reason.startswith("reads nothing of a `data:` line") for finding in evidence.findings)


def _writes_null(evidence: Evidence) -> bool:
    return any("` is null; " in finding.reason for finding in evidence.findings)


_SNAKE_CASE: Final = ("thread_id", "run_id", "message_id", "tool_call_id", "step_name", "activity_type")


def _names_in_snake_case(evidence: Evidence) -> bool:
    return any(name in event for event in evidence.events for name in _SNAKE_CASE)


def _gives_reasoning_a_wrong_role(evidence: Evidence) -> bool:
    return any(e.type == "REASONING_MESSAGE_START" and e.get("role") == "assistant" for e in evidence.events)


_DELETES_REASONING_UNTIL: Final = ClientVersion(0, 0, 50)
_REPLACES_REASONING_FROM: Final = ClientVersion(0, 0, 57)
_KEEPS_REASONING_FROM: Final = ClientVersion(0, 0, 45)


def drops_reasoning(events: Sequence[Event], client: ClientVersion | None) -> int | None:
    """The place of the first MESSAGES_SNAPSHOT at which `client` loses reasoning that was streamed before it.

    From 0.0.50 on a release keeps reasoning where the snapshot holds none at all; from 0.0.57 on it takes the snapshot's
    reasoning in place of its own.
    """
    streamed: set[str] = set()
    for place, event in enumerate(events):
        if event.type in ("REASONING_MESSAGE_START", "REASONING_MESSAGE_CHUNK"):
            streamed |= {id for id in (as_id(event.head.messageId),) if id}
        elif event.type == "MESSAGES_SNAPSHOT":
            messages = [message for message in messages_of(event) or () if isinstance(message, JsonObject)]
            kept = {as_id(message.get("id")) for message in messages if message.get("role") == "reasoning"}
            if streamed - kept and _loses(client, bool(kept)):
                return place
    return None


def _loses(client: ClientVersion | None, holds_reasoning: bool) -> bool:
    if client is None or client >= _REPLACES_REASONING_FROM:
        return holds_reasoning
    return _KEEPS_REASONING_FROM <= client < _DELETES_REASONING_UNTIL


def _leaves_reasoning_out(evidence: Evidence) -> bool:
    return drops_reasoning(evidence.events, evidence.client) is not None


_Row = tuple[Callable[[Evidence], bool], Cause]
_SILENT: Final[tuple[_Row, ...]] = (
    (
        _leaves_reasoning_out,
        Cause(
            "dropped-reasoning",
            "a MESSAGES_SNAPSHOT leaves out reasoning that was streamed before it, and the client deletes it there",
            "for releases before 0.0.50 the middleware restates it; or put it into the snapshot",
        ),
    ),
)
_CAUSES: Final[tuple[_Row, ...]] = (
    (
        _ends_lines_with_cr,
        Cause(
            "crlf",
            "the lines end with CR or CRLF, as sse-starlette and many servers outside of Python write them",
            'the middleware writes LF; or have the server write it (sse-starlette: `sep="\\n"`)',
        ),
    ),
    (
        _writes_done,
        Cause(
            "done",
            "the stream ends with [DONE], as the streams of OpenAI's API do",
            "the middleware turns it into a comment; or leave it out: RUN_FINISHED ends an AG-UI stream",
        ),
    ),
    (
        _pings_with_data,
        Cause(
            "pings",
            "the server keeps the connection alive with events that have data, as old releases of sse-starlette do",
            "the middleware turns them into comments; or write comments",
        ),
    ),
    (
        _leaves_out_the_space,
        Cause("space", "the server writes `data:` without a space behind it", "the middleware writes the space"),
    ),
    (
        _writes_null,
        Cause(
            "null-members",
            NULL_MEMBERS,
            f"the filter {REPAIR}; or have the server leave them out (JsonIgnoreCondition.WhenWritingNull,"
            " Include.NON_NULL, exclude_none=True)",
        ),
    ),
    (
        _names_in_snake_case,
        Cause(
            "snake-case",
            "members are named in snake_case, as pydantic models are dumped by default",
            "no filter; dump the models with by_alias=True",
        ),
    ),
    (
        _gives_reasoning_a_wrong_role,
        Cause(
            "reasoning-role",
            REASONING_ROLE,
            f"the filter {REPAIR}; or a newer ag-ui-protocol",
        ),
    ),
    *_SILENT,
)
