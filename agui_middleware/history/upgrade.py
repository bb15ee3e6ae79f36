"""The reverse of the downgrades, for the conversation that a client posts with its next run.

It needs the posted body alone. Each step stands with the row of the table of downgrades that it reverses.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from agui_middleware.config.readers import Reader
from agui_middleware.downgrades import downgrades_for
from agui_middleware.downgrades.binary_parts import posted_media
from agui_middleware.downgrades.downgrade import Upgrade
from agui_middleware.downgrades.input_lists import with_required_members
from agui_middleware.downgrades.media_parts import binary_as_media
from agui_middleware.downgrades.pieces import join_calls, join_texts
from agui_middleware.downgrades.result_order import results_behind_calls
from agui_middleware.downgrades.sdk.posted_extras import without_copied_data, without_empty_resume, without_tool_names
from agui_middleware.downgrades.sdk.posted_gaps import without_gaps
from agui_middleware.downgrades.sdk.posted_names import camel_case_names
from agui_middleware.downgrades.sdk.posted_text_parts import text_parts_as_text
from agui_middleware.downgrades.sdk.posted_ui_messages import ui_messages_as_input
from agui_middleware.protocol.posted import Posted
from agui_middleware.protocol.releases import ClientVersion

STEPS: Final[Mapping[Upgrade, str]] = {
    ui_messages_as_input: "makes a RunAgentInput of TanStack's own messages",  # before all that reads messages
    camel_case_names: "spells members as the protocol does",  # before all that reads them
    without_gaps: "fills in what is empty, and removes nulls",
    without_copied_data: "removes `data` where it is a copy",
    without_empty_resume: "removes an empty `resume`",
    without_tool_names: "removes the `name` of a tool's result",
    text_parts_as_text: "makes a string of a single text part",
    with_required_members: "adds the empty members that older servers require",
    binary_as_media: "turns `binary` parts into media, without the MIME type that stood in for an absent one",
    posted_media: "turns `binary` parts into media",
    join_texts: "puts the pieces of a message together",
    join_calls: "puts the pieces of a tool call together",
    # last: a call has its place only once its pieces are one
    results_behind_calls: "puts a tool's result behind its call",
}
"""The upgrades in order, and what each does; completes the sentence "the middleware ..."."""

ORDER: Final[tuple[Upgrade, ...]] = tuple(STEPS)


@lru_cache(maxsize=512)
def upgrades_for(client: ClientVersion | Reader | None) -> tuple[Upgrade, ...]:
    """The upgrades of what `client` posts, in order; none for a client that reads everything (`None`)."""
    rows = [*client.downgrades, *client.own_rows] if isinstance(client, Reader) else downgrades_for(client)
    needed = {row.upgrade for row in rows}
    if binary_as_media in needed:  # it also takes back the MIME types that the middleware has filled in
        needed.discard(posted_media)
    return tuple(upgrade for upgrade in ORDER if upgrade in needed)


def upgraded(posted: Posted, client: ClientVersion | Reader | None) -> Posted:
    """The input with its conversation as an agent of today reads it; the very same object where nothing changes.

    It need not be a RunAgentInput: `Posted.is_run_input`. All that is not upgraded keeps its bytes. Raises `MalformedEvent`
    where a message is not JSON.
    """
    for step in upgrades_for(client):
        posted = step(posted)
    return posted
