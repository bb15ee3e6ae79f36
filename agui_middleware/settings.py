"""What an operator configures: routes, and who the client is where a request does not say."""

import re
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self
from urllib.parse import unquote

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    PlainValidator,
    PositiveInt,
    PrivateAttr,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    PyprojectTomlConfigSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)
from starlette.routing import Match
from starlette.routing import Route as StarletteRoute
from starlette.types import Scope

from agui_middleware.client import ClientVersion
from agui_middleware.filters.reference import referenced
from agui_middleware.filters.subagents import SubagentVisibility


def _release(value: Any) -> ClientVersion:
    if isinstance(value, ClientVersion):
        return value
    try:
        return ClientVersion.parse(value)
    except (TypeError, ValueError):
        raise ValueError("a release of @ag-ui/client, such as '0.0.58'") from None


def _release_or_current(value: Any) -> ClientVersion | str:
    if value == "current":
        return "current"
    try:
        return _release(value)
    except ValueError as error:
        raise ValueError(f"'current' or {error}") from None


# Typed as what may be given; once validated, a string is only ever `current`.
Release = Annotated[ClientVersion | str, PlainValidator(_release)]
ReleaseOrCurrent = Annotated[ClientVersion | str, PlainValidator(_release_or_current)]
FilterReference = Annotated[Callable[..., Any] | str, PlainValidator(referenced)]
HeaderName = Annotated[str, StringConstraints(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", to_lower=True)]
Method = Annotated[str, StringConstraints(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", to_upper=True)]

if TYPE_CHECKING:
    Visibility = Literal["auto", "attributed", "inline", "hidden"] | SubagentVisibility
    LegacyVisibility = Literal["inline", "hidden"] | SubagentVisibility
else:  # a `SubagentVisibility` is such a string, and a union of both would say everything twice in its errors
    Visibility = Literal["auto", "attributed", "inline", "hidden"]
    LegacyVisibility = Literal["inline", "hidden"]


class _Explained(BaseModel):
    """Says of a name that is no field which there are, beside whatever else is wrong."""

    @model_validator(mode="wrap")
    @classmethod
    def _explain(cls, values: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return validate(values)
        except ValidationError as error:
            told = [cls._told(each) for each in error.errors()]
            raise ValidationError.from_exception_data(error.title, told) from None

    @classmethod
    def _told(cls, error: ErrorDetails) -> InitErrorDetails:
        said = error["msg"]
        if error["type"] == "extra_forbidden" and len(error["loc"]) == 1:  # a field's own has said it itself
            said = "There is no such field; allowed: " + ", ".join(cls.model_fields)
        return {"type": PydanticCustomError(error["type"], said), "loc": error["loc"], "input": error["input"]}


class Route(_Explained):
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
    - `unadvertised`: the release of a client that does not say, or `current`; by default that of the settings.
    - `enabled`: off, the path is left alone.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    path: str = "/{path:path}"
    methods: list[Method] = ["POST"]
    visibility: Visibility = "auto"
    legacy_visibility: LegacyVisibility = "inline"
    filters: list[FilterReference] = []
    client: Release | None = None
    unadvertised: ReleaseOrCurrent | None = None
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


class Settings(_Explained, BaseSettings):
    """The configuration of the middleware.

    - `routes`: the first that matches decides. None: every path and method POST, where a stream whose first event is no
      AG-UI event is left alone.
    - `headers`: request headers, and query parameters of the same names, in which a client may name its release.
    - `unadvertised`: the release of a client that does not say, or `current`.
    - `max_event_bytes`: the size of one event, and of all that filters hold back for one response.
    - `fix_framing`: write what every client reads (LF, `data: ` on one line) also where there is nothing to rewrite.
    - `warn`: log what a client loses, once a response and shape.
    - `debug`: raise where a filter changed a nested value of an event in place, which never goes out.

    Read from Python, from the environment (`AGUI_UNADVERTISED=0.0.58`, `AGUI_ROUTES='[{"path": "/agent"}]'`), from
    `agui_middleware.toml`, and from `[tool.agui_middleware]` in pyproject.toml, in this order. A wrong value raises
    `pydantic.ValidationError`, which names the field and what it allows; what is no JSON or no TOML, another `ValueError`.
    """

    model_config: ClassVar[SettingsConfigDict] = SettingsConfigDict(
        env_prefix="AGUI_",
        extra="forbid",
        frozen=True,
        toml_file="agui_middleware.toml",
        pyproject_toml_table_header=("tool", "agui_middleware"),
    )

    routes: list[Route] = []
    headers: list[HeaderName] = ["x-ag-ui-client-version"]
    unadvertised: ReleaseOrCurrent = "current"
    max_event_bytes: PositiveInt = 10 * 1024 * 1024  # what 1.0.0 allows an unfinished frame
    fix_framing: bool = True
    warn: bool = True
    debug: bool = False

    if not TYPE_CHECKING:  # pragma: no branch  # to type checkers the fields are the parameters

        def __init__(self, **values: Any) -> None:
            try:
                super().__init__(**values)
            except SettingsError as error:
                raise SettingsError(f"{error}; AGUI_HEADERS and AGUI_ROUTES are JSON: {error.__cause__}") from error

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        with _named("agui_middleware.toml"):
            own = TomlConfigSettingsSource(settings_cls)
        with _named("pyproject.toml"):
            shared = PyprojectTomlConfigSettingsSource(settings_cls)
        return (init_settings, env_settings, dotenv_settings, own, shared, file_secret_settings)


@contextmanager
def _named(file: str) -> Iterator[None]:
    try:
        yield
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file} is no TOML: {error}") from error


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
