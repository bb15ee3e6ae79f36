"""The words of the table of event types: what an event is about, what it does to it, and who may own it."""

from enum import Enum, auto
from typing import Final, NamedTuple


class Entity(NamedTuple):
    """What an event is about."""

    name: str
    id: str | None
    """The member of an event that names it; `None`: no member does, there is one at a time."""
    bucket: str | None = None
    """The kind under which its owner is remembered: entities of one bucket share their ids. `None`: nobody opens it."""
    role: str | None = None
    """The role of the message that it makes in the conversation, if it makes one."""
    start_members: tuple[str, ...] = ()
    """The members that a chunk may carry for the START that it stands for."""


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
ENCRYPTED: Final = Entity("what an encrypted value belongs to", "entityId")
NOTHING: Final = Entity("nothing", None)


class Does(Enum):
    """What an event does to what it is about."""

    OPENS = auto()
    CONTINUES = auto()
    """It adds the text in its `delta`."""
    CLOSES = auto()
    EXPANDS = auto()
    """A chunk: it stands for an opening, a continuation, or both, and what is behind it for the close."""
    REPLACES = auto()
    """It brings all of it, and puts that in the place of what was there."""
    PATCHES = auto()
    ANSWERS = auto()
    """It adds a message of its own to the conversation, for what it is about."""
    MARKS = auto()
    """It leaves a value on it, or is only seen as it passes."""


class Owner(Enum):
    """Who may own an event: the parent, or a subagent. `hidden` drops what a subagent owns."""

    RUN = auto()
    """Nobody: the event is the run's, and may carry no tag."""
    SHARED = auto()
    """Nobody: the event is the run's, and a tag only says who sent it."""
    SUBAGENT = auto()
    """A subagent always: the event is about one, and its tag says which."""
    TAG = auto()
    """Whoever its tag names."""
    ENTITY = auto()
    """Whoever its tag names, or opened the entity that it is about."""
    CALL = auto()
    """Whoever made the call that it answers, whatever its tag."""
    STEP = auto()
    """Whoever its tag names, or has a step of that name open."""
    HOLDER = auto()
    """Whoever its tag names, or owns the message or call that its value belongs to."""


class Lane(Enum):
    """What an event does to the lanes of AG-UI's chunk shorthand, see `agui_middleware.protocol.chunk_lanes`."""

    NEUTRAL = auto()
    """It closes none."""
    TAKES = auto()
    """A chunk: it continues what its lane holds, or takes the lane's place."""
    CLOSES_OWN = auto()
    """It closes the lane of its tag."""
    CLOSES_SUBJECTS = auto()
    """It closes the lane of the subagent that it is about."""
    CLOSES_ALL = auto()


class Carries(Enum):
    """What an event holds that has owners of its own."""

    NOTHING = auto()
    MESSAGES = auto()
    INTERRUPTS = auto()


class EventKind(NamedTuple):
    """One row of the table: all that the package derives from an event's type. No column has a default."""

    since: str
    """The first release of @ag-ui/client that knows the type."""
    about: Entity
    does: Does
    owner: Owner
    lane: Lane
    carries: Carries
