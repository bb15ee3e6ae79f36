"""What the way in costs: upgrading and restoring a posted conversation of 200 messages, in decodes and encodes of its body
with msgspec, and keeping what a response could not give, in decodes and encodes of its events.

    python -m tests.benchmarks.way_in            # as time
    python -m tests.benchmarks.way_in --count    # in instructions, as callgrind counts them: also on a busy machine
"""

import json
import os
import re
import subprocess
import sys
import timeit
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from agui_middleware import ClientVersion, Context
from agui_middleware.config.plan import Plan
from agui_middleware.config.planning import make_plan
from agui_middleware.filters.tools import deny_tools
from agui_middleware.history.capture import Capture
from agui_middleware.history.echo import Echo
from agui_middleware.history.merge import restore
from agui_middleware.history.record import Chain, Item, Kept, Member
from agui_middleware.protocol.posted import Posted
from agui_middleware.stream.rewriter import Rewriter
from agui_middleware.stream.witnessed import Options, Witness, WitnessedRewriter
from tests.benchmarks.timing import Rounds, Spread, Turn, alternate
from tests.history.bodies import upgrade

CLIENTS = ("0.0.59", "0.0.53", "0.0.43")
KINDS = ("nothing to change", "50 images", "50 images and 50 results out of place")
ROUNDS = 100
TOKENS = 300
TIMES = (5, 15)  # the first warm up
_COLLECTED = re.compile(r"^==(\d+)== Collected : (\d+)", re.MULTILINE)


def conversation(images: bool, disordered: bool) -> bytes:
    """200 messages: a question, a call, its result and an answer, fifty times."""
    messages: list[dict[str, Any]] = []
    for turn in range(50):
        image = {"type": "binary", "mimeType": "image/png", "data": "A" * 400}
        content = [{"type": "text", "text": "look " * 30}, image] if images else "look " * 60
        call = {"id": f"c{turn}", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
        result = {"id": f"r{turn}", "role": "tool", "toolCallId": f"c{turn}", "content": "ok " * 80}
        answer = {"id": f"m{turn}", "role": "assistant", "content": "answer " * 60}
        messages.append({"id": f"u{turn}", "role": "user", "content": content})
        messages.append({"id": f"h{turn}", "role": "assistant", "toolCalls": [call]})
        messages += [answer, result] if disordered else [result, answer]
    rest: dict[str, Any] = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
    return json.dumps({"threadId": "t", "runId": "r", "messages": messages, **rest}).encode()


def restorable() -> tuple[Posted, Kept, ClientVersion]:
    """The same 200 messages, of which a subagent's answers have lost their tags, and one is hidden in each turn."""
    posted = Posted.read(conversation(images=False, disordered=False))
    assert posted is not None
    items, keys = {}, list[str]()
    for turn in range(50):
        items[f"m{turn}"] = Item({"subagentRunId": Member(b'"s"', [b""])})
        items[f"n{turn}"] = Item({}, whole=json.dumps({"id": f"n{turn}", "role": "assistant", "content": "x"}).encode())
        keys += [f"u{turn}", f"h{turn}", f"r{turn}\0c{turn}", f"n{turn}", f"m{turn}"]
    held = bytes(not key.startswith("n") for key in keys)
    chain = Chain(keys, held, bytes(key.startswith("u") for key in keys))
    return posted, Kept(items=items, chains=[chain]), ClientVersion.parse("0.0.58")


def best(work: Any) -> float:
    return min(timeit.repeat(work, number=ROUNDS, repeat=7)) / ROUNDS


def main() -> None:
    for kind in KINDS:
        body = conversation("images" in kind, "results" in kind)
        floor = best(lambda body=body: msgspec.json.encode(msgspec.json.decode(body)))
        for client in CLIENTS:
            version = ClientVersion.parse(client)
            cost = best(lambda body=body, version=version: upgrade(body, version))
            print(f"{kind:40}{client:8}{cost * 1e6:8.0f} us{cost / floor:8.1f} decodes and encodes")


def _token(subagent: bool) -> bytes:
    event = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "message-1", "delta": "a token"}
    tag = {"subagentRunId": "subagent-run-1"} if subagent else {}
    return b"data: %b\n\n" % msgspec.json.encode({**event, **tag, "timestamp": 1760000000000})


