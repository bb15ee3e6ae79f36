"""What servers write that no client reads: which servers do so, and which filter repairs it."""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from agui_middleware.filters.contract import Filter
from agui_middleware.filters.repair import repair
from agui_middleware.filters.repair_also import FAULTS, RepairAlso, repair_also

REPAIR: Final = "agui_middleware.filters.repair:repair"
_REPAIR_ALSO: Final = "agui_middleware.filters.repair_also:repair_also"

NULL_MEMBERS: Final = (
    "optional members that have no value are written as null, as serializers do by default: System.Text.Json (.NET),"
    " Jackson (Java), pydantic"
)
REASONING_ROLE: Final = "REASONING_MESSAGE_START has the role `assistant`, as ag-ui-protocol 0.1.11 to 0.1.13 write it"


class ProducerFault(NamedTuple):
    """One fault of a server."""

    name: str
    text: str
    """What the server does, and which servers are known for it."""
    use: str
    """How a route turns on the filter that repairs it, in TOML; Python takes the same import path."""


def _also(name: str, text: str) -> ProducerFault:
    return ProducerFault(name, text, f'filters = [{{ use = "{_REPAIR_ALSO}", faults = ["{name}"] }}]')


_REPAIRED: Final = f'filters = ["{REPAIR}"]'
_FAULTS: Final = {
    fault.name: fault
    for fault in (
        ProducerFault("null-members", NULL_MEMBERS, _REPAIRED),
        ProducerFault("reasoning-role", REASONING_ROLE, _REPAIRED),
        _also(
            "chunk-inside",
            "a chunk continues what a START has opened, as servers do that pass the chunks of a model on",
        ),
        _also(
            "doubled-end",
            "a message or call is ended twice, as servers do where a finish chunk and a flush both end it",
        ),
        _also("left-open", "a message or call is open at RUN_FINISHED, as of servers that never end their tool calls"),
        _also("usage-object", "`usage` is one object, as OpenAI's API writes it, where AG-UI has a list of them"),
    )
}
_BY_FEATURE: Final = (
    ("null in ", "null-members"),
    ("role of ", "reasoning-role"),
    ("usage of ", "usage-object"),
    ("doubled ", "doubled-end"),
)
_BY_ENDING: Final = ((" left open", "left-open"), ("_END", "chunk-inside"))


def fault_of(feature: str) -> ProducerFault:
    """The fault that a report of `repair` or `repair_also` is about."""
    named = [name for start, name in _BY_FEATURE if feature.startswith(start)]
    named += [name for end, name in _BY_ENDING if feature.endswith(end)]
    return _FAULTS[named[0]]


def missing_repairs(filters: Collection[object]) -> Sequence[Filter]:
    """The filters that repair what none of `filters` does."""
    repaired = {fault for filter in filters if isinstance(filter, RepairAlso) for fault in filter.faults}
    others = [fault for fault in FAULTS if fault not in repaired]
    return [*([] if repair in filters else [repair]), *([repair_also(others)] if others else [])]
