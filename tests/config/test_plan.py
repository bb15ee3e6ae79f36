from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_middleware import ClientVersion, Context, Event, SubagentVisibility
from agui_middleware.config.planning import make_plan
from agui_middleware.downgrades import DOWNGRADES, SUBAGENTS, downgrades_for
from agui_middleware.downgrades.guard import guard
from agui_middleware.downgrades.table import BEFORE_VISIBILITY
from agui_middleware.filters.contract import Loss
from agui_middleware.filters.subagents import hidden, inline, track_ownership
from agui_middleware.protocol.chunk_lanes import ID_OF
from agui_middleware.protocol.event_types import EVENT_KINDS, KNOWN_SINCE, EventType
from agui_middleware.protocol.releases import RELEASES
from agui_middleware.testing import run_filter

parse = ClientVersion.parse
OLD, NEW = parse("0.0.58"), parse("0.0.59")
EVERY_RELEASE = pytest.mark.parametrize("release", RELEASES, ids=str)


async def first(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    async for event in events:
        yield event


def filters(*args: Any, **options: Any) -> list[Any]:
    return list(make_plan(*args, **options).composition.filters)


def test_a_client_that_reads_everything_has_nothing_rewritten() -> None:
    plan = make_plan(None)
    assert plan.composition.filters == ()
    assert not plan.rewrites
    assert (plan.visibility, plan.hides, plan.header_value) == (SubagentVisibility.ATTRIBUTED, False, None)
    assert filters(None, "attributed") == []


def test_a_route_changes_what_everybody_sees() -> None:
    assert filters(None, "inline", filters=[first]) == [first, inline]
    assert filters(None, "hidden", filters=[first]) == [track_ownership, first, hidden]
    assert make_plan(None, "hidden").hides
    assert not make_plan(None, "inline").hides
    assert make_plan(None, "hidden").rewrites
    assert make_plan(None, "hidden").header_value is None


@EVERY_RELEASE
@pytest.mark.parametrize("visibility", ["auto", "attributed", "inline", "hidden"])
def test_the_order_of_a_plan(release: ClientVersion, visibility: str) -> None:
    """The route's filters, chunks while they have their tags, visibility, downgrades in the table's order, the guard."""
    names = [getattr(filter, "__name__", "") for filter in filters(release, visibility, filters=[first])]
    assert names[: names.index("first") + 1] == (["track_ownership", "first"] if visibility == "hidden" else ["first"])
    assert (names[-1] == "drop_unknown_types") is (release < parse("1.0.0"))
    rows = [row for row in downgrades_for(release) if row.filter is not None and row is not SUBAGENTS]
    placed = [names.index(getattr(row.filter, "__name__", "")) for row in rows]
    assert placed == sorted(placed)
    seen = {"inline", "hidden"} & set(names)
    expected = {"auto": "inline", "attributed": "inline"}.get(visibility, visibility) if release < NEW else visibility
    assert seen == ({expected} if expected in ("inline", "hidden") else set())
    if seen:
        place = names.index(seen.pop())
        assert all((index < place) is (row.name in BEFORE_VISIBILITY) for row, index in zip(rows, placed, strict=True))
    assert ("expand_chunks" in names) is (release < NEW)


@pytest.mark.parametrize(
    ("visibility", "legacy", "old", "new"),
    [
        ("auto", "inline", "inline", "attributed"),
        ("auto", "hidden", "hidden", "attributed"),
        ("attributed", "inline", "inline", "attributed"),
        ("attributed", "hidden", "hidden", "attributed"),
        ("inline", "inline", "inline", "inline"),
        ("inline", "hidden", "inline", "inline"),
        ("hidden", "inline", "hidden", "hidden"),
        ("hidden", "hidden", "hidden", "hidden"),
    ],
)
def test_visibility_is_a_floor(visibility: str, legacy: str, old: str, new: str) -> None:
    """A client is given less than the route shows where it cannot read it, and never more."""
    assert make_plan(OLD, visibility, legacy).visibility == old
    assert make_plan(NEW, visibility, legacy).visibility == new
    assert make_plan(None, visibility, legacy).visibility == new


def test_the_loss_of_attribution_is_reported_only_where_the_client_costs_it() -> None:
    assert SUBAGENTS.filter in filters(OLD, "auto")
    assert SUBAGENTS.filter in filters(OLD, "attributed", "hidden")
    assert SUBAGENTS.filter not in filters(OLD, "inline")
    assert SUBAGENTS.filter not in filters(NEW, "auto")


async def test_the_loss_of_attribution_names_the_release_that_keeps_it() -> None:
    losses: list[Loss] = []
    events = [{"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n"}, {"type": "RUN_FINISHED"}]
    assert SUBAGENTS.filter is not None
    assert await run_filter(SUBAGENTS.filter, events, client="0.0.58", losses=losses) == events
    assert [(loss.feature, loss.fixed_in) for loss in losses] == [("subagents", "0.0.59")]


@pytest.mark.parametrize(
    ("client", "visibility", "summary"),
    [
        (None, "hidden", None),
        ("0.0.58", "auto", "client=0.0.58; subagents=inline"),
        ("0.0.58", "hidden", "client=0.0.58; subagents=hidden"),
        ("0.0.59", "auto", "client=0.0.59"),
        ("0.0.59", "hidden", "client=0.0.59"),
    ],
)
def test_a_summary_for_the_developer(client: str | None, visibility: str, summary: str | None) -> None:
    assert make_plan(client and parse(client), visibility).header_value == summary  # type: ignore[arg-type]  # "" is not there


@pytest.mark.parametrize("visibility", ["hide", "", "AUTO", "subagents"])
def test_a_visibility_that_is_none_is_refused(visibility: str) -> None:
    with pytest.raises(ValueError, match="SubagentVisibility"):
        make_plan(None, visibility)


# The table.


def test_rows_have_names_of_their_own_and_releases_that_there_are() -> None:
    assert len({row.name for row in DOWNGRADES}) == len(DOWNGRADES)
    for row in DOWNGRADES:
        assert parse(row.broken_since) < parse(row.fixed_in), row.name
        assert row.symptom, row.name


@EVERY_RELEASE
def test_a_release_needs_the_rows_of_all_that_is_newer(release: ClientVersion) -> None:
    expected = [row.name for row in DOWNGRADES if parse(row.broken_since) <= release < parse(row.fixed_in)]
    assert [row.name for row in downgrades_for(release)] == expected
    assert downgrades_for(None) == ()


# The guard.


@EVERY_RELEASE
async def test_the_guard_drops_the_types_that_a_release_does_not_know(release: ClientVersion) -> None:
    """But for chunks: one that was not expanded is one that 1.0.0 rejects, and is left for the client to reject."""
    losses: list[Loss] = []
    types = [*EventType, "LATER", "LATER", ""]
    kept = await run_filter(guard(release), [{"type": type} for type in types], losses=losses)
    known = [type for type in EventType if parse(EVENT_KINDS[type].since) <= release or type in ID_OF]
    assert [event["type"] for event in kept] == known
    assert {loss.feature for loss in losses} == {*KNOWN_SINCE} - {*known} | {"unknown-types"}
    assert {loss.fixed_in for loss in losses if loss.feature == "unknown-types"} == {None}
    assert all(loss.fixed_in == KNOWN_SINCE[loss.feature] for loss in losses if loss.feature in KNOWN_SINCE)


async def test_the_name_of_an_unknown_type_is_told_as_text_that_no_log_stumbles_over() -> None:
    """And once, however many there are: what is reported is remembered for as long as the response lasts."""
    losses: list[Loss] = []
    types = ("\ud800\nFORGED", "LATER", "X" * 1000)
    await run_filter(guard(OLD), [{"type": type} for type in types], losses=losses)
    [loss] = losses
    assert "'\\ud800\\nFORGED'" in str(loss)
    assert str(loss).isascii()


async def test_the_guard_driven_by_hand_lets_known_types_pass() -> None:
    async def events() -> AsyncIterator[Event]:
        for type in ("RUN_STARTED", "SUBAGENT_STARTED", "RUN_FINISHED"):
            yield Event(type=type)

    assert [event.type async for event in guard(OLD)(events(), Context())] == ["RUN_STARTED", "RUN_FINISHED"]
