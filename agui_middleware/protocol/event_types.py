"""The event types of AG-UI, and the table from which everything that depends on a type is derived.

A type is one line in `EventType` and one row in `EVENT_KINDS`. A type without a row, and a row without one of its columns,
fail at import. Ask the table with `types_that`, never by listing the types that are left over.

A type that is not in the table is unknown, since AG-UI may grow. An event of an unknown type passes through unchanged,
closes no chunk lane, belongs to the subagent that its tag names or that owns an entity which its ids name, and is dropped
for releases before 1.0.0, which reject it (`agui_middleware.downgrades.guard`).
"""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

from agui_middleware.protocol.event_kind import (
    ACTIVITY,
    CALL,
    CONVERSATION,
    ENCRYPTED_VALUE,
    PAYLOAD,
    REASONING,
    REASONING_SPAN,
    RUN,
    STATE,
    STEP,
    SUBAGENT,
    TEXT,
    THINKING,
    THINKING_SPAN,
    Action,
    Carries,
    Closes,
    Entity,
    EventKind,
    Owner,
)
from agui_middleware.protocol.releases import RELEASES


class EventType(StrEnum):
    """The 31 event types of AG-UI 1.0 and 1.1, and the five THINKING_* of the releases before 1.0."""

    TEXT_MESSAGE_START = "TEXT_MESSAGE_START"
    TEXT_MESSAGE_CONTENT = "TEXT_MESSAGE_CONTENT"
    TEXT_MESSAGE_END = "TEXT_MESSAGE_END"
    TEXT_MESSAGE_CHUNK = "TEXT_MESSAGE_CHUNK"
    TOOL_CALL_START = "TOOL_CALL_START"
    TOOL_CALL_ARGS = "TOOL_CALL_ARGS"
    TOOL_CALL_END = "TOOL_CALL_END"
    TOOL_CALL_CHUNK = "TOOL_CALL_CHUNK"
    TOOL_CALL_RESULT = "TOOL_CALL_RESULT"
    STATE_SNAPSHOT = "STATE_SNAPSHOT"
    STATE_DELTA = "STATE_DELTA"
    MESSAGES_SNAPSHOT = "MESSAGES_SNAPSHOT"
    ACTIVITY_SNAPSHOT = "ACTIVITY_SNAPSHOT"
    ACTIVITY_DELTA = "ACTIVITY_DELTA"
    RAW = "RAW"
    CUSTOM = "CUSTOM"
    RUN_STARTED = "RUN_STARTED"
    RUN_FINISHED = "RUN_FINISHED"
    RUN_ERROR = "RUN_ERROR"
    STEP_STARTED = "STEP_STARTED"
    STEP_FINISHED = "STEP_FINISHED"
    REASONING_START = "REASONING_START"
    REASONING_END = "REASONING_END"
    REASONING_MESSAGE_START = "REASONING_MESSAGE_START"
    REASONING_MESSAGE_CONTENT = "REASONING_MESSAGE_CONTENT"
    REASONING_MESSAGE_END = "REASONING_MESSAGE_END"
    REASONING_MESSAGE_CHUNK = "REASONING_MESSAGE_CHUNK"
    REASONING_ENCRYPTED_VALUE = "REASONING_ENCRYPTED_VALUE"
    SUBAGENT_STARTED = "SUBAGENT_STARTED"
    SUBAGENT_FINISHED = "SUBAGENT_FINISHED"
    SUBAGENT_ERROR = "SUBAGENT_ERROR"
    THINKING_START = "THINKING_START"
    THINKING_END = "THINKING_END"
    THINKING_TEXT_MESSAGE_START = "THINKING_TEXT_MESSAGE_START"
    THINKING_TEXT_MESSAGE_CONTENT = "THINKING_TEXT_MESSAGE_CONTENT"
    THINKING_TEXT_MESSAGE_END = "THINKING_TEXT_MESSAGE_END"


# Short names keep each row on one line.
_T, _A, _O, _L, _C, _Row = EventType, Action, Owner, Closes, Carries, EventKind

