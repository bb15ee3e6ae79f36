"""What 1.0.0 rejects is not mended on the way to an older release: drawn runs, and the smallest that once were."""

import pytest
from hypothesis import settings

from agui_middleware import rewrite
from tests.clients.client import RELEASES
from tests.downgrades.cases import stream
from tests.downgrades.invalid_runs import Invalid, drawn, mended, trials
from tests.downgrades.minimal import FINISHED, STARTED, StartClient
from tests.notation import Json
from tests.notation import stream as noted

EVERY_RELEASE = settings.get_current_profile_name() == "thorough"
SOME = ("0.0.27", "0.0.36", "0.0.37", "0.0.45", "0.0.53", "0.0.58", "0.0.59")

REOPENED = "KS c; KA c {}; KE c; KR c t"
"""A call that is finished for all releases before 0.0.58."""


@pytest.mark.parametrize(
    "events",
    [
        "KS c; KA c {; KE c; KA c }",
        "STEP+ a; STEP+ a; STEP- a; STEP- a",
        "STEP+ a; STEP+ b; STEP+ b; STEP- b; STEP- b; STEP- a",
        "STEP+ a; STEP+ b stepName=5; STEP- a",
        "KS c; KE c; KE c",
        "KS c; KE c; KE c; KS c; KE c",
        "KS c; KS c; KE c",
        f"{REOPENED}; KS c; KA c !",
        f"{REOPENED}; KS c; KS c; KE c; KE c",
        f"{REOPENED}; KA c !",
        "KS b; KS c; KE b; KS c; KE c; KE c",
        "TS n; TS m; TS m; TE n; TE m; TE m",
        "TS n; TS m; TE m; TC m a; TE n",
        "TK _ a",
        "KK c {",
        "GK _ a",
        "KK c { a; KK c } b",
        "KK c { a; KK c } a p",
        'TK m a role="user"; TK m b role="assistant"',
        'TK m a role="user"; TK m b name="Ann"',
        "TK m a; TK m b @s",
        "TK m a @s; TK n b @t; TK _ c",
        'TS m role="user"; TS m role="user"; TE m',
        'TS m role="user"; TS m role="assistant"; TE m',
        'TS m role="user"; TC m a',
        "TS m; TC m a; TE m; TC m b",
        "TS m; TC m a; TE m; TE m",
        "TS m; TE m; TE m; TS m; TE m",
        "TS m; TS m; TE m",
        "TS m; TE m; TS m; TC m a",
    ],
)
def test_a_run_that_is_rejected_stays_rejected(client: StartClient, events: str) -> None:
    body = stream(STARTED, *noted(events), FINISHED)
    assert not client("1.0.0").read(body).accepted
    rewritten = {release: rewrite(body, client=release) for release in RELEASES}
    changed = [release for release in RELEASES if rewritten[release] != body]
    assert [release for release in changed if client(release).read(rewritten[release]).accepted] == []


def test_a_run_that_never_started_does_not_start_on_the_way(client: StartClient) -> None:
    """0.0.27 to 0.0.30 reject a run that changes nothing; what is put in for them put in its RUN_STARTED, too."""
    body = stream(FINISHED)
    for release in RELEASES:
        assert not client(release).read(rewrite(body, client=release)).accepted


STARTED_AGAIN = STARTED | {"runId": "q"}
FINISHED_AGAIN = FINISHED | {"runId": "q"}
FAILED = {"type": "RUN_ERROR", "message": "broken"}


@pytest.mark.parametrize(
    "events",
    [
        [STARTED, FINISHED | {"threadId": 5}, STARTED_AGAIN, FINISHED_AGAIN],
        [STARTED, FINISHED, STARTED_AGAIN | {"runId": None}, FINISHED_AGAIN],
        [STARTED, FINISHED, STARTED_AGAIN | {"timestamp": "now"}, FINISHED_AGAIN],
        [STARTED, FAILED | {"message": None}, STARTED_AGAIN, FINISHED_AGAIN],
        [STARTED, FAILED | {"timestamp": True}, STARTED_AGAIN, FINISHED_AGAIN],
        [STARTED, FAILED, STARTED_AGAIN | {"threadId": ["t"]}, FINISHED_AGAIN],
        [STARTED, FAILED, STARTED_AGAIN | {"input": None}, FINISHED_AGAIN],
    ],
)
def test_runs_that_become_one_keep_what_is_malformed_between_them(client: StartClient, events: list[Json]) -> None:
    body = stream(*events, *noted("STATE"))
    for release in RELEASES:
        bare, rewritten = client(release).read_many([body, rewrite(body, client=release)])
        assert not bare.accepted
        assert not rewritten.accepted


@pytest.mark.parametrize(
    ("opened", "closed"),
    [
        ("KS c p", ""),
        ("KS c p; KR c t", ""),
        ("KS c p", "KE c; RF q"),
        ("TS m", "TE m; RF q"),
        ("STEP+ a", "STEP- a; RF q"),
    ],
)
def test_a_run_that_ends_with_something_open_is_not_continued_by_the_next(
    client: StartClient, opened: str, closed: str
) -> None:
    """Up to 0.0.36 runs are joined: what the first left open was closed in the second, and 1.0.0 alone rejected it."""
    body = stream(*noted(f"RS r; {opened}; RF r; RS q; {closed}"))
    for release in RELEASES:
        bare, rewritten = client(release).read_many([body, rewrite(body, client=release)])
        assert not bare.accepted
        assert not rewritten.accepted


@pytest.fixture(scope="module")
def invalid(client: StartClient) -> list[Invalid]:
    return drawn(client, 3000 if EVERY_RELEASE else 120)


@pytest.mark.untraced
@pytest.mark.parametrize("release", RELEASES if EVERY_RELEASE else SOME)
def test_a_drawn_run_that_is_rejected_stays_rejected(client: StartClient, release: str, invalid: list[Invalid]) -> None:
    assert [trial.run for trial in mended(client, release, invalid)] == []


def test_drawn_runs_have_faults_of_every_kind_which_releases_reject_before_and_after(
    client: StartClient, invalid: list[Invalid]
) -> None:
    """So that the test above cannot pass on nothing."""
    kinds = {f"{fault.kind} {fault.type}" for _, fault, _ in invalid}
    assert len(kinds) > 40
    for release in ("0.0.37", "0.0.58"):
        rejected = [trial for trial in trials(client, release, invalid) if not (trial.bare or trial.rewritten)]
        assert len(rejected) > len(invalid) / 2


def test_a_line_end_inside_a_string_stays_one(client: StartClient) -> None:
    """Data of two lines: what joins them is a line end, which JSON strings do not hold."""
    [start, end] = noted("TS m; TE m")
    torn = b'data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a\ndata: b"}\n\n'
    body = stream(STARTED, start) + torn + stream(end, FINISHED)
    for release in RELEASES:
        assert torn in (rewritten := rewrite(body, client=release))
        assert not client(release).read(rewritten).accepted
