"""Generated agent loops, and where everything they say has to be found."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal, TypeVar

from hypothesis import strategies as st

from agui_middleware.agent_events import (
    AgentEvent,
    AssistantText,
    Compacted,
    Done,
    MessageDelivered,
    Nested,
    QueuedInput,
    RunOutcome,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolDenied,
    ToolResult,
    TurnStart,
    TurnUsage,
    Usage,
)

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[T]], T]
Owner = tuple[str, ...]
"""The words in the input of the calls that lead to a run, outermost first; none for the agent itself."""

DEPTH = 3
STATUS: tuple[Literal["finished", "refused", "limit", "cancelled", "error"], ...] = (
    "finished",
    "refused",
    "limit",
    "cancelled",
    "error",
)


@dataclass(frozen=True)
class Said:
    """A word, the role of the message that has to hold it (`call`: one of its calls), and whose message that is."""

    word: str
    role: str
    owner: Owner


@dataclass
class Loop:
    events: list[AgentEvent] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    input_tokens: int = 0

    @property
    def status(self) -> str:
        done = self.events[-1]
        assert isinstance(done, Done)
        return done.outcome.status


class Writer:
    """Writes one loop. No word is used twice, so each can be looked for."""

    def __init__(self, draw: Any) -> None:
        self.draw: Draw[Any] = draw
        self.loop = Loop()
        self.numbers = count()

    def word(self, role: str, owner: Owner) -> str:
        decoration = self.draw(st.sampled_from(["", "\n\n", '"', "\u2028", "é", "😀", "\\"]))
        word = f"<{next(self.numbers)}>"
        self.loop.said.append(Said(word, role, owner))
        return f"{word}{decoration}"

    def flip(self) -> bool:
        return bool(self.draw(st.booleans()))

    def few(self, most: int = 2) -> range:
        return range(self.draw(st.integers(0, most)))

    def interleaved(self, lanes: Sequence[Sequence[AgentEvent]]) -> list[AgentEvent]:
        """Any order that keeps each lane's own."""
        turns = [index for index, lane in enumerate(lanes) for _ in lane]
        iterators = [iter(lane) for lane in lanes]
        return [next(iterators[index]) for index in self.draw(st.permutations(turns))]


class RunWriter:
    """Writes one run of the loop, with the runs inside it."""

    def __init__(self, writer: Writer, owner: Owner) -> None:
        self.writer = writer
        self.owner = owner
        self.announces = writer.flip()
        self.concludes = writer.flip()
        self.numbers = count(1)
        self.last: str | None = None

    def run(self, *, must_end: bool) -> list[AgentEvent]:
        events: list[AgentEvent] = []
        for turn in self.writer.few():
            if self.announces:
                events.append(TurnStart(turn=turn + 1))
                self.last = None
            events += self.turn()
        return [*events, self.done()] if must_end or self.writer.flip() else events

    def turn(self) -> list[AgentEvent]:
        calls = [self.call() for _ in self.writer.few()]
        speech: list[Sequence[AgentEvent]] = [self.thinking(), self.text(), [call for call, _ in calls]]
        answers: list[Sequence[AgentEvent]] = [[*lane, *self.asides()] for _, lane in calls]
        return self.writer.interleaved(speech) + self.writer.interleaved([*answers, self.asides()])

    def thinking(self) -> list[AgentEvent]:
        return [ThinkingDelta(text=self.writer.word("reasoning", self.owner)) for _ in self.writer.few()]

    def text(self) -> list[AgentEvent]:
        pieces = [self.writer.word("assistant", self.owner) for _ in self.writer.few()]
        events: list[AgentEvent] = [TextDelta(text=piece) for piece in pieces]
        if self.concludes:
            unstreamed = [self.writer.word("assistant", self.owner) for _ in self.writer.few(1)]
            pieces += unstreamed
            events.append(AssistantText(text="".join(pieces)))
        if pieces:
            self.last = "".join(pieces)
        return events

    def call(self) -> tuple[AgentEvent, list[AgentEvent]]:
        """The call, and what happens inside it up to its result, which may overtake the last of that."""
        writer, name = self.writer, self.writer.draw(st.sampled_from(["ask", "look"]))
        word = writer.word("call", self.owner)
        # Every run numbers its calls from one, as loops do that do not have a provider's ids.
        id = f"call_{next(self.numbers)}"
        inner: list[AgentEvent] = []
        if len(self.owner) < DEPTH and writer.flip():
            child = RunWriter(writer, (*self.owner, said_word(word))).run(must_end=False)
            inner = [Nested(tool=name, id=id, event=event) for event in child]
        result = ToolResult(id=id, name=name, is_error=writer.flip(), content=writer.word("tool", self.owner))
        position = writer.draw(st.integers(0, len(inner))) if writer.flip() else len(inner)
        return ToolCall(id=id, name=name, input={"q": word}), [*inner[:position], result, *inner[position:]]

    def asides(self) -> list[AgentEvent]:
        kinds: list[Callable[[], AgentEvent]] = [
            lambda: QueuedInput(text=self.writer.word("user", self.owner)),
            lambda: MessageDelivered(id=self.writer.word("activity", self.owner), from_="bob"),
            lambda: ToolDenied(name="ask", reason="no"),
            lambda: Compacted(messages_before=3, messages_after=1, prompt_tokens=9),
            self.usage,
        ]
        return [self.writer.draw(st.sampled_from(kinds))() for _ in self.writer.few(1)]

    def usage(self) -> AgentEvent:
        self.writer.loop.input_tokens += 1
        return TurnUsage(usage=Usage(input_tokens=1))

    def done(self) -> Done:
        text = self.last
        if text is None and (self.announces or next(self.numbers) == 1) and self.writer.flip():
            text = self.writer.word("assistant", self.owner)
        status = self.writer.draw(st.sampled_from(STATUS))
        return Done(outcome=RunOutcome(status=status, text=text))


