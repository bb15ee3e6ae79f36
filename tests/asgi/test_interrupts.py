"""A run that pauses, and its answer, over two requests: each client in its dialect, each agent in its own."""

import json
import logging
from typing import Any

import pytest

from agui_middleware import AGUIMiddleware, Route, Settings
from agui_middleware.filters.redact import redact
from agui_middleware.testing import encode_events
from tests.asgi.test_turn import USER, Agent, turn
from tests.history.stores import FailingStore

Json = dict[str, Any]
STARTED: Json = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISHED: Json = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
ASKS: Json = {"id": "i", "reason": "approval", "message": "Sure?"}
ASKS_TOO: Json = {"id": "j", "reason": "approval"}
SUSPENDED: Json = {"type": "mastra_suspend", "toolCallId": "c"}
OLDER = ["0.0.36", "0.0.45", "0.0.53"]
NEWER = ["0.0.57", "0.0.58", "1.0.0"]


def paused(*interrupts: Json) -> bytes:
    outcome = {"type": "interrupt", "interrupts": list(interrupts)}
    return encode_events([STARTED, {**FINISHED, "outcome": outcome}])


def announced(*values: Any) -> bytes:
    customs = [{"type": "CUSTOM", "name": "on_interrupt", "value": value} for value in values]
    return encode_events([STARTED, *customs, FINISHED])


ENDS = encode_events([STARTED, FINISHED])


