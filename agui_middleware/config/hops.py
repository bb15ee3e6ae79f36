"""Several clients that one request names: the hops of a chain, such as a browser and the runtime between."""

from functools import lru_cache

from agui_middleware.config.readers import Reader
from agui_middleware.protocol.releases import ClientVersion, nearest_release


@lru_cache(maxsize=256)
def combined(clients: tuple[ClientVersion | Reader, ...]) -> ClientVersion | Reader:
    """The client that reads no more than each of `clients` does.

    Of releases the oldest counts. With an SDK among them, all rows that any of them needs count, under the oldest release
    that one of them stands for.
    """
    readers = list(dict.fromkeys(client for client in clients if isinstance(client, Reader)))
    releases = [client for client in clients if isinstance(client, ClientVersion)]
    oldest = min(releases, default=None)
    if not readers and oldest is not None:
        return oldest
    release = None if oldest is None else nearest_release(oldest)
    if release is not None and not any(_covers(reader, release) for reader in readers):
        readers.append(_as_reader(release))
    return readers[0] if len(readers) == 1 else _joined(readers)


def _covers(reader: Reader, release: ClientVersion) -> bool:
    return reader.release <= release and {*_as_reader(release).downgrades} <= {*reader.downgrades}


def _as_reader(release: ClientVersion) -> Reader:
    return Reader(name=f"@ag-ui/client@{release}", since=release, release=release, rows=(), proof="measured")


def _joined(readers: list[Reader]) -> Reader:
    needed = [row.name for reader in readers for row in reader.downgrades]
    rows = [row for reader in readers for row in reader.rows]
    return Reader(
        name=" + ".join(reader.name for reader in readers),
        since=readers[0].since,
        release=min(reader.release for reader in readers),
        rows=tuple(dict.fromkeys([*needed, *rows])),
        spared=tuple(dict.fromkeys(row for reader in readers for row in reader.spared if row not in needed)),
        proof="measured" if all(reader.proof == "measured" for reader in readers) else "source",
        limits="; it ".join(dict.fromkeys(reader.limits for reader in readers if reader.limits)),
        comments=all(reader.comments for reader in readers),
        ignores=frozenset().union(*(reader.ignores for reader in readers)),
        as_assistant=frozenset().union(*(reader.as_assistant for reader in readers)),
    )
