"""Show the calls of some tools only, and keep the model's reasoning to itself.

    uvicorn examples.tool_allow_list:app
    node examples/client.mjs 1.0.0 http://127.0.0.1:8000/agent

The same in agui_middleware.toml:

    [[routes]]
    path = "/agent"
    filters = [
        { use = "agui_middleware.filters.tools:allow_tools", names = ["archive"] },
        "agui_middleware.filters.reasoning:without_reasoning",
    ]
"""

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route as Endpoint

from agui_middleware import AGUIMiddleware, Route, Settings
from agui_middleware.agent_events import agent_endpoint
from agui_middleware.filters.reasoning import without_reasoning
from agui_middleware.filters.tools import allow_tools
from examples.agent_loop import agent

route = Route(path="/agent", filters=[allow_tools(["archive"]), without_reasoning])
app = Starlette(
    routes=[Endpoint("/agent", agent_endpoint(agent), methods=["POST"])],
    middleware=[Middleware(AGUIMiddleware, settings=Settings(routes=[route]))],
)
