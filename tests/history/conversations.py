"""Conversations of three turns with real clients: what they post in turns 2 and 3, before and after it is upgraded.

    python -m tests.history.conversations            # every release, every stream, shown and hidden: some ten minutes
    python -m tests.history.conversations 0.0.36     # one release

Prints a line a release: the bodies that ag-ui-protocol 1.0.0 refuses, and the histories in which a result stands away from
its call, in which an id is there twice, and which are those of 1.0.0 on the original stream; each as posted -> upgraded.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ag_ui.core import RunAgentInput
from pydantic import ValidationError

from agui_middleware import ClientVersion, rewrite
from agui_middleware.downgrades import Difference
from tests.clients.client import RELEASES, Client, Outcome, Run
from tests.clients.corpus import REFERENCE
from tests.downgrades.cases import Case, cases
from tests.downgrades.projections import End, projected
from tests.downgrades.proof import declared
from tests.history.bodies import upgrade
from tests.notation import stream as events
from tests.strategies import Json, plain

EMPTY_RUN = plain([dict(event) for event in events("RS r; RF r")])
REVERSED = {Difference.RESULTS_LAST, Difference.MEDIA_AS_BINARY, Difference.BINARY_HANDLES, Difference.IN_PIECES}
"""The differences that the upgrade takes back."""
_LONE_SURROGATE = re.compile(
    r"(?<!\\)((?:\\\\)*)(?:\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)


Bodies = list[list[str]]
"""By turn, from the second on, the body that was posted in each conversation."""


@dataclass(frozen=True)
class Posted:
    """What a release posts in one turn of a conversation, and what 1.0.0 posts there."""

    release: str
    case: Case
    turn: int
    body: str
    expected: str

    def __str__(self) -> str:
        return f"{self.case.name}, turn {self.turn}, {self.release}"

    @cached_property
    def upgraded(self) -> str:
        return upgrade(self.body.encode(), ClientVersion.parse(self.release)).decode()

    @cached_property
    def before(self) -> list[Json]:
        return _messages(self.body)

    @cached_property
    def after(self) -> list[Json]:
        return _messages(self.upgraded)

    @cached_property
    def original(self) -> list[Json]:
        return _messages(self.expected)

    @cached_property
    def is_as_declared(self) -> bool:
        """Whether the upgraded history is that of 1.0.0, up to the differences that an upgrade cannot take back."""
        return self._is_as_declared()

    @cached_property
    def differs_in_reasoning_alone(self) -> bool:
        """Whether the upgraded history is as declared but for its reasoning, and where that stands."""
        return self._is_as_declared(but_for="reasoning")

    def _is_as_declared(self, but_for: str = "") -> bool:
        differences = [difference for difference in declared(self.release) if difference not in REVERSED]
        if Difference.OTHER_HOLDERS in differences:
            differences.append(Difference.RESULTS_LAST)  # a result goes with its call
        return self.after == self.original or self._ends(differences, but_for)

    def _ends(self, differences: Sequence[Difference], but_for: str) -> bool:
        ours, theirs = (
            projected(End(_without(body, but_for), json.loads(body)["state"], original), differences, self.case)
            for body, original in ((self.upgraded, False), (self.expected, True))
        )
        ends = [Outcome(True, None, end.messages, end.state, None, None, []) for end in (ours, theirs)]
        return ends[0].ends_like(ends[1])


def converse(client: Client, expected: Bodies, chosen: Sequence[Case], visibility: str = "auto") -> Iterator[Posted]:
    """What a release posts in turns 2 and 3, with what 1.0.0 posts there, which is `bodies` of it."""
    for turn, posted in enumerate(bodies(client, chosen, visibility), 2):
        for case, body, original in zip(chosen, posted, expected[turn - 2], strict=True):
            yield Posted(client.release, case, turn, body, original)


def bodies(client: Client, chosen: Sequence[Case], visibility: str = "auto") -> Bodies:
    """The bodies that a release posts in turns 2 and 3, with each case as the first run and the next case as the second.

    The second run uses ids of the first again, as agents do that count from one in each run.
    """
    following = [*chosen[1:], *chosen[:1]]

    def rewritten(case: Case) -> bytes:
        return rewrite(case.run.stream, client=client.release, visibility=visibility)

    ends = client.read_many([case.sent(rewritten(case)) for case in chosen])
    second = client.read_many([_next(end, rewritten(case), 2) for end, case in zip(ends, following, strict=True)])
    empty = rewrite(EMPTY_RUN, client=client.release)
    third = client.read_many([_next(end, empty, 3) for end in second])
    return [[end.posted for end in second], [end.posted for end in third]]


def _next(end: Outcome, stream: bytes, turn: int) -> Run:
    typed = {"id": f"typed-{turn}", "role": "user", "content": "go on"}
    return Run(stream, messages=[*end.messages, typed], state=end.state)


def _messages(body: str) -> list[Json]:
    messages: list[Json] = json.loads(body)["messages"]
    return messages


def _without(body: str, role: str) -> list[Json]:
    return [message for message in _messages(body) if message["role"] != role]


def refusal(body: str) -> str | None:
    """Why ag-ui-protocol 1.0.0 refuses a body; halves of characters apart, which no JSON parser of Python's models takes."""
    try:
        RunAgentInput.model_validate_json(_LONE_SURROGATE.sub(r"\1?", body))
    except ValidationError as error:
        return str(error)
    return None


