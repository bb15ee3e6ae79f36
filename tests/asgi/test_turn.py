"""A conversation over several requests: what the agent gets back, what is kept, when and for whom."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from starlette.types import Message, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, ClientVersion, Context, Event, Filter, Restoration, Route, Settings
from agui_middleware.filters.declared import per_event
from agui_middleware.history.stores import MemoryStore
from agui_middleware.testing import encode_events
from tests.history.bodies import turn_without_store
from tests.history.stores import FailingStore, SilentStore, WaitingStore
from tests.notation import stream
from tests.robustness.exchange import END, EVENT_STREAM, Exchange

Messages = list[dict[str, Any]]
USER = {"id": "u", "role": "user", "content": "go"}
SAID = {"id": "m", "role": "assistant", "content": "hi"}
AGAIN = {"id": "u2", "role": "user", "content": "go on"}
WHISPERED = {"id": "n", "role": "assistant", "content": "psst", "subagentRunId": "s"}
DELEGATES = "RS r; SUB+ s; TS n @s; TC n psst @s; TE n @s; SUB- s; TS m; TC m hi; TE m; RF r"
ANSWERS = "RS r2; TS m2; TC m2 hi; TE m2; RF r2"
LATER = [USER, SAID, AGAIN]
RESTORED = [USER, WHISPERED, SAID, AGAIN]


class Agent:
    """Answers each request with the next of its streams. `given`: the bodies that it got; `choices`: those in its scopes."""

    def __init__(self, *streams: str | bytes) -> None:
        self.streams = [one if isinstance(one, bytes) else encode_events(stream(one)) for one in streams]
        self.given: list[dict[str, Any]] = []
        self.choices: list[Any] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        self.given.append(json.loads(body))
        self.choices.append(scope["state"]["agui"])
        await self.answer(self.streams.pop(0), send)

    async def answer(self, answer: bytes, send: Send) -> None:
        await send(EVENT_STREAM)
        for frame in answer.split(b"\n\n")[:-1]:
            await send({"type": "http.response.body", "body": frame + b"\n\n", "more_body": True})
        await send(END)

    @property
    def histories(self) -> list[Messages]:
        return [given["messages"] for given in self.given]


def turn(messages: Messages, client: str | None = "0.0.58", thread: str = "t", **options: Any) -> Exchange:
    fields = options.pop("headers", [])
    body = {"threadId": thread, "runId": "r", "messages": messages, "tools": [], "context": [], "state": {}}
    raw = json.dumps({**body, "forwardedProps": {}, **options.pop("members", {})}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(raw)), *fields]
    if client is not None:
        headers.append((b"x-ag-ui-client-version", client.encode()))
    return Exchange(headers=headers, body=[raw], **options)


async def talk(app: AGUIMiddleware, *turns: Messages, **options: Any) -> list[bytes]:
    """What a client gets that posts these histories one after the other."""
    return [(await turn(messages, **options).run(app)).body for messages in turns]


def hiding(agent: Agent, **options: Any) -> AGUIMiddleware:
    return AGUIMiddleware(agent, **{"history": "memory://", "visibility": "hidden", **options})


async def test_the_agent_gets_back_what_the_client_could_not_be_given() -> None:
    calls: list[tuple[str, Restoration]] = []
    agent = Agent(DELEGATES, ANSWERS)
    app = hiding(agent, on_restore=lambda scope, restoration: calls.append((scope["path"], restoration)))
    await talk(app, [USER], LATER)
    assert agent.histories == [[USER], RESTORED]
    restoration = Restoration("t", ("n",), 0, 0, 0)
    assert [choice.restored for choice in agent.choices] == [None, restoration]
    assert calls == [("/agent", restoration)]


async def test_tags_come_back_where_subagents_are_shown_inline() -> None:
    agent = Agent(DELEGATES, ANSWERS)
    app = AGUIMiddleware(agent, history="memory://")
    untagged = {name: value for name, value in WHISPERED.items() if name != "subagentRunId"}
    await talk(app, [USER], [USER, untagged, SAID, AGAIN])
    assert agent.histories[1] == RESTORED
    assert agent.choices[1].restored == Restoration("t", (), 1, 0, 0)


def test_without_a_store_a_turn_is_over_once_the_body_is_read() -> None:
    assert not turn_without_store(ClientVersion(0, 0, 58)).keeps


async def test_a_hook_that_raises_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fails(scope: Scope, restoration: Restoration) -> None:
        raise LookupError

    agent = Agent(DELEGATES, ANSWERS)
    await talk(hiding(agent, on_restore=fails), [USER], LATER)
    assert agent.histories[1] == RESTORED
    assert "the hook on_restore raised" in caplog.text


async def test_the_settings_name_a_store_and_a_route_leaves_itself_out() -> None:
    settings = Settings(history="memory://", routes=[Route(path="/agent", visibility="hidden", history=False)])
    left_out, used, off = Agent(DELEGATES, ANSWERS), Agent(DELEGATES, ANSWERS), Agent(DELEGATES, ANSWERS)
    await talk(AGUIMiddleware(left_out, settings), [USER], LATER)
    await talk(
        AGUIMiddleware(used, settings.model_copy(update={"routes": [Route(visibility="hidden")]})), [USER], LATER
    )
    await talk(AGUIMiddleware(off, settings.model_copy(update={"routes": []}), history=False), [USER], LATER)
    assert [agent.histories[1] for agent in (left_out, used, off)] == [LATER, RESTORED, LATER]


@pytest.mark.parametrize(("client", "members"), [("1.0.0", {}), (None, {"protocolVersion": "1.0"})])
async def test_a_client_that_reads_everything_is_neither_read_ahead_nor_kept(
    client: str | None, members: dict[str, str]
) -> None:
    store, agent = FailingStore(), Agent(DELEGATES)
    app = AGUIMiddleware(agent, history=store, default_client="1.0.0" if client is None else "0.0.58")
    exchange = turn([USER], client, members=members)
    await exchange.run(app)
    assert store.calls == 0
    assert exchange.body == encode_events(stream(DELEGATES))


async def test_a_client_that_turns_out_by_its_body_to_read_everything_is_not_kept() -> None:
    store, agent = FailingStore(), Agent(DELEGATES)
    await talk(
        AGUIMiddleware(agent, history=store, default_client="0.0.58"),
        [USER],
        client=None,
        members={"protocolVersion": "1.0"},
    )
    assert store.calls == 0


@pytest.mark.parametrize(
    "exchange",
    [
        Exchange(headers=[(b"x-ag-ui-client-version", b"0.0.58")], body=[b"{}"]),
        Exchange(headers=[(b"x-ag-ui-client-version", b"0.0.58"), (b"content-type", b"application/json")]),
        Exchange(
            headers=[(b"x-ag-ui-client-version", b"0.0.58"), (b"content-type", b"application/json")],
            body=[b'{"threadId": "t", "runId": "r", "messages": [{]}'],
        ),
    ],
    ids=["no JSON by its type", "no input", "broken"],
)
async def test_what_is_no_conversation_is_not_kept(exchange: Exchange) -> None:
    store = FailingStore()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send(EVENT_STREAM)
        await send({"type": "http.response.body", "body": encode_events(stream(DELEGATES)), "more_body": False})

    await exchange.run(AGUIMiddleware(app, history=store))
    assert store.calls == 0


# Whose a thread is


async def test_threads_of_different_owners_never_meet() -> None:
    agent = Agent(DELEGATES, ANSWERS, ANSWERS, ANSWERS)

    def owner(scope: Scope) -> str | None:
        return next((value.decode() for name, value in scope["headers"] if name == b"x-user"), None)

    app = hiding(agent, owner=owner)
    await talk(app, [USER], headers=[(b"x-user", b"ann")])
    await talk(app, LATER, headers=[(b"x-user", b"bob")])
    await talk(app, LATER)
    await talk(app, LATER, headers=[(b"x-user", b"ann")])
    assert agent.histories == [[USER], LATER, LATER, RESTORED]


async def test_owners_that_look_alike_in_logs_never_meet() -> None:
    class Masked(str):
        def __repr__(self) -> str:
            return "'***'"

        __str__ = __repr__

    users = iter([Masked("ann"), Masked("bob"), Masked("ann")])
    agent = Agent(DELEGATES, ANSWERS, ANSWERS)
    await talk(hiding(agent, owner=lambda scope: next(users)), [USER], LATER, LATER)
    assert agent.histories[1:] == [LATER, RESTORED]


@pytest.mark.parametrize("answer", [lambda _: 1 / 0, lambda _: 5])
async def test_where_the_owner_is_not_known_nothing_is_kept(
    answer: Callable[[Scope], Any], caplog: pytest.LogCaptureFixture
) -> None:
    store, agent = FailingStore(), Agent(DELEGATES, ANSWERS)
    await talk(hiding(agent, history=store, owner=answer), [USER], LATER)
    assert agent.histories[1] == LATER
    assert store.calls == 0
    assert [record.message for record in caplog.records] == ["the hook owner raised"]  # the second is not its turn


async def test_threads_of_different_routes_never_meet() -> None:
    """What one route hides does not reach the agent of another, which may show what it was given."""
    agent = Agent(DELEGATES, ANSWERS, ANSWERS)
    routes = [Route(path="/public", visibility="hidden"), Route(path="/agent")]
    app = AGUIMiddleware(agent, Settings(routes=routes), history="memory://")
    for path, messages in (("/public", [USER]), ("/agent", LATER), ("/public", LATER)):
        await turn(messages, path=path).run(app)
    assert agent.histories == [[USER], LATER, RESTORED]


# A store that does not do what it should


async def test_a_store_that_is_down_is_logged_and_the_run_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    store, agent = FailingStore(), Agent(DELEGATES, ANSWERS)
    app = hiding(agent, history=store)
    first, _ = await talk(app, [USER], LATER)
    assert agent.histories == [[USER], LATER]
    assert first == encode_events(stream("RS r; TS m; TC m hi; TE m; RF r"))
    assert app.history_failures == store.calls == 3  # the second response has nothing to keep
    records = [record for record in caplog.records if record.name == "agui_middleware.history"]
    assert [(record.levelno, record.operation) for record in records] == [  # type: ignore[attr-defined]
        (logging.WARNING, "read"),
        (logging.WARNING, "written"),
    ]
    assert "could not be read, and the run goes on without: ConnectionError: refused" in records[0].getMessage()


async def test_a_store_that_never_answers_is_given_up_in_time(caplog: pytest.LogCaptureFixture) -> None:
    store, agent = SilentStore(), Agent(DELEGATES)
    app = AGUIMiddleware(
        agent, Settings(history_timeout=0.2, routes=[Route(path="/agent", visibility="hidden")]), history=store
    )
    with anyio.fail_after(10):
        await talk(app, [USER])
    assert agent.histories == [[USER]]
    assert store.cancelled == app.history_failures == 2
    assert "it did not answer within 0.2 s" in caplog.text


async def test_the_run_waits_for_a_store_that_is_slow() -> None:
    """Interlock: as long as the store has not answered, the app is not called."""
    store, agent = WaitingStore(), Agent(DELEGATES)
    app = AGUIMiddleware(
        agent, Settings(history_timeout=600, routes=[Route(path="/agent", visibility="hidden")]), history=store
    )
    async with anyio.create_task_group() as group:
        group.start_soon(talk, app, [USER])
        await store.waiting.wait()
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        assert not agent.given
        store.go_on.set()
    assert agent.histories == [[USER]]


@pytest.mark.parametrize(
    "value",
    [{}, {"record": 5, "owned": []}, {"record": "%", "owned": []}, {"record": "AAAA", "owned": []}, {"record": ""}],
)
async def test_a_record_that_cannot_be_read_counts_as_none(value: dict[str, Any]) -> None:
    store, agent = MemoryStore(10**6), Agent(DELEGATES, ANSWERS, DELEGATES, ANSWERS)
    app = hiding(agent, history=store)
    await talk(app, [USER])
    (place,) = store._values
    await store.put(place[1], value, collection=place[0])
    await talk(app, LATER, [USER], LATER)
    assert agent.histories == [[USER], LATER, [USER], RESTORED]


# When it is kept


async def test_it_is_kept_before_the_end_of_the_run_leaves() -> None:
    """A client may post its next turn as soon as it has read RUN_FINISHED."""
    store, agent = MemoryStore(10**6), Agent(DELEGATES)
    seen: list[tuple[bool, bool]] = []

    def look(message: Message) -> None:
        seen.append((b"RUN_FINISHED" in message.get("body", b""), bool(store._values)))

    await turn([USER], on_send=look).run(hiding(agent, history=store))
    assert (True, True) in seen
    assert not any(kept for ends, kept in seen[: seen.index((True, True))])


async def test_an_event_behind_the_end_of_a_run_is_kept_with_the_end_of_the_response() -> None:
    agent = Agent(f"{DELEGATES}; RS r1; TS n1 @s; TC n1 psst @s; TE n1 @s", ANSWERS)
    await talk(hiding(agent), [USER], LATER)
    assert {**WHISPERED, "id": "n1"} in agent.histories[1]


Ending = Callable[[Agent, Send], Any]


async def _raises(_: Send) -> None:
    raise LookupError("the agent fails")


async def _is_cancelled(_: Send) -> None:
    raise asyncio.CancelledError


async def _returns(_: Send) -> None:
    pass


async def _fails_in_stream(send: Send) -> None:
    error = b'data: {"type":"RUN_ERROR","message":"no"}\n\n'
    await send({"type": "http.response.body", "body": error, "more_body": True})
    await send(END)


@pytest.mark.parametrize("end", [_raises, _is_cancelled, _returns, _fails_in_stream])
async def test_it_is_kept_however_the_response_ends(end: Callable[[Send], Any]) -> None:
    class Breaks(Agent):
        async def answer(self, answer: bytes, send: Send) -> None:
            if self.streams:
                await send(EVENT_STREAM)
                await send({"type": "http.response.body", "body": answer, "more_body": True})
                await end(send)
            else:
                await super().answer(answer, send)

    agent = Breaks(DELEGATES.removesuffix("; RF r"), ANSWERS)
    app = hiding(agent)
    with suppress(LookupError, asyncio.CancelledError):
        await turn([USER]).run(app)
    await talk(app, LATER)
    assert agent.histories[1] == RESTORED


async def test_it_is_kept_when_the_client_leaves_and_the_request_is_cancelled() -> None:
    """Cancelled in mid-stream, while the agent waits: what has left by then is kept, whatever else is cancelled."""
    sent = anyio.Event()

    class Waits(Agent):
        async def answer(self, answer: bytes, send: Send) -> None:
            if self.streams:
                await send(EVENT_STREAM)
                await send({"type": "http.response.body", "body": answer, "more_body": True})
                sent.set()
                await anyio.sleep_forever()
            await super().answer(answer, send)

    class Checking(MemoryStore):
        async def put(self, *args: Any, **options: Any) -> None:
            await anyio.lowlevel.checkpoint()  # where a cancellation that was not kept off would strike
            await super().put(*args, **options)

    agent = Waits(DELEGATES.removesuffix("; RF r"), ANSWERS)
    app = hiding(agent, history=Checking(10**6))
    async with anyio.create_task_group() as group:
        group.start_soon(turn([USER]).run, app)
        await sent.wait()
        group.cancel_scope.cancel()
    await talk(app, LATER)
    assert agent.histories[1] == RESTORED


async def test_what_was_cancelled_while_it_was_written_is_written_at_the_end() -> None:
    """asyncio's own cancellation strikes once, also in a scope that keeps off anyio's."""
    waiting = asyncio.Event()

    class Waiting(MemoryStore):
        async def put(self, *args: Any, **options: Any) -> None:
            if not waiting.is_set():
                waiting.set()
                await asyncio.Event().wait()
            await super().put(*args, **options)

    agent = Agent(DELEGATES, ANSWERS)
    app = AGUIMiddleware(
        agent,
        Settings(history_timeout=60, routes=[Route(path="/agent", visibility="hidden")]),
        history=Waiting(10**6),
    )
    task = asyncio.create_task(turn([USER]).run(app))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await talk(app, LATER)
    assert agent.histories[1] == RESTORED


async def test_two_requests_of_one_thread_at_once_are_both_kept() -> None:
    """Both read before either writes, and end together: the second merges into what the first has written."""
    go_on, arrived = anyio.Event(), []

    class Both(Agent):
        async def answer(self, answer: bytes, send: Send) -> None:
            arrived.append(answer)
            if len(arrived) == 2:
                go_on.set()
            await go_on.wait()
            await super().answer(answer, send)

    class Slow(MemoryStore):
        async def get(self, key: str, *, collection: str | None = None) -> dict[str, Any] | None:
            value = await super().get(key, collection=collection)
            for _ in range(10):
                await anyio.lowlevel.checkpoint()
            return value

    agent = Both(DELEGATES, DELEGATES.replace("n", "k").replace("m", "l"), ANSWERS)
    app = hiding(agent, history=Slow(10**6))
    async with anyio.create_task_group() as group:
        group.start_soon(talk, app, [USER])
        group.start_soon(talk, app, [{**USER, "id": "v"}])
    said = {"id": "l", "role": "assistant", "content": "hi"}
    await talk(app, [USER, SAID, {**USER, "id": "v"}, said, AGAIN])
    assert [message["id"] for message in agent.histories[2]] == ["u", "n", "m", "v", "k", "l", "u2"]
    assert app._turns._threads is not None
    assert app._turns._threads._locks == {}


class Waiting(Agent):
    """Answers the first request but for its end, and waits until it is cancelled or `go_on` is set. `sent`: it waits."""

    def __init__(self, *streams: str | bytes) -> None:
        super().__init__(*streams)
        self.sent, self.go_on = anyio.Event(), anyio.Event()

    async def answer(self, answer: bytes, send: Send) -> None:
        if self.sent.is_set():
            await super().answer(answer, send)
            return
        await send(EVENT_STREAM)
        for frame in answer.split(b"\n\n")[:-1]:
            await send({"type": "http.response.body", "body": frame + b"\n\n", "more_body": True})
        self.sent.set()
        await self.go_on.wait()
        if self.streams:
            await send({"type": "http.response.body", "body": self.streams.pop(), "more_body": True})
        await send(END)


UNENDED = DELEGATES.removesuffix("; RF r")


@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_a_turn_that_is_posted_before_the_interrupted_one_has_ended(is_cancelled: bool) -> None:
    """The server learns of the client that has left when the next turn has been answered, or never does."""
    agent = Waiting(UNENDED, ANSWERS, ANSWERS.replace("2", "3"))
    app = hiding(agent)
    async with anyio.create_task_group() as group:
        group.start_soon(turn([USER]).run, app)
        await agent.sent.wait()
        await talk(app, LATER)
        if is_cancelled:
            group.cancel_scope.cancel()
        else:
            agent.streams.append(b"")
            agent.go_on.set()
    said = {"id": "m2", "role": "assistant", "content": "hi"}
    agent.streams = [encode_events(stream("RS r4; RF r4"))]
    await talk(app, [*LATER, said, {**USER, "id": "u3"}])
    assert agent.histories[1:] == [RESTORED, [*RESTORED, said, {**USER, "id": "u3"}]]
    assert app._turns._threads is not None
    assert app._turns._threads._running == {}


async def test_a_text_that_goes_on_while_the_next_turn_is_answered_is_whole_in_the_one_after() -> None:
    more = encode_events(stream("TC n _more @s; TE n @s; TS o @s; TC o x; TE o"))
    agent = Waiting("RS r; TS n @s; TC n psst @s", "RS r2; TS k @s; TC k x; TE k; TS m2; TC m2 hi; TE m2; RF r2", more)
    app = hiding(agent)
    async with anyio.create_task_group() as group:
        group.start_soon(turn([USER]).run, app)
        await agent.sent.wait()
        await talk(app, [USER, AGAIN])
        agent.go_on.set()
    assert agent.histories[1] == [USER, WHISPERED, AGAIN]
    said = {"id": "m2", "role": "assistant", "content": "hi"}
    agent.streams = [encode_events(stream("RS r4; RF r4"))]
    await talk(app, [USER, AGAIN, said, {**USER, "id": "u3"}])
    assert [message["id"] for message in agent.histories[2]] == ["u", "n", "o", "u2", "k", "m2", "u3"]
    assert agent.histories[2][1]["content"] == "psst_more"


async def test_a_question_that_is_answered_again_before_its_first_answer_has_ended() -> None:
    agent = Waiting(UNENDED, "RS r2; TS k @s; TC k x; TE k; TS m2; TC m2 hi; TE m2; RF r2", "RS r3; RF r3")
    app = hiding(agent)
    async with anyio.create_task_group() as group:
        group.start_soon(turn([USER]).run, app)
        await agent.sent.wait()
        await talk(app, [USER])
        group.cancel_scope.cancel()
    await talk(app, [USER, {"id": "m2", "role": "assistant", "content": "hi"}, AGAIN])
    assert [message["id"] for message in agent.histories[1]] == ["u"]
    assert [message["id"] for message in agent.histories[2]] == ["u", "k", "m2", "u2"]


async def test_two_workers_of_which_neither_knows_the_others_response() -> None:
    """Each has a middleware of its own, and the store in common. The first response ends when the second has ended."""
    store = MemoryStore(10**6)
    first = Waiting(UNENDED)
    second = Agent("RS r2; TS k @s; TC k x; TE k; TS m2; TC m2 hi; TE m2; RF r2", "RS r3; RF r3")
    other = hiding(second, history=store)
    async with anyio.create_task_group() as group:
        group.start_soon(turn([USER]).run, hiding(first, history=store))
        await first.sent.wait()
        await talk(other, LATER)
        group.cancel_scope.cancel()
    await talk(other, [*LATER, {"id": "m2", "role": "assistant", "content": "hi"}, {**USER, "id": "u3"}])
    assert second.histories[0] == LATER, "the record of the first response is not there yet"
    assert [message["id"] for message in second.histories[1]] == ["u", "n", "m", "u2", "k", "m2", "u3"]


async def test_a_thread_over_its_bound_loses_what_is_oldest() -> None:
    agent = Agent(DELEGATES, DELEGATES.replace("n", "k").replace("m", "l").replace("psst", "x" * 800), ANSWERS)
    app = AGUIMiddleware(
        agent, Settings(history_limit=1300, routes=[Route(path="/agent", visibility="hidden")]), history="memory://"
    )
    said = {"id": "l", "role": "assistant", "content": "hi"}
    await talk(app, [USER], LATER, [*LATER, said, {**AGAIN, "id": "u3"}])
    ids = [message["id"] for message in agent.histories[2]]
    assert "k" in ids
    assert "n" not in ids


# What leaves


async def test_a_restored_message_does_not_leave_by_the_echo_or_a_snapshot_of_a_route_that_hides() -> None:
    """Also where the agent has lost the tags, as one does that keeps its own history."""
    untagged = {name: value for name, value in WHISPERED.items() if name != "subagentRunId"}
    for theirs in (WHISPERED, untagged):
        messages = [USER, theirs, SAID, AGAIN]
        echo = {"type": "RUN_STARTED", "threadId": "t", "runId": "r2", "input": {"messages": messages}}
        snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": messages}
        agent = Agent(DELEGATES, encode_events([echo, snapshot]), encode_events([snapshot]))
        _, second, third = await talk(hiding(agent), [USER], LATER, LATER)
        assert [message["id"] for message in agent.histories[1]] == ["u", "n", "m", "u2"]
        assert b"psst" not in second + third
        assert second.count(b'"content":"hi"') + second.count(b'"content": "hi"') == 2


async def test_a_call_of_an_earlier_response_does_not_leave_in_a_message_of_the_parents_or_of_its_own() -> None:
    """Found by drawing: calls carry no tag, and one whose parent cannot hold it makes a message of its own id."""
    first = "RS r; TS m; TC m hi; TE m; KS c m @s; KA c {} @s; KE c @s; KS d u @s; KA d {} @s; KE d @s; RF r"
    for tags in (True, False):
        agent = Agent(first, "RS r2; RF r2")
        app = hiding(agent)
        await talk(app, [USER], LATER)
        given = agent.histories[1]
        calls = [call["id"] for message in given for call in message.get("toolCalls", ())]
        assert sorted(calls) == ["c", "d"]
        strip = [] if tags else ["subagentRunId"]
        messages = [{name: value for name, value in message.items() if name not in strip} for message in given]
        agent.streams.append(encode_events([{"type": "MESSAGES_SNAPSHOT", "messages": messages}]))
        (third,) = await talk(app, LATER)
        assert json.loads(third[6:])["messages"] == LATER


async def test_results_and_calls_of_an_earlier_response_stay_a_subagents() -> None:
    first = "RS r; SUB+ s; KS c n @s; KA c {} @s; KE c @s; SUB- s; TS m; TC m hi; TE m; RF r"
    later = "RS r2; KR c k; TC n psst; TS m2; TC m2 hi; TE m2; RF r2"
    _, second = await talk(hiding(Agent(first, later)), [USER], LATER)
    assert second == encode_events(stream("RS r2; TS m2; TC m2 hi; TE m2; RF r2"))


async def test_an_id_that_the_agent_uses_again_is_its_own_from_then_on() -> None:
    snapshot = encode_events([{"type": "MESSAGES_SNAPSHOT", "messages": [{**SAID, "id": "n"}]}])
    again = encode_events(stream("RS r2; TS n; TC n hi; TE n; RF r2")) + snapshot
    agent = Agent(DELEGATES, again, snapshot)
    _, second, third = await talk(hiding(agent), [USER], LATER, LATER)
    assert b"TEXT_MESSAGE_CONTENT" in second
    assert b'"n"' in third


@per_event("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END")
def without_n(_: Context) -> Callable[[Event], Event | None]:
    return lambda event: None if event["messageId"] == "n" else event


async def without_n_awaiting(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    async for event in events:
        await anyio.lowlevel.checkpoint()
        if event.get("messageId") != "n":
            yield event


@pytest.mark.parametrize("filter", [without_n, without_n_awaiting])
@pytest.mark.parametrize("whole", [True, False])
async def test_what_a_filter_takes_out_comes_back_and_does_not_leave_by_the_echo(filter: Filter, whole: bool) -> None:
    first = encode_events(stream("RS r; TS n; TC n psst; TE n; TS m; TC m hi; TE m; RF r"))
    theirs = {"id": "n", "role": "assistant", "content": "psst"}
    echo = {"type": "RUN_STARTED", "threadId": "t", "runId": "r2", "input": {"messages": [USER, theirs, SAID, AGAIN]}}

    class Whole(Agent):
        async def answer(self, answer: bytes, send: Send) -> None:
            await send(EVENT_STREAM)
            await send({"type": "http.response.body", "body": answer, "more_body": False})

    agent = (Whole if whole else Agent)(first, encode_events([echo]))
    app = AGUIMiddleware(agent, history="memory://", filters=[filter])
    got, second = await talk(app, [USER], LATER, client="1.0.0")
    assert b"psst" not in got
    assert agent.histories[1] == [USER, theirs, SAID, AGAIN]
    assert json.loads(second[6:])["input"]["messages"] == LATER


async def test_an_echo_shows_a_member_that_was_put_back_as_it_was_posted() -> None:
    echo = {"type": "RUN_STARTED", "threadId": "t", "runId": "r2", "input": {"messages": RESTORED}}
    other = {"id": "o", "role": "assistant", "content": "the agent's own"}
    echo["input"]["messages"] = [*RESTORED, other]  # type: ignore[index]
    agent = Agent(DELEGATES, encode_events([echo]))
    untagged = {name: value for name, value in WHISPERED.items() if name != "subagentRunId"}
    posted = [USER, untagged, SAID, AGAIN]
    _, second = await talk(AGUIMiddleware(agent, history="memory://"), [USER], posted)
    assert json.loads(second[6:])["input"]["messages"] == [*posted, other]


@pytest.mark.parametrize("client", ["0.0.58", "1.0.0"])
async def test_what_a_filter_puts_in_that_is_no_json_ends_the_run_and_is_blamed_on_it(client: str) -> None:
    @per_event("TEXT_MESSAGE_CONTENT")
    def breaks(_: Context) -> Callable[[Event], Event | None]:
        return lambda event: event.replace(delta=object())

    agent = Agent(DELEGATES)
    app = AGUIMiddleware(agent, history="memory://", filters=[breaks])
    exchange = turn([USER], client)
    with pytest.raises(TypeError):
        await exchange.run(app)
    assert b"AGUI_FILTER_ERROR" in exchange.body


async def test_frames_in_any_form_are_kept_as_they_are_read() -> None:
    whole = encode_events(stream(DELEGATES))
    for cut in (1, 7, 50):
        pieces = [whole[start : start + cut] for start in range(0, len(whole), cut)]

        class Cut(Agent):
            async def answer(self, answer: bytes, send: Send, pieces: Sequence[bytes] = pieces) -> None:
                await send(EVENT_STREAM)
                for piece in pieces if len(self.given) == 1 else [answer]:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                await send(END)

        agent = Cut(whole, b"data: {torn\n\n" + encode_events(stream(ANSWERS)))
        await talk(AGUIMiddleware(agent, history="memory://", legacy_visibility="hidden"), [USER], LATER)
        assert agent.histories[1] == RESTORED


async def test_what_is_torn_passes_where_nothing_is_hidden() -> None:
    torn = b'data: {"type": torn}\n\n'
    agent = Agent(encode_events(stream(DELEGATES)) + torn, encode_events(stream(ANSWERS)) + torn)
    first, _ = await talk(AGUIMiddleware(agent, history="memory://"), [USER], LATER)
    assert first.endswith(torn)


async def test_debug_still_finds_what_was_changed_in_place() -> None:
    @per_event("STATE_SNAPSHOT")
    def changes(_: Context) -> Callable[[Event], Event | None]:
        def change(event: Event) -> Event:
            event["snapshot"]["x"] = 1
            return event

        return change

    settings = Settings(debug=True, history="memory://", routes=[Route(path="/agent", filters=[changes])])
    snapshot = encode_events(stream("RS r")) + encode_events([{"type": "STATE_SNAPSHOT", "snapshot": {}}])
    with pytest.raises(RuntimeError, match="in place"):
        await talk(AGUIMiddleware(Agent(snapshot), settings), [USER], client="1.0.0")


# On the way in


async def test_subagents_messages_do_not_reach_an_agent_that_ignores_tags() -> None:
    agent, alone = Agent(DELEGATES, ANSWERS), Agent(ANSWERS)
    untagged = {name: value for name, value in WHISPERED.items() if name != "subagentRunId"}
    app = AGUIMiddleware(agent, history="memory://", history_without_subagents=True)
    await talk(app, [USER], [USER, untagged, SAID, AGAIN])
    assert agent.histories[1] == LATER
    await talk(AGUIMiddleware(alone, history_without_subagents=True), RESTORED, client="1.0.0")
    assert alone.histories == [LATER]


async def test_a_body_that_is_sent_only_when_the_app_asks_is_restored_too() -> None:
    agent = Agent(DELEGATES, ANSWERS)
    await talk(hiding(agent), [USER], LATER, headers=[(b"expect", b"100-continue")])
    assert agent.histories[1] == RESTORED


async def test_a_receive_that_was_cancelled_while_the_store_was_asked_goes_on() -> None:
    store = WaitingStore()
    given: list[bytes] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        with anyio.move_on_after(0.01):
            await receive()
        store.go_on.set()
        given.append((await receive())["body"])
        await send(EVENT_STREAM)
        await send(END)

    middleware = AGUIMiddleware(
        app, Settings(history_timeout=60, routes=[Route(path="/agent", visibility="hidden")]), history=store
    )
    binary = {"id": "u", "role": "user", "content": [{"type": "binary", "mimeType": "image/png", "data": "AA=="}]}
    await turn([binary], headers=[(b"expect", b"100-continue")]).run(middleware)
    assert b'"image"' in given[0]


# The rest


@pytest.mark.parametrize("history", [5, object(), "file:///tmp/history", "sqlite://", "memory"])
def test_what_is_no_store_is_refused_at_start(history: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"expected a store|memory://|sqlite://"):
        AGUIMiddleware(Agent(), history=history)


async def test_the_store_is_closed_before_the_server_hears_of_the_end() -> None:
    order: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for _ in range(2):
            kind = (await receive())["type"]
            order.append(kind)
            await send({"type": f"{kind}.complete"})

    async def send(message: Message) -> None:
        order.append(message["type"])

    async def close() -> None:
        order.append("closed")

    middleware = AGUIMiddleware(app, history="memory://")
    threads = middleware._turns._threads
    assert threads is not None
    threads._opened = threads._open()._replace(close=close)
    events = iter(["lifespan.startup", "lifespan.shutdown"])

    async def receive() -> Message:
        return {"type": next(events)}

    await middleware({"type": "lifespan"}, receive, send)
    assert order == [
        "lifespan.startup",
        "lifespan.startup.complete",
        "lifespan.shutdown",
        "closed",
        "lifespan.shutdown.complete",
    ]
    await middleware._turns.close()  # closed already
    await AGUIMiddleware(app)._turns.close()  # there is none


@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_what_a_server_cancels_as_it_stops_is_kept_before_it_hears_of_the_end(is_cancelled: bool) -> None:
    """uvicorn cancels what is still sent, and is gone once the lifespan has ended: of ten threads none was kept."""
    waits, order = asyncio.Event(), []

    class Waits(Agent):
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan":
                await send({"type": "lifespan.shutdown.complete"})
            else:
                await super().__call__(scope, receive, send)

        async def answer(self, answer: bytes, send: Send) -> None:
            await send(EVENT_STREAM)
            await send({"type": "http.response.body", "body": answer, "more_body": True})
            waits.set()
            await asyncio.Event().wait()

    class Notes(MemoryStore):
        async def put(self, *args: Any, **options: Any) -> None:
            await asyncio.sleep(0)
            order.append("kept")
            await super().put(*args, **options)

    async def send(message: Message) -> None:
        order.append(message["type"])

    app = AGUIMiddleware(
        Waits(DELEGATES.removesuffix("; RF r")),
        Settings(history_timeout=60 if is_cancelled else 0.02, routes=[Route(path="/agent", visibility="hidden")]),
        history=Notes(10**6),
    )
    response = asyncio.create_task(turn([USER]).run(app))
    await waits.wait()
    if is_cancelled:
        response.cancel()
    await app({"type": "lifespan"}, Exchange().receive, send)
    assert order == (["kept"] if is_cancelled else []) + ["lifespan.shutdown.complete"]
    response.cancel()
    with pytest.raises(asyncio.CancelledError):
        await response
    assert not app._turns._open


async def test_a_store_that_cannot_be_closed_does_not_keep_the_server(caplog: pytest.LogCaptureFixture) -> None:
    async def close() -> None:
        raise OSError("broken pipe")

    middleware = AGUIMiddleware(Agent(), history="memory://")
    threads = middleware._turns._threads
    assert threads is not None
    threads._opened = threads._open()._replace(close=close)
    await middleware._turns.close()
    assert "could not be closed" in caplog.text


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_asyncio_and_trio(backend: str, tmp_path: Any) -> None:
    agent = Agent(DELEGATES, ANSWERS)
    app = hiding(agent, history=f"sqlite://{tmp_path}/history.db")
    anyio.run(lambda: talk(app, [USER], LATER), backend=backend)
    assert agent.histories[1] == RESTORED
