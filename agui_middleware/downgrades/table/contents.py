"""What a single event or message holds: members, roles, content parts, values, and whole types that carry a value.

A row belongs here where the event or message itself is enough to tell what an older release cannot read.
"""

from agui_middleware.downgrades.activities import without_activities
from agui_middleware.downgrades.binary_parts import binary_parts_as_media, posted_media
from agui_middleware.downgrades.downgrade import After, Difference, Downgrade
from agui_middleware.downgrades.empty_state import with_empty_state
from agui_middleware.downgrades.encrypted_value_types import without_encrypted_value_types
from agui_middleware.downgrades.encrypted_values import without_encrypted_values
from agui_middleware.downgrades.file_sources import without_file_sources
from agui_middleware.downgrades.input_echo import report_input_echo
from agui_middleware.downgrades.input_lists import with_input_lists, with_required_members
from agui_middleware.downgrades.interrupts import interrupts_as_custom
from agui_middleware.downgrades.media_parts import binary_as_media, media_parts_as_binary
from agui_middleware.downgrades.names import report_names
from agui_middleware.downgrades.outcomes import readable_outcomes
from agui_middleware.downgrades.patch_operations import without_unknown_patch_operations
from agui_middleware.downgrades.protocol_version import older_protocol_version, without_protocol_version
from agui_middleware.downgrades.reasoning_messages import without_reasoning_messages
from agui_middleware.downgrades.result_parts import join_result_parts
from agui_middleware.downgrades.results import without_results
from agui_middleware.downgrades.thinking_events import without_thinking_events
from agui_middleware.downgrades.unknown_members import without_unknown_members
from agui_middleware.downgrades.user_parts import join_user_parts

CONTENTS: tuple[Downgrade, ...] = (
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
        loss="the type of a value that the client sends back",
    ),
    Downgrade(
        "protocol-1.1",
        "1.1.0",
        older_protocol_version,
        "speaks AG-UI 1.0; a stream that was translated may not claim 1.1",
        broken_since="1.0.0",
    ),
    Downgrade(
        "result-parts",
        "1.0.0",
        join_result_parts,
        "rejects a tool result that is a list of content parts",
        loss="all but the text of a tool result",
        differences=(Difference.RESULT_TEXT,),
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
        binary_parts_as_media,
        "keeps the content parts from before media had a kind, which 1.0.0 turns into media parts",
        broken_since="0.0.41",
        differences=(Difference.BINARY_HANDLES,),
        upgrade=posted_media,
    ),
    Downgrade(
        "file-sources",
        "1.0.0",
        without_file_sources,
        "rejects media whose source is a provider's handle",
        loss="the media that are named by a handle",
        broken_since="0.0.41",
        differences=(Difference.WITHOUT_HANDLES,),
    ),
    Downgrade(
        "patch-operations",
        "1.0.0",
        without_unknown_patch_operations,
        "ignores a whole patch for one operation that RFC 6902 does not have, which 1.0.0 leaves out",
    ),
    Downgrade(
        "empty-state",
        "1.0.0",
        with_empty_state,
        "ignores a state of null, false, 0 or the empty string",
        differences=(Difference.EMPTY_STATE,),
    ),
    Downgrade(
        "outcomes",
        "1.0.0",
        readable_outcomes,
        "rejects the outcome `cancelled`, and members of an outcome that it does not know",
        loss="that a run was cancelled: it reads as success",
        broken_since="0.0.54",
    ),
    Downgrade(
        "input-lists",
        "1.0.0",
        with_input_lists,
        "rejects an input echo without `tools` or `context`",
        broken_since="0.0.41",
        upgrade=with_required_members,
    ),
    Downgrade(
        "interrupts",
        "0.0.54",
        interrupts_as_custom,
        "ignores how a run ended; of one that waits for an answer, its chats read CUSTOM `on_interrupt`",
        loss="that a run was cancelled: it reads as success",
    ),
    Downgrade(
        "media-parts",
        "0.0.49",
        media_parts_as_binary,
        "knows media as parts of the type `binary`",
        loss="what a part says about its media, the file name apart",
        broken_since="0.0.41",
        differences=(Difference.MEDIA_AS_BINARY,),
        upgrade=binary_as_media,
    ),
    Downgrade(
        "names",
        "0.0.48",
        report_names,
        "ignores the name of a text message",
        loss="the name of a text message's speaker",
        differences=(Difference.WITHOUT_NAMES,),
        reports_only=True,
    ),
    Downgrade(
        "reasoning-messages",
        "0.0.45",
        without_reasoning_messages,
        "rejects messages of the role `reasoning`",
        loss="reasoning that a snapshot or an input echo restates",
        differences=(Difference.WITHOUT_REASONING,),
        after=(
            After("runs-after-error", "whether the next run brings messages decides how a failed one ends"),
            After("lost-parents", "a lost parent is recognised by the role of its message"),
            After("reopened-texts", "a text is recognised by the role of its message"),
            After("call-parents", "a parent that is no assistant is recognised by the role of its message"),
        ),
    ),
    Downgrade(
        "encrypted-values",
        "0.0.45",
        without_encrypted_values,
        "rejects REASONING_ENCRYPTED_VALUE, and keeps no encrypted value",
        loss="values that a model gave the client to keep",
        differences=(Difference.WITHOUT_ENCRYPTED_VALUES,),
        after=(
            After(
                "runs-after-error",
                "an event between RUN_ERROR and the next RUN_STARTED parts the two, even one that is dropped",
            ),
        ),
    ),
    Downgrade(
        "activities",
        "0.0.41",
        without_activities,
        "rejects activities, as events and as messages",
        loss="activities",
        differences=(Difference.WITHOUT_ACTIVITIES,),
        after=(
            After("activity-texts", "the ids of activities tell which texts are dropped"),
            After("lost-parents", "a lost parent is recognised by the role of its message"),
            After("call-parents", "a parent that is no assistant is recognised by the role of its message"),
            After("reopened-texts", "a text is recognised by the role of its message"),
        ),
    ),
    Downgrade(
        "user-parts",
        "0.0.41",
        join_user_parts,
        "rejects a user message that is a list of content parts",
        loss="all but the text of a user message",
        differences=(Difference.USER_TEXT,),
        upgrade=posted_media,
    ),
    Downgrade(
        "input-echo",
        "0.0.41",
        report_input_echo,
        "ignores the input echo of a run",
        loss="messages that only an input echo brings",
        differences=(Difference.WITHOUT_ECHO,),
        reports_only=True,
        upgrade=with_required_members,
    ),
    Downgrade(
        "thinking-events",
        "0.0.37",
        without_thinking_events,
        "rejects THINKING_START, and with it all thinking",
        loss="a model's reasoning",
        differences=(Difference.WITHOUT_REASONING,),
        after=(
            After(
                "runs-after-error",
                "an event between RUN_ERROR and the next RUN_STARTED parts the two, even one that is dropped",
            ),
            After("lost-parents", "a lost parent is recognised by the role of its message"),
        ),
    ),
    Downgrade(
        "results",
        "0.0.34",
        without_results,
        "rejects TOOL_CALL_RESULT, or tells the application nothing of it",
        loss="what a tool answered, unless a snapshot restates it",
        differences=(Difference.WITHOUT_RESULTS,),
        after=(
            After("lost-parents", "a lost parent is recognised by the role of its message"),
            After("call-parents", "a parent that is no assistant is recognised by the role of its message"),
        ),
    ),
)
