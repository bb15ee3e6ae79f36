"""One stream through one plan whose filters may await: bytes in, and out through `write`."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Unpack

from agui_middleware.config.plan import Plan
from agui_middleware.filters.contract import Context, Filter
from agui_middleware.protocol.errors import WIRE_FAULTS
from agui_middleware.stream.framing import Framing
from agui_middleware.stream.pumps import Pumps
from agui_middleware.stream.rewriter import Rewriter
from agui_middleware.stream.sse import Item
from agui_middleware.stream.witnessed import Options, Witness, WitnessedRewriter

Write = Callable[[bytes], Awaitable[None]]


class AsyncRewriter:
    """Runs filters that may await in front of a `Rewriter`, and passes the output to `write`.

    Call `start`, then `feed` any number of times, `finish` if the stream has ended, and `close` in any case. They raise what
    `write` raises, and otherwise the same as the methods of the `rewriter`.
    """

    __slots__ = ("_pumps", "_write", "rewriter")

    def __init__(self, rewriter: Framing, filters: Sequence[Filter], context: Context, write: Write) -> None:
        self.rewriter: Framing = rewriter
        self._write = write
        self._pumps = (
            Pumps(filters, context, rewriter.chain, self._flush) if isinstance(rewriter, Rewriter) and filters else None
        )

    @property
    def awaits(self) -> bool:
        """Whether any filter may await. If none does, the `rewriter` alone does the same work, synchronously."""
        return self._pumps is not None

    @property
    def ended(self) -> bool:
        """Whether the stream takes no more bytes."""
        return self.rewriter.ended if self._pumps is None else self._pumps.ended

    @property
    def settled(self) -> bool:
        """See `Framing`."""
        return self.rewriter.settled

    @property
    def failure(self) -> Exception | None:
        """The error that ended the stream, if one did."""
        return self.rewriter.failure

    def take_failure(self) -> Exception | None:
        """See `Framing.take_failure`."""
        return self.rewriter.take_failure()

    async def start(self) -> None:
        """Run the filters up to their first event. A sniffed stream starts them when that event comes."""
        if self._pumps is not None and self.rewriter.sniffer is None:
            await self._pumps.start()

    async def feed(self, chunk: bytes) -> None:
        """Take the next bytes. When this returns, all output for them is written, except what filters hold back."""
        if self._pumps is None or self.rewriter.passthrough:
            await self._write_any(self.rewriter.feed(chunk))
        elif self.rewriter.sniffer is None:
            await self._take(self.rewriter.decoder.feed(chunk), self._pumps)
        else:
            await self._write_any(self.rewriter.sniffer.feed(chunk))
            await self._settle(self.rewriter.sniffer.verdict, self._pumps)

    async def finish(self, complete: bool = True) -> None:
        """Write what is left, once the stream has ended. See `Rewriter.finish`."""
        pumps, sniffer = self._pumps, self.rewriter.sniffer
        if pumps is not None and sniffer is not None and complete:
            await self._write_any(sniffer.finish())
            await self._settle(sniffer.verdict, pumps)
        if pumps is None or self.rewriter.passthrough or self.rewriter.sniffer is not None:
            await self._write_any(self.rewriter.finish(complete))
            return
        if complete:
            await self._take(self.rewriter.decoder.finish(), pumps)
        if not self.ended:
            await pumps.finish()
        await self._flush()

    async def close(self) -> None:
        """Unwind the filters. Nothing is written afterwards, and no reference to this object is left: see `Chain.close`."""
        pumps, self._pumps = self._pumps, None
        try:
            if pumps is not None:
                await pumps.close()
        finally:
            self._write = _write_nowhere
            self.rewriter.close()

    async def _take(self, items: list[Item], pumps: Pumps) -> None:
        for item in items:
            if self.ended:
                break
            try:
                event = self.rewriter.read(item)
            except WIRE_FAULTS as error:
                await pumps.fail(error)
                break
            if event is not None:
                await pumps.push(event)
            await self._flush()  # a filter may wait long over the next item
        await self._flush()

    async def _settle(self, verdict: bool | None, pumps: Pumps) -> None:
        if verdict is False:
            self.rewriter.pass_through()
        elif verdict:
            items = self.rewriter.decide()
            await pumps.start()
            await self._take(items, pumps)

    async def _flush(self) -> None:
        await self._write_any(self.rewriter.written())

    async def _write_any(self, data: bytes) -> None:
        if data:
            await self._write(data)


def make_rewriter(
    plan: Plan, context: Context, max_event_bytes: int, witness: Witness | None = None, **options: Unpack[Options]
) -> Framing:
    """What rewrites a stream of a plan, behind the filters that may await. The observer of `witness` is given each event as
    it came and as it leaves.
    """
    if witness is not None:
        return WitnessedRewriter(plan, context, max_event_bytes, witness, **options)
    if plan.rewrites:
        return Rewriter(plan, context, max_event_bytes, **options)
    return Framing(plan, max_event_bytes, sniff=options.get("sniff", False))


async def _write_nowhere(_: bytes) -> None:
    pass
