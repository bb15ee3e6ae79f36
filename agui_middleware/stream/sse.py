"""Server-Sent Events as bytes: an incremental decoder and an encoder. No async, no ASGI, and no JSON but its first byte.

In: LF, CRLF, CR and mixtures, cut anywhere; one BOM; comments, also between the lines of one event; data over several
lines, with or without the space; `id`, `event` and `retry`; a last event without its blank line. Out: LF and `data: ` with
the space, since no release of @ag-ui/client reads CRLF or CR, and none before 0.0.43 reads `data:` without the space.

Departures from the HTML standard, https://html.spec.whatwg.org/multipage/server-sent-events.html:

1. A last event without its blank line is delivered, not discarded: @ag-ui/client reads it, and it may be RUN_FINISHED.
2. `id` is not sticky. A rewriter that repeated it on events that had none would move a consumer's resume cursor.
3. Bytes are never decoded: invalid UTF-8 is left to the reader.
"""

from collections.abc import Iterable

import msgspec

_BOM = b"\xef\xbb\xbf"
_BLOCK = 64 * 1024


class Fields(msgspec.Struct, gc=False):
    """What an SSE frame carries beside its data, in bytes; `None` where absent."""

    id: bytes | None = None
    event: bytes | None = None
    retry: bytes | None = None


class Frame(msgspec.Struct, gc=False):
    """One event of the stream: its data lines joined with LF (`None`: it had none), and its other fields, if any."""

    data: bytes | None
    fields: Fields | None = None


class Comment(msgspec.Struct, gc=False):
    """A comment line, without its leading colon."""

    text: bytes


class UnknownField(msgspec.Struct, gc=False):
    """A line with an unknown field name that contains a brace: every reader skips it, and it may be a torn event."""

    line: bytes


class TooLarge(msgspec.Struct, gc=False):
    """An event grew past the bound. This is the last item that a decoder yields; its buffers are freed."""


Item = Frame | Comment | UnknownField | TooLarge


class Pieces:
    """A buffer for bytes that come in pieces of any size. It takes little more memory than the joined bytes."""

    __slots__ = ("_blocks", "_size", "_tail")

    def __init__(self) -> None:
        self._blocks: list[bytes] = []
        self._tail = bytearray()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, piece: bytes) -> None:
        """Append a piece."""
        self._size += len(piece)
        if len(piece) < _BLOCK:
            self._tail += piece
        if len(self._tail) >= _BLOCK or (self._tail and len(piece) >= _BLOCK):
            self._blocks.append(bytes(self._tail))
            self._tail = bytearray()
        if len(piece) >= _BLOCK:
            self._blocks.append(piece)

    def joined(self) -> bytes:
        """All pieces in one."""
        return b"".join([*self._blocks, self._tail])


