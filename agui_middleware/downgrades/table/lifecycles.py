"""What is streamed, and what opens and closes it: texts, tool calls, reasoning, activities, subagents, runs.

A row belongs here where an older release puts events together differently: it opens, continues or closes something else.
"""

from agui_middleware.downgrades.activity_texts import without_activity_reasoning, without_activity_texts
from agui_middleware.downgrades.activity_updates import with_activity_updates
from agui_middleware.downgrades.call_parents import without_older_call_parents
from agui_middleware.downgrades.downgrade import After, Difference, Downgrade
from agui_middleware.downgrades.empty_deltas import without_empty_deltas
from agui_middleware.downgrades.lost_parents import without_lost_parents
from agui_middleware.downgrades.null_parents import without_null_parents
from agui_middleware.downgrades.pieces import join_calls, join_texts
from agui_middleware.downgrades.raw_chunks import fill_raw_chunks
from agui_middleware.downgrades.reasoning_as_thinking import reasoning_as_thinking
from agui_middleware.downgrades.reopened_calls import without_reopened_calls
from agui_middleware.downgrades.reopened_texts import without_reopened_texts
from agui_middleware.downgrades.runs_after_error import continue_runs_after_error
from agui_middleware.downgrades.streamed_messages import restate_streamed_messages
from agui_middleware.downgrades.subagent_events import report_subagent_events
from agui_middleware.downgrades.thinking import thinking_as_reasoning
from agui_middleware.filters.chunks import expand_chunks

SUBAGENTS = Downgrade(
    "subagents",
    "0.0.59",
    report_subagent_events,
    "rejects SUBAGENT_STARTED, SUBAGENT_FINISHED and SUBAGENT_ERROR, and the run with them",
    loss="which subagent did what, and its steps",
    differences=(Difference.WITHOUT_ATTRIBUTION,),
    after=(After("chunks", "a chunk's tag chooses the lane that it continues"),),
)
"""The row that reports the loss; the rewriting is the filter of the route's visibility, which follows it."""

LIFECYCLES: tuple[Downgrade, ...] = (
    Downgrade(
        "chunks",
        "0.0.59",
        expand_chunks,
        "has one lane for the chunks of all subagents, and mixes their texts up",
    ),
    SUBAGENTS,
    Downgrade(
        "thinking",
        "1.0.0",
        thinking_as_reasoning,
        "shows nothing of the THINKING_* events of old agents, or rejects them",
    ),
    Downgrade(
        "runs-after-error",
        "0.0.59",
        continue_runs_after_error,
        "reads nothing behind a RUN_ERROR, and rejects a run there",
        loss="the error of a run that another one follows in the same stream",
        after=(After("thinking", "it turns THINKING_* into the REASONING_* that this row reads"),),
    ),
    Downgrade(
        "activity-updates",
        "0.0.58",
        with_activity_updates,
        "ignores what a snapshot says of an activity that it holds",
        broken_since="0.0.46",
    ),
    Downgrade(
        "streamed-messages",
        "0.0.50",
        restate_streamed_messages,
        "deletes reasoning, and before 0.0.46 activities, that a snapshot leaves out",
        loss="reasoning and activities of earlier runs, at a snapshot that leaves them out",
        broken_since="0.0.41",
        differences=(Difference.WITHOUT_EARLIER,),
        after=(
            After("activity-updates", "an activity that is restated at a snapshot needs no update"),
            After("thinking", "it turns THINKING_* into the REASONING_* that this row reads"),
        ),
    ),
    Downgrade(
        "activity-texts",
        "0.0.59",
        without_activity_texts,
        "writes text and reasoning over the activity whose id they have",
        after=(After("streamed-messages", "an activity that a snapshot restates has texts of its id dropped"),),
    ),
    Downgrade(
        "raw-chunks",
        "1.0.0",
        fill_raw_chunks,
        "takes no content from a chunk that has nothing but a `rawEvent`",
        broken_since="0.0.59",
    ),
    Downgrade(
        "activity-reasoning",
        "1.0.0",
        without_activity_reasoning,
        "writes reasoning over the activity whose id it has",
        broken_since="0.0.59",
    ),
    Downgrade(
        "lost-parents",
        "0.0.45",
        without_lost_parents,
        "gives a call that names a message of a role it does not know a message of that id",
        after=(After("streamed-messages", "an activity that a snapshot restates is a parent that the client has"),),
    ),
    Downgrade(
        "reasoning",
        "0.0.45",
        reasoning_as_thinking,
        "rejects REASONING_* events, and shows THINKING_* in their place",
        loss="reasoning in the conversation",
        broken_since="0.0.37",
        differences=(Difference.WITHOUT_REASONING,),
        after=(
            After("thinking", "it turns THINKING_* into the REASONING_* that this row reads"),
            After(
                "runs-after-error",
                "ENDs that are due at the same event keep one order, so rewriting a rewritten stream changes nothing",
            ),
            After("activity-texts", "reasoning loses the id by which an activity is recognised"),
            After("lost-parents", "reasoning loses the id by which a lost parent is recognised"),
        ),
    ),
    Downgrade(
        "reopened-calls",
        "0.0.58",
        without_reopened_calls,
        "makes a second tool call of one that is continued after its end",
        loss="what is added to a tool call after its result, after a snapshot or in a later run",
        broken_since="0.0.37",
        differences=(Difference.FINISHED_CALLS, Difference.IN_PIECES),
        after=(
            After(
                "runs-after-error",
                "ENDs that are due at the same event keep one order, so rewriting a rewritten stream changes nothing",
            ),
            After("streamed-messages", "a second START, which this row drops, tells where a message stands"),
            After(
                "reasoning",
                "ENDs that are due at the same event keep one order, so rewriting a rewritten stream changes nothing",
            ),
        ),
        upgrade=join_calls,
    ),
    Downgrade(
        "null-parents",
        "0.0.58",
        without_null_parents,
        "rejects a tool call whose `parentMessageId` is null",
    ),
    Downgrade(
        "call-parents",
        "0.0.52",
        without_older_call_parents,
        "attaches a tool call to its newest message, or to a second one of the parent's id",
        loss="which message an older message's tool call belongs to",
        differences=(Difference.OTHER_HOLDERS,),
        after=(
            After("streamed-messages", "what a snapshot restates decides which message is the newest"),
            After("reopened-calls", "a second START, which that row drops, would count as a new message"),
        ),
    ),
    Downgrade(
        "empty-deltas",
        "0.0.50",
        without_empty_deltas,
        "rejects content whose `delta` is empty",
        differences=(Difference.EMPTY_CONTENT,),
    ),
    Downgrade(
        "reopened-texts",
        "0.0.44",
        without_reopened_texts,
        "makes a second message of one that is continued after its end",
        loss="that a text belongs to the message of a tool call, a snapshot or an earlier run: an empty one comes behind it",
        broken_since="0.0.37",
        differences=(Difference.IN_PIECES,),
        after=(
            After("streamed-messages", "a second START, which this row drops, tells where a message stands"),
            After(
                "reasoning",
                "ENDs that are due at the same event keep one order, so rewriting a rewritten stream changes nothing",
            ),
            After(
                "reopened-calls",
                "ENDs that are due at the same event keep one order, so rewriting a rewritten stream changes nothing",
            ),
        ),
        upgrade=join_texts,
    ),
)
