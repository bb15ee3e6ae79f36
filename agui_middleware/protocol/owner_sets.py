"""Which types of events are about entities with ids, and what each does to their ownership: sets of the table of types."""

from typing import Final

from agui_middleware.protocol.event_kind import RUN, Action, Carries, Owner
from agui_middleware.protocol.event_types import EVENT_KINDS, types_that
from agui_middleware.protocol.nameless_owners import THINKING_TYPES

# By type of event, the bucket of the entity that it is about, and the member that names the entity, if one does.
ENTITY: Final[dict[str, tuple[str, str | None]]] = {
    str(type): (kind.about.bucket, kind.about.id)
    for type, kind in EVENT_KINDS.items()
    if kind.owner in (Owner.ENTITY, Owner.CLAIMS) and kind.about.bucket is not None and str(type) not in THINKING_TYPES
}
CLAIMS: Final = types_that(lambda kind: kind.owner is Owner.CLAIMS)
CHUNKS: Final = types_that(lambda kind: kind.action is Action.ABBREVIATES)
# What makes a message is open from its START to its END.
OPENS: Final = types_that(lambda kind: kind.action is Action.OPENS and kind.about.role is not None)
CLOSES: Final = types_that(lambda kind: kind.action is Action.CLOSES and kind.about.role is not None)
OF_THE_RUN: Final = types_that(lambda kind: kind.owner is Owner.RUN)
OF_A_SUBAGENT: Final = types_that(lambda kind: kind.owner is Owner.SUBAGENT)
ANSWERS: Final = types_that(lambda kind: kind.owner is Owner.CALL)
OF_A_HOLDER: Final = types_that(lambda kind: kind.owner is Owner.HOLDER)
BEGINS_A_RUN: Final = types_that(lambda kind: kind.about is RUN and kind.action is Action.OPENS)
SNAPSHOTS: Final = types_that(lambda kind: kind.carries is Carries.MESSAGES)
WITH_MESSAGES: Final = SNAPSHOTS | types_that(lambda kind: kind.carries is Carries.ECHO)