class Decoder:
    """Decodes bytes into frames. Work is linear in the input for any chunking; memory is at most twice one event.

    `max_event_bytes` bounds one event, in bytes of its lines, whether it is finished or not, so that the outcome does not
    depend on the chunking.
    """

    __slots__ = (
        "_after_cr",
        "_closed",
        "_data",
        "_fields",
        "_head",
        "_limit",
        "_lines",
        "_size",
        "_unfinished",
        "idle",
    )

    def __init__(self, max_event_bytes: int) -> None:
        self._limit = max_event_bytes
        self._data: bytes | None = None  # of the unfinished event, if that is one line
        self._lines: Pieces | None = None  # the same, if it is more
        self._fields: Fields | None = None
        self._size = 0  # of the finished lines of the unfinished event, without their ends
        self._unfinished: Pieces | None = None  # of the last line; most servers send whole events
        self._after_cr = False  # an LF that comes next belongs to that CR
        self._head: bytes | None = b""  # what may yet turn out to be a BOM; None behind it
        self.idle: bool = False  # at the start of a frame, behind the first, with nothing pending
        self._closed = False

    def feed(self, chunk: bytes) -> list[Item]:
        """The frames and comments that `chunk` completes, in order."""
        return self._feed(chunk) if self.one_frame(chunk) is None else [Frame(chunk[6:-2])]

    def one_frame(self, chunk: bytes) -> bytes | None:
        """The chunk itself, if it is exactly one event, an object on one line, framed as here: most servers send those."""
        if (
            chunk.partition(b"\n")[2] == b"\n"
            and b"data: {" <= chunk < b"data: |"  # startswith, since `|` follows `{`; a slice costs twice as much
            and 13 not in chunk  # CR; to look for it as bytes takes ten times as long
            and len(chunk) - 2 <= self._limit
        ):
            if self.idle:
                return chunk
            if self._head == b"":  # the first frame, and no BOM before it
                self._head, self.idle = None, True
                return chunk
        return None

    def finish(self) -> list[Item]:
        """The last event, if the stream ended without its blank line."""
        items: list[Item] = []
        if not self._closed:
            rest = (self._head or b"") + self._behind_unfinished(b"")
            self._closed, self._head = True, None
            for line in (rest, b"") if rest else (b"",):
                self._line(line, items)
        return items

    def _feed(self, chunk: bytes) -> list[Item]:
        items: list[Item] = []
        if self._head is not None:
            chunk = self._behind_bom(chunk)
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        # bytes.splitlines knows LF, CR and CRLF only; it is str.splitlines that also breaks on U+0085 and U+2028.
        for ended in _lines_of(chunk):
            if self._closed:
                break
            line = ended.rstrip(b"\r\n")
            if self._size + len(self._unfinished or b"") + len(line) > self._limit:
                self._overflow(items)
            elif len(line) == len(ended):
                self._after_cr = False
                self._unfinished = self._unfinished or Pieces()
                self._unfinished.append(line)
            else:
                self._after_cr = ended.endswith(b"\r")
                self._complete(line, items)
        self.idle = not (self._size or self._unfinished or self._after_cr or self._closed) and self._head is None
        return items

    def _behind_bom(self, chunk: bytes) -> bytes:
        assert self._head is not None  # asked by the caller
        start = self._head + chunk
        if len(start) < len(_BOM) and _BOM.startswith(start):
            self._head = start
            return b""
        self._head = None
        return start.removeprefix(_BOM)

    def _overflow(self, items: list[Item]) -> None:
        self._closed = True
        self._data = self._fields = self._lines = self._unfinished = None
        items.append(TooLarge())

    def _complete(self, line: bytes, items: list[Item]) -> None:
        line = self._behind_unfinished(line)
        if not line.startswith(b":"):
            self._size += len(line)
        self._line(line, items)

    def _behind_unfinished(self, line: bytes) -> bytes:
        """The whole of a line whose end this is."""
        pieces, self._unfinished = self._unfinished, None
        if pieces is None:
            return line
        pieces.append(line)
        return pieces.joined()

    def _line(self, line: bytes, items: list[Item]) -> None:
        if line.startswith(b"data:"):
            self._add(line[6:] if line.startswith(b"data: ") else line[5:])
        elif line.startswith(b":"):
            items.append(Comment(line[1:]))
        elif line:
            self._field(line, items)
        else:
            self._dispatch(items)

    def _field(self, line: bytes, items: list[Item]) -> None:
        colon = line.find(b":") + 1 or len(line) + 1
        name, value = line[: colon - 1], line[colon + line.startswith(b" ", colon) :]
        if name == b"data":
            self._add(b"")
        elif name in (b"id", b"event", b"retry"):
            if name == b"retry" and not value.isdigit():
                return  # every reader ignores it; it may be anything, such as a line of a torn event
            if self._fields is None:
                self._fields = Fields()
            setattr(self._fields, name.decode(), value)
        elif b"{" in line:
            items.append(UnknownField(line))

    def _add(self, data: bytes) -> None:
        if self._data is None:
            self._data = data
            return
        if self._lines is None:
            self._lines = Pieces()
            self._lines.append(self._data)
        self._lines.append(b"\n")
        self._lines.append(data)

    def _dispatch(self, items: list[Item]) -> None:
        if self._data is not None:
            items.append(Frame(self._data if self._lines is None else self._lines.joined(), self._fields))
            self._data = self._lines = None
        elif self._fields is not None:
            items.append(Frame(None, self._fields))
        self._fields = None
        self._size = 0


def _lines_of(chunk: bytes) -> Iterable[bytes]:
    """The lines of a chunk with their ends. A large chunk is split block by block: each line is an object, however short."""
    if len(chunk) <= _BLOCK:
        yield from chunk.splitlines(keepends=True)
        return
    start = 0
    while start < len(chunk):
        within = chunk.rfind(b"\n", start, start + _BLOCK) + 1
        end = within or chunk.find(b"\n", start + _BLOCK) + 1 or len(chunk)
        yield from chunk[start:end].splitlines(keepends=True)
        start = end


def encode(data: bytes | None, fields: Fields | None = None) -> bytes:
    """Encode one frame. Data of several lines becomes several `data:` lines, which every client joins again."""
    if fields is None and data is not None and 10 not in data:
        return b"data: %b\n\n" % data
    values = [(name.encode(), getattr(fields, name, None)) for name in Fields.__struct_fields__]
    lines = [b"%b: %b\n" % (name, value) for name, value in values if value is not None]
    if data is not None:
        lines += [b"data: %b\n" % line for line in data.split(b"\n")]
    return b"".join(lines) + b"\n"


def encode_comment(text: bytes = b"") -> bytes:
    """Encode a comment as a frame of its own: readers that split on blank lines skip it as a whole."""
    return b":%b\n\n" % text
