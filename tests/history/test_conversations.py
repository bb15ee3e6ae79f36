"""What real clients post in conversations, upgraded. All releases: `python -m tests.history.conversations`."""

import json
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import pytest

from agui_middleware import ClientVersion
from tests.clients.client import Client
from tests.clients.corpus import REFERENCE
from tests.downgrades.cases import cases
from tests.history.bodies import upgrade
from tests.history.conversations import (
    Bodies,
    Posted,
    astray,
    bodies,
    converse,
    doubled,
    doubled_calls,
    reason,
    refusal,
)

pytestmark = pytest.mark.untraced

# The last one of each group that is upgraded alike, and the first.
ASKED = ("0.0.27", "0.0.36", "0.0.40", "0.0.43", "0.0.48", "0.0.54", "0.0.56", "0.0.57", "0.0.59")
CHOSEN = cases()[::5]
BEFORE_ORDER = ClientVersion(0, 0, 57)


@pytest.fixture(scope="module")
def expected(client: Callable[[str], Client]) -> Bodies:
    return bodies(client(REFERENCE), CHOSEN)


@pytest.fixture(scope="module", params=ASKED)
def posted(client: Callable[[str], Client], expected: Bodies, request: pytest.FixtureRequest) -> list[Posted]:
    return list(converse(client(request.param), expected, CHOSEN))


def test_the_models_of_today_take_every_body(posted: list[Posted]) -> None:
    assert [(str(one), why) for one in posted if (why := refusal(one.upgraded)) is not None] == []


def test_no_result_stands_away_from_its_call(posted: list[Posted]) -> None:
    """A release from 0.0.57 on holds its results where 1.0.0 does."""
    ordered = ClientVersion.parse(posted[0].release) < BEFORE_ORDER
    assert [str(one) for one in posted if astray(one.after) != ([] if ordered else astray(one.before))] == []


def test_one_message_an_id_and_one_place_a_call(posted: list[Posted]) -> None:
    """But for ids that 1.0.0 holds twice too, calls of the id of another's message, and calls whose id is used twice."""
    left = [one for one in posted if doubled(one.after) - doubled(one.original) - _ids_of_calls(one)]
    assert list(map(str, left)) == []
    assert [str(one) for one in posted if not doubled_calls(one.after) <= _used_twice(one)] == []


def test_a_history_is_that_of_1_0_0_up_to_what_only_memory_could_bring_back(posted: list[Posted]) -> None:
    second = [one for one in posted if one.turn == 2]
    assert [str(one) for one in second if not one.is_as_declared and reason(one) is None] == []


def test_a_history_that_was_that_of_1_0_0_stays_it(posted: list[Posted]) -> None:
    """But where 1.0.0 itself holds a result before its call, or two messages of one id."""
    spoilt = [one for one in posted if one.before == one.original != one.after]
    assert [str(one) for one in spoilt if not (astray(one.original) or doubled(one.original))] == []


def test_an_upgraded_body_needs_no_upgrade(posted: list[Posted]) -> None:
    for one in posted:
        body = one.upgraded.encode()
        assert upgrade(body, ClientVersion.parse(one.release)) is body, str(one)


def test_the_conversations_need_upgrades(client: Callable[[str], Client], expected: Bodies) -> None:
    """Else the other tests prove nothing."""
    posted = list(converse(client("0.0.43"), expected, CHOSEN))
    assert [one for one in posted if refusal(one.body)]
    assert [one for one in posted if astray(one.before)]
    assert [one for one in posted if doubled(one.before)]
    assert [one for one in posted if doubled_calls(one.before)]


def _ids_of_calls(one: Posted) -> set[str]:
    holders = [message for message in one.after if message.get("toolCalls")]
    return {entity["id"] for message in holders for entity in (message, *message["toolCalls"])}


def _used_twice(one: Posted) -> set[str]:
    """The ids of calls that are posted twice with complete arguments."""
    complete: Counter[str] = Counter()
    for message in one.before:
        for call in message.get("toolCalls") or ():
            with suppress(ValueError):
                json.loads(call["function"]["arguments"])
                complete[call["id"]] += 1
    return {id for id, count in complete.items() if count > 1}
