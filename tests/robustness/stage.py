"""A serving stopped at a named moment: an app, filters and an inner generator that count how often they began and ended."""

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import anyio
from starlette.types import Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Context, Event, Route, Settings
from tests.robustness.agents import FRAMES
from tests.robustness.exchange import EVENT_STREAM

MOMENTS = ("before start", "between events", "inside an event", "a filter awaits", "a filter holds back")
STOP = 8  # the index of the frame at which a stage stops; the subagents' messages are open then


class Stage:
    """An app behind the middleware, that stops at one of `MOMENTS`.

    There `reached` is set, and it goes on when `go_on` is set. `began` and `ended` count entries and `finally` blocks.
    """

    def __init__(self, moment: str, visibility: Literal["inline", "hidden"] = "inline") -> None:
        self.moment = moment
        self.reached = anyio.Event()
        self.go_on = anyio.Event()
        self.began: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        route = Route(path="/agent", visibility=visibility, filters=self._filters())
        self.app = AGUIMiddleware(self._serve, Settings(routes=[route]))

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._counted("app"):
            await receive()
            async with anyio.create_task_group() as group:
                group.start_soon(self._cancel_when_left, receive, group.cancel_scope)
                await self._stream(send)
                group.cancel_scope.cancel()

    async def _cancel_when_left(self, receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()

    async def _stream(self, send: Send) -> None:
        await self._stop_at("before start")
        await send(EVENT_STREAM)
        parts = self._parts()
        try:
            async for part in parts:
                await send({"type": "http.response.body", "body": part, "more_body": True})
        finally:
            await parts.aclose()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _parts(self) -> AsyncGenerator[bytes, None]:
        with self._counted("agent"):
            for index, frame in enumerate(FRAMES):
                if index == STOP:
                    await self._stop_at("between events")
                    await self._stop_at("a filter holds back")
                    yield frame[:20]
                    await self._stop_at("inside an event")
                    yield frame[20:]
                else:
                    yield frame

    def _filters(self) -> list[Callable[..., Any] | str]:
        async def passing(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
            with self._counted("passing"):
                async for event in events:
                    yield event

        async def awaiting(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
            with self._counted("awaiting"):
                seen = 0
                async for event in events:
                    seen += 1
                    if seen == STOP:
                        await self._stop_at("a filter awaits")
                    yield event

        async def holding(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
            with self._counted("holding"):
                held = [event async for event in events]
                for event in held:
                    yield event

        last = holding if self.moment == "a filter holds back" else passing
        return [passing, awaiting, last] if last is holding else [passing, awaiting]

    async def _stop_at(self, moment: str) -> None:
        if moment == self.moment:
            self.reached.set()
            await self.go_on.wait()

    @contextmanager
    def _counted(self, name: str) -> Iterator[None]:
        self.began[name] += 1
        try:
            yield
        finally:
            self.ended[name] += 1
