"""What the table of SDKs declares: an SDK, and how a range of its versions reads a stream."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agui_middleware.protocol.releases import ClientVersion

if TYPE_CHECKING:
    from agui_middleware.downgrades import Downgrade, SdkRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A range of versions of one SDK, from `since` up to the next range. Immutable and hashable.

    - `name`: the SDK's name and the range's first version, as in `ag_ui@0.2.0`: for logs and `x-ag-ui-downgrade`.
    - `release`: the release of @ag-ui/client whose rows of the downgrades it needs.
    - `rows`: the names of the rows that it needs besides, of `DOWNGRADES` or `SDK_ROWS`.
    - `spared`: the names of rows of that release that it does not need.
    - `proof`: whether that was measured with the package or read in its source.
    - `limits`: the faults that no row mends, completing the sentence "the client ..."; empty where none is known.
    - `comments`: whether it reads a stream with SSE comments; where it does not, none reaches it.
    - `ignores`: the roles of messages that it takes from no stream, and `snapshot` where it applies no MESSAGES_SNAPSHOT.
    - `as_assistant`: the roles whose streamed texts it takes for the assistant's.
    - `refused`: why it is not served, completing the same sentence; empty for a reader that is.
    """

    name: str
    since: ClientVersion
    release: ClientVersion
    rows: tuple[str, ...]
    proof: Literal["measured", "source"]
    spared: tuple[str, ...] = ()
    limits: str = ""
    comments: bool = True
    ignores: frozenset[str] = frozenset()
    as_assistant: frozenset[str] = frozenset()
    refused: str = ""

    def __str__(self) -> str:
        return self.name

    @property
    def downgrades(self) -> "tuple[Downgrade, ...]":
        """All rows of `DOWNGRADES` that it needs, in order."""
        # Imported late, as below: `planning` tells why.
        from agui_middleware.downgrades import downgrades_for

        return downgrades_for(self.release, self.rows, self.spared)

    @property
    def own_rows(self) -> "list[Downgrade | SdkRow]":
        """The rows that it needs besides those of the release that it reads like, in order."""
        from agui_middleware.downgrades import sdk_rows

        return [*(row for row in self.downgrades if row.name in self.rows), *sdk_rows(self.rows)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sdk:
    """One SDK: its title, the names by which it may be advertised, and its ranges of versions, oldest first.

    `user_agent`: the product that its requests name in `User-Agent`, for SDKs that send a telling one.
    """

    title: str
    names: tuple[str, ...]
    readers: tuple[Reader, ...]
    user_agent: str = ""

    def reader(self, version: ClientVersion) -> Reader:
        """The range that `version` counts as."""
        known = [reader for reader in self.readers if reader.since <= version]
        return known[-1] if known else self.readers[0]

    def ranges(self) -> Iterator[tuple[Reader, str]]:
        """Each range of versions, with its words: `before 0.2.0`, `0.2.0 up to 0.3.0`, `from 0.3.0 on`, `all`."""
        first = self.readers[0]
        for reader, following in zip(self.readers, [*self.readers[1:], None], strict=True):
            if following is None:
                yield reader, "all" if reader is first else f"from {reader.since} on"
            else:
                yield (
                    reader,
                    f"before {following.since}" if reader is first else f"{reader.since} up to {following.since}",
                )
