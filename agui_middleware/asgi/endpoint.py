"""Endpoint functions of one request, as Starlette has them, beside ASGI apps."""

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from starlette.types import ASGIApp

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

Endpoint: TypeAlias = "Callable[[Request], Awaitable[Response] | Response]"


def as_app(app: "ASGIApp | Endpoint") -> ASGIApp:
    """An ASGI app as it is; an endpoint function as the app that `starlette.routing.Route` makes of it.

    Raises `TypeError` where `app` cannot be called as either.
    """
    if not callable(app):
        raise TypeError(f"expected an ASGI app or an endpoint function, got {app!r}")
    if not isinstance(app, partial) and not inspect.isroutine(app):
        return cast(ASGIApp, app)
    if _takes(app, 3):
        return cast(ASGIApp, app)
    if not _takes(app, 1):
        raise TypeError(f"{app!r} takes neither scope, receive and send, as an ASGI app, nor a request, as an endpoint")
    from starlette.routing import request_response

    return request_response(cast(Any, app))


def _takes(function: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # it has none: built in or compiled
        return True
    return True
