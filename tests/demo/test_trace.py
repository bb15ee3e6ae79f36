"""A traced stream is the stream that the middleware sends, and what is told of it is so."""

import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agui_middleware import ClientVersion, rewrite
from agui_middleware.agent_events import to_agui
from agui_middleware.agent_events.response import frames
from agui_middleware.config.named_clients import parse_client
from agui_middleware.demo.sample_agent import Sample
from agui_middleware.demo.trace import Record, trace
from agui_middleware.protocol.releases import RELEASES
from agui_middleware.testing import decode_events, encode_events
from tests.clients.client import UUID4, Client
from tests.clients.corpus import Corpus
from tests.strategies import plain, runs

RUN = {"threadId": "t", "runId": "r"}
STARTED, FINISHED = {"type": "RUN_STARTED", **RUN}, {"type": "RUN_FINISHED", **RUN}


def text(id: str, *deltas: str, **members: Any) -> list[dict[str, Any]]:
    contents = [{"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": delta, **members} for delta in deltas]
    start = {"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant", **members}
    return [start, *contents, {"type": "TEXT_MESSAGE_END", "messageId": id, **members}]


async def pieces(stream: bytes, size: int = 1000) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(stream), size):
        yield stream[start : start + size]


async def collected(stream: bytes, client: str, visibility: str = "auto") -> list[Record]:
    version = None if client == "current" else parse_client(client)
    return [record async for record in trace(pieces(stream), version, visibility)]


def traced(stream: bytes, client: str = "current", visibility: str = "auto") -> list[Record]:
    return anyio.run(collected, stream, client, visibility)


def steps(records: list[Record]) -> list[Record]:
    return [record for record in records if "outputs" in record]


def outputs(records: list[Record]) -> list[Any]:
    return [json.loads(output) for record in steps(records) for output in record["outputs"]]


def sample() -> bytes:
    async def collect() -> bytes:
        return b"".join([chunk async for chunk in frames(to_agui(Sample(0).run(), thread_id="t", run_id="r"))])

    return anyio.run(collect)


# What leaves is what the middleware sends.

any_client = st.sampled_from(["current", *map(str, RELEASES)])
any_visibility = st.sampled_from(["auto", "attributed", "inline", "hidden"])


@settings(max_examples=40)
@given(runs(), any_client, any_visibility)
def test_a_traced_run_is_the_rewritten_run(events: list[dict[str, Any]], client: str, visibility: str) -> None:
    stream = plain(events)
    rewritten = decode_events(rewrite(stream, client=client, visibility=visibility))
    assert comparable(outputs(traced(stream, client, visibility))) == comparable(rewritten)


@pytest.mark.parametrize("client", ["0.0.36", "0.0.58"])
async def test_the_corpus_is_traced_as_it_is_rewritten(client: str) -> None:
    for case in Corpus.load().cases[::5]:
        stream = case.run.stream
        rewritten = decode_events(rewrite(stream, client=client))
        assert comparable(outputs(await collected(stream, client))) == comparable(rewritten), case.name


def comparable(events: list[Any]) -> str:
    """As JSON, with all ids that were minted on the way alike."""
    return UUID4.sub("minted", json.dumps(events))


# It streams.


async def test_each_event_is_told_before_the_next_one_is_read() -> None:
    read = 0

    async def agent() -> AsyncGenerator[bytes, None]:
        nonlocal read
        for event in (STARTED, *text("a", "x", "y"), FINISHED):
            read += 1
            yield encode_events([event])

    told = [(read, record["n"]) async for record in trace(agent(), None) if "n" in record]
    assert told == [(n, n) for n in range(1, 7)]


async def test_a_trace_that_is_closed_closes_its_stream() -> None:
    closed = False

    async def agent() -> AsyncGenerator[bytes, None]:
        nonlocal closed
        try:
            while True:
                yield encode_events([STARTED])
        finally:
            closed = True

    records = trace(agent(), ClientVersion.parse("0.0.36"))
    assert "summary" in await anext(records)
    assert (await anext(records))["n"] == 1
    await records.aclose()
    assert closed


# What becomes of an event, and why.


