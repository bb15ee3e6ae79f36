"""The reverse of the downgrades, for the conversation that a client posts with its next run.

It needs the posted body alone. Each step stands with the row of the table of downgrades that it reverses.
"""

from functools import cache
from typing import Final

from agui_middleware.downgrades import downgrades_for
from agui_middleware.downgrades.binary_parts import posted_media
from agui_middleware.downgrades.downgrade import Upgrade
from agui_middleware.downgrades.input_lists import with_required_members
from agui_middleware.downgrades.media_parts import binary_as_media
from agui_middleware.downgrades.pieces import join_calls, join_texts
from agui_middleware.downgrades.result_order import results_behind_calls
from agui_middleware.protocol.posted import Posted
from agui_middleware.protocol.releases import ClientVersion

ORDER: Final[tuple[Upgrade, ...]] = (
    with_required_members,
    binary_as_media,
    posted_media,
    join_texts,
    join_calls,
    results_behind_calls,  # last: a call has its place only once its pieces are one
)


@cache
def upgrades_for(client: ClientVersion | None) -> tuple[Upgrade, ...]:
    """The upgrades of what `client` posts, in order; none for a client that reads everything (`None`)."""
    needed = {row.upgrade for row in downgrades_for(client)}
    if binary_as_media in needed:  # it also takes back the MIME types that the middleware has filled in
        needed.discard(posted_media)
    return tuple(upgrade for upgrade in ORDER if upgrade in needed)


def upgraded(posted: Posted, client: ClientVersion | None) -> Posted:
    """The input with its conversation as an agent of today reads it; the very same object where nothing changes.

    All that is not upgraded keeps its bytes. Raises `MalformedEvent` where a message is not JSON.
    """
    for step in upgrades_for(client):
        posted = step(posted)
    return posted
