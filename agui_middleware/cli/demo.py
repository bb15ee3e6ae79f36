"""`agui-middleware demo`."""

import socket
import threading
import webbrowser

import click

from agui_middleware.cli.serve import why_no_settings


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="By default one that is free.")
@click.option("--open/--no-open", "opens", default=True, help="Whether to open the page in a browser.")
def demo(port: int, opens: bool) -> None:
    """Show what a release of @ag-ui/client receives of a sample agent, or of a recorded stream, in a page.

    It is served on this machine only, and needs no key and no network. It reads no file of settings; AGUI_MIDDLEWARE_*
    variables apply to the agent behind the page.
    """
    try:
        import uvicorn

        from agui_middleware.demo.server import make_app
    except ImportError as error:
        raise click.ClickException("the demo needs an extra: pip install 'agui-middleware[demo]'") from error
    try:
        app = make_app()
    except ValueError as error:
        raise click.ClickException(why_no_settings(error)) from None
    listener = listen(port)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    click.echo(f"The demo is at {url} (Ctrl-C ends it)")
    if opens:
        # In a thread, since some browsers return only when they are closed; the socket takes connections already.
        threading.Thread(target=webbrowser.open, args=[url], daemon=True).start()
    # A run that is being watched would keep the server alive until it ends.
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


def listen(port: int) -> socket.socket:
    """A socket of this machine's own; raises `ClickException` where the port is taken."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        raise click.ClickException(
            f"port {port} cannot be used: {error.strerror}; choose another with --port"
        ) from None
    listener.listen()
    return listener
