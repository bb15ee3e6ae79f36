"""What subagents have opened in earlier responses of a thread."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

_OVERHEAD: Final = 8  # bytes of JSON around the two strings of a pair


class Owned:
    """By kind and id of an entity, whether a subagent has opened it last. The newest stand last."""

    __slots__ = ("_opened",)

    is_known: bool = True
    """Whether it is known what the thread's earlier responses have opened."""

    def __init__(self, opened: Mapping[tuple[str, str], bool] | None = None) -> None:
        self._opened: dict[tuple[str, str], bool] = dict(opened or {})

    @classmethod
    def of(cls, pairs: Iterable[Any]) -> "Owned":
        """The reverse of `within`. Raises `TypeError` or `ValueError` for anything else."""
        opened = {(kind, id): True for kind, id in pairs}  # noqa: C420  # it checks that they are pairs
        if not all(isinstance(part, str) for pair in opened for part in pair):
            raise TypeError("expected pairs of strings")
        return cls(opened)

    def __contains__(self, entity: object) -> bool:
        return entity in self._opened and self._opened[entity]

    def __bool__(self) -> bool:
        return bool(self._opened)

    def merged(self, newer: "Owned") -> "Owned":
        """This with what was opened later: what the agent itself has opened since is no subagent's any more."""
        older = {entity: owned for entity, owned in self._opened.items() if entity not in newer._opened}
        return Owned({**older, **newer._opened})

    def within(self, limit: int) -> list[tuple[str, str]]:
        """What subagents own, as pairs of `limit` bytes at most: what is oldest goes first."""
        pairs: list[tuple[str, str]] = []
        for (kind, id), owned in reversed(self._opened.items()):
            limit -= len(kind) + len(id.encode("utf-8", "backslashreplace")) + _OVERHEAD
            if limit < 0:
                break
            if owned:
                pairs.append((kind, id))
        return pairs[::-1]


class _Unknown(Owned):
    __slots__ = ()

    is_known = False

    def __contains__(self, entity: object) -> bool:
        # A message that only its calls name has no START: it would hide the parent's own calls.
        return isinstance(entity, tuple) and entity[0] != "message"

    def merged(self, newer: Owned) -> Owned:
        """What was opened later does not tell what was before."""
        return self


UNKNOWN: Final[Owned] = _Unknown()
"""For a thread that could not be read: each call, activity and reasoning of before may be a subagent's."""
