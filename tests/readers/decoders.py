"""The decoders of the SDKs that do not install here, each as its source has it: `proof="source"` in the table of SDKs.

What stands here was read in the sources of each version; `test_decoders.py` holds every rewritten run before them.
"""

from typing import ClassVar

from tests.readers import orders
from tests.readers.decoding import (
    ACTIVITY,
    BASIC,
    CALL,
    CALL_CHUNK,
    REASONING,
    RESULT,
    RUN,
    SNAPSHOT,
    STATE,
    STEP,
    TEXT,
    TEXT_CHUNK,
    THINKING,
    Decoder,
    Order,
    Rule,
)
from tests.readers.rules import (
    BASIC_ROLES,
    MEDIA,
    empty_deltas,
    full_patch,
    integer_timestamp,
    known_outcome,
    messages,
    null,
    nulls,
    only,
    role_of,
    short_ids,
    state_given,
    string_result,
    uuids,
)

CHUNKS = TEXT_CHUNK | CALL_CHUNK
PARTS = ("text", "binary", *MEDIA)


class Dart010(Decoder):
    """An unknown type is an error of its stream, at which `await for` ends."""

    client = "ag_ui@0.1.0"
    known = BASIC | CHUNKS | THINKING
    rules = (
        integer_timestamp,
        empty_deltas("TEXT", "TOOL", "THINKING"),
        messages(BASIC_ROLES),
        string_result,
        short_ids,
    )


class Dart020(Decoder):
    client = "ag_ui@0.2.0"
    known = BASIC | CHUNKS | THINKING | ACTIVITY | REASONING
    rules = (
        messages(parts=PARTS),
        string_result,
        short_ids,
        role_of("REASONING_MESSAGE_START", "reasoning"),
        empty_deltas("THINKING"),
        null("messageId", "toolCallId", "delta", "content"),
    )


class Kotlin021(Decoder):
    """What it cannot read it drops; a START that it dropped makes its verifier end the run."""

    client = "kotlin-client@0.2.1"
    known = BASIC | CHUNKS | THINKING
    faults = "drop"
    rules: ClassVar[tuple[Rule, ...]] = (
        integer_timestamp,
        empty_deltas("TEXT"),
        null("role", "replace"),
        messages(BASIC_ROLES, ("text", "binary"), echo=False),
        string_result,
    )
    order: ClassVar[type[Order]] = orders.OneAtATime


class Kotlin024(Kotlin021):
    client = "kotlin-client@0.2.4"
    known = Kotlin021.known | ACTIVITY


class Kotlin025(Kotlin024):
    client = "com.ag-ui.community:kotlin-client:0.2.5"
    order = orders.Keyed


class Kotlin040(Kotlin025):
    client = "kotlin-core/0.4.0"
    known = Kotlin025.known | REASONING


class Kotlin041(Kotlin040):
    client = "kotlin-client@0.4.1"
    rules = (*Kotlin040.rules, known_outcome)


class Go202510(Decoder):
    """No verifier: the error of its decoder reaches the application, and the sample program stops."""

    client = "ag-ui-go@v0.0.0-20251010120000-abcdef123456"
    known = BASIC | CHUNKS | THINKING
    rules = (integer_timestamp, string_result)


class Go202511(Go202510):
    client = "ag-ui-go@v0.0.0-20251120120000-abcdef123456"
    known = Go202510.known | ACTIVITY


class Go202602(Go202511):
    client = "ag-ui-go@v0.0.0-20260226120000-abcdef123456"
    known = Go202511.known | REASONING


class Java001(Decoder):
    """Jackson's default: a member that the class has no field for loses the event, in Spring's flavour the run."""

    client = "com.ag-ui:client:0.0.1"
    known = BASIC - STATE - {"RAW", "CUSTOM"}
    rules = (
        messages(BASIC_ROLES, echo=False),
        string_result,
        only(
            {
                "RUN_STARTED": ("threadId", "runId"),
                "RUN_FINISHED": ("threadId", "runId", "result"),
                "RUN_ERROR": ("error",),
                "STEP_STARTED": ("stepName",),
                "STEP_FINISHED": ("stepName",),
                "TEXT_MESSAGE_START": ("messageId", "role"),
                "TEXT_MESSAGE_CONTENT": ("messageId", "delta"),
                "TEXT_MESSAGE_END": ("messageId",),
                "TOOL_CALL_START": ("toolCallId", "toolCallName", "parentMessageId"),
                "TOOL_CALL_ARGS": ("toolCallId", "delta"),
                "TOOL_CALL_END": ("toolCallId",),
                "TOOL_CALL_RESULT": ("toolCallId", "messageId", "content", "role"),
                "MESSAGES_SNAPSHOT": ("messages",),
            }
        ),
    )


