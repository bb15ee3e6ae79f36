"""How a table of schemas declares the members of an object, and those that events and messages share."""

from collections.abc import Mapping
from typing import Final

from agui_middleware.checking.kinds import RECORD, STRING, Kind, Optional, Since

Members = Mapping[str, Kind]


def optional(names: str, kind: Kind = STRING, since: str = "") -> dict[str, Kind]:
    """Members that may be absent, by their names with spaces between; before release `since` they are not looked at."""
    may: Kind = Optional(kind)
    return {name: Since(since, may) if since else may for name in names.split()}


def required(names: str) -> dict[str, Kind]:
    """Strings that must be there."""
    return dict.fromkeys(names.split(), STRING)


TAG: Final[Members] = optional("subagentRunId", since="0.0.59")
METADATA: Final[Members] = optional("metadata", RECORD, since="0.0.59")
