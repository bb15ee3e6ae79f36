"""The command line: one file a command, named as the command and its function.

A file is imported when its command is run, or when its line of help is wanted. So what only an extra brings is imported
inside the function: the help, and every other command, work without it.
"""

from importlib import import_module

import click

from agui_middleware import __version__

COMMANDS = (
    "check",
    "demo",
    "explain",
    "proxy",
    "rewrite",
    "serve",
)


class Commands(click.Group):
    """Commands that are imported by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name; `None` where there is none."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"{__name__}.{cmd_name}"), cmd_name)
        return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def cli() -> None:
    """AG-UI event streams that every release of @ag-ui/client reads."""
