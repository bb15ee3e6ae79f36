"""The types of a configuration's fields, and errors that name what is allowed."""

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    PlainValidator,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from agui_middleware.config.named_clients import RefusedClient, parse_client
from agui_middleware.config.readers import Reader
from agui_middleware.config.references import referenced
from agui_middleware.config.spelling import did_you_mean
from agui_middleware.filters.subagents import SubagentVisibility
from agui_middleware.protocol.releases import ClientVersion


def _release(value: Any) -> ClientVersion | Reader:
    if isinstance(value, ClientVersion | Reader):
        return value
    try:
        return parse_client(value)
    except RefusedClient:
        raise
    except (TypeError, ValueError):
        raise ValueError(
            "expected a release of @ag-ui/client, such as '0.0.58', or an SDK with its version, such as 'ag_ui@0.2.0'"
        ) from None


def _release_or_current(value: Any) -> ClientVersion | Reader | str:
    if value == "current":
        return "current"
    try:
        return _release(value)
    except RefusedClient:
        raise
    except ValueError as error:
        raise ValueError(str(error).replace("expected", "expected 'current',", 1)) from None


def _store_url(url: str) -> str:
    """The URL of a store."""
    scheme, separator, rest = url.partition("://")
    if separator and scheme == "sqlite" and rest in ("", "/"):
        raise ValueError("expected the path of a file behind 'sqlite://', such as 'sqlite:///var/lib/agui/history.db'")
    if not separator or scheme not in STORE_SCHEMES:
        allowed = ", ".join(f"'{scheme}://'" for scheme in STORE_SCHEMES)
        raise ValueError(f"expected the URL of a store, which begins with one of {allowed}")
    return url


def _seconds_as_number(value: Any) -> Any:
    """Seconds from the environment, which are text there; pydantic reads text as ISO 8601 only."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _positive(duration: timedelta) -> timedelta:
    if duration <= timedelta(0):
        raise ValueError("expected a duration greater than 0: seconds, or ISO 8601, such as 'P7D'")
    return duration


def _token(name: str) -> str:
    """A name of HTTP: a token of RFC 9110, section 5.6.2."""
    if not _TOKEN.fullmatch(name):
        raise ValueError("expected letters, digits and any of !#$%&'*+-.^_`|~, at least one and no space")
    return name


_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CREDENTIALS = re.compile(r"//[^/]*@")
STORE_SCHEMES = ("memory", "sqlite", "redis", "rediss", "valkey", "valkeys")
# Typed as what may be given; once validated, a string is only ever `current`.
Release = Annotated[ClientVersion | Reader | str, PlainValidator(_release)]
ReleaseOrCurrent = Annotated[ClientVersion | Reader | str, PlainValidator(_release_or_current)]
FilterReference = Annotated[Callable[..., Any] | str, PlainValidator(referenced)]
Interrupts = Literal["auto", "outcome", "custom"]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
PositiveSeconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Lifetime = Annotated[timedelta, BeforeValidator(_seconds_as_number), AfterValidator(_positive)]
StoreURL = Annotated[str, AfterValidator(_store_url)]
HeaderName = Annotated[str, AfterValidator(_token), StringConstraints(to_lower=True)]
Method = Annotated[str, AfterValidator(_token), StringConstraints(to_upper=True)]

if TYPE_CHECKING:
    Visibility = Literal["auto", "attributed", "inline", "hidden"] | SubagentVisibility
    LegacyVisibility = Literal["inline", "hidden"] | SubagentVisibility
else:  # a `SubagentVisibility` is such a string, and a union of both would list every value twice in its errors
    Visibility = Literal["auto", "attributed", "inline", "hidden"]
    LegacyVisibility = Literal["inline", "hidden"]


class ExplainedModel(BaseModel):
    """For an unknown field, list the allowed ones, alongside all other errors."""

    @model_validator(mode="wrap")
    @classmethod
    def _explain(cls, values: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return validate(values)
        except ValidationError as error:
            explained = [cls._explained(each) for each in error.errors()]
            raise ValidationError.from_exception_data(error.title, explained) from None

    @classmethod
    def _explained(cls, error: ErrorDetails) -> InitErrorDetails:
        message = error["msg"]
        if error["type"] == "extra_forbidden" and len(error["loc"]) == 1:  # longer: a nested model explained it already
            name = str(error["loc"][0])
            message = f"There is no such field; allowed: {', '.join(cls.model_fields)}{cls._hint(name)}"
        return _detail(error, message)

    @classmethod
    def _hint(cls, name: str) -> str:
        return did_you_mean(name, cls.model_fields)


def with_origins(error: ValidationError, origins: Mapping[str, object]) -> ValidationError:
    """The same errors, each with the file or environment variable that gave the field, where `origins` has the field."""
    details = []
    for each in error.errors():
        origin = origins.get(str(each["loc"][0])) if each["loc"] else None
        details.append(_detail(each, each["msg"] if origin is None else f"{each['msg']} (in {origin})"))
    return ValidationError.from_exception_data(error.title, details)


def _detail(error: ErrorDetails, message: str) -> InitErrorDetails:
    given = error["input"]
    shown = _CREDENTIALS.sub("//***@", given) if isinstance(given, str) else given  # errors are logged
    return {"type": PydanticCustomError(error["type"], message), "loc": error["loc"], "input": shown}
