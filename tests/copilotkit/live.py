"""CopilotKit before a wrapped agent: a browser's core, the runtime of examples/copilotkit.tsx, and the middleware.

    .ci/copilotkit

`npm ci --prefix tests/copilotkit` installs 290 MB, so these tests are not among those that `pytest` collects.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Route, Settings
from agui_middleware.testing import encode_events
from tests.notation import Json, stream
from tests.proxy.servers import serving

HERE = Path(__file__).parent
CORES = {"1.75.0": "0.0.59", "1.56.4": "0.0.52"}
"""By release of @copilotkit/core, the release of @ag-ui/client that it has in the browser. The runtime has 0.0.59."""
EXAMPLE = (HERE.parent.parent / "examples" / "copilotkit.tsx").read_text()
BOTH = "{ [RELEASE]: releases }"
"""The headers of the runtime's agent in the example: the browser's release and its own."""
OWN, NONE = "{ [RELEASE]: client.version }", "{}"
PATIENCE = 60.0  # seconds at most for what takes three on an idle machine

ANSWER = "SUB+ s; TS n @s; TC n psst @s; TE n @s; SUB- s; TS m; TC m hi; TE m"
CALLS = 'TS m; TC m hi; TE m; KS c m toolCallName="lookup"; KE c; KR c r; KS d m toolCallName="confirm"; KA d {}; KE d'


class Agent:
    """Answers each request with its ids numbered, and remembers what it was asked."""

    def __init__(self, *answers: str) -> None:
        self._answers = answers
        self.posted: list[Json] = []
        self.named: list[str | None] = []
        self.headers: list[dict[str, str]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        posted = await request.json()
        self.named.append(request.headers.get("x-ag-ui-client-version"))
        self.headers.append(dict(request.headers))
        self.posted.append(posted)
        turn = len(self.posted)
        events = stream(
            f"RS {posted['runId']}; {self._answers[min(turn, len(self._answers)) - 1]}; RF {posted['runId']}"
        )
        for event in events:
            if "threadId" in event:
                event["threadId"] = posted["threadId"]
            event |= {name: f"{event[name]}{turn}" for name in ("messageId", "subagentRunId") if name in event}
        body = StreamingResponse(iter([encode_events(events)]), media_type="text/event-stream")
        await body(scope, receive, send)


async def converse(
    core: str, app: ASGIApp, *, names: bool = True, runtime: str = BOTH, questions: int = 2, tools: tuple[str, ...] = ()
) -> Any:
    """The end of a conversation. `runtime`: the headers of the runtime's agent, as JavaScript."""
    _, _, route = EXAMPLE.partition("// app/api/copilotkit/route.ts\n")
    route, _, _ = route.partition("// app/page.tsx\n")
    assert route.count(BOTH) == route.count("http://127.0.0.1:8000") == 1
    async with serving(app, lifespan="off") as url:
        route = route.replace(BOTH, runtime).replace("http://127.0.0.1:8000", url)
        asked = [f"question {number}" for number in range(questions)]
        conversation = {"route": route, "names": names, "questions": asked, "tools": tools}
        process = await asyncio.create_subprocess_exec(
            *("node", "chain.mjs", core),
            cwd=HERE,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        line = json.dumps(conversation).encode()
        out, error = await asyncio.wait_for(process.communicate(line), PATIENCE)
        assert process.returncode == 0, error.decode()
    end = json.loads(out)
    assert end["releases"] == {"browser": CORES[core], "runtime": "0.0.59"}
    return end


def told(end: Any) -> list[tuple[Any, ...]]:
    """The texts that the browser holds, each with its subagent."""
    return [(message["role"], message.get("content"), message.get("subagentRunId")) for message in end["messages"]]


def answered(*, subagents: bool) -> list[tuple[Any, ...]]:
    """Two whole turns."""
    turns = [
        [("user", f"question {turn}", None), ("assistant", "psst", tag), ("assistant", "hi", None)]
        for turn, tag in enumerate(("s1", "s2") if subagents else (None, None))
    ]
    return [*turns[0], *turns[1]]


async def test_where_all_are_new_the_browser_gets_everything() -> None:
    agent = Agent(ANSWER)
    end = await converse("1.75.0", AGUIMiddleware(agent, Settings()))
    assert told(end) == answered(subagents=True)
    assert agent.named == ["0.0.59, 0.0.59"] * 2


async def test_the_older_of_the_two_decides() -> None:
    agent = Agent(ANSWER)
    end = await converse("1.56.4", AGUIMiddleware(agent, Settings()))
    assert told(end) == answered(subagents=False)
    assert agent.named == ["0.0.52, 0.0.59"] * 2
    asked_again = [(message["role"], message["content"]) for message in agent.posted[1]["messages"]]
    assert asked_again == [(role, content) for role, content, _ in answered(subagents=False)[:4]]


async def test_the_runtime_forwards_what_the_browser_says_where_its_agent_sets_no_header() -> None:
    agent = Agent(ANSWER)
    end = await converse("1.56.4", AGUIMiddleware(agent, Settings()), runtime=NONE)
    assert agent.named == ["0.0.52"] * 2
    assert told(end) == answered(subagents=False)


@pytest.mark.parametrize("names", [True, False])
async def test_a_runtime_that_names_only_itself_leaves_an_old_browser_without_an_answer(names: bool) -> None:
    """What is set on the agent wins over what the browser says. This is why the example joins the two."""
    agent = Agent(ANSWER)
    end = await converse("1.56.4", AGUIMiddleware(agent, Settings()), names=names, runtime=OWN)
    assert agent.named == ["0.0.59"] * 2
    assert [role for role, _, _ in told(end)] == ["user", "user"]


async def test_where_nobody_names_a_release_the_default_counts() -> None:
    agent = Agent(ANSWER)
    settings = Settings(default_client="0.0.52")
    end = await converse("1.56.4", AGUIMiddleware(agent, settings), names=False, runtime=NONE)
    assert told(end) == answered(subagents=False)


async def test_nothing_but_what_the_page_sets_tells_one_release_of_copilotkit_from_another() -> None:
    """So that `interrupts="auto"` cannot know the releases that read no outcome, though their @ag-ui/client does."""
    requests = []
    for core in CORES:
        agent = Agent(ANSWER)
        await converse(core, agent, names=False, runtime=NONE, questions=1)
        [posted], [headers] = agent.posted, agent.headers
        requests.append((headers | {"host": ""}, posted | {"runId": ""}))
    assert requests[0] == requests[1]


@pytest.mark.parametrize("core", CORES)
async def test_the_tools_of_the_server_stay_private_and_those_of_the_browser_are_called(core: str) -> None:
    agent = Agent(CALLS, "TS m; TC m bye; TE m")
    route = Route(path="/agent", filters=["agui_middleware.filters.tools:server_tools_private"])
    end = await converse(core, AGUIMiddleware(agent, Settings(routes=[route])), questions=1, tools=("confirm",))
    calls = [call["function"]["name"] for message in end["messages"] for call in message.get("toolCalls", ())]
    assert calls == end["called"] == ["confirm"]
    assert "lookup" not in json.dumps(end["messages"])
    assert "found" not in json.dumps(end["messages"])
    assert end["messages"][-1]["content"] == "bye"  # the run that follows the browser's result
    [answer] = [message for message in agent.posted[1]["messages"] if message["role"] == "tool"]
    assert (answer["toolCallId"], answer["content"]) == ("d", "done")
