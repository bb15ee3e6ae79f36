"""What an operator configures: routes, and which release to serve where a request does not name one."""

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import PositiveInt, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from agui_middleware.config.environment import PREFIX, is_set, refuse_unknown_names, variable
from agui_middleware.config.fields import (
    ExplainedModel,
    HeaderName,
    Interrupts,
    Lifetime,
    PositiveSeconds,
    ReleaseOrCurrent,
    Seconds,
    StoreURL,
    with_origins,
)
from agui_middleware.config.files import read_named, read_working_directory
from agui_middleware.config.routes import Route
from agui_middleware.protocol.errors import MAX_EVENT_BYTES


class Settings(ExplainedModel, BaseSettings):
    """The configuration of the middleware, from its arguments and from the environment. `Settings.load` reads files too.

    - `routes`: the first that matches decides. Without any, every path is served for method POST, and a stream whose first
      event is not an AG-UI event passes through.
    - `headers`: request headers, and query parameters of the same names, in which a client may name its release.
    - `default_client`: the release of a client that does not name one, or `current`.
    - `max_event_bytes`: the largest event, and the most that filters may hold back for one response, in bytes.
    - `max_request_bytes`: the largest posted conversation that is read and upgraded for an agent of today, in bytes. A
      larger one passes as it is.
    - `fix_framing`: write the framing that every client reads (LF, `data: ` on one line) also where nothing is rewritten.
    - `keep_alive`: seconds; after so long without a byte, and a quarter more at most, a comment is written, so that
      no proxy on the way closes the stream as idle. 0: never.
    - `interrupts`: how a client is asked where a run pauses for an answer, and how it answers. `auto`: clients that read
      outcomes as the agent does; releases before 0.0.54 by CUSTOM events `on_interrupt`, which they answer by
      `forwardedProps.command.resume`. `custom`: all clients that way, for CopilotKit before 1.61.2. `outcome`: for an
      agent that speaks only the older dialect, clients that read outcomes get one, and answer by `resume`.
    - `history`: the URL of the store for what clients could not be given, so that the agent gets it back with the next
      run: `memory://`, `sqlite:///path/to/file`, `redis://host:6379/0`, `valkey://host`; `rediss` and `valkeys` for TLS.
      Without one nothing is kept. The last four need `pip install 'agui-middleware[history]'`.
    - `history_ttl`: how long a thread is kept after its last response: seconds, or a duration of ISO 8601 such as `P7D`.
    - `history_timeout`: seconds that a request, and the end of a response, wait for the store at most.
    - `history_limit`: the most that is kept of a thread, in bytes; the oldest goes first.
    - `history_memory_limit`: the most that `memory://` holds of all threads together, in bytes.
    - `warn`: log what a client loses, and what a server writes that no client reads.
    - `debug`: raise an error where a filter changed a nested value of an event in place, which never goes out.

    In the environment a field is `AGUI_MIDDLEWARE_` and its name: `AGUI_MIDDLEWARE_DEFAULT_CLIENT=0.0.58`. `headers` and
    `routes` are JSON there. An argument comes before the environment.

    Raises `pydantic.ValidationError`, a `ValueError`, which names the field and what it allows; `ValueError` for an
    environment variable with this prefix that does not exist, or that is not JSON where it has to be.
    """

    model_config: ClassVar[SettingsConfigDict] = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    routes: list[Route] = []
    headers: list[HeaderName] = ["x-ag-ui-client-version"]
    default_client: ReleaseOrCurrent = "current"
    max_event_bytes: PositiveInt = MAX_EVENT_BYTES
    max_request_bytes: PositiveInt = 10 * 1024 * 1024
    fix_framing: bool = True
    keep_alive: Seconds = 15
    interrupts: Interrupts = "auto"
    history: StoreURL | None = None
    history_ttl: Lifetime = timedelta(days=7)
    history_timeout: PositiveSeconds = 1
    history_limit: PositiveInt = 1024 * 1024
    history_memory_limit: PositiveInt = 64 * 1024 * 1024
    warn: bool = True
    debug: bool = False

    if not TYPE_CHECKING:  # pragma: no branch  # to type checkers the fields are the parameters

        def __init__(self, **values: Any) -> None:
            refuse_unknown_names(type(self).model_fields, Route.model_fields)
            try:
                super().__init__(**values)
            except SettingsError as error:
                names = f"{variable('headers')} and {variable('routes')}"
                raise SettingsError(f"{error}; {names} are JSON: {error.__cause__}") from error
            except ValidationError as error:
                variables = {field: variable(field) for field in type(self).model_fields if is_set(field)}
                given = {name: where for name, where in variables.items() if name not in values}
                raise with_origins(error, given) from None

    @classmethod
    def _hint(cls, name: str) -> str:
        in_a_route = f"; it is a field of a route, as in routes = [{{ {name} = ... }}]"
        return in_a_route if name in Route.model_fields else super()._hint(name)

    @classmethod
    def load(cls, file: str | Path | None = None) -> Self:
        """Settings from the environment, then from `file`: a TOML file, or a pyproject.toml with `[tool.agui_middleware]`.

        Without `file`, agui_middleware.toml and then pyproject.toml of the working directory are read, where they exist.
        Raises what `Settings` raises; every error names the file or the environment variable.
        """
        if file is None:
            values, origins = read_working_directory()
        else:
            values = read_named(Path(file))
            origins = dict.fromkeys(values, Path(file))
        kept = {name: value for name, value in values.items() if not is_set(name)}
        try:
            return cls(**kept)
        except ValidationError as error:
            raise with_origins(error, {name: origins[name] for name in kept}) from None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only arguments and the environment: files are read by `load`."""
        return (init_settings, env_settings)
