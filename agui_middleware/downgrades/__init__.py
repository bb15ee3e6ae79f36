"""What an old client cannot read: one shape, one file, one row of `DOWNGRADES`.

A downgrade is a filter that takes one shape of AG-UI out of a stream, or puts it into a form that older releases of
@ag-ui/client read. It never changes how a run ends, an id or the order of events, repairs a malformed value, or invents a
value that is not empty: the duties are those of AG-UI's page on versioning.
"""

from functools import cache
from typing import NamedTuple

from agui_middleware.client import ClientVersion
from agui_middleware.downgrades.activities import without_activities
from agui_middleware.downgrades.activity_texts import without_activity_reasoning, without_activity_texts
from agui_middleware.downgrades.activity_updates import with_activity_updates
from agui_middleware.downgrades.binary_parts import modern_media
from agui_middleware.downgrades.call_parents import without_older_parents
from agui_middleware.downgrades.chunks import expand_chunks
from agui_middleware.downgrades.differences import Difference
from agui_middleware.downgrades.empty_deltas import without_empty_deltas
from agui_middleware.downgrades.empty_state import with_empty_state
from agui_middleware.downgrades.encrypted_value_types import without_encrypted_value_types
from agui_middleware.downgrades.encrypted_values import without_encrypted_values
from agui_middleware.downgrades.file_sources import without_file_sources
from agui_middleware.downgrades.guard import TOLERANT, guard
from agui_middleware.downgrades.input_echo import report_input_echo
from agui_middleware.downgrades.input_lists import with_input_lists
from agui_middleware.downgrades.interleaving import one_at_a_time
from agui_middleware.downgrades.interrupts import report_outcomes
from agui_middleware.downgrades.lost_parents import without_lost_parents
from agui_middleware.downgrades.media_parts import media_as_binary
from agui_middleware.downgrades.names import report_names
from agui_middleware.downgrades.nested_steps import one_step_at_a_time
from agui_middleware.downgrades.null_parents import without_null_parents
from agui_middleware.downgrades.outcomes import readable_outcomes
from agui_middleware.downgrades.patch_operations import without_unknown_operations
from agui_middleware.downgrades.predicted_state import without_predicted_state
from agui_middleware.downgrades.protocol_version import older_protocol_version, without_protocol_version
from agui_middleware.downgrades.raw_chunks import with_empty_deltas
from agui_middleware.downgrades.reasoning import reasoning_as_thinking
from agui_middleware.downgrades.reasoning_messages import without_reasoning_messages
from agui_middleware.downgrades.reopened_calls import keep_calls_open
from agui_middleware.downgrades.reopened_texts import keep_texts_open
from agui_middleware.downgrades.result_parts import join_result_parts
from agui_middleware.downgrades.results import without_results
from agui_middleware.downgrades.runs_after_error import continue_failed_runs
from agui_middleware.downgrades.several_runs import join_runs
from agui_middleware.downgrades.streamed_messages import restate_streamed_messages
from agui_middleware.downgrades.subagents import report_subagents
from agui_middleware.downgrades.text_roles import assistant_texts
from agui_middleware.downgrades.thinking import thinking_as_reasoning
from agui_middleware.downgrades.thinking_events import without_thinking
from agui_middleware.downgrades.unchanged_runs import touch_state
from agui_middleware.downgrades.unknown_members import without_unknown_members
from agui_middleware.downgrades.user_parts import join_user_parts
from agui_middleware.filters.contract import Filter

__all__ = ["DOWNGRADES", "SUBAGENTS", "Difference", "Downgrade", "filters_for", "needed_by"]


class Downgrade(NamedTuple):
    """One shape that older releases cannot read."""

    name: str
    since: str
    """The first release of @ag-ui/client that reads the shape."""
    filter: Filter | None
    """`None`: no rewriting helps, and the row only says what becomes of the shape."""
    why: str
    """What a release before `since` does with the shape."""
    lost: str = ""
    """What its reader goes without; empty for a downgrade that loses nothing."""
    needs_tags: bool = False
    """Whether it comes before the route's visibility, which takes the attribution away."""
    oldest: str = "0.0.0"
    """The first release that needs it: those before it take no offence, or are served by an older row."""
    differs: tuple[Difference, ...] = ()
    """How the messages and the state may differ in the end from what 1.0.0 makes of the original."""


