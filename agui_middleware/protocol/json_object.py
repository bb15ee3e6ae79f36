"""JSON objects read lazily and written back member by member."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import msgspec
from msgspec import Raw

from agui_middleware.protocol import json_scan

UNDECODABLE = (msgspec.DecodeError, ValueError, RecursionError)
"""What msgspec raises where it cannot decode; its own error is a `ValueError` since 0.21."""

_LARGE = 16 * 1024  # bytes
_ESCAPED_ASCII = re.compile(rb"\\u00[2-7]")
_decode = msgspec.json.Decoder().decode
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_elements = msgspec.json.Decoder(list[Raw]).decode


class MalformedEvent(ValueError):
    """A frame, or a member of an event, that no client can read. Raised by a filter, it ends the run: see `Filter`."""


class JsonObject(Mapping[str, Any]):
    """One JSON object, immutable, that remembers its bytes.

    A member is decoded when somebody reads it; the others are never turned into Python objects. `replace` and `without`
    give a new object in which every member they do not name keeps its bytes, so that numbers beyond 2^53, `1.0`, escapes
    and lone surrogates survive. Values handed out are shared: treat lists and dicts as read-only (changes made to them
    in place never go out; `Settings.debug` reports them).

    Reading a member raises `KeyError` where it is absent and `MalformedEvent` where it is no JSON. One that is nested past
    the interpreter's limit, as JavaScript reads it, comes undecoded, as `msgspec.Raw`.
    """

    __slots__ = ("_elements", "_members", "_raw", "_values")

    _elements: dict[str, list[Any] | None]  # absent until somebody asks, which is seldom
    _raw: bytes | None
    _members: dict[str, Any] | None
    _values: dict[str, Any] | None

    def __init__(self, members: Mapping[str, Any]) -> None:
        self._raw = None
        self._members = dict(members)
        self._values = None

    @classmethod
    def of(cls, raw: bytes) -> "JsonObject":
        """Read `raw`, one JSON object in UTF-8; nothing is decoded yet."""
        self = JsonObject.__new__(JsonObject)
        self._raw = raw
        self._members = None
        self._values = None
        return self

    @classmethod
    def parse(cls, raw: bytes) -> "JsonObject":
        """Read `raw` and its members, undecoded. Raises `MalformedEvent` where it is not a JSON object."""
        self = JsonObject.of(raw)
        self.members()
        return self

    @property
    def raw(self) -> bytes:
        """The object as JSON: the very bytes that came in, where nothing was changed.

        Raises `TypeError` where a member that somebody put in is no JSON.
        """
        if self._raw is None:
            assert self._members is not None  # one of the two is always there
            # A line end can only be white space in a `Raw` that somebody put in, and would break the frame.
            self._raw = encode(self._members).replace(b"\n", b" ").replace(b"\r", b" ")
        return self._raw

    def forget_decoded(self) -> None:
        """Keep the bytes only, from which all is decoded again. What was decoded of a snapshot may take far more."""
        if self._members is None:
            return
        self._raw = self.raw
        self._members = self._values = None
        if hasattr(self, "_elements"):
            del self._elements

    def members(self) -> dict[str, Any]:
        """The members by name, undecoded ones as `msgspec.Raw`. Not to be changed."""
        if self._members is None:
            assert self._raw is not None  # one of the two is always there
            self._members = _members_of(self._raw)
        return self._members

    def __getitem__(self, name: str) -> Any:
        value = self.members()[name]
        if type(value) is not Raw:
            return value
        if self._values is None:
            self._values = {}
        if name not in self._values:
            self._values[name] = decode(bytes(value), name)
        return self._values[name]

    def get(self, name: str, default: Any = None, /) -> Any:
        value = self.members().get(name, default)  # `Mapping.get` raises and catches for what is absent
        return self[name] if type(value) is Raw else value

    def __iter__(self) -> Iterator[str]:
        return iter(self.members())

    def __len__(self) -> int:
        return len(self.members())

    def __contains__(self, name: object) -> bool:
        return name in self.members()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.raw.decode('utf-8', 'replace')})"

    def may_contain(self, *words: bytes) -> bool:
        """Whether one of these ASCII words may stand in the JSON, as it is or, for all one can tell, in escapes.

        A look at the bytes. A snapshot has thousands of messages, a plan for an old release a dozen filters that read them,
        and most hold nothing of what most filters deal with.
        """
        raw = self.raw
        for word in words:
            if raw.find(word) >= 0:  # `word in raw` tries it as a number first, and fails at that
                return True
        return self.has_escapes()

    def has_escapes(self) -> bool:
        """Whether an ASCII character may stand in the JSON as an escape, such as `\\u0073`."""
        raw = self.raw
        start = raw.find(b"\\u00") if 92 in raw else -1  # far faster than the search, and most JSON has none
        return start >= 0 and _ESCAPED_ASCII.search(raw, start) is not None

    def get_object(self, name: str) -> "JsonObject | None":
        """The member `name` as an object of this kind, or `None` where it is absent or no object."""
        return _as_object(self.members().get(name))

    def get_list(self, name: str) -> "list[JsonObject | Any] | None":
        """The member `name` as a list: its objects of this kind, all else as it is. `None`: absent, or no list.

        The same list each time, so that filters which look at the messages of a snapshot read them once. Not to be changed.
        """
        try:
            read = self._elements
        except AttributeError:
            read = self._elements = {}
        if name not in read:
            read[name] = _elements_in(self.members().get(name))
        return read[name]

    def get_raw_list(self, name: str) -> list[Raw] | None:
        """The member `name` as a list of undecoded elements. `None`: absent, no list, or not as it came."""
        value = self.members().get(name)
        raw = bytes(value) if type(value) is Raw else b""
        return _elements_of(raw) if raw.startswith(b"[") else None

    def replace(self, **changes: Any) -> Self:
        """A copy with these members set; values may hold `JsonObject`, `msgspec.Raw` and what msgspec encodes."""
        return self._derive({**self.members(), **changes})

    def without(self, *names: str) -> Self:
        """A copy without these members; the object itself where it has none of them."""
        if not any(name in self for name in names):
            return self
        return self._derive({name: value for name, value in self.members().items() if name not in names})

    def is_unmutated(self) -> bool:
        """Whether every value handed out still equals its bytes. Costs a decode of each: for debugging."""
        members = self.members()
        return all(decode(bytes(members[name]), name) == value for name, value in (self._values or {}).items())

    def _derive(self, members: dict[str, Any]) -> Self:
        return type(self)(members)


def decode(raw: bytes, name: str) -> Any:
    """Decode the value of the member `name`; see `JsonObject` for what cannot be decoded."""
    try:
        return _decode(raw)
    except UNDECODABLE:
        try:
            return json_scan.loads(raw)
        except ValueError as error:
            raise MalformedEvent(f"member {name!r} cannot be decoded: {error}") from error
        except RecursionError:
            return Raw(raw)


def encode(value: Any) -> bytes:
    """Encode in UTF-8. Raises `TypeError` where `value` is no JSON."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encode_escaped(value)


