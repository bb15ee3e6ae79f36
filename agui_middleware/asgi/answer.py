"""What the start of a response says of its body: whether it is read, passes, or is refused."""

from typing import Final, NamedTuple

from agui_middleware.asgi import headers
from agui_middleware.asgi.decision import Decision


class Answer(NamedTuple):
    """What becomes of the body of a response."""

    reads: bool
    """It is rewritten as an event stream."""
    labelled: bool = False
    """Its type says that it is one."""
    coding: str | None = None
    """It would be read, but for its content coding."""
    refusal: str | None = None
    """Why it may not leave, where the route hides."""


_PASSES: Final = Answer(False)
_STREAM: Final = Answer(True, True)
_PERHAPS_A_STREAM: Final = Answer(True)
_PROTOBUF: Final = Answer(False, refusal="AG-UI's binary encoding cannot be read here; answer with text/event-stream")
_PART: Final = Answer(False, refusal="a part of a stream cannot be read here; do not serve ranges of it")


def answer_of(status: int, fields: headers.Headers, decision: Decision) -> Answer:
    """Judge a response by its status and its headers."""
    hides = decision.hides()
    labelled = (status == 200 or hides) and headers.is_event_stream(fields)
    if not (labelled or hides):
        return _PASSES
    if not labelled and headers.is_protobuf(fields):
        return _PROTOBUF
    if not (labelled or decision.suspects(status, fields)):
        return _PASSES
    if hides and any(name == b"content-range" for name, _ in fields):
        return _PART
    coding = headers.content_coding(fields)
    if coding is None:
        return _STREAM if labelled else _PERHAPS_A_STREAM
    why = f"a response compressed with {coding} cannot be read here; compress outside AGUIMiddleware"
    return Answer(False, labelled, coding, why if hides else None)
