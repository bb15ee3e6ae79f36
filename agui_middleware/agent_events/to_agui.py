"""Translates the events of an agent loop into the events of an AG-UI run."""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

from agui_middleware.agent_events.agent import Agent
from agui_middleware.agent_events.models import AgentEvent
from agui_middleware.agent_events.run_emitter import AGUIEvent, NewId

T = TypeVar("T")


async def to_agui(
    events: AsyncIterable[AgentEvent],
    *,
    thread_id: str,
    run_id: str,
    parent_run_id: str | None = None,
    new_id: NewId | None = None,
) -> AsyncGenerator[AGUIEvent, None]:
    """Yield the AG-UI 1.0 events of one run, each as soon as the loop's event that causes it is there.

    They are plain dicts of JSON values, valid for the models of ag-ui-protocol and for @ag-ui/client 1.0.0 in whatever
    order the loop emits; older clients read them through the middleware.

    ==================  ================================================================================
    `TurnStart`         ends the turn before, STEP_STARTED `turn-<n>`
    `ThinkingDelta`     REASONING_*, one span and message until something else is emitted
    `TextDelta`         TEXT_MESSAGE_*, one message a turn
    `AssistantText`     the part of it that was not streamed, then the end of that message
    `ToolCall`          TOOL_CALL_START, ARGS with the input as JSON, END; its parent is the turn's message
    `ToolDenied`        CUSTOM `agent.tool_denied`, value `{name, reason}`
    `ToolResult`        TOOL_CALL_RESULT; an error has the metadata `{"isError": true}`
    `TurnUsage`         added to `usage` of the terminal event, an entry for each provider and model
    `QueuedInput`       a text message of the role `user`
    `MessageDelivered`  ACTIVITY_SNAPSHOT `agent.message_delivered`, content `{id, from}`
    `Compacted`         CUSTOM `agent.compacted`, value `{messagesBefore, messagesAfter, promptTokens}`
    `Done`              RUN_FINISHED with the final text as `result`, or RUN_ERROR
    `Nested`            the same for the inner run, tagged with its subagentRunId; SUBAGENT_STARTED before its
                        first event, SUBAGENT_FINISHED or SUBAGENT_ERROR at its Done, else at the result of
                        its call, else (as an error, `AGENT_UNFINISHED`) with the run that contains it
    ==================  ================================================================================

    A final text that the loop has not streamed becomes a message. Everything open is closed before a terminal event. Only
    `finished` is a success: `cancelled` has the outcome of that name (which releases from 0.0.54 to 0.0.59 do not read
    without the middleware), `refused`, `limit` and `error` are RUN_ERROR with the codes `AGENT_REFUSED`, `AGENT_LIMIT`
    and `AGENT_ERROR`. A subagent's end has no such outcome: a cancelled one ends in SUBAGENT_ERROR `AGENT_CANCELLED`.

    **Nested runs** are identified for certain by the id of the call. Two runs of one tool without ids are told apart from
    the moment when one of them starts a turn that the other has already had, while more calls of the tool are waiting than
    runs are active (or the calls are not announced at all). From then on a result goes to the run that made the call; a
    turn to the run that has come nearest to it, and of several as near to one whose calls have their results; a whole text
    or a Done to the run whose text it repeats; and everything else to the run that spoke last. Tokens of two such runs in
    turns are not told apart, and two runs that announce no turns are one until its Done.

    **Ids.** `new_id` makes the ids of messages, reasoning, results and subagents from readable names, by default
    `<run_id>-<name>`, as in `r1-research-turn-2-text`; it must not return the same id for two names, nor one of
    an earlier run of the thread. Calls keep the loop's own ids; one that is used a second time in the run gets `-2`.

    **Memory.** Text is not kept: of a turn's text a hash, its length and its last 1,024 characters remain, whatever its
    length, to find out what a whole text adds. Ids are kept as long as the run lasts.

    Raises what the loop raises, after RUN_ERROR `AGENT_FAILED`, and TypeError for anything but an AgentEvent. A loop that
    ends without Done gets no terminal event. Closing this generator closes `events`, if it can be closed; events after the
    run's Done are dropped, but the loop is run to its end.
    """
    agent = Agent(thread_id, run_id, new_id or (lambda name: f"{run_id}-{name}"))
    async with _closing(aiter(events)) as loop:
        for event in agent.start(parent_run_id):
            yield event
        while True:
            try:
                translated = agent.feed(await anext(loop))
            except StopAsyncIteration:
                break
            except Exception:
                for event in agent.fail():
                    yield event
                raise
            for event in translated:
                yield event
        agent.stop()


@asynccontextmanager
async def _closing(iterator: AsyncIterator[T]) -> AsyncIterator[AsyncIterator[T]]:
    # contextlib.aclosing requires `aclose`, which not every iterator has.
    try:
        yield iterator
    finally:
        aclose = getattr(iterator, "aclose", None)
        if aclose is not None:
            await aclose()
