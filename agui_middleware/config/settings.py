"""What an operator configures: routes, and who the client is where a request does not say."""

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import (
    PositiveInt,
)
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    PyprojectTomlConfigSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from agui_middleware.config.fields import ExplainedModel, HeaderName, ReleaseOrCurrent, Seconds
from agui_middleware.config.routes import Route


class Settings(ExplainedModel, BaseSettings):
    """The configuration of the middleware.

    - `routes`: the first that matches decides. None: every path and method POST, where a stream whose first event is no
      AG-UI event is left alone.
    - `headers`: request headers, and query parameters of the same names, in which a client may name its release.
    - `default_client`: the release of a client that does not say, or `current`.
    - `max_event_bytes`: the size of one event, and of all that filters hold back for one response.
    - `fix_framing`: write what every client reads (LF, `data: ` on one line) also where there is nothing to rewrite.
    - `keep_alive`: seconds; after so long without a byte, and at most a quarter more, a comment is written, so that no proxy
      on the way closes the stream as idle. 0: never.
    - `warn`: log what a client loses, once a response and shape.
    - `debug`: raise where a filter changed a nested value of an event in place, which never goes out.

    Read from Python, from the environment (`AGUI_DEFAULT_CLIENT=0.0.58`, `AGUI_ROUTES='[{"path": "/agent"}]'`), from
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
    default_client: ReleaseOrCurrent = "current"
    max_event_bytes: PositiveInt = 10 * 1024 * 1024  # what 1.0.0 allows an unfinished frame
    fix_framing: bool = True
    keep_alive: Seconds = 15
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
