"""What an operator configures for one path."""

import re
from functools import cached_property
from typing import ClassVar, Final

from pydantic import BaseModel, ConfigDict, field_validator

from agui_middleware.config.fields import (
    ExplainedModel,
    FilterReference,
    Interrupts,
    LegacyVisibility,
    Method,
    Release,
    ReleaseOrCurrent,
    Seconds,
    Visibility,
)
from agui_middleware.config.path_table import takes_any_depth

_PARAMETER: Final = re.compile(r"{\w+(:\w+)?}")
# Braces that are no parameter, and what Flask, Express and shells write: taken literally, the route would take no request.
_OTHER_SYNTAX: Final = re.compile(r"[{}]|/<[^/]*>|/:\w|/\*+(/|$)")


class Route(ExplainedModel, BaseModel):
    """What happens to the AG-UI streams of one path.

    - `path`: in Starlette's syntax (`/agent`, `/agents/{name}`, `/{rest:path}`), matched against the app's own path, without
      `root_path`. Other spellings that a framework may take for the same path are the same path: slashes repeated or at the
      end, other cases, parameters behind `;`, line ends.
    - `methods`: HTTP methods, POST by default. A route that hides also takes the methods that no other route takes for its
      path.
    - `visibility`: `auto`, or a value of `SubagentVisibility`. `auto` and `attributed` give a client from before 0.0.59,
      which cannot read subagents, `legacy_visibility`. Where some route is `hidden`, so is every path that no route has.
    - `legacy_visibility`: `inline` or `hidden`.
    - `filters`: names given to the middleware as `named_filters=`, import strings `package.module:name`, callables, or
      tables of `use`, the import string of a filter factory, and its arguments; they run in this order, before everything
      else.
    - `client`: the release of @ag-ui/client that reads this route, whatever a request names.
    - `default_client`: the release of a client that does not name one, or `current`; by default that of the settings.
    - `keep_alive`: seconds of silence after which a comment is written, 0 for never; by default that of the settings.
    - `interrupts`: in which dialect a client is asked for answers, `auto`, `outcome` or `custom`; by default that of the
      settings.
    - `history`: `False` leaves the route out of the settings' `history`: nothing is kept of its threads, nothing put back.
    - `history_without_subagents`: take the messages that subagents own, and the results of their calls, out of the history
      that the agent gets: for agents that ignore `subagentRunId`, and would read them as their own.
    - `enabled`: `False` passes the streams of the path through.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    path: str = "/{path:path}"
    methods: list[Method] = ["POST"]
    visibility: Visibility = "auto"
    legacy_visibility: LegacyVisibility = "inline"
    filters: list[FilterReference] = []
    client: Release | None = None
    default_client: ReleaseOrCurrent | None = None
    keep_alive: Seconds | None = None
    interrupts: Interrupts | None = None
    history: bool = True
    history_without_subagents: bool = False
    enabled: bool = True

    @field_validator("path")
    @classmethod
    def _compiles(cls, path: str) -> str:
        if not path.startswith("/"):
            raise ValueError("a path starts with '/'")
        if _OTHER_SYNTAX.search(_PARAMETER.sub("", path)):
            raise ValueError("a path has '{name}' for one segment, and '{name:path}' for all that follow")
        takes_any_depth(path)  # compiles it
        return path

    @property
    def hides(self) -> bool:
        """Whether the route keeps subagents from every client, so that nothing may pass it unread."""
        return self.visibility == "hidden"

    @cached_property
    def catches_all(self) -> bool:
        """Whether the path takes any number of segments, so that the route does not name what it takes."""
        return takes_any_depth(self.path)

    def takes(self, method: str) -> bool:
        """Whether an HTTP method is one of the route's. GET takes HEAD along, as in Starlette."""
        return method in self.methods or (method == "HEAD" and "GET" in self.methods)


EVERY_PATH: Final = Route()
"""The one route of a configuration that has none."""

ELSEWHERE: Final = Route(visibility="hidden")
"""What no route takes, where some route hides."""
