"""Asks real servers for what a route hides, with drawn paths: `python -m tests.robustness.paths --requests 10000`.

Servers, frameworks and URL parsers read paths differently, so that no list of spellings is complete: these are drawn from
the habits of all of them. Where the history is kept a second turn follows, on the same path or another one, in which the
agent repeats what it was given. Not a byte of the secret may arrive; without the middleware, it has to, by every server and
framework. Prints each leak with the seed that repeats it, and fails where there is one.
"""

import argparse
import itertools
import json
import random
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, StreamEnded, StreamReset
from h2.exceptions import ProtocolError

from tests.robustness.paths_served import CONFIGURATIONS, FRAMEWORKS, OWN_ROOT, OWN_ROOTS, RESTORED
from tests.robustness.servers import Server, running

SERVED = "tests.robustness.paths_served:app"
SECRET = b"SECRET"
PARENTS = b"two at once"
"""What the parent says in the same run: it shows that a request has reached the agent."""

# Command lines, and the option by which each server is told a root path.
SERVERS: dict[str, str] = {
    "uvicorn-h11": "--root-path",
    "uvicorn-httptools": "--root-path",
    "hypercorn-asyncio": "--root-path",
    "granian": "--url-path-prefix",
}
TARGETS = ["/agent", "/public/x", "/files/a/b", "/mounted/agent"]
METHODS = ["POST"] * 6 + ["GET", "PUT", "HEAD", "DELETE", "PATCH", "OPTIONS", "QUERY", "post", "get"]

# What some reader drops, decodes, replaces or takes for a part of a segment.
INSERTED = [
    *("%0A", "%0D%0A", "%00", "%09", "%20", "%2F", "%2f", "%5C", "%3B", "%3F", "%23", "%25", "%2E", "%7F", "%C2%A0"),
    *("%C2%85", "%E2%80%A8", "%FF", "%EF%BC%8F", "\\", ";", ";v=1", ".", "~", "+", ":", "@", "|", '"', "<", "\xff"),
]
PREFIXES = [
    "/",
    "//",
    "/.",
    "/./",
    "/..",
    "/../",
    "/x/../",
    "/zzz",
    "/api",
    "/api/api",
    "//h",
    "/%2e%2e",
    "/;",
    "/%2F",
    "/v1/api",
]
SCHEMES = ["http://h", "https://h:1", "x:", "http:", "HTTP://u@h", "//h", "//u@h:1", "http:///", ""]
SUFFIXES = ["/", "//", "/.", "/..", "/x/..", "?", "?a=/b", "#x", ";", "%20", "%0A", "%2F", "/%2e", "?%0A", " "]


