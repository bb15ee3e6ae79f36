"""The environment variables of this package. A misspelt one is refused: it would silently leave a setting off."""

import os
import re
from collections.abc import Collection
from typing import Final

from agui_middleware.config.spelling import did_you_mean

PREFIX: Final = "AGUI_MIDDLEWARE_"

COMMAND_LINE: Final = frozenset(
    {
        "ca_file",
        "config",
        "connect_timeout",
        "host",
        "idle_timeout",
        "port",
        "timeout_graceful_shutdown",
        "trust_forwarded",
        "upstream",
    }
)
"""The options of `serve` and `proxy` that the environment may give too."""

# Kubernetes gives every pod of a namespace these names for a service that is called agui-middleware.
_SERVICE_LINK = re.compile(r"service_host|service_port(_\w+)?|port_\d+_(tcp|udp|sctp)(_(proto|port|addr))?")


def variable(field: str) -> str:
    """The environment variable of a field of `Settings`."""
    return PREFIX + field.upper()


def is_set(field: str) -> bool:
    """Whether the environment gives a field, in whatever case its name is written."""
    return any(name.upper() == variable(field) for name in os.environ)


def refuse_unknown_names(fields: Collection[str], of_routes: Collection[str]) -> None:
    """Raise `ValueError` for an environment variable with the package's prefix that is neither one of `fields` nor an
    option of the command line; one of `of_routes` belongs into the variable of the routes.
    """
    known = {*fields, *COMMAND_LINE}
    for variable_name in sorted(os.environ):
        prefix, name = variable_name[: len(PREFIX)].upper(), variable_name[len(PREFIX) :].lower()
        if prefix == PREFIX and name not in known and not _SERVICE_LINK.fullmatch(name):
            allowed = ", ".join(variable(field) for field in (*fields, *sorted(COMMAND_LINE)))
            hint = did_you_mean(name, known, variable)
            if name in of_routes:
                hint = f"; it is a field of a route, as in {variable('routes')}='[{{\"{name}\": ...}}]'"
            raise ValueError(f"the environment variable {variable_name} is unknown; allowed: {allowed}{hint}")
