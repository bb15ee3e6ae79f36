"""What holds for every thread: generated runs, any release, any route.

`pytest tests/history/test_properties.py --hypothesis-profile=thorough` draws some thousand threads a property.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st

from agui_middleware import ClientVersion, Event
from agui_middleware.downgrades.binary_parts import posted_media
from agui_middleware.history.draft import Draft
from agui_middleware.history.merge import restore
from agui_middleware.history.record import Kept
from agui_middleware.protocol.conversation import Conversation
from tests.clients.client import RELEASES
from tests.history.remembered import read
from tests.history.routes import ROUTES
from tests.history.threads import Route, Thread, posted, user
from tests.strategies import Json, plain, runs

pytestmark = pytest.mark.untraced

MODERN = ClientVersion(1, 0, 0)
Edit = Callable[[list[Json], int], list[Json]]
Drawn = tuple[str, Route, list[tuple[list[Json], Edit, int]]]


def left(messages: list[Json], place: int) -> list[Json]:
    return messages


def edited(messages: list[Json], place: int) -> list[Json]:
    changed = {"content": "edited"} if isinstance(messages[place].get("content"), str) else {}
    return [*messages[:place], messages[place] | changed, *messages[place + 1 :]]


def deleted(messages: list[Json], place: int) -> list[Json]:
    return [*messages[:place], *messages[place + 1 :]]


def inserted(messages: list[Json], place: int) -> list[Json]:
    return [*messages[:place], user(f"inserted-{len(messages)}"), *messages[place:]]


def cut(messages: list[Json], place: int) -> list[Json]:
    return messages[: place + 1]


EDITS: tuple[Edit, ...] = (left, edited, deleted, inserted, cut)

answers = st.tuples(runs(max_moves=15), st.sampled_from(EDITS), st.integers(0, 9))
threads = st.tuples(st.sampled_from(RELEASES), st.sampled_from(ROUTES), st.lists(answers, min_size=1, max_size=2))


class Followed(Thread):
    """A thread that remembers all that the agent has said and the user has posted."""

    def __init__(self, release: str, route: Route) -> None:
        super().__init__(release, route)
        self.seen: list[Json] = []

    @property
    def is_known(self) -> bool:
        """Whether the record is about anything that is held."""
        return self.memory.kept is None or Draft(read(posted(self.held), self.client), self.memory.kept).is_known

    def follow(self, run: list[Json]) -> None:
        """Post what is held, and read the answer, as `run`."""
        self.seen += self.held
        agent = read(posted(self.given()), MODERN)
        conversation = Conversation(agent.messages)
        for event in run:
            conversation.take(Event.parse(plain([event])[6:-2]))
            held = posted_media(agent.with_messages(conversation.messages())).messages
            self.seen += [json.loads(bytes(raw)) for _, raw in held]
        self.run(run)


def behind(drawn: Drawn) -> Followed:
    """The thread behind its runs, with the next question typed."""
    release, route, answers = drawn
    thread = Followed(release, route)
    for number, (answer, edit, place) in enumerate(answers, 2):
        note(f"{release} {route.name} {edit.__name__} {place} {plain(answer).decode(errors='replace')}")
        thread.follow(answer)
        thread.held = edit([*thread.held, user(f"typed-{number}")], place % (len(thread.held) + 1))
    return thread


def told(value: Any) -> str:
    """As JSON text, since Python takes True for 1."""
    return json.dumps(value, sort_keys=True)


def values(messages: list[Json]) -> set[str]:
    """All that messages hold: each with its role, each member, each call with its members."""
    found = set()
    for message in messages:
        for name, value in message.items():
            if name != "toolCalls":
                found.add(told([message["id"], name, value]))
        for call in message.get("toolCalls") or ():
            found.add(told([message["id"], "toolCalls", call.get("id")]))
            for name, value in {**call, **call["function"]}.items():
                if name != "function":
                    found.add(told([call["id"], name, value]))
    return found


@given(threads)
def test_what_was_restored_is_restored_to_itself(drawn: Drawn) -> None:
    thread = behind(drawn)
    once = thread.restored().posted
    assert restore(once, thread.memory.kept or Kept(), thread.client).posted is once


@given(threads)
def test_a_turn_in_which_nothing_is_said_changes_nothing(drawn: Drawn) -> None:
    thread = behind(drawn)
    before = thread.given()
    thread.run("RS r; RF r")
    assert told(thread.given()) == told(before)


@given(threads)
def test_nothing_appears_that_neither_the_agent_nor_the_user_has_said(drawn: Drawn) -> None:
    thread = behind(drawn)
    assert values(thread.given()) - values(thread.seen + thread.held) == set()


@given(threads, st.integers(0, 9))
def test_an_edited_text_is_edited_and_all_else_comes_back(drawn: Drawn, number: int) -> None:
    thread = behind(drawn)
    assume(thread.held)
    before = thread.given()
    place = number % len(thread.held)
    message = thread.held[place]
    assume(isinstance(message.get("content"), str) and is_one(message["id"], before, thread.held))
    thread.held = edited(thread.held, place)
    note(f"edited: {message}")
    expected = [other | {"content": "edited"} if other["id"] == message["id"] else other for other in before]
    assert told(thread.given()) == told(expected)


@given(threads, st.integers(0, 9))
def test_an_inserted_message_changes_nothing_else_and_stays_between_its_neighbours(drawn: Drawn, number: int) -> None:
    thread = behind(drawn)
    before = thread.given()
    place = 1 + number % (len(thread.held) - 1) if len(thread.held) > 1 else 0
    before_it, behind_it = thread.held[:place], thread.held[place:]
    thread.held = [*before_it, user("inserted"), *behind_it]
    after = thread.given()
    assert told([message for message in after if message["id"] != "inserted"]) == told(before)
    order = [message["id"] for message in after]
    if before_it and stands_once(before_it[-1], after, thread.held):
        assert order.index(before_it[-1]["id"]) < order.index("inserted")


@given(threads, st.integers(0, 9))
def test_a_deleted_message_takes_along_the_results_of_its_calls_alone(drawn: Drawn, number: int) -> None:
    thread = behind(drawn)
    assume(thread.held)
    before = thread.given()
    place = number % len(thread.held)
    message = thread.held[place]
    assume(
        place + 1 < len(thread.held) and message["role"] == "assistant" and is_one(message["id"], before, thread.held)
    )
    del thread.held[place]
    note(f"deleted: {message}")
    gone = next(other for other in before if other["id"] == message["id"])
    calls = set(call_ids(gone))
    assume(calls == set(call_ids(message)))  # else the release holds some of its calls in another message
    assume(thread.is_known)  # else nothing may come back
    results = {told(other) for other in before if other.get("toolCallId") in calls}

    def rest(messages: list[Json]) -> list[str]:
        """All but what goes, and what was inserted: that stands behind what it was posted behind, which may go."""
        stays = (other for other in messages if other["id"] != message["id"] and "inserted" not in other["id"])
        return [told(other) for other in stays if told(other) not in results]

    assert rest(thread.given()) == rest(before)


def stands_once(message: Json, *conversations: list[Json]) -> bool:
    return message["role"] != "tool" and is_one(message["id"], *conversations)


def call_ids(message: Json) -> list[str]:
    return [call["id"] for call in message.get("toolCalls") or ()]


def is_one(id: str, *conversations: list[Json]) -> bool:
    """Whether each of the conversations has one message of an id."""
    return all(sum(message["id"] == id for message in messages) == 1 for messages in conversations)
