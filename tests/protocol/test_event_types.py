"""The table of event types, with an imaginary type in a copy of the package: NOTE, of release 1.2.0."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import agui_middleware
from agui_middleware.protocol.chunk_lanes import ID_OF, PARENT, Lanes
from agui_middleware.protocol.event import Event, require_in_head
from agui_middleware.protocol.event_kind import RUN, Action
from agui_middleware.protocol.event_types import EVENT_KINDS, EventType, all_but, require_every_type, type_of
from agui_middleware.protocol.releases import RELEASES, ClientVersion

_TABLE = Path("agui_middleware/protocol/event_types.py")

# What the package answers about NOTE, each answer by the part of the package that derives it.
_ANSWERS = """
import json
from agui_middleware import rewrite
from agui_middleware.checking.misread_chunks import TOKENS
from agui_middleware.downgrades.client_messages import MAKES_MESSAGES
from agui_middleware.protocol.event_types import KNOWN_SINCE
from agui_middleware.downgrades.thinking_events import without_thinking_events
from agui_middleware.filters.chunks import expand_chunks
from agui_middleware.filters.reasoning import without_reasoning
from agui_middleware.protocol.chunk_lanes import Lanes
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.messages import messages_of

def sent(note, **options):
    events = [{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}, {"type": "NOTE", **note}]
    return rewrite("".join(f"data: {json.dumps(event)}\\n\\n" for event in events).encode(), **options)

lanes = Lanes()
for tag in ({}, {"subagentRunId": "s"}):
    lanes.take(Event(type="TEXT_MESSAGE_CHUNK", messageId=f"m{tag}", **tag))
