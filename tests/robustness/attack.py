"""Draws a request, a response and a way to break it, for whatever a hidden run is served in."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from hypothesis import strategies as st
from starlette.types import Message, Receive, Scope, Send

from agui_middleware.protocol.releases import RELEASES
from tests.robustness.exchange import END, START, Exchange, body
from tests.robustness.paths import drawn_path
from tests.strategies import cuts, runs, streams

CLIENTS = [
    *map(str, RELEASES),
    "v1.0.0",
    "^0.0.58",
    "999.0.0",
    "0.0.0",
    "1.0.0-canary.1",
    "",
    "current",
    "\x00",
    "x" * 4096,
]
ACCEPTS = [
    "text/event-stream",
    "application/vnd.ag-ui.event+proto",
    "*/*",
    "application/json",
    "",
    "text/event-stream;q=0",
]
METHODS = ["POST", "GET", "HEAD", "OPTIONS", "PUT", "DELETE", "post", "QUERY", "TRACE"]
BINARY = "application/vnd.ag-ui.event+proto"
TYPES = [
    *["text/event-stream"] * 15,
    "Text/Event-Stream ; charset=utf-8",
    "\ttext/event-stream",
    BINARY,
    f"{BINARY}; x=1",
]
# Clients read a body of any type as events.
UNLABELLED = ["", "text/event-stream, text/plain", "text/plain, text/html", "event-stream", "text/plain"]
CODINGS = ["", "identity", "gzip", "br", "identity, gzip", "x-unknown"]
STATUSES = [200, 200, 200, 200, 201, 206, 202, 400, 404, 500]

# Frames that no subagent's event may hide behind or in: broken, of wrong types, without data. Some hold a secret.
NEIGHBOURS = [
    b"data: {broken\n\n",
    b'data: {"type":1}\n\n',
    b'data: {"type":"CUSTOM","name":"x","value":NaN}\n\n',
    b'data: {"messageId":"m"}\n\n',
    b"data: [1]\n\ndata: null\n\ndata: [DONE]\n\ndata:\n\n",
    b'data: {"type":"MESSAGES_SNAPSHOT","messages":{}}\n\n',
    b'data: {"type":"MESSAGES_SNAPSHOT","messages":[7]}\n\n',
    b'data: {"type":"RUN_STARTED","threadId":"t","runId":"r","input":[]}\n\n',
    b'data: {"type":"RUN_FINISHED","outcome":{"type":"success","pendingToolCallIds":7}}\n\n',
    b'data: {"type":"STEP_FINISHED"}\n\n',
    b'data: {"type":"TEXT_MESSAGE_CHUNK"}\n\n',
    b'data: {"type":"TOOL_CALL_CHUNK","toolCallId":7,"toolCallName":null}\n\n',
    b"\xff\xfe\x00\n\n",
    b"event: x\r\rid: 1\r\n\r\n: \n",
    b": SECRET\n\n",
    b"id: SECRET\n\n",
    b"event: SECRET\n\n",
    b"SECRET: x\n\n",
    b"data: SECRET\n\n",
    b'data: "SECRET"\n\n',
    b'data: ["SECRET"]\n\n',
    b"data: {SECRET\n\n",
    b'data: {"type":"CUSTOM","name":"x","value":"SECRET"\n\n',
    b'data: {"type":"CUSTOM","name":"x","subagentRunId":7,"value":"SECRET"}\n\n',
    b'data: {"type":"CUSTOM","name":"x","subagentRunId":{},"value":"SECRET"}\n\n',
    b'data: {"type":"CUSTOM","name":"x","subagentRunId":false,"value":"SECRET"}\n\n',
    b'data: {"type":"CUSTOM","name":"x","subagentRunId":"","value":"SECRET"}\n\n',
    b'data: {"type":"CUSTOM","name":"x","subagentRunId":"s","value":["SECRET\\ud800"]}\n\n',
    b'data: {"type":"CUSTOM","name":"x","subagent\\u0052unId":"s","value":"SECRET"}\n\n',
    b'data: {"type":"CUSTOM","subagentRunId":null,"name":"x","subagentRunId":"s","value":"SECRET"}\n\n',
    b'data: {"type":"CUSTOM","name":"x","value":"SECRET","subagentRunId":' + b"[" * 3000 + b"]" * 3000 + b"}\n\n",
    b'data: {"type":"LATER_THAN_ALL","subagentRunId":"s","x":"SECRET"}\n\n',
    b'data: {"type":"CUSTOM",\rdata: "subagentRunId":"s",\r\ndata: "name":"SECRET","value":1}\n\n',
]


@dataclass
class Attack:
    """One exchange: what the client asks, what the app answers, and where it breaks."""

    path: str
    method: str
    headers: list[tuple[bytes, bytes]]
    query: bytes
    posted: list[bytes]
    status: int
    answered: list[tuple[Any, Any]]
    parts: list[bytes]
    fails_at: int | None
    send_fails_at: int | None
    filter_fails_at: int | None
    ends: bool
    max_event_bytes: int

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["more_body"]:
            pass
        await send({"type": START, "status": self.status, "headers": self.answered})
        for index, part in enumerate(self.parts):
            if index == self.fails_at:
                raise ValueError("SECRET")
            await send(body(part))
        if self.ends:
            await send(END)

    def exchange(self) -> Exchange:
        def fail(_: Message) -> None:
            if self.send_fails_at is not None and len(exchange.sent) >= self.send_fails_at:
                raise OSError("the client has left")

        request: dict[str, Any] = {"method": self.method, "headers": self.headers, "query": self.query}
        exchange = Exchange(self.path, body=self.posted, on_send=fail, **request)
        return exchange


@st.composite
def attacks(draw: st.DrawFn) -> Attack:
    """Draw an attack on a run in which everything that a subagent emits contains SECRET."""
    stream = draw(streams(draw(runs(secrets=True))))
    rolled = random.Random(draw(st.integers(0, 2**32 - 1)))  # the rest has no structure that shrinking could use
    parts = draw(cuts(stream))
    path, type_ = _path(rolled), rolled.choice(UNLABELLED if rolled.random() < 0.1 else TYPES)
    if path != "/agent" and type_ == "text/plain":
        type_ = ""  # a text on a path that no route has is one
    # What is sniffed may be something else, which passes up to its first AG-UI event.
    if path == "/agent" and type_ in TYPES and rolled.random() < 0.5:
        parts = _with_neighbours(parts, rolled)
    answered = [("content-type", type_)]
    if rolled.random() < 0.1:
        answered += [("Content-Encoding", rolled.choice(CODINGS))]
    if rolled.random() < 0.2:
        answered += [("content-length", "3"), ("vary", "*"), ("trailer", "x")]
    return Attack(
        path=path,
        method=rolled.choice(METHODS) if rolled.random() < 0.3 else "POST",
        headers=_request_headers(rolled),
        query=_query(rolled),
        posted=_posted(rolled),
        status=rolled.choice(STATUSES),
        answered=[(name.encode(), value.encode()) for name, value in answered],
        parts=parts,
        fails_at=_now_and_then(rolled, len(parts)),
        send_fails_at=_now_and_then(rolled, len(parts)),
        filter_fails_at=_now_and_then(rolled, 20),
        ends=rolled.random() < 0.8,
        max_event_bytes=rolled.choice([10 * 1024 * 1024] * 9 + [50, 150, 400]),
    )


def _path(rolled: random.Random) -> str:
    """That of the route that hides, or any other, as a server decodes it."""
    if rolled.random() < 0.7:
        return "/agent"
    return unquote(drawn_path(rolled, "/api").decode(), errors="surrogateescape")


def _now_and_then(rolled: random.Random, limit: int) -> int | None:
    return rolled.randrange(limit + 1) if rolled.random() < 0.15 else None


def _with_neighbours(parts: Sequence[bytes], rolled: random.Random) -> list[bytes]:
    """Some frames put in anywhere, also into the middle of an event, which tears it.

    A blank line comes first: what follows the lines of the parent's unfinished event would be the parent's own. A name
    that is cut before its colon would make a comment of an event, and nobody could tell.
    """
    result = list(parts)
    for _ in range(rolled.randrange(1, 4)):
        index = rolled.randrange(1, len(result) + 1)
        if not b"".join(result[:index]).endswith(b"data"):
            result.insert(index, b"\n\n" + rolled.choice(NEIGHBOURS))
    return result


def _request_headers(rolled: random.Random) -> list[tuple[bytes, bytes]]:
    named = [("X-AG-UI-Client-Version", rolled.choice(CLIENTS)) for _ in range(rolled.randrange(3))]
    fields = [("accept", rolled.choice(ACCEPTS)), *named]
    if rolled.random() < 0.3:
        fields += [("range", "bytes=100-"), ("if-range", '"x"'), ("accept-encoding", "gzip, br"), ("te", "trailers")]
    return [(name.encode(), value.encode()) for name, value in fields]


def _query(rolled: random.Random) -> bytes:
    named = [f"x-ag-ui-client-version={rolled.choice(CLIENTS)}".encode() for _ in range(rolled.randrange(2))]
    return b"&".join([*named, rolled.choice([b"", b"%ff&&=", b"visibility=attributed", b"x" * 100])])


def _posted(rolled: random.Random) -> list[bytes]:
    version = rolled.choice(['"1.0"', '"1.1"', '"99.0"', "1.0", "null", '"\\ud800"', "[" * 2000 + "]" * 2000])
    whole = rolled.choice([b"", b"{}", b"\xff", b"[", b'{"protocolVersion":%b}' % version.encode()])
    cut = rolled.randrange(len(whole) + 1)
    return [whole[:cut], whole[cut:]]
