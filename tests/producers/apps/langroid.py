"""Langroid: its FastAPI endpoint around chat agents whose model answers the last message from a table."""

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import tiktoken
from starlette.types import ASGIApp

from tests.producers.scenario import QUESTION, Scenario, says

with patch.object(tiktoken, "encoding_for_model"):  # it downloads a vocabulary, while it is imported
    import langroid
    from ag_ui_langroid import LangroidAgent, create_langroid_app
    from ag_ui_langroid.types import ToolBehavior
    from langroid.agent.tool_message import ToolMessage
    from langroid.language_models.mock_lm import MockLMConfig


class Founded(ToolMessage):
    """When a city was founded."""

    request: str = "founded"
    purpose: str = "to look a <city> up"
    city: str


class Agent(langroid.ChatAgent):
    """Its tools are methods that have their names."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.parser = SimpleNamespace(num_tokens=len)  # the real one downloads a vocabulary

    def founded(self, message: Any) -> str:
        return {"Rome": "753 BC"}.get(message.city, "1040")

    def breaks(self, message: Any) -> str:
        raise RuntimeError("the archive is shut")


def _asks_for(name: str, **arguments: Any) -> str:
    return json.dumps({"request": name, **arguments})


def _served(answer: Callable[[str], str], **config: Any) -> Callable[[], ASGIApp]:
    def app() -> ASGIApp:
        model = MockLMConfig(response_fn=answer)
        agent = Agent(langroid.ChatAgentConfig(llm=model, vecdb=None, parsing=None, system_message="Answer."))
        agent.enable_message(Founded)
        return create_langroid_app(LangroidAgent(agent, name="agent", config=config), "/agent")

    return app


def _fails(_: str) -> str:
    raise RuntimeError("the model is gone")


def _shown(context: Any) -> dict[str, Any]:
    return {"city": json.loads(context.args_str)["city"]}


SHOW = {"name": "show", "description": "Show a city.", "parameters": {"type": "object", "properties": {}}}
AGAIN = {"id": "user-2", "role": "user", "content": "Are you sure?"}
LOOKS_UP = _asks_for("founded", city="Rome")

SCENARIOS = {
    "text": Scenario(_served(lambda _: "Rome is older."), [says(QUESTION), says(AGAIN)]),
    "tool": Scenario(_served(lambda _: LOOKS_UP)),
    "state": Scenario(
        _served(lambda _: LOOKS_UP, tool_behaviors={"founded": ToolBehavior(state_from_args=_shown)}),
        [says(QUESTION, state={"lines": 0})],
    ),
    "broken-tool": Scenario(_served(lambda _: _asks_for("breaks"))),
    "frontend-tool": Scenario(_served(lambda _: _asks_for("show")), [says(QUESTION, tools=[SHOW])]),
    "error": Scenario(_served(_fails), fails=True),
}
