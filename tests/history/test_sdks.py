"""With a store: what an SDK does not hold comes back, and what its user has deleted does not."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from agui_middleware.config.readers import Reader
from agui_middleware.config.sdks import SDKS
from agui_middleware.history.merge import restore
from tests.history.threads import Thread, ids, user
from tests.notation import stream
from tests.readers.canonical import held_by_1_0_0, said
from tests.readers.live.served import Served
from tests.strategies import Json

TANSTACK, OLD_TANSTACK = "@tanstack/ai-client@0.33.2", "@tanstack/ai-client@0.7.9"
AGUI_CHAT, GO, CPP = "agent-framework-ag-ui@1.7.0", "ag-ui-go@0.0.0-20260601000000-abc", "ag-ui-cpp@1.0.0"
RUN = "RS r; GS r1; GC r1 hm; GE r1; TS m @s; TC m hello; TE m; KS c m; KA c {}; KE c; KR c t @s; TS n; TC n bye; TE n; RF r"


Run = str | list[Json]


def given(client: str, run: Run, *posted: Json) -> list[Json]:
    """What the agent gets, where a client posts this behind its run, which a user's `u1` has begun."""
    after: list[Json] = turns(client, [run], list(posted))[-1]
    return after


def turns(client: str, runs: Sequence[Run], *posted: list[Json]) -> list[Any]:
    """What the agent gets in each turn; the user types a question behind what is posted."""
    agent = Served([stream(run) if isinstance(run, str) else run for run in runs], history="memory://")
    bodies = [[user("u1")], *([*messages, user(f"u{place}")] for place, messages in enumerate(posted, 2))]
    asyncio.run(agent.post(client, *({"threadId": "t", "runId": "r", "messages": messages} for messages in bodies)))
    return [body["messages"] for body in agent.given]


def said_by_agent(id: str, content: str = "", *calls: str, role: str = "assistant") -> Json:
    held: Json = {"id": id, "role": role, "content": content}
    return held | ({"toolCalls": [call(each) for each in calls]} if calls else {})


def call(id: str) -> Json:
    return {"id": id, "type": "function", "function": {"name": "search", "arguments": "{}"}}


def result(id: str, of: str, content: str = "found") -> Json:
    return {"id": id, "role": "tool", "toolCallId": of, "content": content}


def of(messages: list[Json], id: str) -> Json:
    return next(message for message in messages if message["id"] == id)


each_reader = pytest.mark.parametrize(
    "reader", [reader for sdk in SDKS for reader in sdk.readers if not reader.refused], ids=str
)


def knows_calls(reader: Reader) -> bool:
    return "no-tool-calls" not in reader.rows


@each_reader
def test_every_sdk_gives_the_agent_what_1_0_0_would(reader: Reader) -> None:
    """It posts texts, calls in a message of its own, and results under new ids: no SDK posts less of what it holds."""
    calls = [said_by_agent("own1", "", "c")] if knows_calls(reader) else []
    results = [result("own2", "c")] if calls and "tool" not in reader.ignores else []
    posted = [user("u1"), said_by_agent("m", "hello"), *calls, *results, said_by_agent("n", "bye")]
    wanted = [*held_by_1_0_0([user("u1")], stream(RUN)), user("u2")]
    assert said(given(reader.name, RUN, *posted)) == said(wanted)


@each_reader
def test_what_a_user_of_any_sdk_deletes_stays_deleted(reader: Reader) -> None:
    """A message with its call, or a call alone: its result goes too. The text that is said last goes with it."""
    left = given(reader.name, RUN, user("u1"), said_by_agent("n", "bye"))
    assert ids(left) == ["u1", "r1", "n", "u2"]
    without_call = given(reader.name, RUN, user("u1"), said_by_agent("m", "hello"))
    never_held = [] if knows_calls(reader) else ["t"]
    assert ids(without_call) == ["u1", "r1", "m", *never_held, "u2"]


def test_a_result_gets_the_agents_id_and_stays_as_it_is_posted() -> None:
    posted = [user("u1"), said_by_agent("m", "hello", "c"), result("tool-c", "c", "edited"), said_by_agent("n", "bye")]
    after = given(TANSTACK, RUN, *posted)
    assert of(after, "t") == result("t", "c", "edited") | {"subagentRunId": "s"}
    assert "tool-c" not in ids(after)


