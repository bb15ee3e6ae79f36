"""The examples in process; `.ci/examples` serves them to real clients."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from starlette.types import ASGIApp

from examples import cors, routes, telemetry, tool_allow_list, wrap
from tests.robustness.exchange import Exchange

INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "state": {}, "messages": [], "tools": [], "context": []}
BODY = json.dumps({**INPUT, "forwardedProps": {}}).encode()
ALLOWED = "x-ag-ui-client-version"


async def ask(app: ASGIApp, path: str = "/agent", release: str | None = None, **request: Any) -> Exchange:
    said = [] if release is None else [(b"x-ag-ui-client-version", release.encode())]
    headers = [(b"content-type", b"application/json"), *said, *request.pop("headers", ())]
    return await Exchange(path, headers=headers, body=[BODY], **request).run(app)


def header(exchange: Exchange, name: bytes) -> str:
    fields: dict[bytes, bytes] = dict(exchange.sent[0]["headers"])
    return fields.get(name, b"").decode()


async def test_wrap() -> None:
    assert b"SUBAGENT_STARTED" in (await ask(wrap.app)).body
    assert b"SUBAGENT_STARTED" not in (await ask(wrap.app, release="0.0.58")).body


@pytest.mark.parametrize(
    ("path", "release", "summary"),
    [
        ("/agent", None, "client=0.0.58; subagents=hidden"),
        ("/agent", "1.0.0", "client=1.0.0"),
        ("/public/agent", "0.0.45", "client=0.0.45; subagents=hidden"),
        ("/kiosk", "1.0.0", "client=0.0.45; subagents=inline"),
    ],
)
async def test_routes(path: str, release: str | None, summary: str) -> None:
    assert header(await ask(routes.app, path, release), b"x-ag-ui-downgrade") == summary


async def test_the_app_of_routes_looks_at_the_choice() -> None:
    assert (await ask(routes.app, "/who", "0.0.45")).body == b"/who: 0.0.45, subagents inline\n"


async def test_tool_allow_list() -> None:
    body = (await ask(tool_allow_list.app)).body
    assert b'"toolCallName":"archive"' in body
    assert b'"research"' not in body.replace(b'"name":"research"', b"")
    assert b"REASONING_" not in body


async def test_cors() -> None:
    asked = [
        (b"origin", b"https://chat.example"),
        (b"access-control-request-method", b"POST"),
        (b"access-control-request-headers", b"content-type,x-ag-ui-client-version"),
    ]
    preflight = await ask(cors.app, method="OPTIONS", headers=asked)
    assert preflight.sent[0]["status"] == 200
    assert ALLOWED in header(preflight, b"access-control-allow-headers").lower()
    answer = await ask(cors.app, release="0.0.58", headers=asked[:1])
    assert header(answer, b"access-control-expose-headers") == "x-ag-ui-downgrade"
    assert header(answer, b"x-ag-ui-downgrade") == "client=0.0.58; subagents=inline"


async def test_telemetry() -> None:
    reader = InMemoryMetricReader()
    metrics.set_meter_provider(MeterProvider([reader]))
    for release in ("0.0.58", "0.0.58", "1.0.0"):
        await ask(telemetry.app, release=release)
    assert sorted(counted(reader), key=str) == [
        ("agui.losses", {"client": "0.0.58", "route": "/agent", "feature": "subagents", "fixed_in": "0.0.59"}, 2),
        ("agui.streams", {"client": "0.0.58", "route": "/agent"}, 2),
        ("agui.streams", {"client": "1.0.0", "route": "/agent"}, 1),
    ]


def counted(reader: InMemoryMetricReader) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """What the middleware's meter has counted, by name and attributes."""
    data = reader.get_metrics_data()
    scopes = [scope for resource in (data.resource_metrics if data else ()) for scope in resource.scope_metrics]
    for metric in (metric for scope in scopes if scope.scope.name == "agui_middleware" for metric in scope.metrics):
        for point in metric.data.data_points:
            yield metric.name, dict(point.attributes or {}), getattr(point, "value", None)
