"""What the producers sent when they were recorded, through the middleware into real clients."""

import pytest

from agui_middleware import rewrite
from tests.clients.client import RELEASES
from tests.clients.corpus import REFERENCE
from tests.downgrades.proof import VISIBILITIES, StartClient
from tests.producers.reading import READERS, REFUSED, faults, replay
from tests.producers.recordings import Recording, recordings

RECORDINGS = recordings()
READABLE = [(recording.name, recording.run) for recording in RECORDINGS if recording.name not in REFUSED]
OTHERS = [pytest.param(release, marks=pytest.mark.releases) for release in RELEASES if release not in READERS]


@pytest.mark.parametrize("visibility", VISIBILITIES)
@pytest.mark.parametrize("release", [*READERS, *OTHERS])
def test_release_reads_every_recording_as_declared(client: StartClient, release: str, visibility: str) -> None:
    assert faults(replay(client, release, READABLE, visibility)) == []


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_recording_stays_as_it_is_for_the_newest_client(recording: Recording) -> None:
    assert rewrite(recording.stream) == recording.stream


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_client_is_meant_to_read_is_refused(client: StartClient, name: str) -> None:
    """So that the list shrinks when a producer is mended and recorded again."""
    [run] = [recording.run for recording in RECORDINGS if recording.name == name]
    [outcome] = client(REFERENCE).read_many([run])
    assert not outcome.accepted
    assert outcome.error
    assert REFUSED[name] in outcome.error
