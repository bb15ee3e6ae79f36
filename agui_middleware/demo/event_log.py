"""Records which filters of a plan changed, held back or dropped each event."""

from typing import NamedTuple

from agui_middleware.config.plan import Plan
from agui_middleware.downgrades import SUBAGENTS, Downgrade, SdkRow, downgrades_for
from agui_middleware.downgrades.guard import TOLERANT
from agui_middleware.filters.composition import Composition
from agui_middleware.filters.contract import Context, Loss
from agui_middleware.filters.declared import DeclaredFilter, Deliver, HandledTypes, Running
from agui_middleware.protocol.event import Event


class Reason(NamedTuple):
    """Why a filter is in a plan."""

    name: str
    """The name of the downgrade, or of the SDK's row; else `visibility`, `unknown-types` or `ended`."""
    why: str
    since: str | None = None
    """The first release of @ag-ui/client that does not need the filter; `None`: every release does."""
    lost: str = ""


UNKNOWN_TYPES = Reason(
    "unknown-types", f"A release before {TOLERANT} rejects event types that it does not know.", str(TOLERANT)
)
ENDED = Reason("ended", "The run was ended: a route that hides must not send what it could not read.")


def reasons(plan: Plan) -> list[Reason]:
    """The reason of each filter of a plan, in order."""
    own = [] if plan.reader is None else plan.reader.own_rows
    declared: list[Downgrade | SdkRow] = [*downgrades_for(plan.client), *own]
    rows = {row.filter: row for row in declared if row.filter is not None}
    chosen = SUBAGENTS if plan.lowered else Reason("visibility", f"The route shows subagents {plan.visibility}.")
    found = []
    for filter in plan.composition.filters:
        reason = rows.get(filter, chosen if filter is plan.visibility.filter() else UNKNOWN_TYPES)
        if isinstance(reason, SdkRow):
            reason = Reason(reason.name, f"Such a client {reason.symptom}.", lost=reason.loss)
        elif not isinstance(reason, Reason):
            why = f"A release before {reason.fixed_in} {reason.symptom}."
            reason = Reason(reason.name, why, reason.fixed_in, reason.loss)
        found.append(reason)
    return found


class Watched(DeclaredFilter):
    """A filter with its input and output for the current event."""

    def __init__(self, filter: DeclaredFilter, reason: Reason) -> None:
        super().__init__(filter, (), frozenset())
        self.handled: HandledTypes = filter.handled  # events that skip the filter skip the watch too
        self._filter = filter
        self.reason = reason
        self.into: list[Event] = []
        self.out_of: list[Event] = []

    def forget(self) -> None:
        """Start on the next event."""
        self.into, self.out_of = [], []

    @property
    def acted(self) -> bool:
        """Whether the output differs from the input."""
        return [event.raw for event in self.into] != [event.raw for event in self.out_of]

    def start(self, context: Context, deliver: Deliver) -> Running:
        def note(output: Event) -> None:
            self.out_of.append(output)
            deliver(output)

        return _RunningWatch(self, self._filter.start(context, note))


class _RunningWatch:
    """The state of a watched filter in one response."""

    def __init__(self, watched: Watched, running: Running) -> None:
        self._watched = watched
        self._running = running

    @property
    def done(self) -> bool:
        return self._running.done

    def step(self, event: Event) -> Event | None:
        self._watched.into.append(event)
        passed = self._running.step(event)
        if passed is not None:
            self._watched.out_of.append(passed)
        return passed

    def finish(self) -> None:
        self._running.finish()

    def close(self) -> None:
        self._running.close()


class Journal(Context):
    """The context of one traced response, which also records the filters that act and the events that are held back."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan.client, on_loss=self._note_loss)
        self.losses: list[Loss] = []
        self.watched: list[Watched] = [
            Watched(filter, reason) for filter, reason in zip(plan.composition.declared, reasons(plan), strict=True)
        ]
        self.plan: Plan = plan._replace(composition=Composition(self.watched))
        self._number = 0
        # By `id(event)`: the event's number, and the event itself, which keeps its id from being reused.
        self._holding: dict[int, tuple[int, Event]] = {}
        self.held: bool = False
        self.released: list[int] = []

    def begin(self, number: int) -> None:
        """Start on the event with this number."""
        self._number = number
        self.held, self.released = False, []
        for watched in self.watched:
            watched.forget()

    @property
    def acting(self) -> list[Reason]:
        """The reasons of the filters that changed, held back or dropped the event, in order."""
        return [watched.reason for watched in self.watched if watched.acted]

    def hold(self, event: Event) -> None:
        super().hold(event)
        self.held = True
        self._holding[id(event)] = self._number, event

    def release(self, event: Event) -> None:
        super().release(event)
        number, _ = self._holding.pop(id(event), (None, event))
        if number == self._number:
            self.held = False  # it was merged into an event that is held already
        elif number is not None:  # `None`: two filters held the event, and its release is reported once
            self.released.append(number)

    def _note_loss(self, loss: Loss) -> None:
        self.losses.append(loss)