def astray(messages: list[Json]) -> list[Json]:
    """The results whose call is there, but not in the message that they follow."""
    found, held = [], set[str]()
    everywhere = {call["id"] for message in messages for call in message.get("toolCalls") or ()}
    for message in messages:
        if message["role"] != "tool":
            held = {call["id"] for call in message.get("toolCalls") or ()}
        elif message["toolCallId"] in everywhere - held:
            found.append(message)
    return found


def doubled(messages: list[Json]) -> set[str]:
    """The ids of several messages that are not results."""
    ids = Counter(message["id"] for message in messages if message["role"] != "tool")
    return {id for id, count in ids.items() if count > 1}


def doubled_calls(messages: list[Json]) -> set[str]:
    ids = Counter(call["id"] for message in messages for call in message.get("toolCalls") or ())
    return {id for id, count in ids.items() if count > 1}


def reason(posted: Posted) -> str | None:
    """Why the upgraded history of a stream may differ from that of 1.0.0 in more than is declared."""
    return next((reason for reason, holds in _REASONS.items() if holds(posted)), None)


def _has_media_of_another_kind(posted: Posted) -> bool:
    parts = [part for message in posted.original for part in _parts(message) if "source" in part]
    return any(
        "metadata" in part or _kind(part["source"].get("mimeType")) not in (None, part["type"]) for part in parts
    )


def _parts(message: Json) -> list[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _kind(mime_type: str | None) -> str | None:
    kind = None if mime_type is None else mime_type.partition("/")[0]
    return "document" if kind not in ("image", "audio", "video", None) else kind


def _replaces_reasoning(posted: Posted) -> bool:
    return Difference.OTHER_REASONING in declared(posted.release) and posted.differs_in_reasoning_alone


_REASONS = {
    "1.0.0 holds a result before its call; the upgrade puts it behind": lambda posted: bool(astray(posted.original)),
    "1.0.0 holds two messages of one id": lambda posted: bool(doubled(posted.original)),
    "an agent uses the id of a call twice, and 1.0.0 joins what is no JSON any more": lambda posted: bool(
        doubled_calls(posted.before)
    ),
    "a binary part has no member for the kind and the metadata of media": _has_media_of_another_kind,
    "the release keeps reasoning between a call and its results": _replaces_reasoning,
}


def _report(release: str) -> str:
    shown: Counter[str] = Counter()
    with Client(release) as client, Client(REFERENCE) as reference:
        for visibility in ("auto", "hidden"):
            for posted in converse(client, bodies(reference, cases(), visibility), cases(), visibility):
                shown["bodies"] += 1
                for name, body, messages in (
                    ("posted", posted.body, posted.before),
                    ("upgraded", posted.upgraded, posted.after),
                ):
                    shown[f"{name} refused"] += refusal(body) is not None
                    shown[f"{name} astray"] += bool(astray(messages))
                    shown[f"{name} doubled"] += bool(doubled(messages) - doubled(posted.original))
                    shown[f"{name} as 1.0.0"] += messages == posted.original
    figures = [
        f"{name} {shown[f'posted {name}']} -> {shown[f'upgraded {name}']}"
        for name in ("refused", "astray", "doubled", "as 1.0.0")
    ]
    return f"{release}: of {shown['bodies']}: {', '.join(figures)}"


if __name__ == "__main__":
    for asked in sys.argv[1:] or RELEASES:
        print(_report(asked), flush=True)
