"""The minimal proof of a row: what releases that need it make of a stream with its shape, without the row and with it."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from agui_middleware import ClientVersion, rewrite
from agui_middleware.downgrades import DOWNGRADES, Downgrade
from tests.clients.client import RELEASES, Client, Outcome, Run
from tests.clients.corpus import REFERENCE
from tests.downgrades.cases import events_of, stream

StartClient = Callable[[str], Client]
Json = dict[str, Any]

STARTED: Json = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISHED: Json = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


@dataclass(frozen=True)
class Minimal:
    """One row, and the messages and the state of the application that asks for the run."""

    client: StartClient
    name: str
    messages: Sequence[Mapping[str, Any]] = ()
    state: Any = None

    @property
    def row(self) -> Downgrade:
        return next(row for row in DOWNGRADES if row.name == self.name)

    @property
    def needing(self) -> tuple[str, ...]:
        """The releases that need the row, oldest first."""
        oldest, since = ClientVersion.parse(self.row.broken_since), ClientVersion.parse(self.row.fixed_in)
        return tuple(release for release in RELEASES if oldest <= ClientVersion.parse(release) < since)

    def reads(self, release: str, body: bytes) -> Outcome:
        """How a release ends on a body."""
        return self.client(release).read_many([Run(body, self.messages, self.state)])[0]

    def rewritten(self, release: str, *events: Json) -> bytes:
        """The body that a release gets for a run of these events."""
        return rewrite(_body(events, True), client=release)

    def original(self, release: str, *events: Json, run: bool = True) -> Outcome:
        """How a release ends on events as they are; `run` puts a run around them."""
        return self.reads(release, _body(events, run))

    def proves(self, *events: Json, run: bool = True, alike: bool = True) -> Outcome:
        """How the last release that needs the row ends with it, on events that `run` puts a run around.

        Shown on the way: 1.0.0 accepts them; without the row that last release rejects them or ends differently; with it
        the oldest release that needs it accepts them too, and ends `alike`. The first release that reads the shape gets
        the very bytes of the original.
        """
        body = _body(events, run)
        bare, reference = self.reads(self.needing[-1], body), self.reads(REFERENCE, body)
        assert reference.accepted, reference.error
        assert not (bare.accepted and bare == reference), "the release reads the shape as it is"
        assert rewrite(body, client=self.row.fixed_in) == body
        newest, oldest = (self.reads(self.needing[n], rewrite(body, client=self.needing[n])) for n in (-1, 0))
        assert newest.accepted, newest.error
        assert oldest.accepted, oldest.error
        assert not alike or (oldest.messages, oldest.state) == (newest.messages, newest.state)
        return newest


def _body(events: Sequence[Json], run: bool) -> bytes:
    return stream(*(STARTED, *events, FINISHED) if run else events)


def made(release: str, *events: Json) -> list[Json]:
    """The events that a release gets for these."""
    return events_of(rewrite(stream(*events), client=release))


def losses(caplog: pytest.LogCaptureFixture, body: Sequence[Json], release: str) -> list[str]:
    """The shapes that are reported lost when a stream is rewritten for a release."""
    caplog.clear()
    with caplog.at_level(logging.WARNING, "agui_middleware"):
        rewrite(stream(*body), client=release)
    return [record.getMessage().split(": ")[1] for record in caplog.records]
