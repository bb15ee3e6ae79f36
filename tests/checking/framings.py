"""Small streams that are framed as some server frames them, one peculiarity each."""

from agui_middleware.testing import encode_events
from tests.notation import stream

PLAIN = encode_events(stream("RS r; TS m; TC m hi; TE m; RF r"))
DELEGATED = encode_events(stream("RS r; SUB+ s; TS n @s; TC n psst @s; TE n @s; SUB- s; TS m; TC m hi; TE m; RF r"))
START, MIDDLE, END = (encode_events(stream(text)) for text in ("RS r; TS m", "TC m hi", "TE m; RF r"))


def deep(levels: int) -> bytes:
    return b'data: {"type":"CUSTOM","name":"x","value":%b%b}\n\n' % (b"[" * levels, b"]" * levels)


_BETWEEN = {
    "a comment": b": ping\n\n",
    "a comment inside a frame": b": ping\n",
    "an event field": b"event: message\n",
    "an id and a retry": b"id: 1\nretry: 10\n\n",
    "a ping with data": b"event: ping\ndata: 2031-01-01 00:00:00\n\n",
    "empty data": b"data:\n\n",
    "empty data behind a space": b"data: \n\n",
    "[DONE]": b"data: [DONE]\n\n",
    "null": b"data: null\n\n",
    "a number": b"data: 3\n\n",
    "a list": b"data: []\n\n",
    "an object without a type": b"data: {}\n\n",
    "a type that is a number": b'data: {"type":1}\n\n',
    "half an object": b'data: {"type"\n\n',
    "NaN": b'data: {"type":"CUSTOM","name":"x","value":NaN}\n\n',
    "a comma too many": b'data: {"type":"CUSTOM","name":"x","value":1,}\n\n',
    "a member twice": b'data: {"type":"CUSTOM","name":1,"name":"x","value":1}\n\n',
    "a type twice": b'data: {"type":"RUN_ERROR","type":"CUSTOM","name":"x","value":1}\n\n',
    "a byte that is not UTF-8": b'data: {"type":"CUSTOM","name":"\xff","value":1}\n\n',
    "a lone surrogate": b'data: {"type":"CUSTOM","name":"\\ud800","value":1}\n\n',
    "a control character": b'data: {"type":"CUSTOM","name":"a\tb","value":1}\n\n',
    "a number beyond 2^53": b'data: {"type":"CUSTOM","name":"x","value":1e400,"timestamp":90071992547409930}\n\n',
    "an infinite timestamp": b'data: {"type":"CUSTOM","name":"x","value":1,"timestamp":1e999}\n\n',
    "a deep value": deep(2000),
    "data over two lines": b'data: {"type":"CUSTOM",\ndata: "name":"x","value":1}\n\n',
    "data in two spaces": b'data:  {"type":"CUSTOM","name":"x","value":1}\n\n',
    "data behind a space": b' data: {"type":"CUSTOM","name":"x","value":1}\n\n',
    "data without a colon": b"data\n\n",
    "a line that is no field": b"hello\n\n",
    "two frames without a blank line": b'data: {"type":"CUSTOM","name":"x","value":1}\n',
}

FRAMINGS = {
    **{f"frames: {name}": START + between + MIDDLE + END for name, between in _BETWEEN.items()},
    **{f"frames: {name} at the end": PLAIN + between for name, between in _BETWEEN.items()},
    "frames: a value deeper than the middleware reads": START + deep(30_000) + MIDDLE + END,
    "frames: a value deeper than the middleware reads at the end": PLAIN + deep(30_000),
    "frames: a value deeper than the middleware reads at the end of a subagent's run": DELEGATED + deep(30_000),
    "frames: a value deeper than the middleware reads in a subagent's run": deep(30_000).join(
        [DELEGATED.removesuffix(END), END]
    ),
    "frames: CRLF": PLAIN.replace(b"\n", b"\r\n"),
    "frames: CR": PLAIN.replace(b"\n", b"\r"),
    "frames: one CRLF": START + MIDDLE.replace(b"\n", b"\r\n") + END,
    "frames: no space": PLAIN.replace(b"data: ", b"data:"),
    "frames: one without a space": START + MIDDLE.replace(b"data: ", b"data:") + END,
    "frames: a byte order mark": b"\xef\xbb\xbf" + PLAIN,
    "frames: no blank line at the end": PLAIN[:-1],
    "frames: no newline at the end": PLAIN[:-2],
    "frames: blank lines": PLAIN.replace(b"\n\n", b"\n\n\n\n"),
    "frames: three newlines": PLAIN.replace(b"\n\n", b"\n\n\n"),
}
