"""What comes back, and what does not: each row of the tables in history/README.md."""

import json
from collections.abc import AsyncIterator

import pytest

from agui_middleware import Context, Event
from agui_middleware.filters.reasoning import without_reasoning
from agui_middleware.filters.redact import redact
from agui_middleware.filters.tools import allow_tools
from agui_middleware.history.record import Chain, Item, Kept
from tests.history.threads import Route, Thread, ids, user
from tests.notation import Json, message

HIDDEN = Route("hidden", "hidden")
NO_TOOLS = Route("no tools", filters=(allow_tools(["nothing"]),))
NO_REASONING = Route("no reasoning", filters=(without_reasoning,))
ANSWER = "RS r; GS r1; GC r1 hm; GE r1; TS a1; TC a1 yes; TE a1; RF r"


def of(messages: list[Json], id: str) -> Json:
    return next(message for message in messages if message["id"] == id)


def calls_of(messages: list[Json]) -> dict[str, list[str]]:
    return {
        message["id"]: [call["id"] for call in message["toolCalls"]] for message in messages if "toolCalls" in message
    }


# What comes back where the user has changed nothing


def test_tags_come_back() -> None:
    thread = Thread("0.0.58")
    thread.run("RS r; TS m @s; TC m a; TE m; KS c @s; KE c; KR c t @s; RF r")
    assert [message.get("subagentRunId") for message in thread.ask()] == [None, "s", "s", "s", None]


def test_metadata_and_encrypted_values_come_back_on_messages_and_calls() -> None:
    thread = Thread("0.0.44")
    thread.run(
        'RS r; TS m metadata={"a":1}; TC m a; TE m; EV message m; KS c m metadata={"b":2}; KE c; EV tool-call c; RF r'
    )
    message = of(thread.ask(), "m")
    assert (message["metadata"], message["encryptedValue"]) == ({"a": 1}, "x")
    assert (message["toolCalls"][0]["metadata"], message["toolCalls"][0]["encryptedValue"]) == ({"b": 2}, "x")


def test_names_come_back() -> None:
    thread = Thread("0.0.47")
    thread.run('RS r; TS m name="Ann"; TC m a; TE m; RF r')
    assert of(thread.ask(), "m")["name"] == "Ann"


def test_reasoning_comes_back_at_its_place() -> None:
    thread = Thread("0.0.44")
    thread.run(ANSWER)
    assert ids(thread.held) == ["u1", "a1"]
    assert ids(thread.ask()) == ["u1", "r1", "a1", "u2"]


def test_results_come_back_behind_their_calls() -> None:
    thread = Thread("0.0.28")
    thread.run("RS r; KS c m; KE c; KR c t; TS a; TC a x; TE a; RF r")
    assert "t" not in ids(thread.held)
    assert ids(thread.ask()) == ["u1", "m", "t", "a", "u2"]


def test_a_call_comes_back_into_the_message_that_it_belongs_to() -> None:
    thread = Thread("0.0.51")
    thread.run("RS r; TS m; TC m a; TE m; TS n; TC n b; TE n; KS c m; KE c; KR c t; RF r")
    assert list(calls_of(thread.held).values()) == [["c"]]
    assert "m" not in calls_of(thread.held)
    given = thread.ask()
    assert calls_of(given) == {"m": ["c"]}
    assert ids(given) == ["u1", "m", "t", "n", "u2"]


def test_what_a_route_hides_comes_back() -> None:
    thread = Thread("1.0.0", HIDDEN)
    thread.run("RS r; TS m @s; TC m secret; TE m; KS c @s; KE c; KR c t; TS a; TC a done; TE a; RF r")
    assert ids(thread.held) == ["u1", "a"]
    assert ids(thread.ask()) == ["u1", "m", "c", "t", "a", "u2"]
    assert of(thread.given(), "m") == {"id": "m", "role": "assistant", "content": "secret", "subagentRunId": "s"}


def test_an_answer_that_was_hidden_altogether_comes_back() -> None:
    thread = Thread("1.0.0", HIDDEN)
    thread.run("RS r; TS m @s; TC m a; TE m; RF r")
    assert ids(thread.ask()) == ["u1", "m", "u2"]


