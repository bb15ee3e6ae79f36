"""Generated runs that pause with one to three interrupts, in real clients: asked, and answered.

    python -m tests.history.interrupted                # every release
    python -m tests.history.interrupted 0.0.36 1.0.0   # these

Each release reads each run on `auto` and `custom`, and, announced by CUSTOM events, on `outcome`. It counts the runs in
which each interrupt arrived in the dialect that is due, nothing was aborted, and the answer to each, posted by the client
itself, reached the interrupt that it was given to.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from agui_middleware.config.planning import make_plan
from agui_middleware.filters.contract import Context
from agui_middleware.history.answers import as_command, as_resume
from agui_middleware.protocol.interrupt_dialects import ON_INTERRUPT, OpenInterrupt
from agui_middleware.protocol.posted import Posted
from agui_middleware.protocol.releases import ClientVersion
from agui_middleware.stream.rewriter import Rewriter
from tests.clients.client import RELEASES, Client, Outcome, Run, order
from tests.downgrades.cases import Case, cases, events_of
from tests.strategies import Json, plain

READS_OUTCOMES: Final = "0.0.54"
SEES_CUSTOM: Final = "0.0.34"  # before, applications have no subscribers
DIALECTS: Final = ("auto", "custom", "outcome")
NOW: Final = datetime(2026, 12, 2, tzinfo=UTC)
ENDS: Final = plain([{"type": type, "threadId": "t", "runId": "r"} for type in ("RUN_STARTED", "RUN_FINISHED")])


def paused_runs() -> list[Case]:
    """The drawn runs that finish, with one to three interrupts at their ends."""
    drawn = (case for case in cases() if case.name.startswith("drawn:"))
    paused = (_paused(case, number % 3 + 1) for number, case in enumerate(drawn))
    return [case for case in paused if case is not None]


def _paused(case: Case, count: int) -> Case | None:
    """The run with `count` interrupts at its end, tags of its subagents on some."""
    *events, end = case.events
    if end["type"] != "RUN_FINISHED" or any(each.get("name") == ON_INTERRUPT for each in events):
        return None
    tag = next((each["subagentRunId"] for each in events if "subagentRunId" in each), None)
    interrupts: list[Json] = [{"id": f"i{place}", "reason": "ask", "message": f"{place}?"} for place in range(count)]
    if tag is not None:
        interrupts[-1]["subagentRunId"] = tag
    end = {**end, "outcome": {"type": "interrupt", "interrupts": interrupts}}
    return Case(case.name, Run(plain([*events, end]), case.run.messages, case.run.state))


def interrupts_in(case: Case) -> list[Json]:
    """Those of all its runs; a release may read several as one."""
    return [each for event in case.events for each in (event.get("outcome") or {}).get("interrupts", ())]


def in_the_older_dialect(case: Case) -> Case:
    """The same run of an agent that announces its interrupts by CUSTOM events."""
    *events, end = case.events
    announced = [
        {"type": "CUSTOM", "name": ON_INTERRUPT, "value": {"id": each["id"], "message": each["message"]}}
        for each in end["outcome"]["interrupts"]
    ]
    end = {name: value for name, value in end.items() if name != "outcome"}
    return Case(case.name, Run(plain([*events, *announced, end]), case.run.messages, case.run.state))


def left(stream: bytes, release: str, interrupts: str) -> bytes:
    """The stream as the middleware sends it to a release."""
    plan = make_plan(ClientVersion.parse(release), interrupts=interrupts)
    rewriter = Rewriter(plan, Context(plan.client), 1 << 20)
    return rewriter.feed(stream) + rewriter.finish()


def by_outcome(release: str, interrupts: str) -> bool:
    """Whether the release is asked in the standard."""
    return interrupts != "custom" and order(release) >= order(READS_OUTCOMES)


def _wrongly_asked(release: str, interrupts: str, case: Case, outcome: Outcome, sent: bytes) -> str | None:
    if not outcome.accepted:
        return f"aborted: {outcome.error}"
    ids = [each["id"] for each in case.events[-1]["outcome"]["interrupts"]]
    events = events_of(sent)
    customs = [each["value"] for each in events if each.get("name") == ON_INTERRUPT]
    if by_outcome(release, interrupts):
        held = [each["id"] for each in outcome.interrupts]
        return None if held == ids and not customs else f"holds {held}, was sent {customs}"
    if "outcome" in events[-1] or outcome.interrupts:
        return "an outcome has reached it"
    if [each["id"] for each in customs] != [each["id"] for each in interrupts_in(case)]:
        return f"was sent {customs}"
    if order(release) >= order(SEES_CUSTOM) and json.dumps(list(outcome.asked)) != json.dumps(customs):
        return f"its application received {outcome.asked}"
    return None


def _answer(release: str, interrupts: str, asks: list[Json], outcome: Outcome) -> Mapping[str, Any] | None:
    """What the application answers: each interrupt in the standard, else the last one; `None` where it received none."""
    if by_outcome(release, interrupts):
        return {"resume": [{"interruptId": each["id"], "status": "resolved", "payload": each["id"]} for each in asks]}
    if order(release) < order(SEES_CUSTOM):
        return None
    return {"forwardedProps": {"command": {"resume": "yes", "interruptEvent": outcome.asked[-1]}}}


def _wrongly_answered(
    release: str, interrupts: str, asks: list[Json], answer: Mapping[str, Any], body: str
) -> str | None:
    """What is wrong with what the agent gets of a posted answer."""
    posted = Posted.read(body.encode())
    assert posted is not None
    if interrupts == "outcome" and by_outcome(release, interrupts):
        posted = as_command(posted, [OpenInterrupt(each["id"]) for each in asks])
        got = json.loads(posted.raw)["forwardedProps"]["command"]["resume"]
        several = {each["id"]: {"status": "resolved", "payload": each["id"]} for each in asks}
        wanted = asks[0]["id"] if len(asks) == 1 else {"__agui_resume_map__": several}
    elif interrupts == "outcome" or by_outcome(release, interrupts):
        [(name, wanted)] = answer.items()
        got = json.loads(posted.raw)[name]
    else:
        posted = as_resume(posted, [], NOW).posted
        got = {each["interruptId"]: each.get("payload") for each in json.loads(posted.raw)["resume"]}
        wanted = {each["id"]: "yes" if each is asks[-1] else None for each in asks}
    return None if got == wanted else f"the agent got the answer {got}"


def faults(client: Client, interrupts: str, runs: Sequence[Case]) -> list[str | None]:
    """What is wrong with each run, as one release reads it and answers; `None`: nothing."""
    release = client.release
    asks = [case.events[-1]["outcome"]["interrupts"] for case in runs]
    agents = [in_the_older_dialect(case) if interrupts == "outcome" else case for case in runs]
    sent = [left(case.run.stream, release, interrupts) for case in agents]
    outcomes = client.read_many([case.sent(stream) for case, stream in zip(agents, sent, strict=True)])
    found = [_wrongly_asked(release, interrupts, *each) for each in zip(runs, outcomes, sent, strict=True)]
    answers = {
        place: answer
        for place, wrong in enumerate(found)
        if wrong is None and (answer := _answer(release, interrupts, asks[place], outcomes[place])) is not None
    }
    given = client.read_many(
        [Run(ENDS, outcomes[place].messages, parameters=answer) for place, answer in answers.items()]
    )
    for (place, answer), end in zip(answers.items(), given, strict=True):
        found[place] = _wrongly_answered(release, interrupts, asks[place], answer, end.posted)
    return found


def main(releases: Sequence[str]) -> int:
    """Print what is wrong, and the counts of each release. Returns 1 where anything is wrong."""
    runs, all_right = paused_runs(), True
    for release in releases or RELEASES:
        with Client(release) as client:
            for interrupts in DIALECTS:
                found = faults(client, interrupts, runs)
                for case, wrong in zip(runs, found, strict=True):
                    if wrong is not None:
                        print(f"{release} {interrupts} {case.name}: {wrong}")
                all_right = all_right and not any(found)
                print(f"{release} {interrupts}: {found.count(None)} of {len(runs)}", flush=True)
    return 0 if all_right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
