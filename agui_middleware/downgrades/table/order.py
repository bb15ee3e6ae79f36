"""The order of the rows, computed from what each one says that it comes after."""

from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter

from agui_middleware.downgrades.downgrade import Downgrade


def ordered(rows: Sequence[Downgrade], visibility: str) -> tuple[Downgrade, ...]:
    """`rows`, each behind those that it comes `after`, and otherwise as listed.

    The row `visibility` stands for the route's visibility. Rows work on what the client sees, so they come after it, unless
    it comes after them. Raises `LookupError` where a row comes after one that does not exist, or after itself.
    """
    listed = {row.name: place for place, row in enumerate(rows)}
    before = ancestors(visibility, rows)
    graph = {row.name: {other.row for other in row.after} for row in rows}
    for row in rows:
        if unknown := graph[row.name] - listed.keys():
            raise LookupError(
                f"downgrade {row.name}: comes after {', '.join(sorted(unknown))}, which is not in the table"
            )
        if row.name != visibility and row.name not in before:
            graph[row.name].add(visibility)
    return tuple(rows[listed[name]] for name in _sorted(graph, listed))


def ancestors(name: str, rows: Iterable[Downgrade]) -> frozenset[str]:
    """The names of the rows that come before the row `name`: those that it comes after, and those that they do."""
    after = {row.name: [other.row for other in row.after] for row in rows}
    found: set[str] = set()
    waiting = [name]
    while waiting:
        new = [other for other in after.get(waiting.pop(), ()) if other not in found]
        found.update(new)
        waiting.extend(new)
    return frozenset(found)


def _sorted(graph: dict[str, set[str]], listed: dict[str, int]) -> Iterable[str]:
    sorter = TopologicalSorter(graph)
    try:
        sorter.prepare()
    except CycleError as error:
        raise LookupError(f"downgrades that come after themselves: {' after '.join(error.args[1][::-1])}") from None
    ready: list[str] = []
    while sorter.is_active():
        first, *ready = sorted([*ready, *sorter.get_ready()], key=listed.__getitem__)
        yield first
        sorter.done(first)
