"""Helpers that declare the members of an object in a schema, and the members that events and messages share."""

from collections.abc import Mapping
from typing import Final

from agui_middleware.checking.kinds import RECORD, STRING, Kind, Optional, Since

Members = Mapping[str, Kind]


def optional(names: str, kind: Kind = STRING, since: str = "") -> dict[str, Kind]:
    """Optional members, as one string of names separated by spaces. Before the release `since` they are not checked."""
    may: Kind = Optional(kind)
    return {name: Since(since, may) if since else may for name in names.split()}


def required(names: str) -> dict[str, Kind]:
    """Required members that are strings."""
    return dict.fromkeys(names.split(), STRING)


TAG: Final[Members] = optional("subagentRunId", since="0.0.59")
METADATA: Final[Members] = optional("metadata", RECORD, since="0.0.59")
