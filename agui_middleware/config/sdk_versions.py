"""What the rows of the table of SDKs are written with: an SDK, and its ranges of versions."""

from dataclasses import replace
from typing import Final, Literal

from agui_middleware.config.readers import Reader, Sdk
from agui_middleware.protocol.releases import ClientVersion

# Each of these is fatal or lossy for several SDKs, and costs the others nothing.
EVERY_SDK: Final = (
    *("empty-deltas", "empty-arguments", "null-members", "start-roles", "float-timestamps"),
    *("posted-gaps", "posted-pieces", "posted-order"),
)
# Rows that only a conversation needs: an SDK that hands events on as they come is spared them.
_NO_CONVERSATION: Final = ("reopened-calls", "reopened-texts", "call-parents")
SNAPSHOTS: Final = ("snapshot",)


def since(
    version: str,
    *rows: str,
    like: str,
    proof: Literal["measured", "source"] = "source",
    spared: tuple[str, ...] = (),
    limits: str = "",
    comments: bool = True,
    ignores: tuple[str, ...] = (),
    as_assistant: tuple[str, ...] = (),
    refused: str = "",
) -> Reader:
    """The versions from `version` on: `like` is the release of @ag-ui/client, and `rows` come on top of `EVERY_SDK`.

    The other arguments are those of `Reader`.
    """
    parse = ClientVersion.parse
    return Reader(
        name=version,
        since=parse(version),
        release=parse(like),
        rows=(*EVERY_SDK, *rows),
        proof=proof,
        spared=spared,
        limits=limits,
        comments=comments,
        ignores=frozenset(ignores),
        as_assistant=frozenset(as_assistant),
        refused=refused,
    )


def handing_on(version: str, *rows: str, like: str, limits: str = "") -> Reader:
    """The same for an SDK that hands events on as they come: the conversation is the application's."""
    rows = (*rows, "other-parents")
    return since(version, *rows, like=like, limits=limits, spared=_NO_CONVERSATION, ignores=SNAPSHOTS)


def sdk(title: str, *names: str, versions: tuple[Reader, ...], user_agent: str = "") -> Sdk:
    """An SDK, by the first of `names`; its versions oldest first."""
    named = tuple(replace(reader, name=f"{names[0]}@{reader.since}") for reader in versions)
    return Sdk(title=title, names=names, readers=named, user_agent=user_agent)
