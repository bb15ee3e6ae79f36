"""Wrap an app, in one line. No configuration: whoever says which release it is gets a stream that this release reads.

uvicorn examples.wrap:app
node examples/client.mjs 0.0.58 http://127.0.0.1:8000/agent
"""

from fastapi import FastAPI

from agui_middleware import AGUIMiddleware
from examples.agent import agent

app = FastAPI()
app.post("/agent")(agent)
app.add_middleware(AGUIMiddleware)
