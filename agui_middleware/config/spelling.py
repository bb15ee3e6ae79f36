"""What was meant, where a name is misspelt."""

from collections.abc import Callable, Iterable


def did_you_mean(name: str, known: Iterable[str], written: Callable[[str], str] = str) -> str:
    """The end of an error about `name`: `; did you mean 'x'?` with the nearest of `known`, or nothing if none is near.

    `written`: how the nearest is spelt where it was misspelt, such as the environment variable of a field.
    """
    from difflib import get_close_matches  # needed for an error only

    nearest = get_close_matches(name, known, n=1)
    return f"; did you mean {written(nearest[0])!r}?" if nearest else ""
