"""The inner apps: how a user's server writes the same stream."""

from collections.abc import AsyncIterator, Callable
from typing import Any

from ag_ui.core import Event
from ag_ui.encoder import EventEncoder
from pydantic import TypeAdapter
from sse_starlette.sse import EventSourceResponse
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.benchmarks.streams import Stream

START: Message = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"text/event-stream; charset=utf-8")],
}
END: Message = {"type": "http.response.body", "body": b"", "more_body": False}


def messages(stream: Stream) -> ASGIApp:
    """Nothing but `send`: what is left when everything that is not the middleware's is taken away."""
    frames = stream.frames
    ready = {frame: body(frame) for frame in frames}
    bodies = [ready[frame] for frame in frames]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(START)
        for message in bodies:
            await send(message)
        await send(END)

    return app


def body(data: bytes) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": True}


def streaming_response(stream: Stream) -> ASGIApp:
    """Starlette's StreamingResponse over frames that are ready."""
    frames = stream.frames

    async def events() -> AsyncIterator[bytes]:
        for frame in frames:
            yield frame

    return _answering(lambda: StreamingResponse(events(), media_type="text/event-stream"))


def event_encoder(stream: Stream) -> ASGIApp:
    """StreamingResponse over ag-ui-protocol's models and encoder, as AG-UI's own examples have it."""
    models = as_models(stream)

    async def events() -> AsyncIterator[str]:
        encoder = EventEncoder()
        for model in models:
            yield encoder.encode(model)

    return _answering(lambda: StreamingResponse(events(), media_type="text/event-stream"))


def sse_starlette(stream: Stream) -> ASGIApp:
    """sse-starlette's EventSourceResponse, which writes CRLF, over the JSON of ag-ui-protocol's models."""
    models = as_models(stream)

    async def events() -> AsyncIterator[dict[str, str]]:
        for model in models:
            yield {"data": model.model_dump_json(by_alias=True)}

    return _answering(lambda: EventSourceResponse(events()))


_models: TypeAdapter[Any] = TypeAdapter(Event)


def as_models(stream: Stream) -> list[Any]:
    models = {id(event): _models.validate_python(event) for event in stream.events}
    return [models[id(event)] for event in stream.events]


def _answering(respond: Callable[[], ASGIApp]) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await respond()(scope, receive, send)

    return app


INNER: dict[str, Callable[[Stream], ASGIApp]] = {
    "bare ASGI": messages,
    "StreamingResponse": streaming_response,
    "EventEncoder": event_encoder,
    "sse-starlette": sse_starlette,
}
