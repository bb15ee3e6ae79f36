"""Chunk expansion, as @ag-ui/client 1.0.0 does it; tests/test_generated_runs.py has it on generated runs."""

import pytest

from agui_middleware.filters.chunks import expand_chunks
from agui_middleware.testing import run_filter
from tests.notation import stream


@pytest.mark.parametrize(
    ("events", "expanded"),
    [
        ("TK m a; TK _ b; RF r", 'TS m; TC m a; TC m b; TE m; RF r'),
        ("TK m; TK _ b; RF r", "TS m; TC m b; TE m; RF r"),
        ('TK m a role="user" name="Ann"; RF r', 'TS m role="user" name="Ann"; TC m a; TE m; RF r'),
        ("KK c 1 f m; KK _ 2; RF r", 'KS c m toolCallName="f"; KA c 1; KA c 2; KE c; RF r'),
        ("KK c _ f; KK c; RF r", 'KS c toolCallName="f"; KE c; RF r'),
        ("GK g a; GK g b; RF r", "GS g; GC g a; GC g b; GE g; RF r"),
        # Each owner has a lane; what is not a chunk closes the one of its own tag, what concerns the run all.
        (
            "TK m a; TK n b @s; TK _ c; TK _ d @s; TS x; CUSTOM y @s; TE x",
            "TS m; TC m a; TS n @s; TC n b @s; TC m c; TC n d @s; TE m; TS x; TE n @s; CUSTOM y @s; TE x",
        ),
        ("TK m a; TK n b @s; SNAP", "TS m; TC m a; TS n @s; TC n b @s; TE m; TE n @s; SNAP"),
        ("TK n b @s; SUB- s; TK n c @s", "TS n @s; TC n b @s; TE n @s; SUB- s; TS n @s; TC n c @s"),
        ("TK m a; RAW; AS x; EV message m; SUB+ s; TK _ b", "TS m; TC m a; RAW; AS x; EV message m; SUB+ s; TC m b"),
        ("TK m a; KK c 1 f; TK m b", 'TS m; TC m a; TE m; KS c toolCallName="f"; KA c 1; KE c; TS m; TC m b'),
        # Nothing is closed where the stream just ends.
        ("TK m a", "TS m; TC m a"),
        # A continuation takes the tag of its opener, its own metadata and what else it says; its opener's go to both.
        ("TK n a @s; TK n b", "TS n @s; TC n a @s; TC n b @s"),
        (
            'TK m a metadata={"a":1} timestamp=1 x=2; TK m b metadata={"b":1} timestamp=3 rawEvent=4',
            'TS m metadata={"a":1} x=2; TC m a metadata={"a":1} timestamp=1 x=2; '
            'TC m b metadata={"b":1} timestamp=3 rawEvent=4',
        ),
        ('TK m rawEvent=1; TK m metadata={"b":1}; TK m', 'TS m; TC m delta="" rawEvent=1; TC m delta="" metadata={"b":1}'),
        ('TK m metadata={"b":1}', 'TS m metadata={"b":1}'),
        # What repeats its opener says nothing new, whatever form that has.
        ('TK m a role="assistant"; TK m b; TK m c role="assistant"', "TS m; TC m a; TC m b; TC m c"),
        ("KK c 1 f m; KK c 2 f m; KK _ 3 f", 'KS c m toolCallName="f"; KA c 1; KA c 2; KA c 3'),
        # Empty and malformed values are the client's to judge.
        ('TK m delta=""; TK m delta=null', 'TS m; TC m delta=""; TC m delta=null'),
        ("TK m a role=null", "TS m role=null; TC m a"),
        ("TK m a subagentRunId=null", "TS m subagentRunId=null; TC m a subagentRunId=null"),
    ],
)  # fmt: skip
async def test_chunks_are_expanded(events: str, expanded: str) -> None:
    assert await run_filter(expand_chunks, stream(events)) == stream(expanded)


@pytest.mark.parametrize(
    "rejected",
    [
        "TK _ a",
        "KK c 1",
        "TK m a messageId=null",
        "TK m a messageId=5",
        "TK n a @s; TK o b @u; TK _ c",
    ],
)
async def test_what_1_0_0_rejects_stays_as_it_is(rejected: str) -> None:
    *_, last = stream(rejected)
    assert (await run_filter(expand_chunks, stream(rejected)))[-1] == last


@pytest.mark.parametrize(
    ("rejected", "second"),
    [
        ("TK m a; TK m b @s", "TS m @s"),
        ('TK m a; TK m b role="user"', 'TS m role="user"'),
        ('TK m a; TK _ b role="user"', 'TS m role="user"'),
        ('TK m a; TK m b name="Ann"', 'TS m name="Ann"'),
        ("KK c 1 f; KK c 2 g", 'KS c toolCallName="g"'),
        ("KK c 1 f; KK c 2 f m", 'KS c m toolCallName="f"'),
    ],
)
async def test_a_chunk_that_contradicts_what_is_open_is_a_second_start(rejected: str, second: str) -> None:
    """Which every release rejects, as 1.0.0 rejects the chunk; before 0.0.37, others would wait, and open it anew."""
    made = await run_filter(expand_chunks, [*stream(rejected), *stream("RF r")])
    assert made[-3] == stream(second)[0]


async def test_what_is_no_chunk_stays_as_it_is() -> None:
    events = stream("RS r; TS m; TC m a; TE m; KS c; KA c 1; KE c; KR c t; GS g; GC g a; GE g; SUB+ s; SUB- s; RF r")
    assert await run_filter(expand_chunks, events) == events
