"""What upgrading a posted conversation of 200 messages costs, in decodes and encodes of its body with msgspec.

python -m tests.benchmarks.way_in
"""

import json
import timeit
from typing import Any

import msgspec

from agui_middleware import ClientVersion
from agui_middleware.history.upgrade import upgrade

CLIENTS = ("0.0.59", "0.0.53", "0.0.43")
KINDS = ("nothing to change", "50 images", "50 images and 50 results out of place")
ROUNDS = 100


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


if __name__ == "__main__":
    main()
