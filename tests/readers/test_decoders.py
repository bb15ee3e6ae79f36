"""Every rewritten run before the models of the decoders: accepted, and all texts, calls and results arrive."""

from functools import cache
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pytest

from agui_middleware import rewrite
from agui_middleware.config.named_clients import parse_client
from agui_middleware.config.readers import Reader
from tests.clients.corpus import Corpus
from tests.downgrades.cases import events_of
from tests.readers.decoders import (
    DECODERS,
    Cpp,
    Dart010,
    Dart020,
    DotNet251105,
    Go202602,
    Java010,
    Kotlin025,
    RustCommunity,
)
from tests.readers.decoding import Decoder
from tests.readers.drawn import expected, filled, messy, restated
from tests.strategies import Json, batch, plain

pytestmark = pytest.mark.untraced
each_decoder = pytest.mark.parametrize("decoder", DECODERS, ids=lambda decoder: decoder.__name__)


def uuids(events: list[Json]) -> list[Json]:
    """The same events with UUIDs in place of ids."""

    def replaced(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: replaced(member, key) for key, member in value.items()}
        if isinstance(value, list):
            return [replaced(element, name) for element in value]
        is_id = name in ("id", "threadId", "runId", "messageId", "parentMessageId", "toolCallId", "entityId")
        return str(uuid5(NAMESPACE_URL, value)) if is_id and isinstance(value, str) else value

    return [replaced(event) for event in events]


def fits(decoder: type[Decoder], events: list[Json]) -> list[Json]:
    return uuids(events) if decoder is RustCommunity else events


@cache
def drawn() -> list[list[Json]]:
    """The same for every decoder."""
    return batch(messy(), 120)


def joins_no_calls(decoder: type[Decoder]) -> bool:
    """Whether the SDK makes a second call of one that is continued after its end, so that less of it is sent."""
    reader = parse_client(decoder.client)
    assert isinstance(reader, Reader)
    return "reopened-calls" in {row.name for row in reader.downgrades}


@each_decoder
def test_every_rewritten_run_is_accepted_and_everything_arrives(decoder: type[Decoder]) -> None:
    for events in (fits(decoder, events) for events in drawn()):
        reading, wanted = decoder().read(rewrite(plain(events), client=decoder.client)), expected(events)
        assert (reading.error, reading.dropped) == (None, []), events
        assert filled(reading.texts, events) == filled(wanted.texts, events), events
        if decoder is DotNet251105:  # which knows no tool calls
            continue
        assert reading.results.keys() == wanted.results.keys(), events
        if not joins_no_calls(decoder):
            assert reading.calls == wanted.calls, events
            continue
        assert reading.calls.keys() | restated(events) == wanted.calls.keys() | restated(events), events
        for id, (name, arguments) in reading.calls.items():
            assert wanted.calls[id][0] == name, events
            assert wanted.calls[id][1].startswith(arguments), events