def test_calls_that_a_filter_drops_come_back_in_their_order() -> None:
    route = Route("some tools", filters=(allow_tools(["look"]),))
    thread = Thread("1.0.0", route)
    thread.run('RS r; TS m; TC m a; KS b m; KE b; KS c m toolCallName="look"; KE c; KS d m; KE d; TE m; KR d t; RF r')
    assert calls_of(thread.held) == {"m": ["c"]}
    given = thread.ask()
    assert calls_of(given) == {"m": ["b", "c", "d"]}
    assert ids(given) == ["u1", "m", "t", "u2"]


def test_a_text_that_a_filter_masks_comes_back() -> None:
    thread = Thread("1.0.0", Route("redacted", filters=(redact("secret"),)))
    thread.run("RS r; TS m; TC m the; TC m _secret; TC m _word; TE m; RF r")
    assert of(thread.held, "m")["content"] != "the_secret_word"
    assert of(thread.ask(), "m")["content"] == "the_secret_word"


def test_what_came_back_comes_back_in_later_turns_too() -> None:
    thread = Thread("0.0.44")
    thread.run(ANSWER)
    thread.held.append(user("u2"))
    thread.run(ANSWER.replace("1", "2"))
    assert ids(thread.ask("u3")) == ["u1", "r1", "a1", "u2", "r2", "a2", "u3"]
    assert thread.restoration().messages == ("r1", "r2")


# What the user does


def test_an_edited_text_stays_and_the_rest_of_the_message_comes_back() -> None:
    thread = Thread("0.0.58")
    thread.run("RS r; TS m @s; TC m a; TE m; RF r")
    thread.held[1]["content"] = "edited"
    assert of(thread.ask(), "m") == {"id": "m", "role": "assistant", "content": "edited", "subagentRunId": "s"}


def test_an_edit_of_a_masked_text_stays() -> None:
    thread = Thread("1.0.0", Route("redacted", filters=(redact("secret"),)))
    thread.run("RS r; TS m; TC m secret; TE m; RF r")
    thread.held[1]["content"] = "edited"
    assert of(thread.ask(), "m")["content"] == "edited"


def test_a_deleted_message_stays_deleted() -> None:
    thread = Thread("0.0.44")
    thread.run(ANSWER)
    thread.drop("a1")
    assert ids(thread.ask()) == ["u1", "r1", "u2"]


def test_results_go_with_a_deleted_call() -> None:
    thread = Thread("0.0.28")
    thread.run("RS r; KS c m; KE c; KR c t; TS a; TC a x; TE a; RF r")
    thread.drop("m")
    assert ids(thread.ask()) == ["u1", "a", "u2"]


def test_a_question_that_is_to_be_answered_again_brings_nothing_back_behind_it() -> None:
    thread = Thread("0.0.44")
    thread.run(ANSWER)
    thread.drop("a1")
    assert ids(thread.given()) == ["u1"]


def test_a_result_that_is_cut_off_without_its_call_comes_back() -> None:
    """0.0.54 holds it where it arrived, which is behind the question that is to be answered again."""
    thread = Thread("0.0.54")
    thread.run('RS r; KS c m; KE c; TS q role="user"; TC q well; TE q; KR c t; RF r')
    assert ids(thread.held) == ["u1", "m", "q", "t"]
    thread.drop("t")
    assert ids(thread.given()) == ["u1", "m", "t", "q"]


def test_a_result_without_a_call_is_left_to_the_client() -> None:
    thread = Thread("0.0.54")
    thread.run("RS r; TS a @s; TC a x; TE a; KR nobodys t; RF r")
    thread.drop("t")
    assert ids(thread.ask()) == ["u1", "a", "u2"]


def test_a_result_in_front_of_what_is_still_there_stays_deleted() -> None:
    thread = Thread("0.0.54")
    thread.run("RS r; KS c m; KE c; TS a; TC a x; TE a; KR c t; TS b; TC b x; TE b; RF r")
    thread.drop("t")
    assert ids(thread.ask()) == ["u1", "m", "a", "b", "u2"]


