"""Runs that pause for an answer, in AG-UI's two dialects.

The standard: RUN_FINISHED with an outcome of the type `interrupt`, answered by `resume` with an entry for each. The older
dialect, from LangGraph: one CUSTOM event `on_interrupt` for each, answered by `forwardedProps.command.resume`.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import msgspec

from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.json_object import UNDECODABLE, encode

ON_INTERRUPT: Final = "on_interrupt"
ADDRESS: Final = "aguiInterrupt"
"""The member of an announcement's value that says whose it is. Clients that echo the value tell by it what they answer."""
MAX_ADDRESSED: Final = 16
"""How many others an announcement names: each names all, which would grow with the square of their number."""
_MAX_ADDRESS: Final = 4096  # characters of the others' names, which are repeated as often
MAX_VALUE: Final = 16 * 1024
"""Bytes of an announcement's value; a larger one is not remembered."""
_canonical = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder().decode


class OpenInterrupt(NamedTuple):
    """An interrupt that waits for its answer."""

    id: str
    expires_at: str | None = None
    """As on the wire, a date and time of ISO 8601."""
    form: str = ""
    """The digest of the value in which an agent of the older dialect announces it, see `form_of`; empty: not known."""
    call: str | None = None
    """The tool call that it is about."""
    value: bytes = b""
    """The value with which the agent has announced it, as JSON; empty where the agent speaks the standard."""

    @property
    def is_announced_only(self) -> bool:
        """It has no id in the standard: `form` is that of the value that the client was given, `value` the agent's own."""
        return not self.id and bool(self.value)


def interrupts_of(event: Event) -> list[JsonObject] | None:
    """The interrupts with which a RUN_FINISHED pauses its run; `None` where it does not, or in no form that is read."""
    outcome = event.get_object("outcome")
    if outcome is None or outcome.get("type") != "interrupt":
        return None
    interrupts = outcome.get_list("interrupts")
    if not interrupts:
        return None
    read = [each for each in interrupts if isinstance(each, JsonObject) and isinstance(each.get("id"), str)]
    return read if len(read) == len(interrupts) else None


def opened(interrupt: JsonObject) -> OpenInterrupt:
    """What is to be remembered of an interrupt with a string `id`, until it is answered."""
    expires_at, call = interrupt.get("expiresAt"), interrupt.get("toolCallId")
    metadata = interrupt.get_object("metadata")
    announced = b"" if metadata is None or ON_INTERRUPT not in metadata else encode(metadata[ON_INTERRUPT])
    return OpenInterrupt(
        interrupt["id"],
        expires_at if isinstance(expires_at, str) else None,
        form_of(raised(interrupt)),
        call if isinstance(call, str) else None,
        announced if len(announced) <= MAX_VALUE else b"",
    )


def raised(interrupt: JsonObject) -> Any:
    """What a LangGraph graph has raised, which ag-ui-langgraph hands on; `None` for other agents."""
    metadata = interrupt.get_object("metadata")
    langgraph = None if metadata is None else metadata.get_object("langgraph")
    return None if langgraph is None else langgraph.get("raw")


def announcement(interrupt: JsonObject, others: Sequence[OpenInterrupt]) -> Event:
    """The CUSTOM event that announces an interrupt to a client of the older dialect.

    Its value is that of ag-ui-langgraph where the interrupt is from there: what the graph has raised, an object as JSON in a
    string. Of other agents it is the interrupt itself, an object as Mastra's. To an object `ADDRESS` is added.
    """
    value: Any = raised(interrupt)
    if value is None:
        return Event("CUSTOM", name=ON_INTERRUPT, value=interrupt.replace(**{ADDRESS: _address(interrupt, others)}))
    if isinstance(value, dict):
        value = {**value, ADDRESS: _address(interrupt, others)}
    text = value if isinstance(value, str) else encode(value).decode()
    return Event("CUSTOM", name=ON_INTERRUPT, value=text)


def addressed(value: Any) -> tuple[OpenInterrupt, list[OpenInterrupt]] | None:
    """The interrupt that an echoed value announces, and those that were open with it; `None`: the value does not tell."""
    value = parsed(value)
    address = value.get(ADDRESS) if isinstance(value, dict) else None
    if not isinstance(address, dict):
        return None
    own, others = _open(address), address.get("others", [])
    read = [_open(other) for other in others] if isinstance(others, list) else []
    return None if own is None else (own, [other for other in read if other is not None])


def parsed(value: Any) -> Any:
    """A value that is JSON in a string, as ag-ui-langgraph sends and reads it, decoded; any other as it is."""
    if not isinstance(value, str):
        return value
    try:
        read = _decode(value)
    except (*UNDECODABLE, UnicodeError):
        return value
    return value if read is None else read


def form_of(value: Any) -> str:
    """A digest of a value, the same for JSON in a string and for what it says; empty for `None`."""
    if value is None:
        return ""
    try:
        return blake2b(_canonical(parsed(value)), digest_size=9).hexdigest()
    except (TypeError, UnicodeError, RecursionError):  # nested past any value of a form
        return ""


def call_of(value: Any) -> str | None:
    """The tool call that an announcement's value names, as Mastra's do."""
    value = parsed(value)
    call = value.get("toolCallId") if isinstance(value, dict) else None
    return call if isinstance(call, str) else None


def _address(interrupt: JsonObject, others: Sequence[OpenInterrupt]) -> dict[str, Any]:
    own = _named(opened(interrupt))
    if len(others) > MAX_ADDRESSED + 1:
        return own
    rest = [_named(other) for other in others if other.id != own["id"]]
    is_short = sum(len(text) for other in rest for text in other.values()) <= _MAX_ADDRESS
    return {**own, "others": rest} if rest and is_short else own


def _named(interrupt: OpenInterrupt) -> dict[str, Any]:
    expires = {} if interrupt.expires_at is None else {"expiresAt": interrupt.expires_at}
    return {"id": interrupt.id, **expires}


def _open(value: Any) -> OpenInterrupt | None:
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        return None
    expires_at = value.get("expiresAt")
    return OpenInterrupt(value["id"], expires_at if isinstance(expires_at, str) else None)
