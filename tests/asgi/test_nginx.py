"""A silent run behind nginx, which cuts streams that are idle. Of all tests this one takes its seconds from nginx.

With `--hypothesis-profile=thorough` nginx waits 2 s for a run that is silent for 10 s, instead of 1 s and 3 s.
"""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from hypothesis import settings

from agui_middleware.testing import encode_events
from tests.clients.fixtures import unavailable
from tests.notation import stream
from tests.proxy.commands import command

FIRST, *REST = [encode_events([event]) for event in stream("RS r; TS m; TC m x; TE m; RF r")]

THOROUGH = settings.get_current_profile_name() == "thorough"
PATIENCE, SILENCE = (2, 10) if THOROUGH else (1, 3)

CONF = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    server {{
        listen 127.0.0.1:{port};
        location / {{ proxy_pass {upstream}; proxy_http_version 1.1; proxy_buffering off; proxy_read_timeout {patience}s; }}
    }}
}}
"""

APP = f"""
import anyio

async def app(scope, receive, send):
    headers = [(b"content-type", b"text/event-stream")]
    await send({{"type": "http.response.start", "status": 200, "headers": headers}})
    await send({{"type": "http.response.body", "body": {FIRST!r}, "more_body": True}})
    await anyio.sleep({SILENCE})
    await send({{"type": "http.response.body", "body": {b"".join(REST)!r}}})
"""


@contextmanager
def nginx(upstream: str, folder: Path) -> Iterator[str]:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        unavailable("nginx is not installed (apt-get install nginx-light)")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    conf = folder / "nginx.conf"
    conf.write_text(CONF.format(folder=folder, patience=PATIENCE, port=port, upstream=upstream))
    with subprocess.Popen([program, "-c", conf, "-p", folder, "-e", folder / "error.log"]) as process:
        try:
            for _ in range(200):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


@pytest.mark.parametrize("seconds", ["0", str(0.4 * PATIENCE)])
def test_a_silent_run_arrives_whole_where_it_is_kept_alive(tmp_path: Path, seconds: str) -> None:
    (tmp_path / "silent.py").write_text(APP)
    with (
        command("serve", "silent:app", folder=tmp_path, AGUI_MIDDLEWARE_KEEP_ALIVE=seconds) as url,
        nginx(url, tmp_path) as front,
        httpx.Client(timeout=60, trust_env=False, verify=False) as http,
    ):
        got = b""
        try:
            with http.stream("POST", front, json={}) as response:
                for part in response.iter_raw():
                    got += part
        except httpx.RemoteProtocolError:
            assert seconds == "0"
    if seconds == "0":
        assert got == FIRST
    else:
        assert got.count(b":\n\n") >= 3
        assert got.replace(b":\n\n", b"") == FIRST + b"".join(REST)