def test_another_question_brings_nothing_back_of_the_answer_to_the_old_one() -> None:
    thread = Thread("0.0.44")
    thread.run(ANSWER)
    thread.held.append(user("u2"))
    thread.run(ANSWER.replace("1", "2"))
    thread.held = [*thread.held[:2], user("u3")]
    assert ids(thread.given()) == ["u1", "r1", "a1", "u3"]


def test_what_was_answered_again_brings_nothing_back_of_the_first_answer() -> None:
    thread = Thread("0.0.44")
    thread.run("RS r; GS r1; GC r1 hm; GE r1; RF r")
    thread.run("RS r; TS a2; TC a2 yes; TE a2; RF r")
    assert ids(thread.ask()) == ["u1", "a2", "u2"]


def test_an_inserted_message_stays_in_front_of_what_it_stood_in_front_of() -> None:
    thread = Thread("0.0.44")
    thread.run(ANSWER)
    thread.held.insert(1, user("x"))
    assert ids(thread.ask()) == ["u1", "r1", "x", "a1", "u2"]
    thread.held.insert(0, user("y"))
    assert ids(thread.given())[:2] == ["y", "u1"]


def test_what_begins_the_conversation_comes_back_in_front_of_an_inserted_message() -> None:
    """drawn:35: the agent's snapshot has taken out the question."""
    thread = Thread("0.0.44")
    thread.run("RS r; SNAP r1:reasoning a1; RF r")
    assert ids(thread.held) == ["a1"]
    thread.held.insert(0, user("x"))
    assert ids(thread.ask()) == ["r1", "x", "a1", "u2"]


def test_a_result_of_the_applications_own_stays_and_no_other_comes_back() -> None:
    thread = Thread("0.0.28")
    thread.run("RS r; KS c m; KE c; KR c t; RF r")
    thread.held.append({"id": "own", "role": "tool", "toolCallId": "c", "content": "mine"})
    assert ids(thread.ask()) == ["u1", "m", "own", "u2"]


def test_a_reordered_list_stays_reordered() -> None:
    thread = Thread("0.0.44")
    thread.run("RS r; TS a; TC a x; TE a; GS r1; GC r1 hm; GE r1; TS b; TC b x; TE b; RF r")
    thread.held = [thread.held[2], thread.held[0], thread.held[1]]
    assert ids(thread.held) == ["b", "u1", "a"]
    assert ids(thread.ask()) == ["b", "u1", "a", "r1", "u2"]


def test_the_order_of_an_older_release_becomes_the_agents() -> None:
    thread = Thread("0.0.45")
    thread.run("RS r; TS a; TC a x; TE a; TS b; TC b x; TE b; SNAP b a u1:user; RF r")
    assert ids(thread.held) == ["b", "a", "u1"]
    assert ids(thread.ask()) == ["u1", "a", "b", "u2"]
    thread.held = [thread.held[1], thread.held[0], *thread.held[2:]]
    assert ids(thread.given()) == ["a", "b", "u1", "u2"]
    thread.held.insert(1, user("x"))
    assert ids(thread.given()) == ["a", "x", "b", "u1", "u2"]


def test_an_inserted_message_stays_behind_what_is_put_in_order() -> None:
    thread = Thread("0.0.45")
    thread.run("RS r; TS a; TC a x; TE a; TS b; TC b x; TE b; SNAP b a u1:user; RF r")
    thread.held.insert(0, user("first"))
    thread.held.insert(2, user("x"))
    assert ids(thread.held) == ["first", "b", "x", "a", "u1"]
    assert ids(thread.ask()) == ["first", "u1", "a", "b", "x", "u2"]


def test_nothing_comes_back_where_nothing_of_the_thread_is_posted() -> None:
    thread = Thread("0.0.44")
    thread.run(ANSWER)
    thread.held = [user("other")]
    restored = thread.restored()
    assert restored.posted.raw == thread.restored(kept=Kept()).posted.raw
    assert ids(thread.given()) == ["other"]


