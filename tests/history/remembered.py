"""Conversations of three turns with real clients and a record: what the agent gets in turns 2 and 3.

    python -m tests.history.remembered                 # every release, a tenth of the streams: twenty minutes on two cores
    python -m tests.history.remembered 0.0.36 0.0.58   # these

No HTTP and no store here: the stream goes through `rewrite`, both sides of it into a `Capture`, and what the client posts
next through `upgrade_posted` and `restore`.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol
from zlib import crc32

from agui_middleware import ClientVersion, Event, rewrite
from agui_middleware.config.readers import Reader
from agui_middleware.history.capture import Capture
from agui_middleware.history.merge import restore
from agui_middleware.history.record import Kept
from agui_middleware.protocol import posted as protocol
from tests.clients.client import RELEASES, Client, Outcome, Run
from tests.clients.corpus import REFERENCE
from tests.downgrades.cases import Case, cases
from tests.downgrades.proof import prepare
from tests.history.bodies import upgrade
from tests.history.conversations import astray, doubled, doubled_calls
from tests.history.routes import LIMIT, ROUTES, Route
from tests.notation import stream as events
from tests.strategies import Json, plain
from tests.strategies.reader import canonical

EMPTY_RUN = plain([dict(event) for event in events("RS r; RF r")])


Edit = Callable[[list[Json], list[Json], int], list[Json]]
"""What a user makes of the messages of a client; the second list is the one that the other client holds."""


def nothing(held: list[Json], other: list[Json], turn: int) -> list[Json]:
    return [*held, _typed(turn)]


def regenerate(held: list[Json], other: list[Json], turn: int) -> list[Json]:
    """Have the last question answered again: the last one that both clients hold."""
    asked = {message["id"] for message in other if message["role"] == "user"}
    last = max((place for place, m in enumerate(held) if m["role"] == "user" and m["id"] in asked), default=None)
    return nothing(held, other, turn) if last is None else held[: last + 1]


def edit(held: list[Json], other: list[Json], turn: int) -> list[Json]:
    chosen = _chosen(held, other, lambda message: isinstance(message.get("content"), str))
    return [
        message | {"content": "edited"} if message["id"] == chosen else message
        for message in nothing(held, other, turn)
    ]


def delete(held: list[Json], other: list[Json], turn: int) -> list[Json]:
    chosen = _chosen(held, other, lambda _: True)
    return [message for message in nothing(held, other, turn) if message["id"] != chosen]


def insert(held: list[Json], other: list[Json], turn: int) -> list[Json]:
    chosen = _chosen(held, other, lambda message: message["role"] != "tool")
    inserted: list[Json] = []
    for message in nothing(held, other, turn):
        if message["id"] == chosen:
            inserted.append({"id": f"inserted-{turn}", "role": "user", "content": "by the way"})
        inserted.append(message)
    return inserted


EDITS: tuple[Edit, ...] = (nothing, regenerate, edit, delete, insert)


def _chosen(held: list[Json], other: list[Json], fits: Callable[[Json], bool]) -> str | None:
    """The id of a message that both clients hold, once, and whose calls they hold alike."""

    def ids(messages: list[Json]) -> set[str]:
        every = [message["id"] for message in messages]
        return {
            message["id"]
            for message in messages
            if every.count(message["id"]) == 1 and fits(message) and message["role"] not in ("activity", "reasoning")
        }

    both = sorted(ids(held) & ids(other))
    return both[crc32(json.dumps(both).encode()) % len(both)] if both else None


def _typed(turn: int) -> Json:
    return {"id": f"typed-{turn}", "role": "user", "content": "go on"}


@dataclass(frozen=True)
class Turn:
    """What a release posts in one turn of a conversation, what the agent gets, and what it gets from 1.0.0."""

    release: str
    case: Case
    route: Route
    edit: Edit
    number: int
    body: bytes
    given: bytes
    """What the agent gets."""
    kept: Kept | None
    """The record by which that was restored."""
    expected: bytes
    runs: tuple[Case, ...] = ()
    """The runs so far."""
    earlier: "Turn | None" = None

    def __str__(self) -> str:
        return f"{self.case.name}, {self.route.name}, {self.edit.__name__}, turn {self.number}, {self.release}"

    @cached_property
    def posted(self) -> list[Json]:
        return messages_of(self.body)

    @cached_property
    def after(self) -> list[Json]:
        return messages_of(self.given)

    @property
    def is_as_1_0_0(self) -> bool:
        """Whether the agent gets what 1.0.0 posts, but for ids that a client mints, and numbers that JavaScript rounds."""
        ends = (
            Outcome(True, None, canonical(messages), None, None, None, []) for messages in (self.after, self.original)
        )
        return next(ends).ends_like(next(ends))

    @cached_property
    def original(self) -> list[Json]:
        return messages_of(self.expected)


def messages_of(body: bytes) -> list[Json]:
    messages: list[Json] = json.loads(body)["messages"]
    return messages


def read(body: bytes, client: ClientVersion | Reader) -> protocol.Posted:
    posted = protocol.Posted.read(upgrade(body, client))
    assert posted is not None
    return posted


def given(body: bytes, kept: Kept | None, client: ClientVersion) -> protocol.Posted:
    """What the agent gets of a body."""
    posted = read(body, client)
    return posted if kept is None else restore(posted, kept, client).posted


def frames(stream: bytes) -> list[bytes]:
    return [frame + b"\n\n" for frame in rewrite(stream).split(b"\n\n") if frame]


@dataclass
class Memory:
    """The record of one thread, and what goes through the middleware."""

    client: ClientVersion | Reader
    route: Route
    kept: Kept | None = None
    sent: list[tuple[bytes, list[bytes]]] = field(default_factory=list)

    def rewrite(self, stream: bytes) -> bytes:
        """What the client gets of a stream."""
        self.sent = []

        def pieces() -> Iterator[bytes]:
            for frame in frames(stream):
                self.sent.append((frame, []))
                yield frame

        rewritten = rewrite(
            pieces(), client=str(self.client), visibility=self.route.visibility, filters=self.route.filters
        )
        for output in rewritten:  # what the last frame has become, since the next one is taken only then
            self.sent[-1][1].extend(_split(output))
        return b"".join(frame for _, output in self.sent for frame in output)

    def remember(self, body: bytes) -> None:
        """The response to `body` has ended."""
        posted = read(body, self.client)
        agent = posted if self.kept is None else restore(posted, self.kept, self.client).posted
        capture = Capture(agent, posted, self.kept, self.client, LIMIT)
        for source, output in self.sent:
            event = _event(source)
            if event is not None:
                capture.agent_sent(event)
            for frame in output:
                written = event if frame == source else _event(frame)
                if written is not None:
                    capture.client_got(written)
        newer = capture.finish()
        if newer is not None:
            merged = newer if self.kept is None else self.kept.merged(newer)
            self.kept = Kept.read(merged.to_bytes(LIMIT))


def _split(output: bytes) -> list[bytes]:
    return [frame + b"\n\n" for frame in output.split(b"\n\n") if frame]


def _event(frame: bytes) -> Event | None:
    if not frame.startswith(b"data: "):
        return None
    return Event.parse(frame[6:-2])


class Exchange(NamedTuple):
    """One request and its response."""

    end: Outcome
    given: bytes
    """The body that the agent got."""
    kept: Kept | None
    """The record by which it was restored."""


class Server(Protocol):
    """What stands between a client and the agents of several conversations."""

    def answer(self, streams: Sequence[bytes], held: Sequence[list[Json]], states: Sequence[Any]) -> list[Exchange]:
        """Have the client post what it holds in each of them, and read the stream that its agent answers with."""
        ...


class InProcess:
    """No HTTP, and no store: a `Memory` a conversation."""

    def __init__(self, client: Client, route: Route, size: int) -> None:
        self._client = client
        self._version = ClientVersion.parse(client.release)
        self._memories = [Memory(self._version, route) for _ in range(size)]

    def answer(self, streams: Sequence[bytes], held: Sequence[list[Json]], states: Sequence[Any]) -> list[Exchange]:
        """See `Server`."""
        rewritten = [memory.rewrite(stream) for memory, stream in zip(self._memories, streams, strict=True)]
        ends = post(self._client, rewritten, held, states)
        return [self._exchange(memory, end) for memory, end in zip(self._memories, ends, strict=True)]

    def _exchange(self, memory: Memory, end: Outcome) -> Exchange:
        body, kept = end.posted.encode(), memory.kept
        memory.remember(body)
        return Exchange(end, given(body, kept, self._version).raw, kept)


def converse(
    client: Client,
    reference: Client,
    chosen: Sequence[Case],
    route: Route,
    edit: Edit,
    server: Server | None = None,
) -> Iterator[Turn]:
    """Conversations of three turns: each case is the first run of one, and the next case its second."""
    server = server or InProcess(client, route, len(chosen))
    following = [*chosen[1:], *chosen[:1]]
    turns: dict[int, Turn] = {}
    streams = [[case.run.stream for case in chosen], [case.run.stream for case in following], [EMPTY_RUN] * len(chosen)]
    held: list[list[Json]] = [[*map(dict, case.run.messages), _typed(1)] for case in chosen]
    theirs = list(held)
    states: list[Any] = [case.run.state for case in chosen]
    other_states = list(states)
    for number, originals in enumerate(streams, 1):
        exchanges = server.answer(originals, held, states)
        others = post(reference, originals, theirs, other_states)
        for place, (exchange, other) in enumerate(zip(exchanges, others, strict=True)):
            if number > 1:
                turns[place] = Turn(
                    client.release,
                    chosen[place],
                    route,
                    edit,
                    number,
                    exchange.end.posted.encode(),
                    exchange.given,
                    exchange.kept,
                    other.posted.encode(),
                    (chosen[place], following[place])[: number - 1],
                    turns.get(place),
                )
                yield turns[place]
        ends = [exchange.end for exchange in exchanges]
        lists = [(end.messages, other.messages) for end, other in zip(ends, others, strict=True)]
        held = [edit(ours, other, number + 1) for ours, other in lists]
        theirs = [edit(other, ours, number + 1) for ours, other in lists]
        states, other_states = [end.state for end in ends], [end.state for end in others]


def post(client: Client, streams: Sequence[bytes], held: Sequence[list[Json]], states: Sequence[Any]) -> list[Outcome]:
    """Have a client post what it holds, and read the streams."""
    runs = [
        Run(stream, messages=messages, state=state)
        for stream, messages, state in zip(streams, held, states, strict=True)
    ]
    return client.read_many(runs)


def reason(turn: Turn) -> str | None:
    """Why the agent may get something else than from 1.0.0. Each is a row of the table in history/README.md.

    What was so in an earlier turn stays so.
    """
    found = next((reason for reason, holds in REASONS.items() if holds(turn)), None)
    if found is None and turn.earlier is not None and not turn.earlier.is_as_1_0_0:
        return reason(turn.earlier)
    return found


def _thinks(turn: Turn) -> bool:
    return any(event["type"].startswith("THINKING_") for run in turn.runs for event in run.events)


def _uses_calls_again(turn: Turn) -> bool:
    """Whether a call of an earlier run is opened again."""
    opened = [
        {event.get("toolCallId") for event in run.events if event["type"] in ("TOOL_CALL_START", "TOOL_CALL_CHUNK")}
        for run in turn.runs
    ]
    return len(opened) > 1 and bool(opened[0] & opened[1])


def _has_handles(turn: Turn) -> bool:
    return '"file"' in json.dumps(turn.after) and '"binary"' in json.dumps([run.events for run in turn.runs])


def _uses_ids_again(turn: Turn) -> bool:
    roles: dict[str, set[str]] = {}
    for message in (*turn.original, *(restated for run in turn.runs for restated in _restated(run))):
        roles.setdefault(message["id"], set()).add(message["role"])
    return any(len(given) > 1 for given in roles.values())


def _restated(run: Case) -> Iterator[Json]:
    for event in run.events:
        yield from event.get("messages", ())
        yield from event.get("input", {}).get("messages", ())


def _deletes_a_question(turn: Turn) -> bool:
    chain = turn.kept.chains[0] if turn.kept and turn.kept.chains else None
    if turn.edit is not delete or chain is None:
        return False
    posted = {message["id"] for message in turn.posted}
    asked = (key for key, held, user in zip(chain.keys, chain.held, chain.users, strict=True) if held and user)
    return any(key not in posted for key in asked)


def _is_held_in_another_order(turn: Turn) -> bool:
    """Whether the client holds messages in another order than 1.0.0, so that a cut or an insertion is another one there."""
    chains = [
        each.kept.chains[0] for each in (turn, turn.earlier) if each is not None and each.kept and each.kept.chains
    ]
    return turn.edit in (regenerate, insert) and any(chain.base for chain in chains)


def _is_unknown(turn: Turn) -> bool:
    """Whether there is a record, and nothing that is posted is in it."""
    kept = turn.kept or Kept()
    keys = {*kept.items, *(key for chain in kept.chains for key in chain.keys)}
    ids = {key.partition("\0")[0] for key in keys}
    return bool(ids) and not any(message["id"] in ids for message in turn.posted)


def _leaves_orphans(turn: Turn) -> bool:
    return turn.edit is delete and bool(_results(turn.original) - _results(turn.after) - _calls(turn.original))


def _holds_calls_elsewhere(turn: Turn) -> bool:
    return turn.edit is delete and bool(_calls(turn.after) - _calls(turn.original))


def _loses_an_orphan(turn: Turn) -> bool:
    lost = [message for message in turn.original if message["role"] == "tool" and message not in turn.after]
    return turn.release == "0.0.30" and any(result["toolCallId"] not in _calls(turn.original) for result in lost)


def _answers_more(turn: Turn) -> bool:
    return turn.edit is delete and bool(_results(turn.after) - _results(turn.original))


def _results(messages: list[Json]) -> set[str]:
    return {message["toolCallId"] for message in messages if message["role"] == "tool"}


def _calls(messages: list[Json]) -> set[str]:
    return {call["id"] for message in messages for call in message.get("toolCalls") or ()}


_MEMBERS = {"id", "role", "content", "toolCalls", "toolCallId", "subagentRunId", "metadata", "encryptedValue", "error"}


def _keeps_unknown_members(turn: Turn) -> bool:
    """Whether messages have members that 1.0.0 strips, and are the same but for them."""
    if len(turn.after) != len(turn.original):
        return False
    pairs = list(zip(turn.after, turn.original, strict=True))
    unknown = [
        {name: ours[name] for name in ours if name in theirs or name in _MEMBERS} == theirs for ours, theirs in pairs
    ]
    return all(unknown)


REASONS: dict[str, Callable[[Turn], bool]] = {
    "THINKING_* name no message, and each client makes one up": _thinks,
    "1.0.0 drops a binary part that has nothing but a handle; the agent gets it back": _has_handles,
    "1.0.0 holds a result before its call; the upgrade puts it behind": lambda turn: bool(astray(turn.original)),
    "1.0.0 holds two messages of one id": lambda turn: bool(doubled(turn.original)),
    "the client holds messages in another order, and cuts or inserts there": _is_held_in_another_order,
    "an agent gives the id of a message to one of another role": _uses_ids_again,
    "a question that the user has deleted takes along what the client never had of its answer": _deletes_a_question,
    "an agent uses the id of a call again": lambda turn: bool(doubled_calls(turn.posted)) or _uses_calls_again(turn),
    "nothing that the record knows is posted": _is_unknown,
    "a result goes with its call, which the user has deleted": _leaves_orphans,
    "a deleted message does not take along a call that the client holds in another one": _holds_calls_elsewhere,
    "0.0.30 drops a result behind which no message changes, and a result without its call does not come back": (
        _loses_an_orphan
    ),
    "a result that came last comes back with its call, though the user has deleted it": _answers_more,
    "1.0.0 strips members that it does not know": _keeps_unknown_members,
}


def report(name: str, turns: Iterator[Turn]) -> None:
    """Print a line: how many histories are as from 1.0.0, posted and restored, and why others are not."""
    shown: Counter[str] = Counter()
    for turn in turns:
        shown["all"] += 1
        shown["posted"] += turn.posted == turn.original
        shown["restored"] += turn.is_as_1_0_0
        if not turn.is_as_1_0_0 and (why := reason(turn)) is None:
            print(f"  no reason: {turn}")
        elif not turn.is_as_1_0_0:
            shown[str(why)] += 1
    counts = f"{shown.pop('posted')} -> {shown.pop('restored')} of {shown.pop('all')} as from 1.0.0"
    print(f"{name}: {counts}; {dict(shown)}", flush=True)


def _report(release: str, chosen: Sequence[Case]) -> None:
    with Client(release) as client, Client(REFERENCE) as reference:
        for route, edit in ((route, edit) for route in ROUTES for edit in EDITS):
            name = f"{release}, {route.name}, {edit.__name__}"
            report(name, converse(client, reference, chosen, route, edit))


if __name__ == "__main__":
    prepare()
    for asked in sys.argv[1:] or RELEASES:
        _report(asked, cases()[::10])
