"""Standard input and output of the commands that turn one stream into another or into a report.

A closed pipe gives neither a traceback nor the exit status of a verdict: click exits with 1 for a broken pipe, which from
`check` would mean that the release does not read the stream.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Final, NoReturn

import click

if TYPE_CHECKING:  # generic in the newest click only
    BinaryFile = click.ParamType[IO[bytes]]
else:
    BinaryFile = click.ParamType

UNREADABLE: Final = 2
"""The exit status where nothing could be read, or nobody reads the output. Click uses it for wrong arguments."""


class Input(BinaryFile):
    """A file to read as bytes; `-` is standard input."""

    name = "filename"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> IO[bytes]:
        """The open file. Exits with `UNREADABLE` where standard input is closed or the file cannot be opened."""
        if value == "-" and sys.stdin is None:
            exit_unreadable("there is nothing to read: standard input is closed")
        file: IO[bytes] = click.File("rb").convert(value, param, ctx)
        return file


@contextmanager
def standard_streams() -> Iterator[None]:
    """Exit with `UNREADABLE` where reading or writing fails in the body: silently if nobody reads standard output, which is
    how a pipe into `head` ends, else with one line on standard error.
    """
    if sys.stdout is None:
        sys.exit(UNREADABLE)
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # What is buffered is flushed once more at exit, which would raise again and print a warning.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(UNREADABLE)
    except OSError as error:
        exit_unreadable(str(error))


def exit_unreadable(reason: str) -> NoReturn:
    """Exit with `UNREADABLE` and one line on standard error."""
    click.echo(f"Error: {reason}", err=True)
    sys.exit(UNREADABLE)


def escaped(line: str) -> str:
    """A line for a terminal: what a recording holds cannot move the cursor, change colours or reverse the text."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)