def test_a_result_keeps_the_agents_id_in_later_turns() -> None:
    held = [user("u1"), said_by_agent("m", "hello", "c"), result("tool-c", "c"), said_by_agent("n", "bye")]
    again = "RS r2; TS a; TC a ok; TE a; RF r2"
    later = turns(TANSTACK, [RUN, again, again], held, [*held, user("u2"), said_by_agent("a", "ok")])[-1]
    assert ids(later) == ["u1", "r1", "m", "t", "n", "u2", "a", "u3"]
    assert of(later, "t")["subagentRunId"] == "s"


def test_a_result_of_the_applications_own_keeps_its_id() -> None:
    posted = [user("u1"), said_by_agent("m", "hello", "c"), result("tool-c", "c")]
    after = given(TANSTACK, "RS r; TS m; TC m hello; TE m; KS c m; KA c {}; KE c; RF r", *posted)
    assert ids(after) == ["u1", "m", "tool-c", "u2"]


def test_a_second_result_of_a_call_keeps_its_id() -> None:
    posted = [user("u1"), said_by_agent("m", "hello", "c"), result("t", "c"), result("other", "c")]
    assert ids(given(TANSTACK, RUN, *posted)) == ["u1", "r1", "m", "t", "other", "u2"]


def test_results_that_an_sdk_ignores_come_back_with_their_calls() -> None:
    posted = [user("u1"), said_by_agent("m", "hello", "c"), said_by_agent("n", "bye")]
    assert ids(given(OLD_TANSTACK, RUN, *posted)) == ["u1", "r1", "m", "t", "n", "u2"]
    without_call = [user("u1"), said_by_agent("m", "hello"), said_by_agent("n", "bye")]
    assert ids(given(OLD_TANSTACK, RUN, *without_call)) == ["u1", "r1", "m", "n", "u2"]


def test_what_the_application_answers_instead_of_an_ignored_result_stays() -> None:
    posted = [user("u1"), said_by_agent("m", "hello", "c"), result("own", "c", "mine"), said_by_agent("n", "bye")]
    [answer] = [message for message in given(OLD_TANSTACK, RUN, *posted) if message["role"] == "tool"]
    assert answer["content"] == "mine"


THOUGHT = said_by_agent("n-reasoning-1", "hm", role="reasoning")


def test_a_copy_of_reasoning_makes_way_for_the_agents() -> None:
    posted = [user("u1"), said_by_agent("m", "hello", "c"), result("tool-c", "c"), THOUGHT, said_by_agent("n", "bye")]
    assert ids(given(TANSTACK, RUN, *posted)) == ["u1", "r1", "m", "t", "n", "u2"]


def test_a_copy_of_reasoning_that_holds_an_encrypted_value_alone_makes_way() -> None:
    """drawn, TanStack 0.26.0: as a provider gives reasoning that it keeps for itself."""
    run = "RS r; GS r1; GE r1; EV message r1; TS n; TC n bye; TE n; RF r"
    copy = {"id": "n-reasoning-0", "role": "reasoning", "content": "", "encryptedValue": "x"}
    after = given(TANSTACK, run, user("u1"), copy, said_by_agent("n", "bye"))
    assert ids(after) == ["u1", "r1", "n", "u2"]
    assert of(after, "r1")["encryptedValue"] == "x"


def test_reasoning_that_is_no_copy_stays() -> None:
    """That of another agent, or one that a user has edited; and the copy of a thought whose place is gone."""
    other = said_by_agent("n-reasoning-1", "I wonder", role="reasoning")
    assert ids(given(TANSTACK, RUN, user("u1"), said_by_agent("m", "hello"), other)) == [
        "u1",
        "r1",
        "m",
        "n-reasoning-1",
        "u2",
    ]
    parts = [{"type": "text", "text": "hm"}]
    assert "n-reasoning-1" in ids(given(TANSTACK, RUN, said_by_agent("m", "hello"), THOUGHT | {"content": parts}))


def test_reasoning_that_an_application_posts_by_its_id_is_the_agents() -> None:
    """Go hands events on, so that an application may keep it: deleted in a later turn, it stays deleted."""
    thought = said_by_agent("r1", "hm", role="reasoning")
    held = [user("u1"), thought, said_by_agent("m", "hello", "c"), result("t", "c"), said_by_agent("n", "bye")]
    again = "RS r2; TS a; TC a ok; TE a; RF r2"
    first, second = turns(GO, [RUN, again, again], held, held[:1] + held[2:])[1:]
    assert ids(first) == ["u1", "r1", "m", "t", "n", "u2"]
    assert "r1" not in ids(second)


