"""What an event costs, in process: no socket, no server, only the app, what wraps it, and `send`."""

from collections.abc import Callable, Iterable

from starlette.types import ASGIApp

from tests.benchmarks import apps, streams
from tests.benchmarks.contenders import CONTENDERS, OURS, TAG
from tests.benchmarks.exchange import Recorder, exchange
from tests.benchmarks.streams import Stream
from tests.benchmarks.timing import Rounds, Spread, Turn, added, alternate, ratio

STREAMS: dict[str, Callable[[], Stream]] = {
    "parent's deltas": streams.parents_deltas,
    "subagent's deltas": streams.subagents_deltas,
    "alternating texts": streams.alternating_texts,
    "mixed run": streams.mixed,
    "1 MiB snapshots": streams.snapshots,
}
Result = dict[str, dict[str, dict[str, Spread]]]
"""By stream, contender, and what is compared."""

COMPARED = ("nothing", "floor", "naive json", "models", "BaseHTTP", "inline")


def turn(app: ASGIApp) -> Turn:
    async def take() -> None:
        await exchange(app)

    return take


async def check(stream: Stream, names: Iterable[str]) -> None:
    """That each contender does its work at all."""
    for name in names:
        recorder = Recorder()
        await exchange(CONTENDERS[name](apps.messages(stream)), recorder)
        nested = "snapshots" in stream.name  # which the naive ones do not look into
        keeps = name in ("bare", "nothing", "floor", "passing", "fault watch") or (nested and name not in OURS)
        tagged = [
            frame for frame in recorder.body.split(b"\n\n") if TAG.encode() in frame and b"SUBAGENT_" not in frame
        ]
        if tagged and not keeps:
            raise AssertionError(f"{name} left a tag in the {stream.name}")
        if recorder.body.count(b"RUN_FINISHED") != 1:
            raise AssertionError(f"{name} lost the end of the {stream.name}")


async def measure(stream: Stream, inner: str, names: Iterable[str], rounds: int) -> Rounds:
    """Processor seconds of one response of each contender, round by round."""
    app = apps.INNER[inner](stream)
    return await alternate({name: turn(CONTENDERS[name](app)) for name in names}, rounds)


async def bare_inner(rounds: int, names: Iterable[str] = CONTENDERS, only: Iterable[str] = STREAMS) -> Result:
    """Contenders on streams, with an app of ready messages."""
    result: Result = {}
    for stream in (STREAMS[name]() for name in only):
        await check(stream, names)
        times = await measure(stream, "bare ASGI", names, rounds)
        result[stream.name] = {name: costs(times, name, len(stream.events)) for name in times if name != "bare"}
    return result


async def real_inner(rounds: int) -> dict[str, dict[str, Spread]]:
    """What wrapping costs apps that users have, as a share of what they cost themselves, on the mixed run."""
    result: dict[str, dict[str, Spread]] = {}
    stream = streams.mixed()
    for inner in ("StreamingResponse", "EventEncoder", "sse-starlette"):
        times = await measure(stream, inner, ("bare", "passing", "inline", "hidden", "0.0.36", "BaseHTTP"), rounds)
        result[inner] = {
            name: Spread.of(mine / bare for mine, bare in zip(added(times, name), times["bare"], strict=True))
            for name in times
            if name != "bare"
        }
    return result


async def whole(rounds: int) -> dict[str, Spread]:
    """What a response of a single delta costs, as a multiple of what Starlette's StreamingResponse takes for it."""
    stream = streams.parents_deltas(1)
    names = ("bare", "passing", "inline", "hidden", "0.0.36", "BaseHTTP")
    app = apps.streaming_response(stream)
    times = await alternate({name: many(turn(CONTENDERS[name](app)), 50) for name in names}, rounds)
    return {
        name: Spread.of(mine / bare for mine, bare in zip(added(times, name), times["bare"], strict=True))
        for name in times
        if name != "bare"
    }


def many(take: Turn, count: int) -> Turn:
    async def take_many() -> None:
        for _ in range(count):
            await take()

    return take_many


def costs(times: Rounds, name: str, events: int) -> dict[str, Spread]:
    """`added`: microseconds an event over bare; the others are ratios of what is added."""
    spent = {"added": Spread.of(seconds / events * 1e6 for seconds in added(times, name))}
    for other in COMPARED:
        if other in times and name != other:
            spent[other] = ratio(times, name, other)
    return spent
