"""What the middleware logs about requests and responses. A client can cause each of these records, so all are rate-limited.

The names of the loggers, the messages and their fields are stable: alerts may be built on them.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Final, ParamSpec

from starlette.types import Scope

from agui_middleware.config.paths import is_plain, own_path
from agui_middleware.filters.contract import Loss
from agui_middleware.filters.rate_limited_log import RateLimitedLog
from agui_middleware.protocol.errors import WIRE_FAULTS
from agui_middleware.protocol.event_types import KNOWN_SINCE

P = ParamSpec("P")

_MAX_PATH: Final = 200
_MAX_METHOD: Final = 20


class Reports:
    """The log records of one middleware: each the first time, the 10th, the 100th and so on."""

    def __init__(self) -> None:
        self.request: RateLimitedLog = RateLimitedLog(logging.getLogger("agui_middleware.request"))
        self.stream: RateLimitedLog = RateLimitedLog(logging.getLogger("agui_middleware.stream"))
        self.filter: RateLimitedLog = RateLimitedLog(logging.getLogger("agui_middleware.filter"))
        self.losses: RateLimitedLog = RateLimitedLog(logging.getLogger("agui_middleware.loss"))
        self.history: RateLimitedLog = RateLimitedLog(logging.getLogger("agui_middleware.history"))
        self.history_failures: int = 0  # of reading and writing what is kept

    def loss(self, loss: Loss) -> None:
        """Something was removed that the client would have shown. Counted for each route, reader and feature."""
        fields = loss.fields
        self.losses.warning((fields["route"], fields["client"], fields["feature"]), "%s", loss, fields=fields)

    def unknown_release(self, values: Sequence[str]) -> None:
        """A request names its release, and none of `values` is one."""
        message = "a client named %.80r, which is not a release of @ag-ui/client, and counts as absent"
        self.request.warning("release", message, ", ".join(values))

    def unknown_answer(self, answer: object) -> None:
        """`identify` returned something that is not a release."""
        self.request.warning(
            "identify", "`identify` returned %.80r, which is not a release, and counts as absent", answer
        )

    def rejected_event(self, type: str) -> None:
        """A client that does not name its release was sent an event that older releases reject."""
        message = (
            "a client that did not name its release was sent %s, and @ag-ui/client before %s aborts the run at it; "
            "set default_client to the oldest release that you still serve, or to 'current' if there is none"
        )
        fields = {"event_type": type, "fixed_in": KNOWN_SINCE[type]}
        self.request.warning("default_client", message, type, KNOWN_SINCE[type], fields=fields)

    def producer_fault(self, route: str, feature: str) -> None:
        """The server of a route writes what no client reads, and no filter of the route repairs it."""
        from agui_middleware.filters.producer_faults import fault_of  # the watch has imported it by now

        fault = fault_of(feature)
        fields = {"route": route, "fault": fault.name, "feature": feature}
        message = "the server of route %r writes what clients reject (%s): %s; mend the server, or set %s on the route"
        self.stream.warning((route, fault.name), message, route, feature, fault.text, fault.use, fields=fields)

    def unnamed_path(self, scope: Scope) -> None:
        """Subagents are hidden in an event stream though no route says so for its path, since another route hides."""
        path, method = own_path(scope)[:_MAX_PATH], scope["method"][:_MAX_METHOD]
        fields = {"path": path, "method": method}
        if is_plain(scope, path):
            methods = "" if method == "POST" else f", methods=[{method!r}]"
            message = (
                "subagents are hidden in a stream of %s %r: a route hides, and none has this path; %s decides for it"
            )
            self.request.warning("unnamed", message, method, path, f"Route(path={path!r}{methods})", fields=fields)
        else:
            message = "subagents are hidden in a stream of %s %r: a route hides, and servers read this path differently"
            self.request.warning("not plain", message, method, path, fields=fields)

    def compressed(self, coding: str) -> None:
        """A compressed stream could not be read, and passes."""
        message = "a stream compressed with %.80s passes unread; put the compression outside AGUIMiddleware"
        self.request.warning("compressed", message, coding)

    def notify(self, name: str, hook: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Call a hook of the user's own. What it raises is logged."""
        try:
            hook(*args, **kwargs)
        except Exception as error:
            self.hook_failed(name, error)

    def hook_failed(self, hook: str, error: Exception) -> None:
        """A hook of the user's own raised; it costs the stream nothing."""
        self.request.log(hook, logging.ERROR, "the hook %s raised", hook, exception=error)

    def ping_failed(self, error: Exception) -> None:
        """The server raised at a keep-alive comment; the app gets its own error when it sends."""
        message = "a keep-alive comment could not be sent; no more are sent in this response"
        self.request.log("ping", logging.ERROR, message, exception=error)

    def refused(self, why: str) -> None:
        """A route that hides refused a response, since it would have left unread."""
        message = "a route that hides subagents refused a response: %s"
        self.request.log(("refused", why), logging.ERROR, message, why)

    def store_unavailable(self, done: str, error: Exception) -> None:
        """What is kept of a thread could not be `done` (read, written or closed): the run goes on without."""
        message = "the history of a thread could not be %s, and the run goes on without: %s"
        self.history_failures += 1
        self.history.warning(done, message, done, error, fields={"operation": done})

    def unaddressed_answer(self, route: str) -> None:
        """Report an answer in the older dialect that reached an agent as posted: nothing tells which interrupt it answers.

        An agent of the older dialect reads it, so that this may be all right.
        """
        message = (
            "an answer to a paused run names no interrupt, and none is remembered of its thread; the agent of route %r gets "
            "it as posted, in forwardedProps.command.resume, where agents of the standard do not look (without `history`, "
            "no interrupt is remembered)"
        )
        self.history.warning(("answer", route), message, route, fields={"route": route})

    def ended(self, failure: Exception | None) -> None:
        """A stream was ended before the app had sent all of it, by `failure` or by a filter that returned."""
        if failure is None:
            self.filter.log("returned", logging.INFO, "a filter returned before the stream had ended")
        elif isinstance(failure, WIRE_FAULTS):
            name = type(failure).__name__
            self.stream.log(name, logging.ERROR, "the agent's stream was ended: %s: %s", name, failure)
        else:
            kind = type(failure).__name__
            self.filter.log(kind, logging.ERROR, "a filter ended the stream", exception=failure)
