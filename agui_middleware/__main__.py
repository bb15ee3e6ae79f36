"""`python -m agui_middleware`, and the script `agui-middleware`."""

import sys


def main() -> None:
    """Run the command line. Exits with a hint where its extra is not installed."""
    try:
        from agui_middleware.cli import cli
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.exit("The command line needs click: pip install 'agui-middleware[cli]'")
    cli(prog_name="agui-middleware")


if __name__ == "__main__":
    main()
