"""A page on another origin. A browser asks before it sends a header of ours, and the server has to allow it.

    uvicorn examples.cors:app

CORSMiddleware is added last, so that it stands outside and answers the question itself. A client that cannot be given the
header puts its release into the address instead, which no browser asks about: /agent?x-ag-ui-client-version=0.0.58
"""

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

from agui_middleware import AGUIMiddleware
from examples.agent import agent

app = FastAPI()
app.post("/agent")(agent)
app.add_middleware(AGUIMiddleware)
app.add_middleware(
    CORSMiddleware,
    allow_origins=["https://chat.example"],
    allow_methods=["POST"],
    allow_headers=["content-type", "x-ag-ui-client-version"],
    expose_headers=["x-ag-ui-downgrade"],  # what was done, for the page to see
)