def _stream(subagent: bool, tokens: int) -> list[bytes]:
    start = {"type": "TEXT_MESSAGE_START", "messageId": "message-1", "role": "assistant"}
    tag = {"subagentRunId": "subagent-run-1"} if subagent else {}
    frames = [{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}, {**start, **tag}]
    return [b"data: %b\n\n" % msgspec.json.encode(frame) for frame in frames] + [_token(subagent)] * tokens


def _witnessed(plan: Plan, context: Context) -> tuple[WitnessedRewriter, Capture]:
    posted = Posted.read(b'{"threadId":"t","runId":"r","messages":[]}')
    assert posted is not None
    capture = Capture(posted, posted, None, plan.client, 1024 * 1024)
    options = Options(sniff=False, verify=False, log=None)
    witness = Witness(capture, Echo(posted, posted).as_posted)
    return WitnessedRewriter(plan, context, 10**7, witness, **options), capture


def _kept_streams() -> list[tuple[str, Plan, bool]]:
    """The plans by which tokens are kept, and whether these are a subagent's."""
    return [
        ("inline, the parent's", make_plan(ClientVersion.parse("0.0.58")), False),
        ("inline, a subagent's", make_plan(ClientVersion.parse("0.0.58")), True),
        ("hidden, the parent's", make_plan(None, "hidden"), False),
        ("hidden, a subagent's", make_plan(None, "hidden"), True),
        ("0.0.36, the parent's", make_plan(ClientVersion.parse("0.0.36")), False),
        ("deny_tools, 1.0.0", make_plan(ClientVersion.parse("1.0.0"), filters=[deny_tools(["delete"])]), False),
    ]


def _run(rewriter: Rewriter, frames: list[bytes]) -> None:
    for frame in frames:
        rewriter.feed(frame)
    rewriter.close()


async def ratios(rounds: int) -> dict[str, float]:
    """What a change may not worsen: upgrades in decodes and encodes of the body, kept streams over the same not kept."""
    found: dict[str, float] = {}
    for kind in KINDS:
        body = conversation("images" in kind, "results" in kind)
        turns = {client: _turn(partial(upgrade, body, ClientVersion.parse(client)), 5) for client in CLIENTS}
        turns["floor"] = _turn(partial(_decode_and_encode, body), 5)
        times = await alternate(turns, rounds)
        found |= {f"upgrade: {kind}, {client} / floor": _over(times, client, "floor") for client in CLIENTS}
    posted, kept, client = restorable()
    turns = {"restore": _turn(partial(restore, posted, kept, client), 5)}
    times = await alternate(turns | {"floor": _turn(partial(_decode_and_encode, posted.raw), 5)}, rounds)
    found["restore: 50 tags and 50 hidden messages / floor"] = _over(times, "restore", "floor")
    for name, plan, subagent in _kept_streams():
        frames = _stream(subagent, TOKENS)
        times = await alternate({"kept": _kept(plan, frames), "not kept": _not_kept(plan, frames)}, rounds)
        found[f"kept: {name} / not kept"] = _over(times, "kept", "not kept")
    return found


def _work() -> Iterator[tuple[str, str, float, Callable[[], object]]]:
    """What is counted: its name, what it is divided by, how often that is in it, and the work itself."""
    for kind in KINDS:
        body = conversation("images" in kind, "results" in kind)
        yield f"floor: {kind}", "", 1, partial(_decode_and_encode, body)
        for client in CLIENTS:
            yield f"upgrade: {kind}, {client}", f"floor: {kind}", 1, partial(upgrade, body, ClientVersion.parse(client))
    restoring = partial(restore, *restorable())
    yield "floor: restore", "", 1, partial(_decode_and_encode, restorable()[0].raw)
    yield "restore", "floor: restore", 1, restoring
    for name, plan, subagent in _kept_streams():
        frames = _stream(subagent, TOKENS)
        token = _token(subagent)[6:-2]
        yield f"floor: {name}", "", 1, partial(_decode_and_encode, token)
        yield f"not kept: {name}", f"floor: {name}", TOKENS, partial(_run_once, plan, frames, kept=False)
        yield f"kept: {name}", f"floor: {name}", TOKENS, partial(_run_once, plan, frames, kept=True)