def test_a_message_that_was_there_for_calls_alone_comes_back_with_one_of_them() -> None:
    kept = Kept(
        items={"p": Item({}, whole=b'{"id":"p","role":"assistant"}', calls=["c", "d"])},
        calls={"c": Item({}, holder="p"), "d": Item({}, holder="p"), "e": Item({}, whole=b'{"id":"e"}', holder="gone")},
        chains=[Chain(["u1", "p", "lost", "a"], b"\1\0\0\1", b"\1\0\0\0")],
    )
    thread = Thread("0.0.51", held=[user("u1"), *map(message, ("x+c", "y+d", "a"))])
    del thread.held[1]["content"]
    assert calls_of(thread.given(kept=kept)) == {"p": ["c", "d"]}
    assert ids(thread.given(kept=kept)) == ["u1", "p", "y", "a"]
    thread.drop("x")
    thread.drop("y")
    assert ids(thread.given(kept=kept)) == ["u1", "a"]


def test_what_no_chain_places_comes_back_only_behind_its_call() -> None:
    thread = Thread("0.0.28")
    thread.run("RS r; KS c m; KE c; KR c t; RF r")
    kept = Kept(
        items={**thread.kept.items, "x": Item({}, whole=b'{"id":"x"}', result_of="c")}, chains=thread.kept.chains
    )
    assert ids(thread.given(kept=kept)) == ["u1", "m", "x", "t"]


def test_a_record_with_what_is_no_json_changes_nothing() -> None:
    thread = Thread("0.0.28")
    thread.run("RS r; KS c m; KE c; KR c t; RF r")
    thread.kept.items["t\0c"].whole = b"{nonsense"
    assert ids(thread.ask()) == ["u1", "m", "u2"]


# What filters add


