"""Traces a stream through a plan, event by event: its input, its output, and the reasons."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

from agui_middleware.config.named_clients import counts_as
from agui_middleware.config.planning import make_plan
from agui_middleware.config.readers import Reader
from agui_middleware.config.settings import Settings
from agui_middleware.demo.event_log import ENDED, Journal
from agui_middleware.demo.second_turn import SecondTurn
from agui_middleware.demo.without_middleware import Rejection, Unprotected
from agui_middleware.protocol.event import Event, MalformedEvent
from agui_middleware.protocol.releases import ClientVersion
from agui_middleware.stream import sse
from agui_middleware.stream.async_rewriter import AsyncRewriter, make_rewriter

LIMIT: Final[int] = Settings.model_fields["max_event_bytes"].default

Record = dict[str, Any]
"""A JSON object for the page, see `trace`."""


async def trace(
    stream: AsyncGenerator[bytes, None], client: ClientVersion | Reader | None, visibility: str = "auto"
) -> AsyncGenerator[Record, None]:
    """Yield a record of the plan, one for each event of `stream` before the next is read, and one of the end.

    - The plan: `client`, `visibility`, `summary` (the response header's value, or null) and `reasons`, an object of
      `{why, since, lost}` by name.
    - An event: its number `n` from 1, its `input` as received, the `outputs` written for it, its `fate`, the names of the
      `reasons` that acted on it, and the numbers of earlier, held events that it `released`. The fate is `same`, `changed`,
      `replaced`, `held`, `dropped`, or `silent` for a frame that no client takes for an event.
    - Output after the last event: the fate `added`, and no `input`.
    - At most once, `rejection`: the event at which the client would end the run without the middleware, see `Rejection`.
    - If the client's conversation may differ from the agent's, `turn`, see `SecondTurn.summary`.
    - The end: `losses`, a list of `{feature, why, since}`.

    Closes `stream`. Raises `ValueError` for an unknown `visibility`.
    """
    tracer = Tracer(counts_as(client), visibility)
    async with aclosing(stream), aclosing(tracer):
        yield tracer.plan()
        async for chunk in stream:
            for record in await tracer.take(chunk):
                yield record
        for record in await tracer.finish():
            yield record


class Tracer:
    """The trace of one stream."""

    def __init__(self, client: ClientVersion | Reader | None, visibility: str) -> None:
        plan = make_plan(client, visibility)
        self._journal = Journal(plan)
        self._second_turn = SecondTurn(plan) if plan.takes_away else None
        witness = None if self._second_turn is None else self._second_turn.witness()
        plan = self._journal.plan
        rewriter = make_rewriter(plan, self._journal, LIMIT, witness)
        self._stream = AsyncRewriter(rewriter, plan.composition.awaiting, self._journal, self._write)
        self._unprotected = Unprotected(client.release if isinstance(client, Reader) else client)
        self._decoder = sse.Decoder(LIMIT)
        self._written = sse.Decoder(LIMIT)
        self._outputs: list[bytes] = []
        self._number = 0

    def plan(self) -> Record:
        """The record of the plan."""
        plan = self._journal.plan
        reasons = {reason.name: reason._asdict() for reason in (*(one.reason for one in self._journal.watched), ENDED)}
        client = str(plan.reader or plan.client or "current")
        return {"client": client, "visibility": plan.visibility, "summary": plan.header_value, "reasons": reasons}

    async def take(self, chunk: bytes) -> list[Record]:
        """The records of the events that `chunk` completes."""
        return [record for data in _frames(self._decoder.feed(chunk)) for record in await self._step(data)]

    async def finish(self) -> list[Record]:
        """The records of what is left when the stream has ended, and the record of the end."""
        records = [record for data in _frames(self._decoder.finish()) for record in await self._step(data)]
        self._journal.begin(self._number + 1)  # so that the last event counts as released, if it was held
        await self._stream.finish()
        if self._outputs:
            records.append(self._record(None, "added"))
        losses = [
            {"feature": loss.feature, "why": loss.reason, "since": loss.fixed_in} for loss in self._journal.losses
        ]
        turn = [] if self._second_turn is None else [{"turn": self._second_turn.summary()}]
        return [*records, *self._rejected(await self._unprotected.finish()), *turn, {"losses": losses}]

    async def aclose(self) -> None:
        """Unwind the filters."""
        await self._stream.close()

    async def _step(self, data: bytes) -> list[Record]:
        self._number += 1
        self._journal.begin(self._number)
        await self._stream.feed(sse.encode(data))
        return [self._record(data, self._fate(data)), *self._rejected(await self._rejection(data))]

    def _record(self, data: bytes | None, fate: str) -> Record:
        outputs, self._outputs = self._outputs, []
        acting = [ENDED] if self._stream.failure else self._journal.acting
        return {
            "n": self._number if data is not None else None,
            "input": None if data is None else _text(data),
            "outputs": [_text(output) for output in outputs],
            "fate": fate,
            "reasons": [reason.name for reason in acting],
            "released": self._journal.released,
        }

    async def _rejection(self, data: bytes) -> Rejection | None:
        if not _tries(data):
            return None
        event = _event(data)
        if event is None:
            return await self._unprotected.take_unreadable(self._number)
        return await self._unprotected.take(self._number, event)

    def _rejected(self, rejection: Rejection | None) -> list[Record]:
        if rejection is not None and self._journal.plan.reader is not None:
            # Its message and `since` are about @ag-ui/client, not about another SDK.
            rejection = rejection._replace(message=None, since=None)
        return [] if rejection is None else [{"rejection": rejection._asdict()}]

    def _fate(self, data: bytes) -> str:
        if data in self._outputs:
            return "same"
        if not _tries(data):
            return "silent"
        if not self._outputs:
            return "held" if self._journal.held else "dropped"
        return "changed" if _type(data) in map(_type, self._outputs) else "replaced"

    async def _write(self, chunk: bytes) -> None:
        self._outputs += _frames(self._written.feed(chunk))


def _frames(items: list[sse.Item]) -> list[bytes]:
    return [item.data for item in items if isinstance(item, sse.Frame) and item.data is not None]


def _tries(data: bytes) -> bool:
    """Whether a frame is meant to be an event, by the rewriter's rule."""
    return data.lstrip(b" \t\n").startswith(b"{")


def _event(data: bytes) -> Event | None:
    try:
        return Event.parse(data.replace(b"\n", b" "))
    except MalformedEvent:
        return None


def _type(data: bytes) -> str | None:
    event = _event(data)
    return None if event is None else event.type


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