def _run_once(plan: Plan, frames: list[bytes], *, kept: bool) -> None:
    context = Context(plan.client)
    _run(_witnessed(plan, context)[0] if kept else Rewriter(plan, context, 10**7), frames)


def counts() -> dict[str, tuple[int, float]]:
    """Instructions by name, and over those of its floor. What is imported first is not counted: each is a forked process."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, "-m", __spec__.name]
    told = subprocess.run(
        [*command, "--run"], capture_output=True, text=True, env=os.environ | {"PYTHONHASHSEED": "0"}, check=True
    )
    collected = {pid: int(count) for pid, count in _COLLECTED.findall(told.stderr)}
    measured: dict[str, dict[int, int]] = {}
    for line in told.stdout.splitlines():
        pid, name, times = line.split("\t")
        measured.setdefault(name, {})[int(times)] = collected[pid]
    few, many = TIMES
    each = {name: (found[many] - found[few]) // (many - few) for name, found in measured.items()}
    return {name: (each[name], each[name] / (each[floor] * part)) for name, floor, part, _ in _work() if floor}


def _run_counted() -> None:
    for name, _, _, work in _work():
        for times in TIMES:
            pid = os.fork()
            if pid == 0:
                for _ in range(times):
                    work()
                os._exit(0)
            os.waitpid(pid, 0)
            print(pid, name, times, sep="\t", flush=True)


def _over(times: Rounds, name: str, other: str) -> float:
    pairs = zip(times[name], times[other], strict=True)
    return round(Spread.of(mine / theirs for mine, theirs in pairs).median, 2)


def _decode_and_encode(body: bytes) -> None:
    msgspec.json.encode(msgspec.json.decode(body))


def _turn(work: Callable[[], object], times: int = 1) -> Turn:
    async def turn() -> None:
        for _ in range(times):
            work()

    return turn


def _kept(plan: Plan, frames: list[bytes]) -> Turn:
    return _turn(lambda: _run(_witnessed(plan, Context(plan.client))[0], frames))


def _not_kept(plan: Plan, frames: list[bytes]) -> Turn:
    return _turn(lambda: _run(Rewriter(plan, Context(plan.client), 10**7), frames))


def keeping(tokens: int = 2000) -> None:
    """The cost of a token, with what is kept and without; then what is kept of a response of so many."""
    for name, plan, subagent in _kept_streams():
        frames = _stream(subagent, tokens)
        run = partial(_run, frames=frames)
        floor = best(lambda subagent=subagent: msgspec.json.encode(msgspec.json.decode(_token(subagent)[6:-2])))
        without = min(timeit.repeat(lambda: run(Rewriter(plan, Context(plan.client), 10**7)), number=1, repeat=15))  # noqa: B023
        kept = min(timeit.repeat(lambda: run(_witnessed(plan, Context(plan.client))[0]), number=1, repeat=15))  # noqa: B023
        rewriter, capture = _witnessed(plan, Context(plan.client))
        run(rewriter)
        record = capture.finish() or Kept()
        print(
            f"{name:24}{without / tokens * 1e6:8.2f} us a token, {kept / tokens * 1e6:6.2f} kept: "
            f"{(kept - without) / tokens / floor:6.2f} floors; {len(record.to_bytes()):8} bytes of {tokens} tokens"
        )


if __name__ == "__main__":
    if "--run" in sys.argv:
        _run_counted()
    elif "--count" in sys.argv:
        for name, (count, ratio) in counts().items():
            print(f"{name:65}{count:12,} instructions{ratio:8.2f} floors")
    else:
        main()
        keeping()