# fmt: off
EVENT_KINDS: Final[Mapping[str, EventKind]] = {
    # type                                 since    about            action          owner        closes       carries
    _T.TEXT_MESSAGE_START:            _Row("0.0.27", TEXT,            _A.OPENS,       _O.CLAIMS,   _L.TAG,      _C.NOTHING),
    _T.TEXT_MESSAGE_CONTENT:          _Row("0.0.27", TEXT,            _A.CONTINUES,   _O.ENTITY,   _L.TAG,      _C.NOTHING),
    _T.TEXT_MESSAGE_END:              _Row("0.0.27", TEXT,            _A.CLOSES,      _O.ENTITY,   _L.TAG,      _C.NOTHING),
    _T.TEXT_MESSAGE_CHUNK:            _Row("0.0.28", TEXT,            _A.ABBREVIATES, _O.CLAIMS,   _L.CHUNK,    _C.NOTHING),
    _T.TOOL_CALL_START:               _Row("0.0.27", CALL,            _A.OPENS,       _O.CLAIMS,   _L.TAG,      _C.NOTHING),
    _T.TOOL_CALL_ARGS:                _Row("0.0.27", CALL,            _A.CONTINUES,   _O.ENTITY,   _L.TAG,      _C.NOTHING),
    _T.TOOL_CALL_END:                 _Row("0.0.27", CALL,            _A.CLOSES,      _O.ENTITY,   _L.TAG,      _C.NOTHING),
    _T.TOOL_CALL_CHUNK:               _Row("0.0.28", CALL,            _A.ABBREVIATES, _O.CLAIMS,   _L.CHUNK,    _C.NOTHING),
    _T.TOOL_CALL_RESULT:              _Row("0.0.30", CALL,            _A.ANSWERS,     _O.CALL,     _L.TAG,      _C.NOTHING),
    _T.STATE_SNAPSHOT:                _Row("0.0.27", STATE,           _A.REPLACES,    _O.RUN,      _L.TAG,      _C.NOTHING),
    _T.STATE_DELTA:                   _Row("0.0.27", STATE,           _A.PATCHES,     _O.RUN,      _L.TAG,      _C.NOTHING),
    _T.MESSAGES_SNAPSHOT:             _Row("0.0.27", CONVERSATION,    _A.REPLACES,    _O.TAG,      _L.ALL,      _C.MESSAGES),
    _T.ACTIVITY_SNAPSHOT:             _Row("0.0.41", ACTIVITY,        _A.REPLACES,    _O.CLAIMS,   _L.NONE,     _C.NOTHING),
    _T.ACTIVITY_DELTA:                _Row("0.0.41", ACTIVITY,        _A.PATCHES,     _O.ENTITY,   _L.NONE,     _C.NOTHING),
    _T.RAW:                           _Row("0.0.27", PAYLOAD,         _A.REPORTS,     _O.TAG,      _L.NONE,     _C.NOTHING),
    _T.CUSTOM:                        _Row("0.0.27", PAYLOAD,         _A.REPORTS,     _O.TAG,      _L.TAG,      _C.NOTHING),
    _T.RUN_STARTED:                   _Row("0.0.27", RUN,             _A.OPENS,       _O.RUN,      _L.ALL,      _C.ECHO),
    _T.RUN_FINISHED:                  _Row("0.0.27", RUN,             _A.CLOSES,      _O.RUN,      _L.ALL,      _C.OUTCOME),
    _T.RUN_ERROR:                     _Row("0.0.27", RUN,             _A.CLOSES,      _O.RUN,      _L.ALL,      _C.NOTHING),
    _T.STEP_STARTED:                  _Row("0.0.27", STEP,            _A.OPENS,       _O.STEP,     _L.TAG,      _C.NOTHING),
    _T.STEP_FINISHED:                 _Row("0.0.27", STEP,            _A.CLOSES,      _O.STEP,     _L.TAG,      _C.NOTHING),
    _T.REASONING_START:               _Row("0.0.45", REASONING_SPAN,  _A.OPENS,       _O.CLAIMS,   _L.TAG,      _C.NOTHING),
    _T.REASONING_END:                 _Row("0.0.45", REASONING_SPAN,  _A.CLOSES,      _O.ENTITY,   _L.TAG,      _C.NOTHING),
    _T.REASONING_MESSAGE_START:       _Row("0.0.45", REASONING,       _A.OPENS,       _O.CLAIMS,   _L.TAG,      _C.NOTHING),
    _T.REASONING_MESSAGE_CONTENT:     _Row("0.0.45", REASONING,       _A.CONTINUES,   _O.ENTITY,   _L.TAG,      _C.NOTHING),
    _T.REASONING_MESSAGE_END:         _Row("0.0.45", REASONING,       _A.CLOSES,      _O.ENTITY,   _L.TAG,      _C.NOTHING),
    _T.REASONING_MESSAGE_CHUNK:       _Row("0.0.45", REASONING,       _A.ABBREVIATES, _O.CLAIMS,   _L.CHUNK,    _C.NOTHING),
    _T.REASONING_ENCRYPTED_VALUE:     _Row("0.0.45", ENCRYPTED_VALUE, _A.REPORTS,     _O.HOLDER,   _L.NONE,     _C.NOTHING),
    _T.SUBAGENT_STARTED:              _Row("0.0.59", SUBAGENT,        _A.OPENS,       _O.SUBAGENT, _L.NONE,     _C.NOTHING),
    _T.SUBAGENT_FINISHED:             _Row("0.0.59", SUBAGENT,        _A.CLOSES,      _O.SUBAGENT, _L.SUBAGENT, _C.NOTHING),
    _T.SUBAGENT_ERROR:                _Row("0.0.59", SUBAGENT,        _A.CLOSES,      _O.SUBAGENT, _L.SUBAGENT, _C.NOTHING),
    _T.THINKING_START:                _Row("0.0.37", THINKING_SPAN,   _A.OPENS,       _O.CLAIMS,   _L.TAG,      _C.NOTHING),
    _T.THINKING_END:                  _Row("0.0.37", THINKING_SPAN,   _A.CLOSES,      _O.ENTITY,   _L.TAG,      _C.NOTHING),
    _T.THINKING_TEXT_MESSAGE_START:   _Row("0.0.37", THINKING,        _A.OPENS,       _O.ENTITY,   _L.TAG,      _C.NOTHING),
    _T.THINKING_TEXT_MESSAGE_CONTENT: _Row("0.0.37", THINKING,        _A.CONTINUES,   _O.ENTITY,   _L.TAG,      _C.NOTHING),
    _T.THINKING_TEXT_MESSAGE_END:     _Row("0.0.37", THINKING,        _A.CLOSES,      _O.ENTITY,   _L.TAG,      _C.NOTHING),
}
# fmt: on


