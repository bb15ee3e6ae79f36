"""ragas: its HTTP function and its collector: every text, call and result arrives, and a second turn posts the first.

    .ci/producers DIRECTORY                     # among other things; the environment is made there
    python -m tests.readers.live.ragas_collector > tests/readers/posted/ragas.json

Not collected with the rest.
"""

import asyncio
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx
import pytest
from ragas.integrations.ag_ui import AGUIEventCollector, call_ag_ui_endpoint
from ragas.messages import HumanMessage

from agui_middleware.config.named_clients import parse_client
from tests.history.bodies import upgrade
from tests.readers.decoding import Reading
from tests.readers.drawn import expected
from tests.readers.live.served import SECOND, Served, recorded, runs
from tests.strategies import Json

HEADERS = {"x-ag-ui-client-version": "ragas@0.4.3"}


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Has ragas, which makes its own `httpx.AsyncClient`, reach a `Served`."""
    client = httpx.AsyncClient

    def serve(served: Served) -> Served:
        monkeypatch.setattr(httpx, "AsyncClient", partial(client, transport=served.transport))
        return served

    return serve


def collected(user_input: Any) -> tuple[AGUIEventCollector, list[Any]]:
    """What the collector makes of the next response, and the events of that."""
    events = asyncio.run(call_ag_ui_endpoint("http://agent/", user_input, extra_headers=HEADERS))
    collector = AGUIEventCollector(metadata=True)
    for event in events:
        collector.process_event(event)
    return collector, events


def received(collector: AGUIEventCollector) -> Reading:
    """The texts, results, and the names and arguments of calls that it holds; calls have no ids there."""
    reading = Reading()
    for message in collector.messages:
        metadata = message.metadata or {}
        if "tool_call_id" in metadata:
            reading.results[metadata["tool_call_id"]] = message.content
        elif metadata:
            id = metadata["message_id"]
            reading.texts[id] = reading.texts.get(id, "") + message.content
    return reading


def calls(collector: AGUIEventCollector) -> Iterator[tuple[str, Any]]:
    """Those of its messages, and those that no text and no result has followed."""
    of_messages = [call for message in collector.messages for call in getattr(message, "tool_calls", None) or ()]
    for call in [*of_messages, *collector._completed_tool_calls.values()]:
        yield call.name, call.args


def arguments(text: str) -> Any:
    """Arguments as it reads them."""
    try:
        return json.loads(text) if text else {}
    except ValueError:
        return {"raw_args": text}


def is_object(text: str) -> bool:
    """Whether its class for a call takes the arguments."""
    return isinstance(arguments(text), dict)


def readable() -> list[list[Json]]:
    """Runs without what the table says that it loses: arguments that are JSON but no object, which it raises at."""
    return [run for run in runs() if all(is_object(text) for _, text in expected(run).calls.values())]


def shown(events: list[Json]) -> dict[str, str]:
    """The texts that say something, of the roles for which it has a class."""
    lost = {event.get("messageId") for event in events if event.get("role") in ("system", "developer")}
    return {id: text for id, text in expected(events).texts.items() if text and id not in lost}


def again(first: AGUIEventCollector) -> list[Any]:
    """The conversation of a second turn."""
    return [HumanMessage(content="hi"), *first.messages, HumanMessage(content="again")]


@pytest.mark.parametrize("history", [None, "memory://"], ids=["no store", "a store"])
@pytest.mark.parametrize("events", readable())
def test_everything_of_a_generated_run_arrives_and_is_posted_with_the_next(
    events: list[Json], history: str | None, serve: Any
) -> None:
    served = serve(Served([events, SECOND], history))
    first, _ = collected("hi")
    wanted, got = expected(events), received(first)
    assert {id: text for id, text in got.texts.items() if text} == shown(events)
    assert got.results.keys() == wanted.results.keys()
    held = [(name, args) for name, args in calls(first) if name != "unknown_tool"]
    assert sorted(map(str, held)) == sorted(str((name, arguments(text))) for name, text in wanted.calls.values())
    second, _ = collected(again(first))
    assert received(second).texts == {"second": "bye"}
    assert served.sent[1].keys() >= {"thread_id", "run_id", "forwarded_props"}
    assert served.given[1].keys() >= {"threadId", "runId", "forwardedProps"}


def test_with_a_store_the_agent_gets_what_is_posted_and_no_more(serve: Any) -> None:
    """It has other ids for everything, so that nothing is known of it, in three turns. The last leaves a message out."""
    client = parse_client(HEADERS["x-ag-ui-client-version"])
    for events in readable():
        served = serve(Served([events, SECOND, SECOND], "memory://"))
        first, _ = collected("hi")
        collected(again(first))
        collected([HumanMessage(content="hi"), *first.messages[1:], HumanMessage(content="again")])
        for sent, given in zip(served.sent, served.given, strict=True):
            assert given == json.loads(upgrade(json.dumps(sent).encode(), client)), events


def text(role: str) -> list[Json]:
    return [{"type": "TEXT_MESSAGE_CHUNK", "messageId": role, "role": role, "delta": "hi"}]


def called(text: str) -> list[Json]:
    return [{"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "f", "delta": text}]


def test_it_has_no_class_for_texts_of_other_roles(serve: Any) -> None:
    serve(Served([[SECOND[0], *text("system"), *text("user"), *text("developer"), *text("assistant"), SECOND[-1]]]))
    assert received(collected("hi")[0]).texts == {"user": "hi", "assistant": "hi"}


@pytest.mark.parametrize("arguments", ["1", "[]", "null"])
def test_it_raises_at_arguments_that_are_no_object(arguments: str, serve: Any) -> None:
    serve(Served([[SECOND[0], *called(arguments), SECOND[-1]]]))
    with pytest.raises(ValueError, match="dict"):
        collected("hi")


def test_a_call_that_is_continued_after_its_end_is_one_call(serve: Any) -> None:
    """It would hold the last piece only, as arguments that are not JSON."""
    result: Json = {"type": "TOOL_CALL_RESULT", "toolCallId": "c", "messageId": "r", "content": "1"}
    events = [SECOND[0], *called('{"a":'), *text("assistant"), *called("1}"), result, SECOND[-1]]
    serve(Served([events]))
    assert list(calls(collected("hi")[0])) == [("f", {"a": 1})]


def bodies() -> Iterator[Json]:
    """What a second turn posts."""
    client = httpx.AsyncClient
    for events in readable():
        served = Served([events, SECOND])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(httpx, "AsyncClient", partial(client, transport=served.transport))
            collected(again(collected("hi")[0]))
        yield served.sent[1]


if __name__ == "__main__":
    print(recorded(bodies()), end="")
