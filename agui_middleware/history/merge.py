"""The conversation that a client posts, with what it could not be given: the three-way merge.

A member that equals what the client was given becomes the agent's; one that differs is the user's edit and stays. A message
that the client has never held comes back at its place; one that it held and does not post, the user has deleted. The page
of this room has a row for each case.
"""

from typing import NamedTuple

from agui_middleware.config.plan import Restoration
from agui_middleware.config.readers import Reader
from agui_middleware.downgrades.result_order import results_behind_calls
from agui_middleware.history.draft import Draft
from agui_middleware.history.missing import returning
from agui_middleware.history.places import in_order
from agui_middleware.history.record import Kept
from agui_middleware.protocol.json_object import MalformedEvent
from agui_middleware.protocol.posted import Posted
from agui_middleware.protocol.releases import ClientVersion


class Restored(NamedTuple):
    """A posted conversation after the merge."""

    posted: Posted
    """The very same object where nothing was put back."""
    restoration: Restoration | None = None
    """What was put back; `None`: nothing."""


def restore(posted: Posted, kept: Kept, client: ClientVersion | Reader | None) -> Restored:
    """Put back what `client` could not be given, as far as `kept` has it. `posted` is upgraded already.

    Nothing comes back but beside messages that the request posts. Ids never change. It never raises for what was posted:
    where that is not readable, it stays as it is.
    """
    try:
        draft = Draft(posted, kept)
        if not draft.is_known:
            return Restored(posted)
        draft.bring_back(returning(draft))
        draft.place_calls()
        draft.put_back_members()
        draft.remove_extras()
        is_sdk = isinstance(client, Reader)
        if is_sdk:
            draft.remove_copies()
        order = in_order(draft)
        after = draft.result(order)
        if is_sdk:  # it may have posted a call in front of the message to which that goes back
            after = results_behind_calls(after)
        if after.holds_messages_of(posted):
            return Restored(posted)
        there = set(order)
        back = tuple(draft.messages[key][0].id or "" for key in draft.restored if key in there)
        thread = posted.input.get("threadId")
        return Restored(after, Restoration(thread, back, draft.members, draft.placed, len(draft.removed)))
    except MalformedEvent:
        return Restored(posted)
