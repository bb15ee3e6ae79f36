"""The rows of the table of downgrades, and the ways in which a conversation may end differently for an older release."""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from agui_middleware.filters.contract import Filter
from agui_middleware.protocol.posted import Posted

Upgrade = Callable[[Posted], Posted]
"""Takes a posted RunAgentInput, and returns the same object where it has nothing to change."""


class Difference(StrEnum):
    """One way in which an older release ends differently, in spite of its downgrade or for want of one.

    A row of `DOWNGRADES` declares those of its feature; what no row declares does not differ. The value completes the
    sentence "the conversation ends ...".
    """

    WITHOUT_RESULTS = "without tool results that no snapshot restates"
    FINISHED_CALLS = (
        "with a tool call's name and arguments as they were when it was answered, restated or its run ended"
    )
    EMPTY_CONTENT = "with no content, instead of an empty one, on messages that a tool call made"
    WITHOUT_OTHER_ROLES = "without texts that are streamed in another role than the assistant's"
    WITHOUT_REVIVED = "without what is added to a text whose message a snapshot deletes and another event brings back"
    IN_PIECES = "with several messages or tool calls of one id where one goes on after its end, or a text joins a call"
    WITHOUT_ATTRIBUTION = "with no `subagentRunId` on its messages"
    WITHOUT_METADATA = "with no `metadata` on its messages and tool calls"
    RESULTS_LAST = "with a tool's result where it arrived, instead of behind its call"
    RESULT_TEXT = "with nothing but the text of a tool's result"
    WITHOUT_HANDLES = "without media that are named by a provider's handle"
    WITHOUT_PART_MEMBERS = "with no `id` on content parts, and no `metadata` on their texts"
    BINARY_HANDLES = "with `binary` parts that have nothing but an `id`"
    MEDIA_AS_BINARY = "with `binary` parts in place of images, audios, videos and documents"
    USER_TEXT = "with nothing but the text of a user's message"
    WITHOUT_ECHO = "without messages that only an input echo brings"
    EMPTY_STATE = "with the state `{}` in place of null, false, 0 or the empty string"
    WITHOUT_NAMES = "with no `name` on text messages that no snapshot restates"
    WITHOUT_REASONING = "without messages of the role `reasoning`"
    WITHOUT_ENCRYPTED_VALUES = "with no `encryptedValue` on its messages and tool calls"
    WITHOUT_ACTIVITIES = "without activities"
    WITHOUT_ERRORS = "with no `error` on its tool messages"
    WITHOUT_EARLIER = "without reasoning and activities of an earlier run that a snapshot leaves out"
    OTHER_ACTIVITIES = "with activities that a snapshot has deleted, or without some that it has not"
    OTHER_REASONING = "with reasoning that a snapshot has replaced"
    SNAPSHOT_ORDER = "with its messages in the order of a snapshot"
    OTHER_HOLDERS = "with a tool call in a message of its own, instead of in an older message"


class After(NamedTuple):
    """A row that another one has to come after."""

    row: str
    reason: str
    """What goes wrong otherwise."""


class Downgrade(NamedTuple):
    """One feature of AG-UI that older releases cannot read."""

    name: str
    fixed_in: str
    """The first release of @ag-ui/client that reads the feature."""
    filter: Filter | None
    """`None`: no rewriting helps, and the row only records what becomes of the feature."""
    symptom: str
    """What a release before `fixed_in` does with the feature: "rejects ...", "ignores ..."."""
    loss: str = ""
    """What the user of such a release goes without; empty where that is nothing."""
    broken_since: str = "0.0.0"
    """The first release that needs the row: earlier ones are unaffected, or an older row serves them."""
    differences: tuple[Difference, ...] = ()
    """How messages and state may differ in the end from what 1.0.0 makes of the original stream."""
    reports_only: bool = False
    """The filter changes nothing: it only reports the loss."""
    after: tuple[After, ...] = ()
    """The rows whose output this one has to read. All other pairs may be swapped without changing a byte."""
    upgrade: Upgrade | None = None
    """The reverse, for the conversation that such a client posts, so far as the posted body alone tells."""

    @property
    def rewrites(self) -> bool:
        """Whether the stream is changed for releases that need the row."""
        return self.filter is not None and not self.reports_only