def _encode_escaped(value: Any) -> bytes:
    """msgspec refuses to write a lone surrogate; Python's encoder escapes it, as `JSON.stringify` does."""
    if isinstance(value, str):
        return json.dumps(value).encode()
    if isinstance(value, Mapping) and not isinstance(value, JsonObject):
        return b"{%b}" % b",".join(b"%b:%b" % (encode(str(name)), encode(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return b"[%b]" % b",".join(map(encode, value))
    raise TypeError(f"{type(value).__name__} is no JSON value")


def _encode_hook(value: object) -> Any:
    if isinstance(value, JsonObject):
        return Raw(value.raw)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")


_encoder = msgspec.json.Encoder(enc_hook=_encode_hook)


def _as_object(value: Any) -> JsonObject | None:
    if value is None:  # absent, mostly: without a look at the registers of two abstract classes
        return None
    if type(value) is Raw:
        raw = bytes(value)
        return JsonObject.of(raw) if raw[:1] == b"{" else None
    if isinstance(value, JsonObject):
        return value
    return JsonObject(value) if isinstance(value, Mapping) else None


def _elements_in(value: Any) -> list[Any] | None:
    if type(value) is Raw:
        raw = bytes(value)
        if not raw.startswith(b"["):
            return None
        value = _elements_of(raw)
    elif not isinstance(value, list):
        return None
    return [element if (object_ := _as_object(element)) is None else object_ for element in value]


def _members_of(raw: bytes) -> dict[str, Any]:
    try:
        return _decode_members(raw) if len(raw) < _LARGE else _from_below(_decode_members, raw)
    except UNDECODABLE:
        try:
            return {name: Raw(value) for name, value in json_scan.members(raw).items()}
        except ValueError as error:
            raise MalformedEvent(f"not a JSON object: {error}") from error


def _from_below(read: Callable[[bytes], dict[str, Any]], raw: bytes, frames: int = 64) -> dict[str, Any]:
    """Read a large object with a stack as deep as that of whoever will look into its values.

    One nested so deep that it can be read here, and not there, is then scanned here, once, and refused if it has many
    brackets (`json_scan.MOST_BRACKETS`); else each of its values would be scanned.
    """
    return _from_below(read, raw, frames - 1) if frames else read(raw)


def _elements_of(raw: bytes) -> list[Raw]:
    try:
        return _decode_elements(raw)
    except UNDECODABLE:
        try:
            return [Raw(element) for element in json_scan.elements(raw)]
        except ValueError as error:
            raise MalformedEvent(f"not a JSON array: {error}") from error