def events(body: bytes) -> list[Json]:
    return [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: ")]


def answer(resume: Any, **more: Any) -> Json:
    return {"forwardedProps": {"command": {"resume": resume, **more}}}


def entry(id: str, payload: Any) -> Json:
    return {"interruptId": id, "status": "resolved", "payload": payload}


async def post(app: AGUIMiddleware, client: str, **members: Any) -> list[Json]:
    """The events that the client is sent."""
    return events((await turn([USER], client, members=members).run(app)).body)


def values(sent: list[Json]) -> list[Any]:
    """Those of the announcements; the run has ended plainly."""
    assert sent[-1] == FINISHED
    return [event["value"] for event in sent if event["type"] == "CUSTOM"]


@pytest.mark.parametrize("client", OLDER)
async def test_an_old_client_is_asked_by_custom_and_answers_by_what_it_echoes(client: str) -> None:
    agent = Agent(paused(ASKS, ASKS_TOO), ENDS)
    app = AGUIMiddleware(agent)
    first, _ = values(await post(app, client))
    assert first == {**ASKS, "aguiInterrupt": {"id": "i", "others": [{"id": "j"}]}}
    await post(app, client, **answer("yes", interruptEvent=first))
    given = agent.given[1]
    assert given["resume"] == [{"interruptId": "j", "status": "cancelled"}, entry("i", "yes")]
    assert given["forwardedProps"] == {"command": {"interruptEvent": first}}


@pytest.mark.parametrize("client", NEWER)
async def test_a_client_that_reads_outcomes_is_left_alone(client: str) -> None:
    agent = Agent(paused(ASKS), ENDS)
    app = AGUIMiddleware(agent, history="memory://")
    sent = await post(app, client)
    assert [(event["type"], event.get("outcome")) for event in sent] == [
        ("RUN_STARTED", None),
        ("RUN_FINISHED", {"type": "interrupt", "interrupts": [ASKS]}),
    ]
    await post(app, client, resume=[entry("i", "yes")])
    assert agent.given[1]["resume"] == [entry("i", "yes")]


@pytest.mark.parametrize("client", OLDER)
async def test_a_store_remembers_what_a_client_does_not_echo(client: str) -> None:
    agent = Agent(paused(ASKS, ASKS_TOO), ENDS, ENDS)
    app = AGUIMiddleware(agent, history="memory://")
    await post(app, client)
    await post(app, client, **answer({"i": 1, "j": 2}))
    assert agent.given[1]["resume"] == [entry("i", 1), entry("j", 2)]


async def test_what_was_answered_is_open_no_longer(caplog: pytest.LogCaptureFixture) -> None:
    agent = Agent(paused(ASKS), ENDS, ENDS)
    app = AGUIMiddleware(agent, history="memory://")
    await post(app, "0.0.53")
    await post(app, "0.0.53", **answer("yes"))
    await post(app, "0.0.53", **answer("yes again"))
    assert [given.get("resume") for given in agent.given] == [None, [entry("i", "yes")], None]
    assert agent.given[2]["forwardedProps"] == {"command": {"resume": "yes again"}}
    assert "names no interrupt" in caplog.text


async def test_an_answer_may_be_posted_again_after_a_run_that_failed() -> None:
    failed = encode_events([STARTED, {"type": "RUN_ERROR", "message": "m"}])
    agent = Agent(paused(ASKS), failed, ENDS)
    app = AGUIMiddleware(agent, history="memory://")
    for members in ({}, answer("yes"), answer("yes")):
        await post(app, "0.0.53", **members)
    assert [given.get("resume") for given in agent.given[1:]] == [[entry("i", "yes")]] * 2


async def test_a_client_that_types_on_posts_no_answer_and_the_interrupt_stays_open() -> None:
    failed = encode_events([STARTED, {"type": "RUN_ERROR", "message": "an answer is due"}])
    agent = Agent(paused(ASKS), failed, ENDS)
    app = AGUIMiddleware(agent, history="memory://")
    for members in ({}, {}, answer("yes")):
        await post(app, "0.0.53", **members)
    assert [given.get("resume") for given in agent.given[1:]] == [None, [entry("i", "yes")]]


async def test_without_echo_and_store_the_answer_stays_as_posted_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent = Agent(ENDS, ENDS)
    app = AGUIMiddleware(agent)
    for _ in range(2):
        await post(app, "0.0.53", **answer("yes"))
    assert [given["forwardedProps"] for given in agent.given] == [{"command": {"resume": "yes"}}] * 2
    assert "resume" not in agent.given[0]
    [record] = [record for record in caplog.records if "names no interrupt" in record.getMessage()]
    assert record.levelno == logging.WARNING
    assert "'/{path:path}'" in record.getMessage()


@pytest.mark.parametrize("client", NEWER)
async def test_the_answer_of_a_client_that_reads_outcomes_stays_as_posted_on_auto(
    client: str, caplog: pytest.LogCaptureFixture
) -> None:
    agent = Agent(paused(ASKS), ENDS)
    app = AGUIMiddleware(agent, history="memory://")
    await post(app, client)
    await post(app, client, **answer("yes"))
    assert agent.given[1]["forwardedProps"] == {"command": {"resume": "yes"}}
    assert "resume" not in agent.given[1]
    assert "names no interrupt" not in caplog.text


async def test_a_store_that_is_down_leaves_the_answer_as_posted(caplog: pytest.LogCaptureFixture) -> None:
    agent = Agent(paused(ASKS), ENDS)
    app = AGUIMiddleware(agent, history=FailingStore())
    await post(app, "0.0.53")
    await post(app, "0.0.53", **answer("yes"))
    assert agent.given[1]["forwardedProps"] == {"command": {"resume": "yes"}}
    assert "resume" not in agent.given[1]
    assert app.history_failures


@pytest.mark.parametrize("client", [*OLDER, *NEWER])
async def test_custom_asks_every_client_in_the_older_dialect(client: str) -> None:
    agent = Agent(paused(ASKS), ENDS)
    app = AGUIMiddleware(agent, interrupts="custom", history="memory://")
    assert values(await post(app, client)) == [{**ASKS, "aguiInterrupt": {"id": "i"}}]
    await post(app, client, **answer("yes"))
    assert agent.given[1]["resume"] == [entry("i", "yes")]


async def test_custom_leaves_an_answer_of_the_standard_alone() -> None:
    agent = Agent(ENDS)
    await post(AGUIMiddleware(agent, interrupts="custom"), "1.0.0", resume=[entry("i", "yes")])
    assert agent.given[0]["resume"] == [entry("i", "yes")]


@pytest.mark.parametrize("client", NEWER)
async def test_outcome_asks_in_the_standard_for_an_agent_of_the_older_dialect(client: str) -> None:
    agent = Agent(announced(SUSPENDED), ENDS)
    app = AGUIMiddleware(agent, interrupts="outcome", history="memory://")
    [interrupt] = (await post(app, client))[-1]["outcome"]["interrupts"]
    assert interrupt["toolCallId"] == "c"
    await post(app, client, resume=[entry(interrupt["id"], {"ok": True})])
    assert agent.given[1]["forwardedProps"]["command"] == {"resume": {"ok": True}, "interruptEvent": SUSPENDED}
    assert "resume" not in agent.given[1]


async def test_outcome_without_a_store_answers_without_the_announced_value() -> None:
    agent = Agent(ENDS)
    await post(AGUIMiddleware(agent, interrupts="outcome"), "1.0.0", resume=[entry("r:1", 1)])
    assert agent.given[0]["forwardedProps"] == {"command": {"resume": 1}}


@pytest.mark.parametrize("client", OLDER)
async def test_outcome_leaves_a_client_and_an_agent_of_the_older_dialect_alone(client: str) -> None:
    agent = Agent(announced(SUSPENDED), ENDS)
    app = AGUIMiddleware(agent, interrupts="outcome", history="memory://")
    assert values(await post(app, client)) == [SUSPENDED]
    await post(app, client, **answer("yes", interruptEvent=SUSPENDED))
    assert agent.given[1]["forwardedProps"] == {"command": {"resume": "yes", "interruptEvent": SUSPENDED}}
    assert "resume" not in agent.given[1]


async def test_an_agent_of_both_dialects_is_answered_by_the_value_that_it_has_announced() -> None:
    both = events(announced("Sure?"))[:-1] + events(paused(ASKS | {"metadata": {"langgraph": {"raw": "Sure?"}}}))[1:]
    agent = Agent(encode_events(both), ENDS)
    app = AGUIMiddleware(agent, history="memory://")
    assert values(await post(app, "0.0.53")) == ["Sure?"]
    await post(app, "0.0.53", **answer("yes", interruptEvent="Sure?"))
    assert agent.given[1]["resume"] == [entry("i", "yes")]


async def test_a_route_counts_before_the_settings() -> None:
    for settings, asked in (
        (Settings(interrupts="custom"), True),
        (Settings(interrupts="custom", routes=[Route(path="/agent", interrupts="auto")]), False),
        (Settings(routes=[Route(path="/agent", interrupts="custom")]), True),
    ):
        sent = await post(AGUIMiddleware(Agent(paused(ASKS)), settings), "1.0.0")
        assert any(event["type"] == "CUSTOM" for event in sent) is asked


@pytest.mark.parametrize("history", ["memory://", "sqlite"])
async def test_ids_of_any_characters_are_remembered(history: str, tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/history.db" if history == "sqlite" else history
    interrupt = b'{"id":"\\ud800\\u0000","expiresAt":"\\ud800"}'
    stream = b'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\ndata: %b\n\n'
    end = b'{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[%b]}}'
    agent = Agent(stream % (end % interrupt), ENDS)
    app = AGUIMiddleware(agent, history=url)
    await post(app, "0.0.53")
    await post(app, "0.0.53", **answer("yes"))
    assert agent.given[1]["resume"] == [entry("\ud800\0", "yes")]
    assert not app.history_failures


@pytest.mark.parametrize(
    "echo",
    [
        {"aguiInterrupt": {"id": "i", "expiresAt": "\ud800"}},
        {"aguiInterrupt": {"id": "\ud800", "others": [{"id": "\ud800", "expiresAt": "\ud800"}]}},
        {"aguiInterrupt": []},
        "[" * 9999,
        '{"aguiInterrupt":' * 9999,
        "9" * 5000,
    ],
)
async def test_no_echo_raises_into_the_server(echo: Any) -> None:
    agent = Agent(ENDS)
    assert await post(AGUIMiddleware(agent, history="memory://"), "0.0.53", **answer("yes", interruptEvent=echo))
    assert len(agent.given) == 1


@pytest.mark.parametrize(
    ("client", "options", "asks"),
    [
        ("0.0.53", {}, paused({**ASKS, "subagentRunId": "s"})),
        ("1.0.0", {}, paused({**ASKS, "subagentRunId": "s"})),
        (
            "1.0.0",
            {"interrupts": "outcome"},
            encode_events([STARTED, {**events(announced(ASKS))[1], "subagentRunId": "s"}, FINISHED]),
        ),
    ],
)
async def test_a_subagents_interrupt_is_asked_on_a_route_that_hides(client: str, options: Json, asks: bytes) -> None:
    sent = await post(AGUIMiddleware(Agent(asks), visibility="hidden", **options), client)
    assert "Sure?" in json.dumps(sent)
    assert "subagentRunId" not in json.dumps(sent)


MASKED = r"\d{4}"
CHARGES: Json = {"type": "mastra_suspend", "toolCallId": "c", "args": {"card": "1234"}}
CHARGED = {**CHARGES, "args": {"card": "…"}}


def masking(agent: Agent, **options: Any) -> AGUIMiddleware:
    return AGUIMiddleware(agent, filters=[redact(MASKED)], history="memory://", **options)


async def test_the_agent_gets_back_what_it_has_announced_and_not_what_a_filter_made_of_it() -> None:
    """It got the masked value, as `interruptEvent`."""
    agent = Agent(announced(CHARGES), ENDS)
    app = masking(agent, interrupts="outcome")
    [interrupt] = (await post(app, "1.0.0"))[-1]["outcome"]["interrupts"]
    assert interrupt["metadata"]["on_interrupt"] == CHARGED
    await post(app, "1.0.0", resume=[entry(interrupt["id"], {"approved": True})])
    assert agent.given[1]["forwardedProps"]["command"]["interruptEvent"] == CHARGES


async def test_of_several_that_look_alike_behind_a_filter_the_agent_gets_back_the_one_that_was_answered() -> None:
    agent = Agent(announced("Charge 1234?", "Charge 5678?"), ENDS)
    app = masking(agent, interrupts="outcome")
    first, second = (await post(app, "1.0.0"))[-1]["outcome"]["interrupts"]
    assert first["message"] == second["message"] == "Charge …?"
    await post(app, "1.0.0", resume=[entry(second["id"], "yes")])
    assert agent.given[1]["forwardedProps"]["command"] == {"resume": "yes", "interruptEvent": "Charge 5678?"}


@pytest.mark.parametrize(
    ("client", "interrupts"),
    [
        *((client, interrupts) for client in ("0.0.36", "0.0.53") for interrupts in ("auto", "custom", "outcome")),
        *(("1.0.0", interrupts) for interrupts in ("auto", "custom")),  # with `outcome` it is asked in the standard
    ],
)
async def test_an_echo_of_a_masked_value_is_the_agents_own_again(client: str, interrupts: str) -> None:
    """Agent and client speak the older dialect."""
    agent = Agent(announced(CHARGES, "Which?"), ENDS, ENDS)
    app = masking(agent, interrupts=interrupts)
    assert values(await post(app, client)) == [CHARGED, "Which?"]
    await post(app, client, **answer("yes", interruptEvent=CHARGED))
    assert agent.given[1]["forwardedProps"] == {"command": {"resume": "yes", "interruptEvent": CHARGES}}
    await post(app, client, **answer("yes", interruptEvent=CHARGED))
    assert agent.given[2]["forwardedProps"]["command"]["interruptEvent"] == CHARGED  # it is open no longer


async def test_an_echo_of_two_values_that_look_alike_stays_as_posted() -> None:
    """Either could be meant, and the answer may approve the wrong one."""
    agent = Agent(announced("Charge 1234?", "Charge 5678?"), ENDS)
    app = masking(agent)
    await post(app, "0.0.53")
    await post(app, "0.0.53", **answer("yes", interruptEvent="Charge …?"))
    assert agent.given[1]["forwardedProps"]["command"]["interruptEvent"] == "Charge …?"


async def test_an_echo_of_a_masked_value_tells_which_of_several_was_answered() -> None:
    asks = [
        {**ASKS, "id": id, "metadata": {"langgraph": {"raw": raw}}} for id, raw in (("i", "Pay 1234?"), ("j", "Go?"))
    ]
    both = events(announced("Pay 1234?", "Go?"))[:-1] + events(paused(*asks))[1:]
    agent = Agent(encode_events(both), ENDS)
    app = masking(agent)
    assert values(await post(app, "0.0.53")) == ["Pay …?", "Go?"]
    await post(app, "0.0.53", **answer("yes", interruptEvent="Pay …?"))
    assert agent.given[1]["resume"] == [entry("i", "yes"), {"interruptId": "j", "status": "cancelled"}]


async def test_what_the_user_answers_stays_as_the_user_has_posted_it() -> None:
    """Also where it repeats what a filter has masked, since nothing tells whether that was meant."""
    agent = Agent(announced(CHARGES), ENDS)
    app = masking(agent, interrupts="outcome")
    [interrupt] = (await post(app, "1.0.0"))[-1]["outcome"]["interrupts"]
    await post(app, "1.0.0", resume=[entry(interrupt["id"], CHARGED["args"])])
    assert agent.given[1]["forwardedProps"]["command"]["resume"] == CHARGED["args"]