SUBAGENTS = Downgrade(
    "subagents",
    "0.0.59",
    report_subagents,
    "rejects SUBAGENT_STARTED, SUBAGENT_FINISHED and SUBAGENT_ERROR, and the run with them",
    lost="which subagent did what, and its steps",
    needs_tags=True,
    differs=(Difference.WITHOUT_ATTRIBUTION,),
)
"""The row whose rewriting is the route's visibility."""

DOWNGRADES: tuple[Downgrade, ...] = (
    Downgrade(
        "chunks",
        "0.0.59",
        expand_chunks,
        "has one lane for the chunks of all subagents, and mixes their texts up",
        needs_tags=True,
    ),
    SUBAGENTS,
    Downgrade(
        "runs-after-error",
        "0.0.59",
        continue_failed_runs,
        "reads nothing behind a RUN_ERROR, and rejects a run there",
        lost="the error of a run that another one follows in the same stream",
    ),
    Downgrade(
        "activity-updates",
        "0.0.58",
        with_activity_updates,
        "ignores what a snapshot says of an activity that it holds",
        oldest="0.0.46",
    ),
    Downgrade(
        "streamed-messages",
        "0.0.50",
        restate_streamed_messages,
        "deletes reasoning, and before 0.0.46 activities, that a snapshot leaves out",
        lost="reasoning and activities of earlier runs, at a snapshot that leaves them out",
        oldest="0.0.41",
        differs=(Difference.WITHOUT_EARLIER,),
    ),
    Downgrade(
        "activity-texts",
        "0.0.59",
        without_activity_texts,
        "writes text and reasoning over the activity whose id they have",
    ),
    Downgrade(
        "raw-chunks",
        "1.0.0",
        with_empty_deltas,
        "takes no content from a chunk that has nothing but a `rawEvent`",
        oldest="0.0.59",
    ),
    Downgrade(
        "activity-reasoning",
        "1.0.0",
        without_activity_reasoning,
        "writes reasoning over the activity whose id it has",
        oldest="0.0.59",
    ),
    Downgrade(
        "thinking",
        "1.0.0",
        thinking_as_reasoning,
        "shows nothing of the THINKING_* events of old agents, or rejects them",
    ),
    Downgrade(
        "lost-parents",
        "0.0.45",
        without_lost_parents,
        "gives a call that names a message of a role it does not know a message of that id",
    ),
    Downgrade(
        "reasoning",
        "0.0.45",
        reasoning_as_thinking,
        "rejects REASONING_* events, and shows THINKING_* in their place",
        lost="reasoning in the conversation",
        oldest="0.0.37",
        differs=(Difference.WITHOUT_REASONING,),
    ),
    Downgrade(
        "reopened-calls",
        "0.0.58",
        keep_calls_open,
        "makes a second tool call of one that is continued after its end",
        lost="what is added to a tool call after its result, after a snapshot or in a later run",
        oldest="0.0.37",
        differs=(Difference.FINISHED_CALLS, Difference.IN_PIECES),
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
        without_older_parents,
        "attaches a tool call to its newest message, or to a second one of the parent's id",
        lost="which message an older message's tool call belongs to",
        differs=(Difference.OTHER_HOLDERS,),
    ),
    Downgrade(
        "empty-deltas",
        "0.0.50",
        without_empty_deltas,
        "rejects content whose `delta` is empty",
        differs=(Difference.EMPTY_CONTENT,),
    ),
    Downgrade(
        "reopened-texts",
        "0.0.44",
        keep_texts_open,
        "makes a second message of one that is continued after its end",
        oldest="0.0.37",
        differs=(Difference.IN_PIECES,),
    ),
    Downgrade(
        "metadata",
        "0.0.59",
        None,
        "keeps no `metadata` with messages and tool calls",
        lost="metadata that the client would send back",
        differs=(Difference.WITHOUT_METADATA,),
    ),
    Downgrade(
        "activity-authority",
        "1.0.0",
        None,
        "has no way to be told which activities a snapshot has all of",
        oldest="0.0.41",
        differs=(Difference.OTHER_ACTIVITIES,),
    ),
    Downgrade(
        "removed-activities",
        "0.0.58",
        None,
        "keeps an activity that a snapshot of activities leaves out",
        oldest="0.0.46",
        differs=(Difference.OTHER_ACTIVITIES,),
    ),
    Downgrade(
        "removed-reasoning",
        "0.0.57",
        None,
        "keeps the reasoning that it holds, whatever a snapshot says of it",
        oldest="0.0.50",
        differs=(Difference.OTHER_REASONING, Difference.RESULTS_LAST),
    ),
    Downgrade(
        "snapshot-order",
        "0.0.46",
        None,
        "takes over the order of a snapshot for messages that it holds",
        differs=(Difference.SNAPSHOT_ORDER,),
    ),
    Downgrade(
        "result-order",
        "0.0.55",
        None,
        "appends a tool's result to its messages, wherever its call stands",
        differs=(Difference.RESULTS_LAST,),
    ),
    Downgrade(
        "protocol-version",
        "1.0.0",
        without_protocol_version,
        "speaks no version of the protocol; a stream that was translated may not claim one",
    ),
    Downgrade(
        "encrypted-value-types",
        "1.1.0",
        without_encrypted_value_types,
        "strips `encryptedValueType`",
        lost="the type of a value that the client sends back",
    ),
    Downgrade(
        "protocol-1.1",
        "1.1.0",
        older_protocol_version,
        "speaks AG-UI 1.0; a stream that was translated may not claim 1.1",
        oldest="1.0.0",
    ),
    Downgrade(
        "result-parts",
        "1.0.0",
        join_result_parts,
        "rejects a tool result that is a list of content parts",
        lost="all but the text of a tool result",
        differs=(Difference.RESULT_TEXT,),
    ),
    Downgrade(
        "unknown-members",
        "1.0.0",
        without_unknown_members,
        "rejects messages and content parts of a kind that AG-UI 1.0 does not know, which 1.0.0 leaves out",
    ),
    Downgrade(
        "binary-parts",
        "1.0.0",
        modern_media,
        "keeps the content parts from before media had a kind, which 1.0.0 turns into media parts",
        oldest="0.0.41",
        differs=(Difference.BINARY_HANDLES,),
    ),
    Downgrade(
        "file-sources",
        "1.0.0",
        without_file_sources,
        "rejects media whose source is a provider's handle",
        lost="the media that are named by a handle",
        oldest="0.0.41",
        differs=(Difference.WITHOUT_HANDLES,),
    ),
    Downgrade(
        "part-members",
        "1.0.0",
        None,
        "keeps no `id` with a content part, and no `metadata` with a text",
        lost="what a part says beside its content",
        oldest="0.0.41",
        differs=(Difference.WITHOUT_PART_MEMBERS,),
    ),
    Downgrade(
        "patch-operations",
        "1.0.0",
        without_unknown_operations,
        "ignores a whole patch for one operation that RFC 6902 does not have, which 1.0.0 leaves out",
    ),
    Downgrade(
        "empty-state",
        "1.0.0",
        with_empty_state,
        "ignores a state of null, false, 0 or the empty string",
        differs=(Difference.EMPTY_STATE,),
    ),
    Downgrade(
        "outcomes",
        "1.0.0",
        readable_outcomes,
        "rejects the outcome `cancelled`, and members of an outcome that it does not know",
        lost="that a run was cancelled: it reads as success",
        oldest="0.0.54",
    ),
    Downgrade(
        "input-lists",
        "1.0.0",
        with_input_lists,
        "rejects an input echo without `tools` or `context`",
        oldest="0.0.41",
    ),
    Downgrade(
        "interrupts",
        "0.0.54",
        report_outcomes,
        "ignores how a run ended",
        lost="that a run waits for an answer, or was cancelled: it reads as success",
    ),
    Downgrade(
        "media-parts",
        "0.0.49",
        media_as_binary,
        "knows media as parts of the type `binary`",
        lost="what a part says about its media, the file name apart",
        oldest="0.0.41",
        differs=(Difference.MEDIA_AS_BINARY,),
    ),
    Downgrade(
        "names",
        "0.0.48",
        report_names,
        "ignores the name of a text message",
        lost="the name of a text message's speaker",
        differs=(Difference.WITHOUT_NAMES,),
    ),
    Downgrade(
        "reasoning-messages",
        "0.0.45",
        without_reasoning_messages,
        "rejects messages of the role `reasoning`",
        lost="reasoning that a snapshot or an input echo restates",
        differs=(Difference.WITHOUT_REASONING,),
    ),
    Downgrade(
        "encrypted-values",
        "0.0.45",
        without_encrypted_values,
        "rejects REASONING_ENCRYPTED_VALUE, and keeps no encrypted value",
        lost="values that a model gave the client to keep",
        differs=(Difference.WITHOUT_ENCRYPTED_VALUES,),
    ),
    Downgrade(
        "activities",
        "0.0.41",
        without_activities,
        "rejects activities, as events and as messages",
        lost="activities",
        differs=(Difference.WITHOUT_ACTIVITIES,),
    ),
    Downgrade(
        "user-parts",
        "0.0.41",
        join_user_parts,
        "rejects a user message that is a list of content parts",
        lost="all but the text of a user message",
        differs=(Difference.USER_TEXT,),
    ),
    Downgrade(
        "input-echo",
        "0.0.41",
        report_input_echo,
        "ignores the input echo of a run",
        lost="messages that only an input echo brings",
        differs=(Difference.WITHOUT_ECHO,),
    ),
    Downgrade(
        "thinking-events",
        "0.0.37",
        without_thinking,
        "rejects THINKING_START, and with it all thinking",
        lost="a model's reasoning",
        differs=(Difference.WITHOUT_REASONING,),
    ),
    Downgrade(
        "tool-errors",
        "0.0.36",
        None,
        "keeps no `error` with a tool's result",
        lost="that a tool failed",
        differs=(Difference.WITHOUT_ERRORS,),
    ),
    Downgrade(
        "results",
        "0.0.34",
        without_results,
        "rejects TOOL_CALL_RESULT, or tells the application nothing of it",
        lost="what a tool answered, unless a snapshot restates it",
        differs=(Difference.WITHOUT_RESULTS,),
    ),
    Downgrade(
        "predicted-state",
        "0.0.34",
        without_predicted_state,
        "changes the state at the CUSTOM event `PredictState`",
    ),
    Downgrade(
        "several-runs",
        "0.0.37",
        join_runs,
        "reads one run a stream, and rejects the next",
        lost="the ends of all runs but the last",
    ),
    Downgrade(
        "text-roles",
        "0.0.37",
        assistant_texts,
        "rejects texts whose role is absent, or not the assistant's",
        lost="texts that are streamed in another role",
        differs=(Difference.WITHOUT_OTHER_ROLES,),
    ),
    Downgrade(
        "nested-steps",
        "0.0.34",
        one_step_at_a_time,
        "rejects a step that begins while another one is open",
        lost="steps inside steps",
    ),
    Downgrade(
        "unchanged-runs",
        "0.0.34",
        touch_state,
        "rejects a run that changes neither messages nor state",
    ),
    Downgrade(
        "interleaving",
        "0.0.37",
        one_at_a_time,
        "rejects everything but its content while a text or a tool call is open",
        differs=(Difference.IN_PIECES,),
    ),
)
"""The shapes, in the order in which a plan applies them: newest first, and last those that must see what the client sees.

What closes something at the end of a run comes before what keeps texts and calls open until then: so a stream that was
rewritten before keeps its order.
"""


@cache
def needed_by(client: ClientVersion | None) -> tuple[Downgrade, ...]:
    """The rows that `client` needs, in order; none for a client that reads everything (`None`)."""
    if client is None:
        return ()
    parse = ClientVersion.parse
    return tuple(row for row in DOWNGRADES if parse(row.oldest) <= client < parse(row.since))


def filters_for(client: ClientVersion | None, visibility: list[Filter], *, lowered: bool) -> list[Filter]:
    """The downgrades for `client`, around the filters of what it sees of subagents.

    `lowered`: that is less than the route shows to others, and a loss to be reported.
    """
    rows = [row for row in needed_by(client) if lowered or row is not SUBAGENTS]
    before = [row.filter for row in rows if row.filter is not None and row.needs_tags]
    after = [row.filter for row in rows if row.filter is not None and not row.needs_tags]
    last = [guard(client)] if client is not None and client < TOLERANT else []
    return [*before, *visibility, *after, *last]
