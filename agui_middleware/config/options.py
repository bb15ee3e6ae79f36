"""What `AGUIMiddleware` takes as keyword arguments, where it has one route."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from agui_middleware.config.fields import LegacyVisibility, Visibility
    from agui_middleware.config.readers import Reader
    from agui_middleware.protocol.releases import ClientVersion


class RouteOptions(TypedDict, total=False):
    """The fields of `Route` but for those that choose requests (path, methods, enabled), and for `history`, which is a
    parameter of its own.
    """

    visibility: "Visibility"
    legacy_visibility: "LegacyVisibility"
    filters: Sequence[Callable[..., Any] | str | dict[str, Any]]
    client: "ClientVersion | Reader | str | None"
    default_client: "ClientVersion | Reader | str | None"
    keep_alive: float | None
    history_without_subagents: bool
