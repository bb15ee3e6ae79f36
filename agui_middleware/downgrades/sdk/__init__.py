"""What SDKs other than @ag-ui/client cannot read, or post otherwise: one feature, one row of `SDK_ROWS`.

The table of readers names the rows that an SDK needs besides those of the release of @ag-ui/client that it reads like. They
apply after the release's rows, unless they are declared to come first, and in this order: events are dropped before others
are changed, and members are checked last.
"""

from agui_middleware.downgrades.pieces import join_texts
from agui_middleware.downgrades.result_order import results_behind_calls
from agui_middleware.downgrades.sdk.call_messages import with_call_messages
from agui_middleware.downgrades.sdk.declared_members import only_declared_members
from agui_middleware.downgrades.sdk.dropped_types import (
    PASSTHROUGH,
    SNAPSHOTS,
    STATE,
    STEPS,
    TOOL_CALLS,
    without_types,
)
from agui_middleware.downgrades.sdk.empty_arguments import without_empty_arguments
from agui_middleware.downgrades.sdk.empty_patches import without_empty_patches
from agui_middleware.downgrades.sdk.float_timestamps import integer_timestamps
from agui_middleware.downgrades.sdk.input_echoes import without_input_echoes
from agui_middleware.downgrades.sdk.member_aliases import with_member_aliases
from agui_middleware.downgrades.sdk.null_members import without_null_members
from agui_middleware.downgrades.sdk.null_states import without_null_states
from agui_middleware.downgrades.sdk.other_parents import without_other_parents
from agui_middleware.downgrades.sdk.parallel_calls import one_call_at_a_time
from agui_middleware.downgrades.sdk.posted_extras import without_copied_data, without_empty_resume, without_tool_names
from agui_middleware.downgrades.sdk.posted_gaps import without_gaps
from agui_middleware.downgrades.sdk.posted_names import camel_case_names
from agui_middleware.downgrades.sdk.posted_text_parts import text_parts_as_text
from agui_middleware.downgrades.sdk.posted_ui_messages import ui_messages_as_input
from agui_middleware.downgrades.sdk.row import SdkRow
from agui_middleware.downgrades.sdk.snapshot_roles import without_activity_messages, without_special_messages
from agui_middleware.downgrades.sdk.start_roles import with_start_roles

__all__ = ["SDK_ROWS", "SdkRow"]

SDK_ROWS: tuple[SdkRow, ...] = (
    SdkRow(
        "no-steps",
        without_types(*STEPS, feature="steps", reason="the client knows no steps"),
        "ends the run at STEP_STARTED or STEP_FINISHED, or shows an empty thought for it",
        loss="the steps of a run",
    ),
    SdkRow(
        "no-raw-or-custom",
        without_types(*PASSTHROUGH, feature="RAW and CUSTOM", reason="the client knows neither RAW nor CUSTOM"),
        "ends the run at RAW or CUSTOM",
        loss="RAW and CUSTOM events",
    ),
    SdkRow(
        "no-tool-calls",
        without_types(*TOOL_CALLS, feature="tool calls", reason="the client knows no tool calls"),
        "ends the run at TOOL_CALL_START",
        loss="tool calls and their results",
    ),
    SdkRow(
        "no-state",
        without_types(*STATE, feature="state", reason="the client knows no state"),
        "ends the run at STATE_SNAPSHOT or STATE_DELTA",
        loss="the state of the agent",
    ),
    SdkRow(
        "no-snapshots",
        without_types(*SNAPSHOTS, feature="snapshots", reason="the client cannot apply MESSAGES_SNAPSHOT"),
        "ends the run at MESSAGES_SNAPSHOT, or shows none of the messages that it brings",
        loss="what only a snapshot says of the conversation",
    ),
    SdkRow(
        "no-input-echo",
        without_input_echoes,
        "reads the input echo of RUN_STARTED into classes that know neither content parts nor the newer roles",
        loss="messages that only an input echo brings",
    ),
    SdkRow(
        "activity-messages",
        without_activity_messages,
        "makes an empty assistant message of an activity in a snapshot, and posts it back",
        loss="activities that a snapshot restates",
    ),
    SdkRow(
        "five-roles",
        without_special_messages,
        "loses a snapshot that holds an activity or reasoning, or ends the run there",
        loss="activities and reasoning that a snapshot restates",
    ),
    SdkRow(
        "parallel-calls",
        one_call_at_a_time,
        "gives the arguments of parallel tool calls to the last one that started",
    ),
    SdkRow(
        "other-parents",
        without_other_parents,
        "attaches a tool call to a message that is not the assistant's, and does not post it back",
    ),
    SdkRow(
        "call-messages",
        with_call_messages,
        "loses the beginning of a text that follows a tool call in one message",
        loss="which message a tool call belongs to that comes before the message says anything",
    ),
    SdkRow("empty-arguments", without_empty_arguments, "rejects TOOL_CALL_ARGS whose `delta` is empty"),
    SdkRow("empty-patches", without_empty_patches, "ends the run at an ACTIVITY_DELTA without operations"),
    SdkRow("null-states", without_null_states, "ends the run at a STATE_SNAPSHOT whose state is null"),
    # First: two runs become one only where both are well-formed, which one with a null is not for any @ag-ui/client.
    SdkRow("null-members", without_null_members, "rejects a null where a member may be absent", first=True),
    SdkRow("start-roles", with_start_roles, "rejects or loses a START without a role"),
    SdkRow("float-timestamps", integer_timestamps, "rejects or loses an event whose timestamp has a fraction"),
    SdkRow("member-aliases", with_member_aliases, "reads `toolName` and `error.message` instead of AG-UI's members"),
    SdkRow(
        "declared-members",
        only_declared_members,
        "loses an event that has a member which its class does not declare",
        loss="state, RAW, CUSTOM, reasoning, and all members that the classes do not declare",
    ),
    SdkRow(
        "posted-ui-messages",
        None,
        "posts messages of its own kind, and no RunAgentInput",
        upgrade=ui_messages_as_input,
    ),
    SdkRow("posted-names", None, "posts members in snake_case", upgrade=camel_case_names),
    SdkRow("posted-gaps", None, "posts null for what is not set, or leaves out what is empty", upgrade=without_gaps),
    SdkRow("posted-data", None, "posts `forwardedProps` a second time, as `data`", upgrade=without_copied_data),
    SdkRow("posted-resume", None, "posts an empty `resume` with every request", upgrade=without_empty_resume),
    SdkRow("posted-tool-names", None, "posts the role of a tool's result as its `name`", upgrade=without_tool_names),
    SdkRow("posted-text-parts", None, "posts a user's text as a list of parts", upgrade=text_parts_as_text),
    SdkRow("posted-pieces", None, "posts texts that overlapped as several messages of one id", upgrade=join_texts),
    SdkRow("posted-order", None, "posts a tool's result where it arrived", upgrade=results_behind_calls),
)
"""In the order in which a plan applies them. What is changed on the way in has an order of its own: `history/upgrade.py`."""