@dataclass(frozen=True)
class Request:
    """One request: raw, since no client library sends such paths."""

    scenario: str
    method: str
    path: bytes
    http_1_0: bool
    thread: str
    turn: int

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The fields of the request, which say how it is served."""
        fields = [("x-scenario", self.scenario), ("accept", "text/event-stream"), ("content-type", "application/json")]
        return [*fields, ("content-length", str(len(self.body)))]

    @property
    def body(self) -> bytes:
        """What a client posts: in a second turn, all that it has got in the first."""
        asked = {"id": "u", "role": "user", "content": "go"}
        got = [{"id": "p", "role": "assistant", "content": "two at once: "}, {**asked, "id": "u2"}]
        posted = {
            "threadId": self.thread,
            "runId": f"r{self.turn}",
            "messages": [asked, *(got if self.turn > 1 else [])],
        }
        empty: dict[str, object] = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
        return json.dumps(posted | empty).encode()


def drawn_path(rolled: random.Random, prefix: str) -> bytes:
    """A path by which some framework may serve a target, behind a server or an app that has a root path of `prefix`."""
    path = rolled.choice(["", prefix]) + rolled.choice(TARGETS)
    for _ in range(rolled.choice([0, 0, 1, 1, 1, 1, 2, 2, 3])):
        path = rolled.choice(MUTATIONS)(path, rolled)
    return path.encode()


def _inserted(path: str, rolled: random.Random) -> str:
    place = rolled.randrange(len(path) + 1)
    return path[:place] + rolled.choice(INSERTED) + path[place:]


def _doubled(path: str, rolled: random.Random) -> str:
    place = rolled.choice([index for index, char in enumerate(path) if char == "/"] or [0])
    return path[:place] + "/" + path[place:]


def _encoded(path: str, rolled: random.Random) -> str:
    place = rolled.randrange(len(path) or 1)
    return path[:place] + "".join(f"%{ord(char):02x}" for char in path[place : place + 1]) + path[place + 1 :]


def _dropped(path: str, rolled: random.Random) -> str:
    place = rolled.choice([index for index, char in enumerate(path) if char == "/"] or [0])
    return path[:place] + path[place + 1 :]


MUTATIONS: list[Callable[[str, random.Random], str]] = [
    _inserted,
    _inserted,
    _doubled,
    _encoded,
    _dropped,
    lambda path, rolled: rolled.choice(PREFIXES) + path,
    lambda path, rolled: rolled.choice(SCHEMES) + path,
    lambda path, rolled: path + rolled.choice(SUFFIXES),
    lambda path, rolled: path.swapcase(),
    lambda path, rolled: path.removeprefix("/"),
]


def requests(seed: int, count: int, prefix: str) -> Iterator[Request]:
    """So many requests, to every framework and configuration alike; those with a history come in pairs."""
    return islice(_drawn(random.Random(seed), prefix), count)


def _drawn(rolled: random.Random, prefix: str) -> Iterator[Request]:
    for number in itertools.count():
        framework = list(FRAMEWORKS)[number % len(FRAMEWORKS)]
        configuration = rolled.choice([*CONFIGURATIONS, "bare"])
        root = rolled.choice(["own", "none"]) if framework in OWN_ROOTS else "none"
        root_path = OWN_ROOT if root == "own" else prefix
        keeps, scenario = "history" in configuration, f"{framework} {root} {configuration}"
        method = "POST" if keeps and rolled.random() < 0.7 else rolled.choice(METHODS)
        plain = (
            rolled.choice(["", root_path]) + rolled.choice(TARGETS)
        ).encode()  # which every server and framework reads alike
        path = plain if keeps and rolled.random() < 0.6 else drawn_path(rolled, root_path)
        first = Request(scenario, method, path, rolled.random() < 0.05, f"t{number}", 1)
        yield first
        if keeps:
            yield replace(first, path=path if rolled.random() < 0.6 else drawn_path(rolled, root_path), turn=2)


def over_http_1(port: int, request: Request) -> bytes:
    """All that a server answers, until it closes the connection."""
    version = "1.0" if request.http_1_0 else "1.1"
    lines = ["host: h\r\nconnection: close\r\n", *(f"{name}: {value}\r\n" for name, value in request.headers)]
    head = b"%b %b HTTP/%b\r\n" % (request.method.encode(), request.path, version.encode())
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(head + "".join(lines).encode() + b"\r\n" + request.body)
        received = b""
        try:
            while piece := connection.recv(65536):
                received += piece
        except ConnectionResetError:
            pass  # of what the server did not read
    return received


def over_http_2(port: int, request: Request) -> bytes:
    """The same over HTTP/2, where a path has no request line around it, and may be anything."""
    client = H2Connection(
        H2Configuration(header_encoding=None, validate_outbound_headers=False, normalize_outbound_headers=False)
    )
    client.initiate_connection()
    pseudo = [(":method", request.method), (":scheme", "http"), (":authority", "h")]
    fields = [(name.encode(), value.encode()) for name, value in [*pseudo, *request.headers]]
    fields.insert(1, (b":path", request.path))
    client.send_headers(1, fields)
    client.send_data(1, request.body, end_stream=True)
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(client.data_to_send())
        while piece := connection.recv(65536):
            try:
                events = client.receive_data(piece)
            except ProtocolError:  # a body where none may be, such as behind HEAD
                return received + piece
            for event in events:
                if isinstance(event, DataReceived):
                    received += event.data
                    client.acknowledge_received_data(event.flow_controlled_length, 1)
                if isinstance(event, StreamEnded | StreamReset | ConnectionTerminated):
                    return received
            connection.sendall(client.data_to_send())
    return received


@dataclass
class Result:
    """What a server gave: leaks, and how often a scenario has reached the agent."""

    leaks: list[str]
    reached: Counter[str]


def attack(server: Server, seed: int, count: int, prefix: str) -> Result:
    """Send so many drawn requests to a server."""
    result = Result([], Counter())
    port = int(server.url.rpartition(":")[2])
    both = server.name.startswith(("hypercorn", "granian"))
    for number, request in enumerate(requests(seed, count, prefix)):
        version_2 = both and number % 2 == 1
        received = (over_http_2 if version_2 else over_http_1)(port, request)
        framework, _, configuration = request.scenario.split(" ", 2)
        if PARENTS in received:
            result.reached[f"{framework} {'bare' if configuration == 'bare' else 'hidden'}"] += 1
        if RESTORED in received:
            result.reached[f"{framework} restored"] += 1
        if SECRET in received and configuration != "bare":
            result.leaks.append(f"{server.name} --root-path {prefix!r} --seed {seed} ({number}): {request}")
        if SECRET in received and configuration == "bare":
            result.reached[f"{framework} secret"] += 1
    return result


def options(name: str, prefix: str) -> list[str]:
    """The words of a server's command line for a root path."""
    return [SERVERS[name], prefix] if prefix else []


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.robustness.paths", description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000, help="of all servers together")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    arguments = parser.parse_args()
    runs = [(name, prefix) for name in SERVERS for prefix in ("", OWN_ROOT)]
    leaks: list[str] = []
    for name, prefix in runs:
        with (
            tempfile.TemporaryDirectory() as folder,
            running(name, Path(folder), SERVED, options(name, prefix)) as server,
        ):
            result = attack(server, arguments.seed, arguments.requests // len(runs), prefix)
        print(
            f"{name} {prefix}: {len(result.leaks)} leaks; reached: {dict(sorted(result.reached.items()))}", flush=True
        )
        leaks += result.leaks
    print(*leaks, sep="\n")
    return 1 if leaks else 0


if __name__ == "__main__":
    sys.exit(main())