CALL: list[Json] = [
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"},
    {"type": "TOOL_CALL_END", "toolCallId": "c"},
]
BEGUN: Json = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
DONE: Json = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
RESULT: Json = {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": "1"}
RESTATED: Json = {
    "type": "MESSAGES_SNAPSHOT",
    "messages": [
        {
            "id": "a",
            "role": "assistant",
            "toolCalls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        }
    ],
}


@pytest.mark.parametrize(
    ("events", "whole", "cut"),
    [
        ([BEGUN, *CALL, RESULT, *CALL, DONE], {"c": ("f", "{}{}")}, {"c": ("f", "{}")}),
        ([BEGUN, RESTATED, *CALL, DONE], {"c": ("f", "{}")}, {}),
        ([BEGUN, *CALL, *CALL, RESULT, DONE], {"c": ("f", "{}{}")}, {"c": ("f", "{}{}")}),
    ],
    ids=["behind its result", "behind a snapshot", "before its result"],
)
def test_what_is_added_to_a_finished_call_reaches_sdks_that_make_no_second_call_of_it(
    events: list[Json], whole: dict[str, Any], cut: dict[str, Any]
) -> None:
    """The draws in which calls differed: Kotlin and C++ would show and post them twice, Dart, Go and Java do not."""
    decoders: list[type[Decoder]] = [Dart010, Dart020, Go202602, Java010, Kotlin025, Cpp]
    for decoder in decoders:
        reading = decoder().read(rewrite(plain(events), client=decoder.client))
        assert reading.calls == (cut if decoder in (Kotlin025, Cpp) else whole), decoder


FAILED: Json = {"type": "RUN_ERROR", "message": "broken"}


@pytest.mark.parametrize(
    "events",
    [
        [BEGUN, DONE | {"timestamp": None}, BEGUN | {"runId": "q"}, DONE | {"runId": "q"}],
        [BEGUN, DONE, BEGUN | {"runId": "q", "timestamp": None}, DONE | {"runId": "q"}],
        [BEGUN, FAILED | {"timestamp": None}, BEGUN | {"runId": "q"}, DONE | {"runId": "q"}],
        [BEGUN, FAILED, BEGUN | {"runId": "q", "timestamp": None, "input": None}, DONE | {"runId": "q"}],
    ],
    ids=["the end", "the next start", "the error", "the start behind an error"],
)
@each_decoder
def test_runs_become_one_where_their_bounds_have_nulls(decoder: type[Decoder], events: list[Json]) -> None:
    """Every @ag-ui/client rejects such a null, so that its runs stay two; a typed server writes it, and SDKs read it."""
    reading = decoder().read(rewrite(plain(fits(decoder, events)), client=decoder.client))
    assert (reading.error, reading.dropped) == (None, [])


@each_decoder
def test_every_call_that_names_a_parent_names_an_assistants_message(decoder: type[Decoder]) -> None:
    """What a decoder does with another one is up to it: it may hang the call on a user's message, and post it nowhere."""
    named = 0
    for events in (fits(decoder, events) for events in drawn()):
        roles: dict[str, str] = {}
        for event in events_of(rewrite(plain(events), client=decoder.client)):
            if event["type"] == "TOOL_CALL_START" and (parent := event.get("parentMessageId")):
                named += 1
                assert roles.get(parent, "assistant") == "assistant", (event, events)
            elif event["type"] in ("TEXT_MESSAGE_START", "TOOL_CALL_RESULT"):
                roles.setdefault(event["messageId"], event.get("role", "tool"))
    assert named or "no-tool-calls" in rows_of(decoder)


def rows_of(decoder: type[Decoder]) -> set[str]:
    reader = parse_client(decoder.client)
    assert isinstance(reader, Reader)
    return {row.name for row in reader.own_rows}


@cache
def corpus() -> list[tuple[str, list[Json]]]:
    """The corpus, as the middleware frames it for a client that reads everything."""
    named = [(case.name, events_of(rewrite(case.run.stream))) for case in Corpus.load().cases]
    return [(name, events) for name, events in named if events]


@each_decoder
def test_the_rewritten_corpus_is_accepted(decoder: type[Decoder]) -> None:
    """It found RUN_STARTED's echo for Dart 0.1.0, and the state of null for C++ and Java."""
    found = {}
    for name, events in corpus():
        reading = decoder().read(rewrite(plain(fits(decoder, events)), client=decoder.client))
        if reading.error is not None or reading.dropped:
            found[name] = reading.error or reading.dropped
    assert found == {}


RUN: Json = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
START: Json = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}


@pytest.mark.parametrize(
    ("client", "event"),
    [
        ("Dart010", {"type": "REASONING_START", "messageId": "m"}),
        ("Dart010", START | {"timestamp": 1.5}),
        ("Dart020", {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": []}),
        ("Dart020", RUN | {"threadId": "t" * 101}),
        ("Kotlin021", RUN),
        ("Kotlin041", {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "cancelled"}}),
        ("Kotlin025", {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m", "role": "reasoning", "content": ""}]}),
        ("Go202510", {"type": "ACTIVITY_DELTA", "messageId": "m", "activityType": "x", "patch": []}),
        ("Go202511", {"type": "REASONING_START", "messageId": "m"}),
        ("Java001", START | {"name": "n"}),
        ("Java010", {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": ""}),
        ("RustCommunity", START),
        ("RustK", START | {"timestamp": 1.5}),
        ("DotNet251105", {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"}),
        ("DotNet251107", {"type": "STATE_SNAPSHOT", "snapshot": {}}),
        ("DotNet15", {"type": "STEP_STARTED", "stepName": "s"}),
        ("AguiClient", {"type": "TEXT_MESSAGE_START", "messageId": "m"}),
        ("Cpp", {"type": "STATE_SNAPSHOT", "snapshot": None}),
        ("Cpp", {"type": "ACTIVITY_DELTA", "messageId": "m", "activityType": "x", "patch": []}),
        ("Swift", START | {"timestamp": 1.5}),
    ],
)
def test_the_models_reject_what_the_sources_reject(client: str, event: Json) -> None:
    [decoder] = [decoder for decoder in DECODERS if decoder.__name__ == client]
    reading = decoder().read(plain([RUN, event]))
    assert reading.error is not None or reading.dropped == [event]


def test_a_comment_and_a_missing_blank_line_are_rejected_where_the_source_rejects_them() -> None:
    assert RustCommunity().read(b": waiting\n\n").error == "a frame with nothing but a comment"
    assert DotNet251105().read(b": waiting\n\n").error is None
    assert DotNet251105().read(b'data: {"type":"RUN_STARTED"}\n').error == "the last frame has no blank line"
