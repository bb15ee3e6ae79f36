"""Which events the followers of a response are given, one event a chunk."""

from typing import Any

import pytest

from agui_middleware import Context, Event
from agui_middleware.config.planning import make_plan
from agui_middleware.filters.contract import Filter
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.history.capture import Capture
from agui_middleware.protocol.posted import Posted
from agui_middleware.stream.sse import Fields
from agui_middleware.stream.witnessed import Witness, WitnessedRewriter

PROGRESS = b'data: {"type":"CUSTOM","name":"progress","value":1}\n\n'
ASKS = b'data: {"type":"CUSTOM","name":"on_interrupt","value":1}\n\n'
ESCAPED = b'data: {"type":"CUSTOM","name":"on\\u005finterrupt","value":1}\n\n'
FINISHED = b'data: {"type":"RUN_FINISHED","threadId":"t","runId":"r"}\n\n'


def renamed(name: str) -> Filter:
    @per_event("CUSTOM")
    def rename(_: Context) -> Step:
        return lambda event: event.replace(name=name)

    return rename


@per_event("CUSTOM")
def broken(_: Context) -> Step:
    return lambda event: event.replace(value=object())


@per_event("CUSTOM")
def numbered(_: Context) -> Step:
    return lambda event: Event.parse(event.raw, Fields(id=b"7"))


def followed(frame: bytes, *filters: Filter) -> tuple[bytes, list[Any], list[Any]]:
    """What leaves for an event, and the names, or types, that each follower is given."""
    posted = Posted.read(b'{"threadId":"t","runId":"r","messages":[]}')
    assert posted is not None
    sent, got = list[Event](), list[Event]()
    witness = Witness(Capture(posted, posted, None, None, 1024), lambda event: event, sent.append, got.append)
    rewriter = WitnessedRewriter(
        make_plan(None, filters=filters), Context(None), 1024, witness, sniff=False, verify=False, log=None
    )
    rewriter.feed(b'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n')
    written = rewriter.feed(frame)
    names = [[event.get("name", event.type) for event in events] for events in (sent, got)]
    rewriter.close()
    return written, names[0], names[1]


@pytest.mark.parametrize("frame", [ASKS, ESCAPED, FINISHED])
def test_the_followers_are_given_announcements_and_ends_of_runs(frame: bytes) -> None:
    name = "RUN_FINISHED" if frame is FINISHED else "on_interrupt"
    assert followed(frame) == (frame, [name], [name])


def test_other_custom_events_are_nothing_to_them() -> None:
    assert followed(PROGRESS) == (PROGRESS, [], [])
    assert followed(PROGRESS, renamed("done")) == (PROGRESS.replace(b"progress", b"done"), [], [])


def test_an_event_that_a_filter_gives_sse_fields_leaves_with_them() -> None:
    assert followed(PROGRESS, numbered) == (b"id: 7\n" + PROGRESS, [], [])


def test_what_a_filter_makes_an_announcement_or_no_longer_one_is_given_to_one_of_them() -> None:
    assert followed(PROGRESS, renamed("on_interrupt")) == (ASKS, [], ["on_interrupt"])
    assert followed(ASKS, renamed("progress")) == (PROGRESS, ["on_interrupt"], [])


def test_a_value_that_is_no_json_ends_the_run_there() -> None:
    written, sent, got = followed(PROGRESS, broken)
    assert b"AGUI_FILTER_ERROR" in written
    assert (sent, got) == ([], ["RUN_ERROR"])