async def add_notice(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    async for event in events:
        yield event
        if event.type == "RUN_STARTED":
            yield Event(type="TEXT_MESSAGE_START", messageId="notice", role="assistant")
            yield Event(type="TEXT_MESSAGE_CONTENT", messageId="notice", delta="mind the gap")
            yield Event(type="TEXT_MESSAGE_END", messageId="notice")


def test_what_a_filter_has_added_does_not_reach_the_agent_unless_it_is_edited() -> None:
    thread = Thread("1.0.0", Route("notice", filters=(add_notice,)))
    thread.run("RS r; TS a; TC a x; TE a; RF r")
    assert ids(thread.held) == ["u1", "notice", "a"]
    assert ids(thread.ask()) == ["u1", "a", "u2"]
    assert thread.restoration().removed == 1
    thread.held[1]["content"] = "edited"
    assert ids(thread.given()) == ["u1", "notice", "a", "u2"]


# What the agent does


def test_what_the_agent_takes_out_of_the_conversation_does_not_come_back() -> None:
    thread = Thread("0.0.58")
    thread.run("RS r; TS m @s; TC m a; TE m; RF r")
    thread.held.append(user("u2"))
    thread.run("RS r; SNAP u1:user m u2:user; RF r")
    assert of(thread.ask("u3"), "m") == {"id": "m", "role": "assistant", "content": "hello"}
    hidden = Thread("0.0.44")
    hidden.run(ANSWER)
    hidden.held.append(user("u2"))
    hidden.run("RS r; SNAP u1:user a1 u2:user n:reasoning; RF r")
    assert ids(hidden.ask("u3")) == ["u1", "a1", "u2", "n", "u3"]


def test_a_call_that_the_agent_takes_out_of_the_conversation_does_not_come_back() -> None:
    thread = Thread("0.0.58")
    thread.run('RS r; KS c m metadata={"a":1}; KE c; RF r')
    thread.held.append(user("u2"))
    thread.run("RS r; SNAP u1:user u2:user; RF r")
    thread.held.append({"id": "m", "role": "assistant", "toolCalls": [{"id": "c", "function": {}}]})
    assert "metadata" not in of(thread.given(), "m")["toolCalls"][0]


def test_a_text_that_goes_on_in_a_later_run_is_whole() -> None:
    thread = Thread("0.0.58")
    thread.run("RS r; TS m @s; TC m a; TE m; RF r")
    thread.held.append(user("u2"))
    thread.run("RS r; TS m; TC m b; TE m; RF r")
    assert of(thread.ask("u3"), "m") == {"id": "m", "role": "assistant", "content": "ab", "subagentRunId": "s"}


def test_a_masked_text_that_goes_on_unmasked_is_whole() -> None:
    thread = Thread("1.0.0", Route("redacted", filters=(redact("secret"),)))
    thread.run("RS r; TS m; TC m a_secret; TE m; RF r")
    thread.held.append(user("u2"))
    thread.run("RS r; TS m; TC m _and_more; TE m; RF r")
    assert of(thread.ask("u3"), "m")["content"] == "a_secret_and_more"


def test_thinking_of_old_agents_stays_with_the_client() -> None:
    thread = Thread("0.0.59")
    texts = [{"type": f"THINKING_TEXT_MESSAGE_{step}"} for step in ("START", "CONTENT", "END")]
    texts[1]["delta"] = "hm"
    span = [{"type": "THINKING_START"}, *texts, {"type": "THINKING_END"}]
    run: list[Json] = [{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}, *span]
    thread.run([*run, {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}])
    assert [message["role"] for message in thread.ask()] == ["user", "reasoning", "user"]


# Several clients, and records that are not whole


def test_two_clients_of_different_ages_share_a_thread() -> None:
    old, new = Thread("0.0.44"), Thread("1.0.0")
    old.run(ANSWER)
    new.memory.kept, new.held = old.kept, [*old.held, user("u2")]
    assert ids(new.given()) == ["u1", "r1", "a1", "u2"]
    new.run("RS r; TS a2 @s; TC a2 yes; TE a2; RF r")
    assert of(new.ask("u3"), "a2")["subagentRunId"] == "s"
    old.memory.kept, old.held = new.kept, [*old.held, user("u2")]
    assert ids(old.given()) == ["u1", "r1", "a1", "u2"]


def test_two_requests_at_once_keep_what_either_has() -> None:
    first, second = Thread("0.0.44"), Thread("0.0.44")
    first.run(ANSWER)
    second.held, second.memory.kept = [*first.held, user("u2")], first.kept
    first.held.append(user("u3"))
    second.run(ANSWER.replace("1", "2"))
    first.run(ANSWER.replace("1", "3"))
    both = second.kept.merged(first.kept)
    first.held = [*second.held, *first.held[2:], user("u4")]
    assert ids(first.given(kept=both)) == ["u1", "r1", "a1", "u2", "r2", "a2", "u3", "r3", "a3", "u4"]


def test_a_store_that_lost_the_thread_leaves_it_as_posted() -> None:
    thread = Thread("0.0.44")
    thread.run(ANSWER)
    assert ids(thread.given(kept=Kept())) == ["u1", "a1"]


def test_half_a_record_brings_back_what_it_has() -> None:
    thread = Thread("0.0.28")
    thread.run("RS r; GS g; GC g hm; GE g; KS c m @s; KE c; KR c t; TS a @s; TC a x; TE a; RF r")
    assert ids(thread.ask()) == ["u1", "g", "m", "t", "a", "u2"]
    half = Kept.read(thread.kept.to_bytes())
    assert half is not None
    half.chains.clear()
    assert ids(thread.given(kept=half)) == ["u1", "m", "t", "a", "u2"]
    assert of(thread.given(kept=half), "a")["subagentRunId"] == "s"


def test_a_record_of_another_version_counts_as_none() -> None:
    thread = Thread("0.0.44")
    thread.run(ANSWER)
    thread.kept.version = 2
    assert Kept.read(thread.kept.to_bytes()) is None


def test_what_is_posted_unreadable_stays_as_it_is() -> None:
    thread = Thread("0.0.58")
    thread.run("RS r; TS m @s; TC m a; TE m; RF r")
    thread.held[1] = {"id": "m", "role": "assistant", "content": 5, "toolCalls": "x"}
    assert of(thread.ask(), "m") == {**thread.held[1], "subagentRunId": "s"}


def test_counts_of_what_was_put_back() -> None:
    thread = Thread("0.0.28")
    thread.run("RS r; TS m @s; TC m a; TE m; TS n; TC n a; TE n; KS c m; KE c; KR c t; RF r")
    thread.held.append(user("u2"))
    restored = thread.restoration()
    assert (restored.messages, restored.members, restored.calls) == (("t",), 1, 1)
    assert thread.restored(kept=Kept()).restoration is None


@pytest.mark.parametrize("release", ["0.0.28", "0.0.36", "0.0.44", "0.0.51", "0.0.54", "0.0.58", "1.0.0"])
@pytest.mark.parametrize("route", [Route("auto"), HIDDEN, NO_TOOLS, NO_REASONING], ids=lambda route: route.name)
def test_restoring_again_changes_nothing(release: str, route: Route) -> None:
    thread = Thread(release, route)
    thread.run("RS r; GS g; GC g a; GE g; TS m @s; TC m a; TE m; KS c m @s; KE c; KR c t @s; TS n; TC n b; TE n; RF r")
    given = thread.ask()
    thread.held = given
    assert json.dumps(thread.given()) == json.dumps(given)


def test_a_result_that_was_deleted_in_an_earlier_turn_stays_deleted() -> None:
    """Found by `test_a_turn_in_which_nothing_is_said_changes_nothing`: it came back a turn later."""
    thread = Thread("1.0.0", HIDDEN)
    thread.run("RS r; SNAP u1:user t:tool=c m+c; TS n @s; TC n b; TE n; RF r")
    thread.drop("t")
    assert "t" not in ids(thread.ask())
    thread.run("RS r; RF r")
    assert "t" not in ids(thread.ask("u3"))


def test_a_call_of_an_earlier_message_of_an_id_does_not_come_back_into_a_later_one() -> None:
    """The agent has cleared the conversation, and a developer's message has the id of the one that held the call."""
    thread = Thread("1.0.0", HIDDEN)
    thread.run("RS r; KS c m @s; KE c; TS n @s; TC n x; TE n; RF r")
    thread.held = [user("u2")]
    thread.run('RS r; SNAP; TS m role="developer" @s; TC m y; TE m; TS a; TC a z; TE a; RF r')
    given = thread.ask("u3")
    assert "toolCalls" not in of(given, "m")


def test_a_result_that_0_0_30_keeps_to_itself_comes_back() -> None:
    """It takes the result, but its application gets it only once another event changes a message."""
    thread = Thread("0.0.30")
    thread.run("RS r; TS m; TC m a; TE m; KS c; KE c; KR c t; CUSTOM x value=1; RF r")
    thread.drop("t")  # so far as the application knows, there is none
    assert ids(thread.ask()) == ["u1", "m", "c", "t", "u2"]


def test_a_call_comes_back_into_a_message_that_the_client_holds_in_another_role() -> None:
    """The route drops the call that has made the message an assistant's, so that the text makes it a system's."""
    thread = Thread("1.0.0", NO_TOOLS)
    thread.run('RS r; KS c; KE c; TS c role="system"; TC c a; TE c; RF r')
    assert of(thread.held, "c")["role"] == "system"
    given = thread.ask()
    assert of(given, "c")["role"] == "assistant"
    assert calls_of(given) == {"c": ["c"]}


def test_a_call_of_an_earlier_message_does_not_come_back_into_one_that_is_shown() -> None:
    thread = Thread("1.0.0", HIDDEN)
    thread.run("RS r; KS c m @s; KE c; TS n @s; TC n x; TE n; RF r")
    thread.held = [user("u2")]
    thread.run('RS r; SNAP; TS m role="developer"; TC m y; TE m; TS a; TC a z; TE a; RF r')
    assert "toolCalls" not in of(thread.ask("u3"), "m")


def test_a_result_of_an_earlier_call_does_not_come_back_with_a_later_one_of_its_id() -> None:
    """Agents count from one in each run. The first question, and all that followed, is no longer posted."""
    thread = Thread("1.0.0", HIDDEN)
    thread.run("RS r; KS c @s; KE c; KR c t @s; RF r")
    thread.held = [user("u2")]
    thread.run("RS r; KS c @s; KE c; TS a; TC a x; TE a; RF r")
    assert ids(thread.ask("u3")) == ["u2", "c", "a", "u3"]
