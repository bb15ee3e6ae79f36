"""The columns of the table of event types, and the values that they take. The table is `event_types.EVENT_KINDS`."""

from enum import Enum, auto
from typing import Final, NamedTuple


class Entity(NamedTuple):
    """What an event is about."""

    name: str
    id: str | None
    """The member of `Head` that names the entity; `None`: no member does, since there is one at a time."""
    bucket: str | None = None
    """Entities of one bucket share their ids, and with them their owner; `None`: they have no owner of their own."""
    role: str | None = None
    """The role of the message that the entity makes in the conversation, or that holds it; `None`: it makes none."""
    start_members: tuple[str, ...] = ()
    """The members of its START that a chunk may carry instead."""


TEXT: Final = Entity("text message", "messageId", "message", "assistant", ("role", "name"))
CALL: Final = Entity("tool call", "toolCallId", "call", "assistant", ("toolCallName", "parentMessageId"))
REASONING: Final = Entity("reasoning message", "messageId", "reasoning", "reasoning")
REASONING_SPAN: Final = Entity("reasoning span", "messageId", "reasoning")
THINKING: Final = Entity("thinking message", None, "thinking")
THINKING_SPAN: Final = Entity("thinking span", None, "thinking")
ACTIVITY: Final = Entity("activity", "messageId", "activity", "activity")
STEP: Final = Entity("step", "stepName")
SUBAGENT: Final = Entity("subagent", "subagentRunId")
RUN: Final = Entity("run", None)
STATE: Final = Entity("state", None)
CONVERSATION: Final = Entity("conversation", None)
ENCRYPTED_VALUE: Final = Entity("encrypted value", "entityId")
PAYLOAD: Final = Entity("data of the application's own", None)


class Action(Enum):
    """What an event does to the entity that it is about."""

    OPENS = auto()
    CONTINUES = auto()
    """It appends its `delta`: the events that a stream consists of nearly altogether."""
    CLOSES = auto()
    ABBREVIATES = auto()
    """A chunk: it stands for a START, a CONTENT or both. The END follows from what comes behind it."""
    REPLACES = auto()
    """It brings the entity whole."""
    PATCHES = auto()
    ANSWERS = auto()
    """It adds a message to the conversation that answers the entity."""
    REPORTS = auto()
    """None of these."""


class Owner(Enum):
    """Who owns an event: the parent, or a subagent. The filter `hidden` drops what a subagent owns.

    The tag of an event is its `subagentRunId`.
    """

    RUN = auto()
    """The run, whatever the tag: the event is not hidden."""
    SUBAGENT = auto()
    """A subagent, whatever the tag: the event only exists for it."""
    TAG = auto()
    """The subagent that the tag names, else the parent."""
    ENTITY = auto()
    """The subagent that the tag names, else the owner of the entity."""
    CLAIMS = auto()
    """As `ENTITY`, and that is the owner of the entity from here on."""
    CALL = auto()
    """The owner of the call that the event answers; the tag decides only where the call is unknown."""
    STEP = auto()
    """The subagent that the tag names, else whoever has a step of that name open."""
    HOLDER = auto()
    """The subagent that the tag names, else the owner of the message or call that the value belongs to."""


class Closes(Enum):
    """Which lanes of the chunk shorthand an event closes, see `chunk_lanes`."""

    NONE = auto()
    CHUNK = auto()
    """It continues what its lane holds, or takes the lane over."""
    TAG = auto()
    """The lane of the subagent that its tag names, or the parent's."""
    SUBAGENT = auto()
    """The lane of the subagent that it is about, and never the parent's."""
    ALL = auto()


class Carries(Enum):
    """Which objects with a `subagentRunId` of their own an event holds."""

    NOTHING = auto()
    MESSAGES = auto()
    """Messages, in its `messages`."""
    ECHO = auto()
    """Messages, in the `messages` of its `input`."""
    OUTCOME = auto()
    """Interrupts, in the `interrupts` of its `outcome`."""


class EventKind(NamedTuple):
    """One row of the table. No column has a default: whoever adds an event type decides each."""

    since: str
    """The first release of @ag-ui/client that reads the type; releases before 1.0.0 reject a type that they do not."""
    about: Entity
    action: Action
    owner: Owner
    closes: Closes
    carries: Carries
