"""What subagents have opened earlier."""

import json

from agui_middleware.protocol.event import Event
from agui_middleware.protocol.owned import Owned
from agui_middleware.protocol.ownership import Ownership
from tests.notation import stream as parsed


def stream(text: str) -> list[Event]:
    return [Event.parse(json.dumps(event).encode()) for event in parsed(text)]


def test_what_the_agent_opens_later_is_no_subagents_any_more() -> None:
    merged = Owned({("message", "a"): True, ("message", "b"): True}).merged(Owned({("message", "a"): False}))
    assert ("message", "a") not in merged
    assert ("message", "b") in merged
    assert merged.within(1000) == [("message", "b")]


def test_the_oldest_go_first() -> None:
    owned = Owned({("message", "old"): True}).merged(Owned({("message", "new"): True}))
    assert owned.within(20) == [("message", "new")]
    assert owned.within(0) == []


def test_each_kind_of_entity_is_handed_on() -> None:
    """And what the agent opens itself is the agent's, of every kind."""
    owners = Ownership()
    for event in stream("RS r; TS m @s; KS c m @s; SPAN+ x @s; GS x @s; AS a @s; TS p; KS q p; RF r"):
        owners.take(event)
    earlier = owners.owned()
    assert {("message", "m"), ("call", "c"), ("reasoning", "x"), ("activity", "a")} <= set(earlier.within(1000))
    assert ("message", "p") not in earlier
    later = Ownership(earlier=earlier)
    assert later.owned().within(1000) == []
    (content,) = stream("GC x hi")
    assert later.take(content)
    for event in stream("RS r2; GS x; AS a"):
        assert not later.take(event)
    assert not later.take(content)
    assert set(earlier.merged(later.owned()).within(1000)) == {("message", "m"), ("call", "c")} | {
        pair for pair in earlier.within(1000) if pair[1] not in ("x", "a")
    }
