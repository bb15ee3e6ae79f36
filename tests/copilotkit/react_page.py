"""The page of examples/copilotkit.tsx in Chromium: CopilotKit's React components, its runtime, and a wrapped agent.

    npm ci --prefix tests/copilotkit/react
    python -m pytest tests/copilotkit/react_page.py

It installs 780 MB in three minutes, so no leg of `.ci/run` runs it: run it after a change of the example.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Page, async_playwright

from agui_middleware import AGUIMiddleware, Settings
from tests.copilotkit.live import ANSWER, EXAMPLE, HERE, PATIENCE, Agent
from tests.demo.browser import FLAGS, executable
from tests.proxy.servers import serving


@asynccontextmanager
async def opened(agent_url: str) -> AsyncIterator[Page]:
    """The page in a browser, with the runtime asking the agent at `agent_url`."""
    _, _, example = EXAMPLE.partition("// app/api/copilotkit/route.ts\n")
    route, _, page = example.partition("// app/page.tsx\n")
    process = await asyncio.create_subprocess_exec(
        *("node", "page.mjs"),
        cwd=HERE / "react",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    sources = {"route": route.replace("http://127.0.0.1:8000", agent_url), "page": page}
    process.stdin.write(json.dumps(sources).encode() + b"\n")
    address = (await asyncio.wait_for(process.stdout.readline(), PATIENCE)).decode().strip()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable(), args=FLAGS)
        tab = await browser.new_page()
        tab.set_default_timeout(PATIENCE * 1000)
        # A question that is asked before the page knows its agents is lost.
        async with tab.expect_response(lambda response: response.ok and "/api/copilotkit" in response.url):
            await tab.goto(address)
        yield tab
        await browser.close()
    process.stdin.close()
    await process.wait()


async def ask(tab: Page, question: str) -> None:
    box = tab.locator("textarea")
    await box.fill(question)
    await box.press("Enter")


async def test_a_user_reads_the_answers_of_two_turns() -> None:
    """The page names the release of @ag-ui/client in its bundle, and the runtime its own behind that."""
    agent = Agent(ANSWER, ANSWER.replace("hi", "again"))
    async with serving(AGUIMiddleware(agent, Settings()), lifespan="off") as url, opened(url) as tab:
        await ask(tab, "question 0")
        await tab.get_by_text("hi", exact=True).wait_for()
        await ask(tab, "question 1")
        await tab.get_by_text("again", exact=True).wait_for()
    assert agent.named == ["0.0.59, 0.0.59"] * 2
    asked_again = [(message["role"], message["content"]) for message in agent.posted[1]["messages"]]
    assert asked_again == [
        ("user", "question 0"),
        ("assistant", "psst"),
        ("assistant", "hi"),
        ("user", "question 1"),
    ]
    assert agent.posted[1]["messages"][1]["subagentRunId"] == "s1"
