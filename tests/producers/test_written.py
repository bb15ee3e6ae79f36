"""What servers write that no client reads: what `repair` makes of it, and that the log points there."""

import logging

import pytest

from agui_middleware import AGUIMiddleware, Route, Settings, rewrite
from agui_middleware.filters.repair import repair
from tests.clients.client import RELEASES
from tests.downgrades.minimal import StartClient
from tests.producers.written import WRITTEN
from tests.robustness.exchange import Exchange, sends

EVERY_SERVER = pytest.mark.parametrize("server", WRITTEN)


@EVERY_SERVER
def test_every_client_reads_it_once_it_is_repaired_and_the_newest_does_not_before(
    client: StartClient, server: str
) -> None:
    _, stream = WRITTEN[server]
    assert not client("1.0.0").read(stream).accepted
    for release in RELEASES:
        outcome = client(release).read(rewrite(stream, client=release, filters=[repair]))
        assert outcome.accepted, f"{release}: {outcome.error}"
        assert [message["role"] for message in outcome.messages][-1] == "assistant"


@EVERY_SERVER
async def test_the_log_says_which_fault_it_is_and_which_filter_helps(
    server: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    fault, stream = WRITTEN[server]
    frames = [frame + b"\n\n" for frame in stream.split(b"\n\n")[:-1]]
    without, repaired = Route(path="/agent"), Route(path="/agent", filters=[repair])
    for route in (without, repaired):
        await Exchange().run(AGUIMiddleware(sends(*frames), Settings(routes=[route], default_client="current")))
    records = [record for record in caplog.records if "fault" in vars(record)]
    assert [vars(record)["fault"] for record in records] == [fault]
    assert "agui_middleware.filters.repair:repair" in records[0].getMessage()
