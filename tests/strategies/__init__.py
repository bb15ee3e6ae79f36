"""Hypothesis strategies for AG-UI streams, and what they should lead to.

    @given(st.data())
    def test_something(data):
        events = data.draw(runs())
        stream = data.draw(streams(events))
        for piece in data.draw(cuts(stream)): ...

`runs` draws what @ag-ui/client 1.0.0 accepts, `invalid_runs` runs with one fault each; `streams` and `cuts` draw their
bytes, `model` tells what the modes of visibility should leave of it, `reference` how, `reader` reads it as that client
does, `features` names what is in it.
"""

from .batch import batch
from .drawn import runs
from .faulty import Fault, invalid_runs
from .features import features
from .model import Owners, owners, untagged, without_subagents
from .reader import InvalidStream, Json, canonical, read
from .reference import hidden, inlined
from .shapes import SHAPES, Shape
from .wire import Style, cuts, dumped, plain, streams, styles
from .words import SECRET

__all__ = [
    "SECRET",
    "SHAPES",
    "Fault",
    "InvalidStream",
    "Json",
    "Owners",
    "Shape",
    "Style",
    "batch",
    "canonical",
    "cuts",
    "dumped",
    "features",
    "hidden",
    "inlined",
    "invalid_runs",
    "owners",
    "plain",
    "read",
    "runs",
    "streams",
    "styles",
    "untagged",
    "without_subagents",
]
