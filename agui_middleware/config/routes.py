"""What an operator configures for one path."""

import re
from collections.abc import Iterator
from typing import Any, ClassVar
from urllib.parse import unquote

from pydantic import (
    BaseModel,
    ConfigDict,
    PrivateAttr,
    field_validator,
)
from starlette.routing import Match
from starlette.routing import Route as StarletteRoute
from starlette.types import Scope

from agui_middleware.config.fields import (
    ExplainedModel,
    FilterReference,
    LegacyVisibility,
    Method,
    Release,
    ReleaseOrCurrent,
    Seconds,
    Visibility,
)


class Route(ExplainedModel, BaseModel):
    """What happens to the AG-UI streams of one path.

    - `path`: in Starlette's syntax (`/agent`, `/agents/{name}`, `/{rest:path}`), matched against the app's own path, without
      `root_path`, as Starlette's `Route` matches it. A route that hides also takes its path in other spellings, since some
      frameworks serve all of them alike: slashes repeated or at the end (Litestar), or encoded in a segment (Sanic), other
      cases (Express), and parameters behind `;` (Java's servlets).
    - `methods`: HTTP methods, POST by default. A route that hides also takes the others, unless a route for them follows.
    - `visibility`: `auto`, or a value of `SubagentVisibility`. `auto` and `attributed` give a client from before 0.0.59,
      which cannot read subagents, `legacy_visibility`.
    - `legacy_visibility`: `inline` or `hidden`.
    - `filters`: names given to the middleware as `filters=`, import strings `package.module:name`, callables, or tables of
      `use`, the import string of a function that makes a filter, and its arguments; they run in this order, before
      everything else.
    - `client`: the release of @ag-ui/client that reads this route, whatever a request says.
    - `default_client`: the release of a client that does not say, or `current`; by default that of the settings.
    - `keep_alive`: seconds of silence after which a comment is written, 0 for never; by default that of the settings.
    - `enabled`: off, the path is left alone.
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
    enabled: bool = True
    _matcher: StarletteRoute = PrivateAttr()
    _loose: StarletteRoute = PrivateAttr()

    @field_validator("path")
    @classmethod
    def _compiles(cls, path: str) -> str:
        if not path.startswith("/"):
            raise ValueError("a path starts with '/'")
        StarletteRoute(path, _no_endpoint)
        return path

    def model_post_init(self, _: Any) -> None:
        self._matcher = StarletteRoute(self.path, _no_endpoint, methods=self.methods)
        self._loose = StarletteRoute(self.path, _no_endpoint, methods=self.methods)
        self._loose.path_regex = re.compile(self._matcher.path_regex.pattern, re.IGNORECASE)

    def matches(self, scope: Scope) -> Match:
        """`FULL` where path and method match, `PARTIAL` where only the path does. `scope` is an ASGI HTTP scope."""
        match = self._matcher.matches(scope)[0]
        if match is Match.NONE and self.hides:
            spelled = (self._loose.matches({**scope, "path": path})[0] for path in _other_spellings(scope))
            match = next((match for match in spelled if match is not Match.NONE), match)
        return match

    @property
    def hides(self) -> bool:
        """Whether the route keeps subagents from every client, so that nothing may pass it unread."""
        return self.visibility == "hidden"


def _other_spellings(scope: Scope) -> Iterator[str]:
    paths = [scope["path"]]
    sent = (scope.get("raw_path") or b"").decode("latin-1").lower()
    if "%2f" in sent:  # a slash in a segment, to who parts them before they are decoded
        paths.append(unquote(sent.replace("%2f", "%252f")))
    for path in paths:
        once = re.sub("/+", "/", re.sub(";[^/]*", "", path)).rstrip("/")
        yield once
        yield once + "/"


def _no_endpoint() -> None:
    """Starlette's `Route` wants an endpoint; only its matching is used."""
