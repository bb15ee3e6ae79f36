"""A headless Chromium, and the demo on a socket for it."""

import os
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, NoReturn

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, expect, sync_playwright
from starlette.types import ASGIApp

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",  # which needs privileges that a container does not have
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PATIENCE = 20_000  # milliseconds, for a machine that has better things to do


def executable() -> str:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return found or _unavailable("Chromium is not installed; on Debian: apt-get install chromium")


def _unavailable(reason: str) -> NoReturn:
    # A skip in CI would be green without having looked at a single page.
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def chromium() -> Iterator[Browser]:
    path = executable()
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """The address of `app` on this machine. The socket takes connections from the start."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        server = uvicorn.Server(
            uvicorn.Config(app, log_level="warning", lifespan="off", ws="none", timeout_graceful_shutdown=1)
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def opened(browser: Browser, url: str, *, width: int = 1280, scheme: str = "light") -> Iterator[Page]:
    """A page that is ready, and that must not raise nor be refused anything by its policy until it is closed."""
    faults: list[str] = []
    dark: Literal["dark", "light"] = "dark" if scheme == "dark" else "light"
    page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=dark)
    page.set_default_timeout(PATIENCE)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on(
        "console",
        lambda message: faults.append(message.text) if "Content Security Policy" in message.text else None,
    )
    page.goto(url)
    expect(page.get_by_role("button", name="Run")).to_be_enabled()
    yield page
    page.close()
    assert faults == []


def run(page: Page, words: str = "Finished.") -> None:
    """Press Run, and wait until the page says so."""
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("status")).to_contain_text(words)
