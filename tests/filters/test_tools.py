"""Tool calls shown or not, by the name of the tool."""

from collections.abc import Callable
from typing import Any

import pytest

from agui_middleware import rewrite
from agui_middleware.filters.contract import Filter, Loss
from agui_middleware.filters.tools import allow_tools, deny_tools
from agui_middleware.testing import encode_events, run_filter
from tests.notation import Json, stream

# `search` is what the notation calls a tool that is not named.
ALLOWED, DENIED = allow_tools(["search"]), deny_tools(["secret"])


def named(name: str) -> str:
    return f' toolCallName="{name}"'


@pytest.mark.parametrize("filter", [ALLOWED, DENIED], ids=["allow", "deny"])
@pytest.mark.parametrize(
    ("events", "left"),
    [
        ("KS c; KA c {}; KE c; KR c t", "KS c; KA c {}; KE c; KR c t"),
        ('KS c toolCallName="secret"; KA c {}; KE c; KR c t; TS m', "TS m"),
        (
            'KS c toolCallName="secret"; KS d; KA c {}; KA d {}; KE c; KE d; KR c t; KR d u',
            "KS d; KA d {}; KE d; KR d u",
        ),
        ('KS c toolCallName="secret"; KE c; EV tool-call c; KR c t; EV message t', ""),
        ("KS c; KE c; EV tool-call c; KR c t; EV message t", "KS c; KE c; EV tool-call c; KR c t; EV message t"),
        ('KS c toolCallName="secret"; KE c; KR c t; KS d; KR d t; EV message t', "KS d; KR d t; EV message t"),
        ("KK c _ secret; KK _ {}; RAW; KK _ {}; TK m hi; RAW", "RAW; TS m; TC m hi; RAW"),
        ('TK m a; KS c toolCallName="secret"; KE c; TK m b', "TS m; TC m a; TE m; TS m; TC m b"),
        ('KS c toolCallName="secret" subagentRunId="s"; KA c {}; KE c', ""),
        ('KS c toolCallName="secret"; KE c; KS c; KA c {}; KE c; KR c t', ""),
        ("KS c toolCallName=5; KA c {}; KE c", ""),
    ],
)
async def test_all_of_a_call_goes_with_it(filter: Filter, events: str, left: str) -> None:
    losses: list[Loss] = []
    assert await run_filter(filter, stream(events), losses=losses) == stream(left)
    assert losses == []


def call(id: str, name: str) -> Json:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def messages(*of: Json) -> list[Json]:
    return [{"type": "MESSAGES_SNAPSHOT", "messages": list(of)}]


ASKED: Json = {"id": "m", "role": "assistant", "content": "I look.", "toolCalls": [call("c", "secret")]}
ANSWERED: Json = {"id": "t", "role": "tool", "toolCallId": "c", "content": "x"}
USER: Json = {"id": "u", "role": "user", "content": "?"}


@pytest.mark.parametrize("filter", [ALLOWED, DENIED], ids=["allow", "deny"])
async def test_what_restates_a_call_goes_too(filter: Filter) -> None:
    both = {**ASKED, "toolCalls": [call("c", "secret"), call("d", "search")]}
    only = {"id": "c", "role": "assistant", "toolCalls": [call("c", "secret")]}
    none = {"id": "n", "role": "assistant", "content": "", "toolCalls": []}
    text = {"id": "m", "role": "assistant", "content": "I look."}
    before, after = (
        [USER, ASKED, ANSWERED, both, only, none],
        [USER, text, {**both, "toolCalls": [call("d", "search")]}, none],
    )
    out = await run_filter(filter, messages(*before), client=None)
    assert out == messages(*after)
    echo = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
    out = await run_filter(filter, [{**echo, "input": {"messages": before}}])
    assert out == [{**echo, "input": {"messages": after}}]


@pytest.mark.parametrize("filter", [ALLOWED, DENIED], ids=["allow", "deny"])
@pytest.mark.parametrize("content", ["", None])
async def test_a_message_that_only_its_call_made_goes_though_it_has_an_empty_text(
    filter: Filter, content: object
) -> None:
    asked = {**ASKED, "content": content}
    shown = {**asked, "toolCalls": [call("d", "search")]}
    both = {**asked, "toolCalls": [*ASKED["toolCalls"], call("d", "search")]}
    assert await run_filter(filter, messages(USER, asked, ANSWERED, both)) == messages(USER, shown)


@pytest.mark.parametrize("filter", [ALLOWED, DENIED], ids=["allow", "deny"])
async def test_pending_calls_are_those_that_are_shown(filter: Filter) -> None:
    finish = 'RF r outcome={"type":"success","pendingToolCallIds":%s}'
    events = f'KS c toolCallName="secret"; KE c; KS d; KE d; {finish}'
    [*_, end] = await run_filter(filter, stream(events % '["c","d"]'))
    assert end["outcome"] == {"type": "success", "pendingToolCallIds": ["d"]}
    for untouched in ('["d"]', "5", "null"):
        [*_, end] = await run_filter(filter, stream(events % untouched))
        assert end == stream(finish % untouched)[0]


async def test_a_call_of_an_earlier_response_is_known_by_what_restates_it() -> None:
    """Nobody has said the name of a call that only a result names: to allow fails closed."""
    result = stream("KR c t; EV tool-call c")
    assert await run_filter(DENIED, result) == result
    assert await run_filter(ALLOWED, result) == []
    history = messages({**ASKED, "toolCalls": [call("c", "search")]})
    assert await run_filter(ALLOWED, [*history, *result]) == [*history, *result]
    out = await run_filter(DENIED, [*messages(ASKED), *result])
    assert out == messages({"id": "m", "role": "assistant", "content": "I look."})


async def test_messages_that_are_none_pass() -> None:
    odd: list[Json] = [
        {"type": "MESSAGES_SNAPSHOT", "messages": [5, {"id": "m", "role": "assistant", "toolCalls": [5, {"id": "c"}]}]},
        {"type": "MESSAGES_SNAPSHOT"},
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": 5},
    ]
    assert await run_filter(DENIED, odd) == odd


@pytest.mark.parametrize("make", [allow_tools, deny_tools])
@pytest.mark.parametrize("names", ["search", [5]])
def test_names_are_a_list_of_names(make: Callable[[Any], Filter], names: object) -> None:
    with pytest.raises(TypeError, match="a list of names"):
        make(names)


@pytest.mark.parametrize(
    "behind",
    [
        "TK a SECRET",
        "TS a; TC a SECRET; TE a",
        'EV message a encryptedValue="SECRET"',
        'KS d a toolCallName="SECRET"; KE d',
        'TC t SECRET; EV message t encryptedValue="SECRET"',
    ],
)
@pytest.mark.parametrize("restated", ["SNAP a+c@s", "RS r a+c@s"])
def test_what_a_filter_drops_still_tells_hidden_whose_it_is(restated: str, behind: str) -> None:
    """The only thing that said so was the message of the call, or its result."""
    events = stream(f"{restated}; KS c; KE c; KR c t; {behind}")
    filters = [deny_tools(["search"])]
    assert b"SECRET" in rewrite(encode_events(events), filters=filters)
    assert b"SECRET" not in rewrite(encode_events(events), visibility="hidden", filters=filters)
