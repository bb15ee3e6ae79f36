"""How long one event, or one body, holds the event loop: `python -m tests.robustness.holding`.

An event is rewritten, and a body read, between two awaits: meanwhile nothing else runs. This takes the largest that the
defaults allow, in a process of its own, and prints the least of some repeats in milliseconds of processor time, which other
processes lengthen less than time; and what msgspec takes to decode and encode the same.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any, Final

import msgspec

from agui_middleware.config.settings import Settings
from tests.robustness.hungry import plans, rewritten
from tests.robustness.hungry_turns import BODIES, readers, taken_in

DEFAULTS: Final = Settings()
EVENTS: Final[dict[str, dict[str, Any]]] = {
    "one long text": {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x" * 1_000_000},
    "a state of numbers": {"type": "STATE_SNAPSHOT", "snapshot": list(range(100_000))},
    "a snapshot of long messages": {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [{"id": f"m{n}", "role": "assistant", "content": "x" * 2000} for n in range(500)],
    },
    "a snapshot of tiny messages": {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [{"id": f"m{n}", "role": "assistant", "content": "x"} for n in range(20_000)],
    },
}
READERS: Final = ("1.0.0", "0.0.58", "0.0.45", "0.0.36", "inline", "hidden", "filters", "rows of all SDKs")
POSTING: Final = ("current", "0.0.58", "0.0.36", "rows of all SDKs")


def large(event: dict[str, Any], limit: int) -> bytes:
    """An event of nearly `limit` bytes, of more of the same."""
    name = next(name for name, value in event.items() if isinstance(value, list) or (name == "delta"))
    times = limit * 95 // 100 // len(json.dumps(event))
    return json.dumps({**event, name: event[name] * times}).encode()


def held(work: Callable[[], object], repeats: int) -> float:
    """The processor time of `work` in milliseconds, the least of some repeats."""
    times = []
    for _ in range(repeats):
        before = time.process_time()
        work()
        times.append(time.process_time() - before)
    return 1000 * min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    made, posting = plans(), readers()
    print("milliseconds for", "decoding and encoding", *READERS, sep=" | ")
    for name, event in EVENTS.items():
        raw = large(event, DEFAULTS.max_event_bytes)
        frame = b"data: %b\n\n" % raw
        row = [held(lambda raw=raw: msgspec.json.encode(msgspec.json.decode(raw)), repeats)]  # type: ignore[misc]
        row += [held(lambda plan=made[label], frame=frame: rewritten(plan, [frame]), repeats) for label in READERS]  # type: ignore[misc]
        print(name, *(f"{each:.0f}" for each in row), sep=" | ", flush=True)
    print("milliseconds for", "decoding and encoding", *POSTING, sep=" | ")
    for label, make in BODIES.items():
        size = DEFAULTS.max_request_bytes * 90 // len(json.dumps(make(100)))
        body = json.dumps(make(size)).encode()
        row = [held(lambda body=body: msgspec.json.encode(msgspec.json.decode(body)), repeats)]  # type: ignore[misc]
        row += [held(lambda body=body, reader=posting[each]: taken_in(body, reader, []), repeats) for each in POSTING]  # type: ignore[misc]
        print(label, *(f"{each:.0f}" for each in row), sep=" | ", flush=True)


if __name__ == "__main__":
    main()
