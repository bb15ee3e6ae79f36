"""What the app's `send` raises once the response is over."""

from typing import NoReturn

from anyio.lowlevel import checkpoint_if_cancelled


class Disconnected(OSError):
    """The response is over: to the app it looks as if the client had left."""


async def turn_away() -> NoReturn:
    """Tell a sender that the response is over; one that is cancelled with another, which ended it, is just cancelled."""
    await checkpoint_if_cancelled()
    raise Disconnected("the response is over")


def stems_from_us(error: BaseException, seen: set[int] | None = None) -> bool:
    """Whether an app raised only since its `send` said that the client had left; frameworks wrap that in errors of theirs.

    Of a group every error has to. What was raised while the task was cancelled for it is an error of its own. Exceptions
    may refer to each other in circles: one that is taken out of its group and raised has the group as its context.
    """
    seen = set() if seen is None else seen
    link: BaseException | None = error
    while link is not None and not isinstance(link, Disconnected):
        if id(link) in seen or not isinstance(link, Exception):
            return False
        seen.add(id(link))
        if isinstance(link, BaseExceptionGroup):
            return all(stems_from_us(inner, seen) for inner in link.exceptions)
        link = link.__cause__ or link.__context__
    return link is not None
