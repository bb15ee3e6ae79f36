"""Routes: what is shown where, and to whom. The first that matches decides.

uvicorn examples.routes:app
node examples/client.mjs 1.0.0 http://127.0.0.1:8000/public/agent
"""

from fastapi import FastAPI, Request, Response

from agui_middleware import AGUIMiddleware, Route, Settings
from examples.agent import agent
from examples.custom_filter import without_card_numbers

app = FastAPI()
for path in ("/agent", "/public/agent", "/kiosk"):
    app.post(path)(agent)


@app.post("/who")
async def who(request: Request) -> Response:
    """An app may look at what was chosen for its request."""
    choice = request.state.agui
    return Response(f"{choice.route.path}: {choice.client or 'current'}, subagents {choice.plan.visibility}\n")


app.add_middleware(
    AGUIMiddleware,
    settings=Settings(
        default_client="0.0.58",  # who says nothing is as old as this
        routes=[
            Route(path="/public/{name}", visibility="hidden"),
            Route(path="/kiosk", client="0.0.45"),  # a page that was never updated, and does not say so
            Route(path="/agent", filters=[without_card_numbers], legacy_visibility="hidden"),
            Route(path="/who"),
        ],
    ),
)
