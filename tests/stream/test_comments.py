"""Comments, for a reader that takes a frame without data for an error: the app's own never reach it."""

import pytest

from agui_middleware import rewrite
from agui_middleware.config.named_clients import parse_client
from agui_middleware.config.planning import make_plan
from agui_middleware.filters.contract import Context
from agui_middleware.stream.rewriter import Rewriter
from tests.readers.decoders import RustCommunity

RUST = "ag-ui-client-uuids@0.1.0"
EVENT = b'data: {"type":"CUSTOM","name":"n","value":1}\n\n'
OTHER = b'data: {"jsonrpc":"2.0"}\n\n'
SILENT = [b": waiting\n\n", b":\n\n", b"data: [DONE]\n\n", b"data:\n\n", b"id: 5\n\n", b"retry: 10\n\n", b"\n\n"]


def rewriter(visibility: str = "auto") -> Rewriter:
    plan = make_plan(parse_client(RUST), visibility)
    return Rewriter(plan, Context(plan.client, "/", {}, lambda _: None), 1000, sniff=True)


@pytest.mark.parametrize("visibility", ["auto", "hidden"])
@pytest.mark.parametrize("silent", SILENT)
def test_no_frame_without_data_is_left(silent: bytes, visibility: str) -> None:
    for stream in (silent + EVENT + silent, b": x\n" + EVENT, b"".join([silent, EVENT] * 3)):
        written = rewrite(stream, client=RUST, visibility=visibility)
        assert written == EVENT * stream.count(EVENT)
        bytewise = b"".join(rewrite(iter([bytes([byte]) for byte in stream]), client=RUST, visibility=visibility))
        assert bytewise == written


def test_a_reader_that_reads_comments_keeps_them() -> None:
    assert rewrite(b": waiting\n\n" + EVENT, client="ag_ui@0.2.0") == b": waiting\n\n" + EVENT


@pytest.mark.parametrize("visibility", ["auto", "hidden"])
class TestBeforeTheFirstEvent:
    """A stream that may not be AG-UI is looked at until it says what it is."""

    def test_comments_do_not_pass(self, visibility: str) -> None:
        stream = rewriter(visibility)
        assert stream.feed(b": waiting\n\n") == b""
        assert stream.feed(b": waiting\n") == b""
        assert stream.feed(b"\n" + EVENT + b": more\n\n") == EVENT
        assert stream.finish() == b""

    def test_a_stream_of_nothing_but_comments_has_none(self, visibility: str) -> None:
        stream = rewriter(visibility)
        assert stream.feed(b": waiting\n\n: wai") + stream.finish() == b""

    def test_what_is_not_ag_ui_passes(self, visibility: str) -> None:
        stream = rewriter(visibility)
        assert stream.feed(OTHER) + stream.feed(OTHER) + stream.finish() == OTHER + OTHER


def test_the_decoder_that_fails_at_comments_reads_what_is_written_for_it() -> None:
    """Agents ping: sse-starlette writes a comment every fifteen seconds."""
    run = b'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n'.replace(
        b'"t"', b'"00000000-0000-5000-8000-000000000000"'
    ).replace(b'"r"', b'"00000000-0000-5000-8000-000000000001"')
    pinged = b": ping\n\n" + run + b": ping - 2026-12-02\n\n"
    assert RustCommunity().read(pinged).error == "a frame with nothing but a comment"
    assert RustCommunity().read(rewrite(pinged, client=RUST)).error is None