def test_the_role_of_a_text_comes_back() -> None:
    """AGUIChatClient and TanStack take it for the assistant's, and the latter leaves an empty content out."""
    run = 'RS r; TS m role="developer"; TC m be_brief; TE m; TS n role="developer"; TE n; RF r'
    silent = {"id": "n", "role": "assistant"}
    for client in (TANSTACK, AGUI_CHAT):
        after = given(client, run, user("u1"), said_by_agent("m", "be_brief"), silent)
        assert [(message["role"], message["content"]) for message in after[1:3]] == [
            ("developer", "be_brief"),
            ("developer", ""),
        ]


def restated(*messages: Json) -> list[Json]:
    """A run that says `m`, and then restates the conversation."""
    snapshot: Json = {"type": "MESSAGES_SNAPSHOT", "messages": [user("u1"), said_by_agent("s1", "new"), *messages]}
    return [*stream("RS r; TS m; TC m hello; TE m"), snapshot, *stream("RF r")]


def test_an_sdk_that_applies_no_snapshot_gets_what_only_one_brings() -> None:
    run = restated(said_by_agent("m", "changed"))
    after = given(AGUI_CHAT, run, user("u1"), said_by_agent("m", "hello"))
    assert ids(after) == ["u1", "m", "s1", "u2"]
    assert of(after, "m")["content"] == "changed"
    edited = given(AGUI_CHAT, run, user("u1"), said_by_agent("m", "edited"))
    assert of(edited, "m")["content"] == "edited"


def test_what_a_snapshot_takes_out_goes_where_it_is_not_applied() -> None:
    assert ids(given(AGUI_CHAT, restated(), user("u1"), said_by_agent("m", "hello"))) == ["u1", "s1", "u2"]


def test_an_sdk_that_applies_snapshots_may_delete_what_one_brings() -> None:
    held = said_by_agent("m", "hello")
    assert ids(given(CPP, restated(held), user("u1"), held)) == ["u1", "m", "u2"]
    assert ids(given(AGUI_CHAT, restated(held), user("u1"), held)) == ["u1", "m", "s1", "u2"]


def test_calls_come_back_into_their_messages_in_front_of_their_results() -> None:
    """AGUIChatClient posts a call in some message of its own, and a text that follows in the call's message later."""
    run = "RS r; KS c; KA c {}; KE c; KR c t; KS d; KA d {}; KE d; TS n; TC n bye; TE n; TS c; TC c late; TE c; RF r"
    posted = [
        user("new"),
        said_by_agent("own", "", "c"),
        result("x", "c"),
        said_by_agent("n", "bye", "d"),
        said_by_agent("c", "late"),
    ]
    after = given(AGUI_CHAT, run, *posted)
    assert ids(after) == ["new", "d", "n", "c", "t", "u2"]
    calls = {message["id"]: [each["id"] for each in message.get("toolCalls", ())] for message in after}
    assert (calls["c"], calls["d"], calls["n"]) == (["c"], ["d"], [])


def test_what_stood_behind_a_question_stays_there_though_that_has_a_new_id() -> None:
    """AGUIChatClient gives the user's messages other ids in each turn."""
    first, second = "RS r; TS m; TC m one; TE m; RF r", "RS r2; GS q; GC q hm; GE q; TS n; TC n two; TE n; RF r2"
    posted = [user("a"), said_by_agent("m", "one")]
    later = turns(
        AGUI_CHAT, [first, second, first], posted, [user("b"), posted[1], user("c"), said_by_agent("n", "two")]
    )
    assert ids(later[-1]) == ["b", "m", "c", "q", "n", "u3"]


def test_ragas_has_other_ids_for_all_so_that_nothing_comes_back() -> None:
    posted = [user("x1"), said_by_agent("x2", "hello", "x3"), result("x4", "x3"), said_by_agent("x5", "bye")]
    assert ids(given("ragas@0.4.3", RUN, *posted)) == ["x1", "x2", "x4", "x5", "u2"]


def test_what_was_restored_is_restored_to_itself() -> None:
    """drawn: a result whose call the agent's snapshot has taken out, and the client has not."""
    thread = Thread("ag_ui@0.1.0")
    snapshot: Json = {"type": "MESSAGES_SNAPSHOT", "messages": []}
    thread.run([*stream("RS r; GS r5; GE r5; KS c7"), snapshot, *stream("KR c7 t8; KE c7; RF r")])
    thread.ask()
    once = thread.restored().posted
    assert ids([json.loads(bytes(raw)) for _, raw in once.messages]) == ["r5", "c7", "t8", "u2"]
    assert restore(once, thread.kept, thread.client).posted is once
