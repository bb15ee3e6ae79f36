import asyncio
from itertools import count

from agui_middleware.agent_events import QueuedInput, TextDelta, ToolCall, ToolResult, to_agui
from agui_middleware.agent_events.run_emitter import UniqueNames
from tests.agent_events.loops import AGUIEvent, loop, nest, of_type, said


def test_name_is_handed_out_once() -> None:
    names = UniqueNames()
    assert [names.claim("a") for _ in range(3)] == ["a", "a-2", "a-3"]


def test_name_that_looks_like_a_second_one_stays_its_own() -> None:
    names = UniqueNames()
    assert [names.claim(name) for name in ("a-2", "a", "a", "a-2")] == ["a-2", "a", "a-3", "a-2-2"]


def test_tools_whose_names_run_together_do_not_share_ids() -> None:
    nested = nest("a", "1", *nest("b", "2", TextDelta(text="x")))
    events = said(*nested, *nest("a-b", "3", TextDelta(text="y")))
    tags = [event["subagentRunId"] for event in of_type("SUBAGENT_STARTED", events)]
    assert tags == ["r1-a", "r1-a-b", "r1-a-b-2"]


def test_ids_are_the_same_for_the_same_loop() -> None:
    events = [QueuedInput(text="q"), TextDelta(text="x"), *nest("ask", "c", TextDelta(text="y"))]
    assert said(*events) == said(*events)


def test_new_id_is_asked_once_for_each_readable_name() -> None:
    asked: list[str] = []
    numbers = count()

    def new_id(name: str) -> str:
        asked.append(name)
        return f"id{next(numbers)}"

    events = [
        ToolCall(id="c", name="ask", input={}),
        *nest("ask", "c", TextDelta(text="x")),
        ToolResult(id="c", name="ask", content="r"),
    ]

    async def collect() -> list[AGUIEvent]:
        return [event async for event in to_agui(loop(events), thread_id="t", run_id="r", new_id=new_id)]

    translated = asyncio.run(collect())
    assert asked == ["text", "ask", "ask-text", "result-c"]
    assert of_type("TOOL_CALL_START", translated)[0]["parentMessageId"] == "id0"
    assert of_type("SUBAGENT_STARTED", translated)[0]["subagentRunId"] == "id1"
    assert of_type("TEXT_MESSAGE_START", translated)[0]["messageId"] == "id2"
    assert of_type("TOOL_CALL_RESULT", translated)[0]["messageId"] == "id3"