def said_word(text: str) -> str:
    """The word without its decoration."""
    return text[: text.index(">") + 1]


@st.composite
def loops(draw: Any) -> Loop:
    """Loops that keep their own rules, with nested runs to depth 3 in any interleaving."""
    writer = Writer(draw)
    writer.loop.events = RunWriter(writer, ()).run(must_end=True)
    return writer.loop


def _flat() -> st.SearchStrategy[AgentEvent]:
    texts = st.sampled_from(["", "a", "ab", "b", "\ud83d"])
    ids = st.sampled_from(["1", "2"])
    tools = st.sampled_from(["ask", "look"])
    usages = st.builds(Usage, model=st.sampled_from([None, "m"]), input_tokens=st.sampled_from([None, 0, 2**53 - 1]))
    outcomes = st.builds(RunOutcome, status=st.sampled_from(STATUS), text=st.none() | texts, error=st.none() | texts)
    return st.one_of(
        st.builds(TurnStart, turn=st.integers(-1, 3)),
        st.builds(ThinkingDelta, text=texts),
        st.builds(TextDelta, text=texts),
        st.builds(AssistantText, text=texts),
        st.builds(ToolCall, id=ids, name=tools, input=st.sampled_from([None, {}, "a", [1.5, {"": None}]])),
        st.builds(ToolDenied, name=tools, reason=texts),
        st.builds(ToolResult, id=ids, name=tools, is_error=st.booleans(), content=texts),
        st.builds(TurnUsage, usage=usages),
        st.builds(QueuedInput, text=texts),
        st.builds(MessageDelivered, id=ids, from_=texts),
        st.builds(Compacted, messages_before=st.just(2), messages_after=st.just(1), prompt_tokens=st.just(0)),
        st.builds(Done, outcome=outcomes),
    )


def _nested(events: st.SearchStrategy[AgentEvent]) -> st.SearchStrategy[AgentEvent]:
    return st.builds(Nested, tool=st.sampled_from(["ask", "look"]), id=st.sampled_from([None, "1", "2"]), event=events)


def disorder() -> st.SearchStrategy[list[AgentEvent]]:
    """Loops that keep no rule at all: anything, from anywhere, in any order."""
    flat = _flat()
    level = [flat]
    for _ in range(DEPTH):
        level.append(_nested(level[-1]))
    return st.lists(st.one_of(level), max_size=30)