def fates(records: list[Record]) -> list[tuple[int | None, str, list[str]]]:
    return [(record["n"], record["fate"], record["reasons"]) for record in steps(records)]


def test_what_nobody_changes_is_the_same() -> None:
    records = traced(encode_events([STARTED, *text("a", "x"), FINISHED]), "0.0.58")
    assert fates(records) == [(n, "same", []) for n in range(1, 6)]
    assert records[0]["summary"] == "client=0.0.58; subagents=inline"
    assert records[-1] == {"losses": []}


def test_a_subagent_is_dropped_and_its_text_loses_its_tag() -> None:
    tagged = text("a", "x", subagentRunId="s")
    events = [STARTED, {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n"}, *tagged, FINISHED]
    records = traced(encode_events(events), "0.0.58")
    assert fates(records)[1:3] == [(2, "dropped", ["subagents"]), (3, "changed", ["subagents"])]
    reason = records[0]["reasons"]["subagents"]
    assert (reason["since"], "rejects SUBAGENT_STARTED" in reason["why"]) == ("0.0.59", True)
    assert [loss["feature"] for loss in records[-1]["losses"]] == ["subagents"]


@pytest.mark.parametrize("client", ["0.0.58", "1.0.0", "current"])
def test_what_the_route_hides_is_the_routes_doing(client: str) -> None:
    events = [STARTED, {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n"}, FINISHED]
    records = traced(encode_events(events), client, "hidden")
    assert fates(records)[1] == (2, "dropped", ["visibility"])
    assert records[0]["reasons"]["visibility"]["since"] is None


def test_what_is_held_back_is_told_and_so_is_its_release() -> None:
    first, second = text("a", "x"), text("b", "y")
    events = [STARTED, *first[:2], second[0], first[2], *second[1:], FINISHED]
    records = steps(traced(encode_events(events), "0.0.36"))
    assert [record["fate"] for record in records[3:5]] == ["held", "same"]
    assert records[3]["reasons"] == ["interleaving"]
    assert records[4]["released"] == [4]
    assert len(records[4]["outputs"]) == 2


def test_an_end_that_leaves_late_is_released() -> None:
    records = steps(traced(encode_events([STARTED, *text("a", "x"), FINISHED]), "0.0.36"))
    assert fates(records)[-2:] == [(5, "held", ["several-runs"]), (None, "added", ["several-runs"])]
    assert records[-1]["released"] == [5]


def test_chunks_are_replaced() -> None:
    chunk = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "a", "delta": "x"}
    assert fates(traced(encode_events([STARTED, chunk, FINISHED]), "0.0.58"))[1] == (2, "replaced", ["chunks"])


def test_a_type_that_nobody_knows_is_dropped_by_the_guard() -> None:
    records = traced(encode_events([STARTED, {"type": "NEW"}, FINISHED]), "0.0.58")
    assert fates(records)[1] == (2, "dropped", ["unknown-types"])
    assert records[0]["reasons"]["unknown-types"]["since"] == "1.0.0"


def test_what_is_no_event_is_silent() -> None:
    records = traced(encode_events([STARTED]) + b"data: [DONE]\n\n: ping\n\n" + encode_events([FINISHED]))
    assert fates(records) == [(1, "same", []), (2, "silent", []), (3, "same", [])]


def test_what_cannot_be_read_ends_a_run_that_hides() -> None:
    stream = encode_events([STARTED]) + b"data: {oops\n\n" + encode_events([FINISHED])
    records = steps(traced(stream, "1.0.0", "hidden"))
    assert [(record["fate"], record["reasons"]) for record in records] == [
        ("same", []),
        ("replaced", ["ended"]),
        ("dropped", ["ended"]),
    ]
    assert json.loads(records[1]["outputs"][0])["code"] == "AGUI_MALFORMED_EVENT"


def test_line_ends_and_a_missing_last_blank_line_are_no_matter() -> None:
    stream = encode_events([STARTED, FINISHED]).replace(b"\n", b"\r\n").removesuffix(b"\r\n")
    assert [fate for _, fate, _ in fates(traced(stream))] == ["same", "same"]


# Where an unprotected client ends the run.


def rejection(stream: bytes, client: str) -> Any:
    found = [record["rejection"] for record in traced(stream, client) if "rejection" in record]
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize("release", ["0.0.27", "0.0.36", "0.0.44", "0.0.58"])
def test_the_sample_is_rejected_where_and_as_the_real_client_rejects_it(
    client: Callable[[str], Client], release: str
) -> None:
    stream = sample()
    told = rejection(stream, release)
    parts = stream.split(b"\n\n")
    before, at = b"\n\n".join(parts[: told["n"] - 1]) + b"\n\n", b"\n\n".join(parts[: told["n"]]) + b"\n\n"
    words = told["message"].removesuffix("…")
    assert json.loads(parts[told["n"] - 1].removeprefix(b"data: "))["type"] == told["type"]
    assert words in (client(release).read(at).error or "")
    assert words not in (client(release).read(before).error or "")


@pytest.mark.parametrize("release", ["0.0.59", "1.0.0", "current"])
def test_a_release_that_knows_subagents_rejects_nothing_of_the_sample(release: str) -> None:
    assert rejection(sample(), release) is None


def test_a_type_is_rejected_at_once() -> None:
    records = traced(encode_events([STARTED, {"type": "REASONING_START", "messageId": "m"}, FINISHED]), "0.0.44")
    assert [record.get("n", "rejection" if "rejection" in record else None) for record in records][1:4] == [
        1,
        2,
        "rejection",
    ]


def test_a_malformed_event_is_rejected_at_its_place() -> None:
    events = [STARTED, *text("a", "x", ""), *text("b", ""), FINISHED]
    told = rejection(encode_events(events), "0.0.49")
    assert (told["n"], told["type"], told["since"]) == (4, "TEXT_MESSAGE_CONTENT", "0.0.50")
    assert told["message"] is None
    assert rejection(encode_events(events), "0.0.50") is None


@pytest.mark.parametrize("client", ["0.0.36", "1.0.0", "current"])
def test_what_cannot_be_read_is_rejected_by_all(client: str) -> None:
    told = rejection(encode_events([STARTED]) + b"data: {oops\n\n" + encode_events([FINISHED]), client)
    assert (told["n"], told["since"]) == (2, None)


def test_what_was_rejected_before_is_not_rejected_again() -> None:
    events = [STARTED, {"type": "NEW"}, {"type": "NEWER"}, FINISHED]
    assert rejection(encode_events(events) + b"data: {oops\n\n", "0.0.58")["n"] == 2


def test_another_sdk_gets_what_the_middleware_sends_it_and_the_reasons_are_its_rows() -> None:
    client = "Microsoft.Agents.AI.AGUI@1.5.0"
    step = {"type": "STEP_STARTED", "stepName": "s"}
    stream = encode_events([STARTED, step, *text("m", "hi"), step | {"type": "STEP_FINISHED"}, FINISHED])
    plan, *records, _ = traced(stream, client)
    assert (plan["client"], plan["summary"].partition(";")[0]) == (
        "Microsoft.Agents.AI.AGUI@1.5.0-0",
        "client=Microsoft.Agents.AI.AGUI@1.5.0-0",
    )
    assert outputs(records) == decode_events(rewrite(stream, client=client))
    assert [record["fate"] for record in steps(records)][:3] == ["same", "dropped", "same"]
    assert steps(records)[1]["reasons"] == ["no-steps"]
    assert plan["reasons"]["no-steps"] == {
        "name": "no-steps",
        "why": "Such a client ends the run at STEP_STARTED or STEP_FINISHED, or shows an empty thought for it.",
        "since": None,
        "lost": "the steps of a run",
    }
    assert plan["reasons"]["interleaving"]["since"] is not None


def test_the_words_of_ag_ui_client_are_not_those_of_another_sdk() -> None:
    stream = encode_events([STARTED, {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n"}, FINISHED])
    [rejection] = [record["rejection"] for record in traced(stream, "ag_ui@0.2.0") if "rejection" in record]
    assert (rejection["n"], rejection["type"]) == (2, "SUBAGENT_STARTED")
    assert (rejection["message"], rejection["since"]) == (None, None)