tagged = {"messages": [{"id": "m", "subagentRunId": "s"}]}
print(json.dumps({
    "read since": KNOWN_SINCE.get("NOTE"),
    "0.0.58 is sent it": b"NOTE" in sent({}, client="0.0.58"),
    "closes the lanes of": [lane.owner for lane in lanes.close(Event(type="NOTE"))],
    "is looked at by the expansion of chunks": "NOTE" in expand_chunks.handled,
    "is hidden with a subagent's tag": b"NOTE" not in sent({"subagentRunId": "s"}, visibility="hidden"),
    "is hidden with a subagent's messages": b'"id": "m"' not in sent(tagged, visibility="hidden"),
    "loses the tags of its messages": b"subagentRunId" not in sent(tagged, visibility="inline"),
    "is a token": "NOTE" in TOKENS,
    "is reasoning": b"NOTE" not in sent({}, filters=[without_reasoning]),
    "is thinking": "NOTE" in without_thinking_events.handled,
    "makes messages": "NOTE" in MAKES_MESSAGES,
}))
"""

_NOTES: dict[str, dict[str, Any]] = {
    '"1.2.0", PAYLOAD, Action.REPORTS, Owner.TAG, Closes.NONE, Carries.NOTHING': {
        "read since": "1.2.0",
        "0.0.58 is sent it": False,
        "closes the lanes of": [],
        "is looked at by the expansion of chunks": False,
        "is hidden with a subagent's tag": True,
        "is hidden with a subagent's messages": False,
        "loses the tags of its messages": False,
        "is a token": False,
        "is reasoning": False,
        "is thinking": False,
        "makes messages": False,
    },
    '"0.0.27", Entity("note", None, role="reasoning"), Action.CONTINUES, Owner.RUN, Closes.ALL, Carries.MESSAGES': {
        "read since": None,
        "0.0.58 is sent it": True,
        "closes the lanes of": [None, "s"],
        "is looked at by the expansion of chunks": True,
        "is hidden with a subagent's tag": False,
        "is hidden with a subagent's messages": True,
        "loses the tags of its messages": True,
        "is a token": True,
        "is reasoning": False,
        "is thinking": False,
        "makes messages": True,
    },
    '"0.0.27", THINKING_SPAN, Action.REPORTS, Owner.SUBAGENT, Closes.TAG, Carries.NOTHING': {
        "read since": None,
        "0.0.58 is sent it": False,
        "closes the lanes of": [None],
        "is looked at by the expansion of chunks": True,
        "is hidden with a subagent's tag": True,
        "is hidden with a subagent's messages": True,
        "loses the tags of its messages": True,
        "is a token": False,
        "is reasoning": True,
        "is thinking": True,
        "makes messages": False,
    },
}


def _with_note(folder: Path, row: str | None, *, named: bool = True) -> None:
    """Copy the package to `folder`, with NOTE in the enumeration, with `row` in the table, and in those of the filters."""
    package = Path(agui_middleware.__file__).parent
    shutil.copytree(package, folder / "agui_middleware", ignore=shutil.ignore_patterns("__pycache__"))
    table = folder / _TABLE
    source = table.read_text()
    if named:
        source = source.replace("\n    TEXT_MESSAGE_START", '\n    NOTE = "NOTE"\n    TEXT_MESSAGE_START', 1)
    if row is not None:
        source = re.sub(r"\n    _T.TEXT_MESSAGE_START", f"\n    _T.NOTE: EventKind({row}),\\g<0>", source, count=1)
    assert source.count("NOTE") == 2 * named + (row is not None)
    table.write_text(source)
    repair = folder / "agui_middleware/filters/repair.py"
    repair.write_text(repair.read_text().replace("CUSTOM STEP_STARTED", "NOTE CUSTOM STEP_STARTED"))
    hiding = folder / "agui_middleware/filters/hiding.py"
    hiding.write_text(hiding.read_text().replace('"CUSTOM": _OPAQUE', '"CUSTOM": _OPAQUE, "NOTE": _OPAQUE'))


def _run(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, env=environment)


@pytest.mark.parametrize("row", _NOTES, ids=["a payload", "a token of the run", "thinking of a subagent"])
def test_each_answer_about_a_new_type_follows_from_its_row(tmp_path: Path, row: str) -> None:
    _with_note(tmp_path, row)
    result = _run(tmp_path, _ANSWERS)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == _NOTES[row]


def test_no_answer_is_the_same_for_every_row() -> None:
    """So none is a default that nobody chose."""
    for answer in next(iter(_NOTES.values())):
        assert len({json.dumps(answers[answer]) for answers in _NOTES.values()}) > 1, answer


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (None, "EVENT_KINDS: no row for NOTE"),
        (
            '"1.2.0", PAYLOAD, Action.REPORTS, Owner.TAG',
            "missing 2 required positional arguments: 'closes' and 'carries'",
        ),
        (
            '"1.2.0", Entity("note", "noteId"), Action.REPORTS, Owner.TAG, Closes.NONE, Carries.NOTHING',
            "Head: no member noteId, which names what an event is about",
        ),
        (
            '"1.2.0", Entity("note", "entityId"), Action.OPENS, Owner.TAG, Closes.NONE, Carries.NOTHING',
            "Action.CLOSES of a note: one event type, not none",
        ),
        (
            '"1.2.0", TEXT, Action.CLOSES, Owner.TAG, Closes.NONE, Carries.NOTHING',
            "Action.CLOSES of a text message: one event type, not NOTE, TEXT_MESSAGE_END",
        ),
    ],
    ids=["no row", "no column", "an id that no filter sees", "never closed", "closed twice"],
)
def test_a_type_that_is_half_filled_in_does_not_import(tmp_path: Path, row: str | None, message: str) -> None:
    _with_note(tmp_path, row)
    result = _run(tmp_path, "import agui_middleware, agui_middleware.downgrades")
    assert result.returncode == 1
    assert message in result.stderr
    assert "NOTE" in result.stderr or "note" in result.stderr  # which row it is


def test_a_table_of_ones_own_has_a_row_for_every_type() -> None:
    table: dict[str, Any] = dict.fromkeys(EventType)
    require_every_type(table, "mine")
    del table["RAW"], table["CUSTOM"]
    with pytest.raises(LookupError, match=r"^mine: no row for RAW, CUSTOM$"):
        require_every_type(table, "mine")


def test_a_type_that_cannot_be_named_is_refused() -> None:
    with pytest.raises(LookupError, match=r"Action.CLOSES of a run: one event type, not RUN_ERROR, RUN_FINISHED"):
        type_of(RUN, Action.CLOSES)


def test_an_id_that_no_filter_sees_is_refused() -> None:
    with pytest.raises(LookupError, match="Head: no member noteId, "):
        require_in_head(["messageId", None, "noteId"])


def test_all_but_some_types() -> None:
    assert all_but({"RAW", "LATER"}) == set(EventType) - {"RAW"}


@pytest.mark.parametrize("type", EventType)
def test_a_type_is_known_since_a_release(type: EventType) -> None:
    assert ClientVersion.parse(EVENT_KINDS[type].since) in RELEASES


# What 1.0.0 does at each type, from its chunk expansion: which lanes are left of the parent's and two subagents'.
_LEFT = {
    **dict.fromkeys(
        ["RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE", "SUBAGENT_STARTED"], "-su"
    ),
    **dict.fromkeys(["RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"], ""),
}


@pytest.mark.parametrize("type", sorted(set(EventType) - set(ID_OF)))
def test_what_closes_a_chunk_lane(type: str) -> None:
    lanes = Lanes()
    for owner in (PARENT, "s", "u"):
        tag = {} if owner is PARENT else {"subagentRunId": owner}
        lanes.take(Event(type="TEXT_MESSAGE_CHUNK", messageId=f"m{owner}", delta="a", **tag))
    closed = [lane.owner for lane in lanes.close(Event(type=type, subagentRunId="s"))]
    left = "".join(owner or "-" for owner in lanes.open)
    assert left == _LEFT.get(type, "-u")
    assert len(closed) + len(left) == 3


@pytest.mark.parametrize("type", ["SUBAGENT_FINISHED", "SUBAGENT_ERROR"])
def test_the_end_of_no_subagent_leaves_the_parents_lane(type: str) -> None:
    lanes = Lanes()
    lanes.take(Event(type="TEXT_MESSAGE_CHUNK", messageId="m", delta="a"))
    assert lanes.close(Event(type=type)) == []