class Java010(Decoder):
    client = "com.ag-ui.community:java-client:0.1.0"
    known = BASIC | CHUNKS | ACTIVITY | REASONING | {"META_EVENT"}
    rules = (
        empty_deltas("TEXT", "TOOL", "REASONING"),
        messages(BASIC_ROLES),
        string_result,
        known_outcome,
        nulls(),
        integer_timestamp,
    )


class RustCommunity(Decoder):
    """Reads UUIDs only as ids. A frame with nothing but a comment is an error."""

    client = "ag-ui-client-uuids@0.1.0"
    known = BASIC | CHUNKS | THINKING
    rules = (
        uuids,
        role_of("TEXT_MESSAGE_START", *BASIC_ROLES),
        messages(BASIC_ROLES, echo=False),
        string_result,
    )
    order = orders.OneEntity
    comments = False


class RustK(Decoder):
    client = "ag-ui@0.2.0"
    known = BASIC | CHUNKS | ACTIVITY | REASONING | THINKING
    rules = (integer_timestamp, messages(parts=PARTS), string_result, known_outcome)
    order = orders.OneRun


class DotNet251105(Decoder):
    """Throws at all that it does not know."""

    client = "Microsoft.Agents.AI.AGUI@1.0.0-preview.251105.1"
    known = RUN | TEXT
    rules = (integer_timestamp, role_of("TEXT_MESSAGE_START", *BASIC_ROLES), string_result)
    order = orders.OneEntity


class DotNet251107(DotNet251105):
    client = "Microsoft.Agents.AI.AGUI@1.0.0-preview.251107.2"
    known = DotNet251105.known | CALL | RESULT


class DotNet251110(DotNet251107):
    client = "Microsoft.Agents.AI.AGUI@1.0.0-preview.251110.1"
    known = DotNet251107.known | STATE


class DotNet15(DotNet251110):
    client = "Microsoft.Agents.AI.AGUI/1.5"
    known = DotNet251110.known | REASONING


class AguiClient(Decoder):
    client = "AGUI.Client@0.0.5"
    known = RUN | STEP | TEXT | CALL | RESULT | STATE | SNAPSHOT | ACTIVITY | REASONING | {"RAW", "CUSTOM"}
    rules = (
        integer_timestamp,
        role_of("TEXT_MESSAGE_START", *BASIC_ROLES),
        messages(parts=PARTS),
        string_result,
        known_outcome,
        null("replace", "timestamp"),
    )
    order = orders.Keyed


class Cpp(Decoder):
    """Skips unknown types. A null where a string stands, and content that is not a string, end the run."""

    client = "ag-ui-cpp@1.0.0"
    known = BASIC | CHUNKS | THINKING | ACTIVITY
    ignored = frozenset({"*"})
    rules = (
        empty_deltas("TEXT"),
        nulls("role", "name", "code", "parentMessageId", "timestamp"),
        messages(("user", "assistant", "system", "developer", "tool", "reasoning"), echo=False),
        string_result,
        full_patch,
        state_given,
    )
    order = orders.LooseSteps


class Swift(Decoder):
    """Skips what it cannot read, and ends the run where that was a START."""

    client = "ag-ui-swift@1.0.0"
    known = BASIC | CHUNKS | THINKING | ACTIVITY
    faults = "drop"
    rules = (integer_timestamp, string_result)
    order = orders.Keyed


def _all(cls: type[Decoder]) -> list[type[Decoder]]:
    return [each for sub in cls.__subclasses__() for each in [sub, *_all(sub)]]


DECODERS: list[type[Decoder]] = _all(Decoder)
