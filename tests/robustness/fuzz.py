"""Coverage-guided fuzzing: `python -m tests.robustness.fuzz --seconds 60`.

Starts from the inputs in `corpus/`, one folder a target, and runs the targets side by side, each in a process of its own.
Ends with an error, and shows the input, as soon as one raises. It tries the same each time, as far as a minute takes it on
one machine or another; `--seed` tries something else. What it finds becomes a named test in `test_fuzz.py`.

`--merge` replaces the corpus by the smallest inputs, of it and of what runs with `--keep FOLDER` found, that reach as much.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent / "corpus"
LARGEST = 2000  # bytes of an input: what goes wrong goes wrong in a short one, and those are fast


def fuzz_codec(data: bytes) -> None:
    """The outcome does not depend on the cuts, and what is encoded decodes to the same."""
    from agui_middleware.stream.sse import Decoder, Frame, encode

    size, limit, stream = data[0] + 1, (data[1] + 1) * 4, data[2:]
    whole = Decoder(limit)
    items = [*whole.feed(stream), *whole.finish()]
    cut, pieces = Decoder(limit), []
    for index in range(0, len(stream), size):
        pieces += cut.feed(stream[index : index + size])
    assert [*pieces, *cut.finish()] == items
    for item in items:
        if isinstance(item, Frame) and item.data is not None:
            again = Decoder(1 << 20)
            assert again.feed(encode(item.data, item.fields)) == [item]


def fuzz_middleware(data: bytes) -> None:
    """Nothing raises, the framing is right, and a route that hides lets nothing out that nobody could read."""
    import json

    from agui_middleware.protocol.releases import RELEASES

    visibility = ("attributed", "inline", "hidden")[data[0] % 3]
    client = (None, *RELEASES)[data[1] % (len(RELEASES) + 1)]
    size, stream = data[2] + 1, data[3:]
    out = respond(visibility, client, [stream[index : index + size] for index in range(0, len(stream), size)])
    assert b"AGUI_FILTER_ERROR" not in out
    assert b"\r" not in out
    assert out.endswith(b"\n\n") or not out
    if visibility == "hidden":
        for line in out.split(b"\n"):
            assert (
                line[:1] == b":"
                or line[:6] in (b"", b"data: ")
                or line.partition(b": ")[0] in (b"id", b"event", b"retry")
            )
            if line.startswith(b"data: "):
                assert isinstance(json.loads(line[6:].decode("utf-8", "replace"))["type"], str)


def respond(visibility: Any, client: Any, chunks: list[bytes]) -> bytes:
    """The body of a response in these chunks. No event loop: nothing here has to wait."""
    sent: list[bytes] = []

    async def receive() -> Any:
        raise AssertionError("nothing is to be received")

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))

    scope = {"type": "http", "path": "/", "method": "GET", "headers": [], "query_string": b"", "root_path": ""}
    _run(_middleware(visibility, client)({**scope, "chunks": chunks}, receive, send))
    return b"".join(sent)


@cache
def _middleware(visibility: Any, client: Any) -> Any:
    from agui_middleware import AGUIMiddleware, Route, Settings

    route = Route(path="/", methods=["GET"], visibility=visibility, client=client)
    return AGUIMiddleware(_app, Settings(routes=[route], warn=False, max_event_bytes=1000, keep_alive=0))


async def _app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
    for chunk in scope["chunks"]:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _run(coroutine: Coroutine[Any, Any, None]) -> None:
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise AssertionError("something waited")


TARGETS: dict[str, Callable[[bytes], None]] = {"codec": fuzz_codec, "middleware": fuzz_middleware}
HEADERS = {"codec": 2, "middleware": 3}  # bytes before the stream


def run_target(name: str, arguments: list[str]) -> None:
    """Hand this process over to the fuzzer; it does not come back."""
    import logging

    import atheris  # type: ignore[import-untyped]

    with atheris.instrument_imports(include=["agui_middleware"]):
        import agui_middleware  # noqa: F401  # instrumented as it is imported
    logging.disable(logging.CRITICAL)

    def test(data: bytes) -> None:
        if len(data) > HEADERS[name]:
            TARGETS[name](data)

    again = f"{sys.executable} -m tests.robustness.fuzz --target {name}"  # a merge has a shell run its steps
    atheris.Setup([again, *arguments], test)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60, help="in all")
    parser.add_argument("--seed", type=int, default=1, help="0: by chance")
    parser.add_argument("--keep", type=Path, help="a folder for what was found; by default it is thrown away")
    parser.add_argument("--merge", action="store_true", help="only take what is in --keep into the corpus")
    parser.add_argument("--target", choices=TARGETS, help=argparse.SUPPRESS)
    known, rest = parser.parse_known_args()
    if find_spec("atheris") is None:  # as on Python 3.13, for which there is none
        print("atheris is not installed: nothing was tried but what test_fuzz.py does")
        return 0
    if known.target:
        run_target(known.target, rest)
    with tempfile.TemporaryDirectory() as temporary:
        folder = known.keep or Path(temporary)
        if known.merge:
            return max(_merge(name, folder / name, Path(temporary) / name) for name in TARGETS)
        options = [f"-max_total_time={known.seconds}", f"-seed={known.seed}", "-verbosity=0", "-print_final_stats=1"]
        processes = {name: _start(name, folder, [*options, f"-artifact_prefix={folder / name}-"]) for name in TARGETS}
        codes = {name: process.wait() for name, process in processes.items()}
        for name, code in codes.items():
            print(f"{name}: {'nothing found' if code == 0 else f'failed with {code}, see above'}")
            for found in folder.glob(f"{name}-*-*"):
                print(f"{found.name}: {found.read_bytes()!r}")
        return max(map(abs, codes.values()))


def _start(name: str, folder: Path, options: list[str]) -> subprocess.Popen[bytes]:
    found = folder / name
    found.mkdir(parents=True, exist_ok=True)
    return _fuzzer(name, [*options, str(found), str(CORPUS / name)])


def _merge(name: str, found: Path, merged: Path) -> int:
    merged.mkdir()
    code = _fuzzer(name, ["-merge=1", str(merged), str(CORPUS / name), str(found)]).wait()
    if code == 0 and any(merged.iterdir()):
        shutil.rmtree(CORPUS / name)
        shutil.copytree(merged, CORPUS / name)
    return abs(code)


def _fuzzer(name: str, arguments: list[str]) -> subprocess.Popen[bytes]:
    options = [f"-max_len={LARGEST}", "-rss_limit_mb=1024", "-timeout=60"]  # no input takes a second
    return subprocess.Popen([sys.executable, "-m", "tests.robustness.fuzz", "--target", name, *options, *arguments])


if __name__ == "__main__":
    sys.exit(main())
