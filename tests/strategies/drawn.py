"""`runs`: streams that are valid AG-UI 1.0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from .moves.boundaries import boundary, end_run, fail_first, start_run
from .moves.calls import answer, call
from .moves.chunks import chunk
from .moves.documents import activity, state
from .moves.history import snapshot
from .moves.marks import custom, raw, step, subagent
from .moves.reasonings import encrypted_value, reasoning
from .moves.texts import text
from .shapes import SHAPES, Shape
from .world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from .reader import Json

_WEIGHTS: dict[Callable[[World], None], int] = {
    text: 5,
    chunk: 6,
    call: 5,
    answer: 4,
    subagent: 4,
    reasoning: 5,
    activity: 3,
    state: 2,
    step: 3,
    encrypted_value: 2,
    custom: 1,
    raw: 1,
    snapshot: 2,
    boundary: 1,
}
_MOVES = tuple(move for move, weight in _WEIGHTS.items() for _ in range(weight))
_INDEX = st.integers(0, len(_MOVES) - 1)


def runs(
    *,
    subagents: bool = True,
    chunks: bool = True,
    secrets: bool = False,
    reown: bool = False,
    max_moves: int = 40,
    without: Collection[Shape] = (),
) -> st.SearchStrategy[list[Json]]:
    """Draw the events of one stream, from its first RUN_STARTED to its last terminal event.

    @ag-ui/client 1.0.0 accepts every stream, and a client that sees no subagent would end with the same messages in the
    same order, the subagents' apart.

    Args:
        subagents: whether anything is tagged.
        chunks: whether the chunk shorthand is used.
        secrets: everything opaque or textual that a subagent emits contains the string SECRET, and so do its ids.
            Nothing else does: not the parent's own events, not the state, interrupts or usage, not the result that a
            subagent gives to the parent's call. A result that anyone gives to a subagent's call does.
        reown: a snapshot may restate a subagent's message without its tag and a replacing activity snapshot may leave it
            out, which makes both the parent's from then on. What a mode removes is then no longer told by the model.
        max_moves: bounds the length. A move is one to a few events.
        without: shapes to leave out, by the names of `SHAPES`.

    Raises:
        ValueError: `secrets` with `reown`: what was a subagent's secret would be the parent's own.
        ValueError: a name in `without` that is not in `SHAPES`.
    """
    if secrets and reown:
        raise ValueError("secrets and reown exclude each other")
    if unknown := set(without) - SHAPES:
        raise ValueError(f"no such shapes: {sorted(unknown)}")
    left_out: set[Shape] = set(without)
    left_out |= set() if subagents else {"subagents"}
    left_out |= set() if chunks else {"chunks"}
    return _streams(frozenset(left_out), secrets, reown, max_moves)


@st.composite
def _streams(draw: st.DrawFn, without: frozenset[Shape], secrets: bool, reown: bool, max_moves: int) -> list[Json]:
    world = World(draw, without, secrets, reown)
    if fail_first(world) and not (world.may("several_runs") and world.may("runs_after_error")):
        return world.events
    start_run(world)
    move, moved = _move(world), 0
    while moved < max_moves and draw(move):
        moved += 1
    end_run(world, last=True)
    return world.events


@st.composite
def _move(draw: st.DrawFn, world: World) -> bool:
    """One move, a draw of its own, so that shrinking can delete it whole. False to stop, which is the simplest.

    Two zeros to stop, since one alone, drawn more often than any other number, would keep most streams short.
    """
    index = draw(_INDEX)
    if index == 0 and world.below(2) == 0:
        return False
    _MOVES[index](world)
    return True
