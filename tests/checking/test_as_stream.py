import pytest

from agui_middleware.checking.recorded import Unreadable, as_stream

EVENT = b'{"type":"RUN_STARTED","threadId":"t","runId":"r"}'


@pytest.mark.parametrize("ends", [b"\n\n", b"\r\n\r\n", b"\r\r", b"\n"])
def test_a_stream_of_server_sent_events_stays_as_it_is(ends: bytes) -> None:
    stream = b"\xef\xbb\xbf: hello\n\nid: 1\ndata: " + EVENT + ends
    assert as_stream(stream) == stream


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n\n  \n"])
def test_a_line_an_event_becomes_a_stream(end: bytes) -> None:
    assert as_stream(b"\xef\xbb\xbf" + EVENT + b"\n\n" + EVENT + end) == b"data: %b\n\n" % EVENT * 2


def test_what_else_a_stream_holds_is_kept() -> None:
    stream = b"data: " + EVENT + b"\n\ndata: {oops\n\ndata: [DONE]\n\n"
    assert as_stream(stream) == stream


@pytest.mark.parametrize(
    ("recording", "said"),
    [
        (b"", "is empty"),
        (b" \r\n ", "is empty"),
        (b"[" + EVENT + b"]", "JSON array"),
        (b"hello", 'no line begins with "data:"'),
        (b"event: x\n\n", 'no line begins with "data:"'),
        (b"data: hello\n\ndata: {}\n\n", "its 2 frames hold no event"),
        (EVENT + b"\n{oops\n", "Line 2 is no AG-UI event"),
        (EVENT + b'\n\n{"kind":"x"}\n', "Line 3 is no AG-UI event: no string member 'type'"),
        (b'{\n  "type": "RUN_STARTED"\n}\n', "Line 1 is no AG-UI event"),
    ],
)
def test_what_is_no_recording_says_what_was_found(recording: bytes, said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        as_stream(recording)
