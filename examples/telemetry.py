"""Counters for OpenTelemetry: streams by route and client, losses by route, client and feature.

    pip install -e '.[examples]' opentelemetry-distro
    OTEL_METRICS_EXPORTER=console opentelemetry-instrument uvicorn examples.telemetry:app

or set a MeterProvider with an exporter of your own. The hooks are called once a stream, and once a stream and feature; an
event costs nothing. One that raises is logged, and the stream goes on.
"""

from fastapi import FastAPI
from opentelemetry import metrics
from starlette.types import Scope

from agui_middleware import AGUIMiddleware, Choice, Loss, Route, Settings
from examples.agent import agent

meter = metrics.get_meter("agui_middleware")
streams = meter.create_counter("agui.streams", description="Event streams that were served")
losses = meter.create_counter("agui.losses", description="Features that a client went without")


def count_stream(_: Scope, choice: Choice) -> None:
    """One more stream on its route, for its client."""
    streams.add(1, {"route": choice.route.path, "client": str(choice.client or "current")})


def count_loss(loss: Loss) -> None:
    """One more stream in which something was lost."""
    losses.add(1, {name: value for name, value in loss.fields.items() if value is not None})


app = FastAPI()
app.post("/agent")(agent)
app.add_middleware(
    AGUIMiddleware, settings=Settings(routes=[Route(path="/agent")]), on_plan=count_stream, on_loss=count_loss
)
