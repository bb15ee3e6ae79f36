"""The types of a configuration's fields, and errors that name what is allowed."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
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
        raise ValueError("a release of @ag-ui/client, such as '0.0.58', or an SDK, such as 'ag_ui@0.2.0'") from None


def _release_or_current(value: Any) -> ClientVersion | Reader | str:
    if value == "current":
        return "current"
    try:
        return _release(value)
    except RefusedClient:
        raise
    except ValueError as error:
        raise ValueError(f"'current' or {error}") from None


# Typed as what may be given; once validated, a string is only ever `current`.
Release = Annotated[ClientVersion | Reader | str, PlainValidator(_release)]
ReleaseOrCurrent = Annotated[ClientVersion | Reader | str, PlainValidator(_release_or_current)]
FilterReference = Annotated[Callable[..., Any] | str, PlainValidator(referenced)]
HeaderName = Annotated[str, StringConstraints(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", to_lower=True)]
Method = Annotated[str, StringConstraints(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", to_upper=True)]

if TYPE_CHECKING:
    Visibility = Literal["auto", "attributed", "inline", "hidden"] | SubagentVisibility
    LegacyVisibility = Literal["inline", "hidden"] | SubagentVisibility
else:  # a `SubagentVisibility` is such a string, and a union of both would say everything twice in its errors
    Visibility = Literal["auto", "attributed", "inline", "hidden"]
    LegacyVisibility = Literal["inline", "hidden"]


class ExplainedModel(BaseModel):
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