def types_that(holds: Callable[[EventKind], bool]) -> frozenset[str]:
    """The known types of whose row `holds` is true."""
    return frozenset(str(type) for type, kind in EVENT_KINDS.items() if holds(kind))


def types_about(*entities: Entity) -> frozenset[str]:
    """The known types that are about one of `entities`."""
    return types_that(lambda kind: kind.about in entities)


def all_but(types: Iterable[str]) -> frozenset[str]:
    """All known types but `types`: for `events.skipped` of a filter that waits for one of them."""
    return frozenset(map(str, EventType)) - frozenset(types)


def type_of(entity: Entity, action: Action) -> str:
    """The one type that does `action` to `entity`. Raises `LookupError` where there are none or several."""
    found = sorted(types_that(lambda kind: (kind.about, kind.action) == (entity, action)))
    if len(found) != 1:
        raise LookupError(f"{action} of a {entity.name}: one event type, not {', '.join(found) or 'none'}")
    return found[0]


def require_every_type(table: Mapping[str, Any], what: str) -> None:
    """Check a table of one's own that is keyed by type. Raises `LookupError` with the types that it lacks."""
    missing = [type.value for type in EventType if type not in table]
    if missing:
        raise LookupError(f"{what}: no row for {', '.join(missing)}")


require_every_type(EVENT_KINDS, "agui_middleware.protocol.event_types.EVENT_KINDS")

TOKENS: Final = types_that(lambda kind: kind.action is Action.CONTINUES)
"""The types that append text: what a stream consists of nearly altogether."""

KNOWN_SINCE: Final = {str(type): kind.since for type, kind in EVENT_KINDS.items() if kind.since != str(RELEASES[0])}
"""By event type, the first release that reads it; without the types that every release reads."""
