"""The page in a headless Chromium: what it shows, and that everybody can use it."""

import asyncio
import json
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import pairwise
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from agui_middleware import rewrite
from agui_middleware.agent_events import AgentEvent, Done, RunOutcome, TextDelta
from agui_middleware.demo.recorded_trace import SLICE
from agui_middleware.demo.sample_agent import Sample
from agui_middleware.demo.server import MAX_BYTES, make_app
from agui_middleware.demo.trace import Record, Tracer
from agui_middleware.testing import encode_events
from tests.clients.client import Client
from tests.demo.browser import chromium, opened, run, served

RUN = {"threadId": "t", "runId": "r"}
STARTED, FINISHED = {"type": "RUN_STARTED", **RUN}, {"type": "RUN_FINISHED", **RUN}


def text(*deltas: str) -> list[dict[str, Any]]:
    contents = [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta} for delta in deltas]
    start = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
    return [start, *contents, {"type": "TEXT_MESSAGE_END", "messageId": "m"}]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(make_app(Sample(0).run)) as url:
        yield url


@pytest.fixture
def page(browser: Browser, url: str) -> Iterator[Page]:
    with opened(browser, url) as page:
        yield page


def choose(page: Page, client: str, visibility: str = "auto") -> None:
    page.get_by_label("Client release").select_option(client)
    page.get_by_label("Subagents").select_option(visibility)


def paste(page: Page, recording: str | bytes) -> None:
    page.get_by_label("Recording").check()
    page.get_by_label("Paste a recorded stream").fill(recording if isinstance(recording, str) else recording.decode())


def drop(page: Page, name: str, content: bytes) -> None:
    make = "([name, text]) => { const t = new DataTransfer(); t.items.add(new File([text], name)); return t; }"
    page.dispatch_event("body", "drop", {"dataTransfer": page.evaluate_handle(make, [name, content.decode()])})


# What it shows.


@pytest.mark.parametrize(
    ("visibility", "reason"),
    [("auto", "subagents kept from 0.0.59"), ("inline", "visibility")],
)
def test_an_old_client_is_spared_what_it_does_not_know(page: Page, visibility: str, reason: str) -> None:
    choose(page, "0.0.58", visibility)
    run(page)
    started = page.get_by_role("row").filter(has_text="SUBAGENT_STARTED").first
    dropped = started.locator("td.sends del")
    expect(dropped).to_contain_text("subagentRunId")
    assert "line-through" in dropped.locator(".type").evaluate("e => getComputedStyle(e).textDecorationLine")
    expect(started.locator("td.receives")).to_have_text("not sent")
    expect(started.locator("td.why")).to_contain_text(reason)
    expect(started).to_contain_text("0.0.58 rejects the run here, without the middleware")
    changed = page.locator("tr.changed").filter(has_text="TEXT_MESSAGE_CONTENT").first
    expect(changed.locator("td.sends del")).to_contain_text("subagentRunId")
    expect(changed.locator("td.receives")).not_to_contain_text("subagentRunId")
    expect(changed.locator("td.receives")).to_contain_text("TEXT_MESSAGE_CONTENT")


def test_the_error_of_an_unprotected_client_and_the_chat_of_a_protected_one(page: Page) -> None:
    run(page)
    bare = page.get_by_role("article", name="0.0.58, without the middleware")
    expect(bare).to_contain_text("@ag-ui/client 0.0.58 rejects the run at event 29, SUBAGENT_STARTED.")
    expect(bare).to_contain_text("Invalid discriminator value. Expected 'TEXT_MESSAGE_START' | 'TEXT_MESSAGE_CONTENT'")
    expect(bare).to_contain_text("I ask three colleagues about your day in Lisbon.")
    expect(bare).not_to_contain_text("Take the early tram")
    wrapped = page.get_by_role("article", name="0.0.58, with the middleware")
    for said in ("I call the fado house.", "Result of booking", "Take the early tram, see the tiles before noon"):
        expect(wrapped).to_contain_text(said)
    expect(page.locator("#rows")).to_contain_text("RUN_FINISHED")
    expect(page.locator("#reasons")).to_contain_text("A release before 0.0.59 rejects SUBAGENT_STARTED")
    expect(page.locator("#lost")).to_contain_text("0.0.59 and newer keep it")


@pytest.mark.parametrize("client", ["1.0.0", "current"])
def test_a_new_client_gets_everything_as_it_was_sent(page: Page, client: str) -> None:
    choose(page, client, "attributed")
    run(page)
    rows = page.locator("#rows tr")
    expect(rows).to_have_count(page.locator("#rows tr.same").count())
    assert page.locator("#rows del, #rows ins").count() == 0
    expect(page.locator("#bare")).to_contain_text("reads this run as it is sent")
    expect(page.locator("#wrapped")).to_contain_text(
        "guide \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} archive · Assistant"
    )
    expect(page.locator("#wrapped")).to_contain_text("booking · Failed")
    expect(page.locator("#summary")).to_be_hidden()


# What the sample has none of: chunks of two subagents in turns, and a snapshot that takes a message away.
CHUNKS = [
    STARTED,
    *({"type": "SUBAGENT_STARTED", "subagentRunId": agent, "name": agent} for agent in "ab"),
    *(
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": f"m{agent}", "delta": agent, "subagentRunId": agent}
        for agent in "ab"
    ),
    *({"type": "TEXT_MESSAGE_CHUNK", "delta": f"{agent}!", "subagentRunId": agent} for agent in "ab"),
    {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "look", "delta": "{}", "subagentRunId": "b"},
    {"type": "TOOL_CALL_RESULT", "messageId": "x", "toolCallId": "c", "content": "seen", "subagentRunId": "b"},
    *({"type": "SUBAGENT_FINISHED", "subagentRunId": agent} for agent in "ab"),
    *text("gone"),
    {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "ma", "role": "assistant", "content": "Anew"}]},
    *text("last"),
    FINISHED,
]


@pytest.mark.parametrize("release", ["0.0.36", "0.0.44", "0.0.58", "1.0.0"])
@pytest.mark.parametrize("events", [None, CHUNKS], ids=["sample", "chunks"])
def test_the_chat_is_what_the_real_client_holds(
    page: Page, url: str, client: Callable[[str], Client], release: str, events: list[dict[str, Any]] | None
) -> None:
    stream = encode_events(events) if events else httpx.post(f"{url}/unprotected", json={**RUN, "messages": []}).content
    choose(page, release)
    drop(page, "run.sse", stream)
    expect(page.get_by_role("status")).to_contain_text("Finished.")
    outcome = client(release).read(rewrite(stream, client=release))
    assert outcome.accepted, outcome.error
    said = [m["content"] for m in outcome.messages if m["role"] == "assistant" and m.get("content")]
    answers = [m["content"] for m in outcome.messages if m["role"] == "tool"]
    calls = [call["function"]["arguments"] for m in outcome.messages for call in m.get("toolCalls", ())]
    for kind, held in (("text", said), ("result", answers), ("call", calls)):
        assert sorted(page.locator(f"#wrapped .{kind} .said").all_text_contents()) == sorted(held)


def test_what_is_hidden_is_nowhere_in_the_chat(page: Page) -> None:
    choose(page, "1.0.0", "hidden")
    run(page)
    expect(page.locator("#wrapped")).not_to_contain_text("I call the fado house.")
    expect(page.locator("#wrapped")).to_contain_text("Take the early tram")
    expect(page.locator("tr.dropped td.why").first).to_contain_text("The route shows subagents hidden.")


def test_the_next_turn_shows_what_the_agent_gets_back(page: Page) -> None:
    choose(page, "0.0.58", "hidden")
    run(page)
    posted, given = (
        page.get_by_role("article", name="0.0.58 posts"),
        page.get_by_role("article", name="The agent receives"),
    )
    expect(posted).not_to_contain_text("I call the fado house.")
    expect(posted.locator("mark")).to_have_count(0)
    expect(given.locator("mark").filter(has_text="I call the fado house.")).to_contain_text("subagentRunId")
    choose(page, "current")
    run(page)
    expect(given).to_be_hidden()


@pytest.mark.parametrize(("release", "translated"), [("0.0.53", 1), ("0.0.58", 0)])
def test_an_answer_to_an_interrupt_is_shown_on_both_sides(page: Page, release: str, translated: int) -> None:
    choose(page, release)
    page.get_by_label("Agent that asks").check()
    run(page)
    expect(page.locator("#wrapped")).to_contain_text("The run waits for an answer")
    expect(page.locator("#rows ins").filter(has_text="on_interrupt")).to_have_count(translated)
    posted, given = page.locator("#posted-answer code"), page.locator("#given-answer code, #given-answer mark")
    expect(posted).to_contain_text("interruptEvent" if translated else "interruptId")
    expect(given).to_contain_text(
        '{"resume":[{"interruptId":"deposit","status":"resolved","payload":{"approved":true}}]'
    )
    expect(page.locator("#given-answer mark")).to_have_count(translated)
    page.get_by_label("Sample agent").check()
    run(page)
    expect(page.locator("#given")).to_be_visible()
    expect(given).to_be_hidden()


def test_what_is_held_back_says_until_when(page: Page) -> None:
    choose(page, "0.0.36")
    run(page)
    held = page.locator("tr.held").first
    assert "none" in held.locator(".type").evaluate("e => getComputedStyle(e).textDecorationLine")
    number = str(held.locator("td.receives").text_content()).removeprefix("held back until event ")
    releasing = page.locator("#rows tr").filter(has=page.get_by_role("rowheader", name=number, exact=True))
    expect(releasing.locator("td.receives")).to_contain_text(f"from {held.locator('th').text_content()}")


def test_only_what_changes_can_be_shown(page: Page) -> None:
    run(page)
    page.get_by_label("Only what changes").check()
    expect(page.locator("#rows tr.same:visible")).to_have_count(0)
    expect(page.locator("#rows tr.changed:visible").first).to_be_visible()


def test_the_address_chooses_too(browser: Browser, url: str) -> None:
    with opened(browser, f"{url}/?client=0.0.44&visibility=hidden") as page:
        expect(page.get_by_label("Client release")).to_have_value("0.0.44")
        expect(page.get_by_label("Subagents")).to_have_value("hidden")
        expect(page.locator("#curl")).to_contain_text(f"{url}/agent")
        expect(page.locator("#curl")).to_contain_text("x-ag-ui-client-version: 0.0.44")


# Recordings.


@pytest.mark.parametrize("lines", [False, True])
def test_a_recording_is_pasted(page: Page, lines: bool) -> None:
    events = [STARTED, *text("Hello ", "", "you"), FINISHED]
    paste(page, "\n".join(map(json.dumps, events)) if lines else encode_events(events))
    choose(page, "0.0.49")
    run(page)
    expect(page.locator("tr.dropped")).to_contain_text("empty-deltas kept from 0.0.50")
    expect(page.locator("#bare")).to_contain_text("rejects the run at event 4, TEXT_MESSAGE_CONTENT")
    expect(page.locator("#wrapped")).to_contain_text("Hello you")


def test_a_change_deep_inside_is_marked_where_it_is(page: Page) -> None:
    parts = [{"type": "image", "source": {"type": "file", "value": "f"}}, {"type": "text", "text": "What is this?"}]
    messages = [{"id": "1", "role": "user", "content": parts}, {"id": "2", "role": "robot", "content": "beep"}]
    paste(page, encode_events([STARTED, {"type": "MESSAGES_SNAPSHOT", "messages": messages}, FINISHED]))
    run(page)
    gone = page.locator("tr.changed td.sends del")
    expect(gone).to_have_text([json.dumps(part, separators=(",", ":")) for part in (parts[0], messages[1])])
    assert page.locator("tr.changed td.receives ins").count() == 0


def test_a_file_is_dropped(page: Page) -> None:
    drop(page, "run.sse", encode_events([STARTED, *text("Hello"), FINISHED]).replace(b"\n", b"\r\n"))
    expect(page.get_by_role("status")).to_contain_text("The agent sent 5 events")
    expect(page.get_by_label("Recording")).to_be_checked()


def test_a_file_is_chosen(page: Page) -> None:
    page.get_by_label("Recording").check()
    recording = encode_events([STARTED, FINISHED])
    page.get_by_label("or choose a file").set_input_files(
        {"name": "run.sse", "mimeType": "text/event-stream", "buffer": recording}
    )
    expect(page.get_by_role("status")).to_contain_text("The agent sent 2 events")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"hello", 'no line begins with "data:"'),
        (b'{"type":"RUN_STARTED"}\n{oops', "Line 2 is no AG-UI event"),
        (b"x" * (MAX_BYTES + 1), "larger than 5 MiB"),
        (b"", "is empty"),
    ],
)
def test_what_is_no_recording_is_refused_with_words(page: Page, content: bytes, said: str) -> None:
    drop(page, "run.txt", content)
    expect(page.get_by_role("alert")).to_contain_text(said)
    expect(page.get_by_role("status")).to_have_text("Failed.")
    page.get_by_label("Sample agent").check()
    run(page)
    expect(page.get_by_role("alert")).to_be_hidden()


def test_what_a_stream_says_is_shown_and_never_run(page: Page) -> None:
    markup = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
    event = {"type": "CUSTOM", "name": markup, "value": {markup: [markup]}, "subagentRunId": markup}
    paste(page, encode_events([STARTED, {"type": markup}, event, *text(markup), FINISHED]))
    run(page)
    expect(page.locator("#wrapped")).to_contain_text(markup)
    expect(page.locator("#rows")).to_contain_text(markup)
    assert page.locator("main img, main script").count() == 0
    assert page.title() != "taken"


def test_numbers_and_escapes_are_shown_as_they_were_sent(page: Page) -> None:
    value = '{"n":1152921504606846977,"x":1.0,"s":"\\ud83d, \\"} ] ["}'
    paste(page, f'data: {{"type":"RAW","event":{value},"subagentRunId":"s"}}\n\n')
    run(page)
    expect(page.locator("td.sends .member").first).to_have_text(f"event {value}")
    expect(page.locator("td.sends del")).to_have_text('subagentRunId "s"')


def test_a_long_stream_is_appended_in_batches(page: Page) -> None:
    page.evaluate("""() => {
        window.added = [];
        new MutationObserver((found) => added.push(...found.map((one) => one.addedNodes.length)))
            .observe(document.getElementById("rows"), { childList: true });
    }""")
    drop(page, "long.sse", encode_events([STARTED, *text(*["word "] * 2_000), FINISHED]))
    expect(page.get_by_role("status")).to_contain_text("The agent sent 2004 events")
    added = page.evaluate("() => window.added")
    assert sum(added) == 2_004
    assert max(added) <= 150


# It streams, and can be stopped.


class Gate:
    """An agent that waits, in its middle, until the test lets it go on."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open = asyncio.Event()

    async def agent(self) -> AsyncIterator[AgentEvent]:
        self._loop = asyncio.get_running_loop()
        yield TextDelta(text="Before the gate. ")
        await self._open.wait()
        yield TextDelta(text="Behind it.")
        yield Done(outcome=RunOutcome(status="finished"))

    def open(self) -> None:
        assert self._loop is not None  # the agent has begun
        self._loop.call_soon_threadsafe(self._open.set)


def test_events_are_shown_while_the_agent_goes_on(browser: Browser) -> None:
    gate = Gate()
    with served(make_app(gate.agent)) as url, opened(browser, url) as page:
        run(page, "Running.")
        expect(page.locator("#rows")).to_contain_text("Before the gate. ")
        expect(page.locator("#wrapped")).to_contain_text("Before the gate. ")
        expect(page.get_by_role("status")).to_have_text("Running.")
        gate.open()
        expect(page.get_by_role("status")).to_contain_text("Finished.")
        expect(page.locator("#wrapped")).to_contain_text("Before the gate. Behind it.")


def test_a_run_can_be_stopped(browser: Browser) -> None:
    with served(make_app(Gate().agent)) as url, opened(browser, url) as page:
        stop = page.get_by_role("button", name="Stop")
        expect(stop).to_be_disabled()
        run(page, "Running.")
        expect(page.locator("#rows")).to_contain_text("Before the gate. ")
        stop.click()
        expect(page.get_by_role("status")).to_have_text("Stopped.")
        expect(stop).to_be_disabled()


def test_the_progress_of_a_recording_is_shown_until_its_end(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interlock: what is read is shown while the rest waits, and that it is all read while the end waits."""
    slice, end = threading.Event(), threading.Event()
    take, finish = Tracer.take, Tracer.finish
    taken = 0

    async def take_behind_the_gate(self: Tracer, chunk: bytes) -> list[Record]:
        nonlocal taken
        taken += 1
        assert taken == 1 or slice.wait(20)
        return await take(self, chunk)

    async def finish_behind_the_gate(self: Tracer) -> list[Record]:
        assert end.wait(20)
        return await finish(self)

    monkeypatch.setattr(Tracer, "take", take_behind_the_gate)
    monkeypatch.setattr(Tracer, "finish", finish_behind_the_gate)
    progress = page.get_by_role("progressbar", name="Progress of the trace")
    expect(progress).to_be_hidden()
    drop(page, "long.sse", encode_events([STARTED, *text(*["word "] * 1_000), FINISHED]))
    expect(progress).to_have_js_property("value", SLICE)
    slice.set()
    expect(progress).not_to_have_attribute(
        "value", re.compile(".*")
    )  # all is read; what is left takes as long as it takes
    expect(progress).to_be_visible()
    end.set()
    expect(page.get_by_role("status")).to_contain_text("Finished.")
    expect(progress).to_be_hidden()


def test_a_run_that_is_begun_anew_shows_nothing_of_the_one_before(page: Page) -> None:
    drop(page, "long.sse", encode_events([STARTED, *text(*["word "] * 3_000), FINISHED]))
    expect(page.locator("#rows tr").first).to_be_visible()
    drop(page, "short.sse", encode_events([STARTED, *text("Hello"), FINISHED]))
    expect(page.get_by_role("status")).to_contain_text("The agent sent 5 events")
    expect(page.locator("#rows tr")).to_have_count(5)
    expect(page.locator("#wrapped")).to_have_text("AssistantHello")


def test_a_server_that_has_gone_is_told(browser: Browser) -> None:
    with served(make_app()) as url, opened(browser, url) as page:
        page.route("**/trace*", lambda route: route.abort())
        run(page, "Failed.")
        expect(page.get_by_role("alert")).to_have_text("The demo's server cannot be reached. Is it still running?")


# For everybody.


def focused(page: Page) -> dict[str, Any]:
    return dict(
        page.evaluate("""() => {
            const e = document.activeElement, s = getComputedStyle(e);
            const outline = s.outlineStyle === "none" ? 0 : parseFloat(s.outlineWidth);
            return { name: e.id || e.value || e.className, outline };
        }""")
    )


def test_the_keyboard_is_enough(page: Page) -> None:
    stops = []
    for _ in range(5):
        page.keyboard.press("Tab")
        stops.append(focused(page))
    assert [stop["name"] for stop in stops] == ["skip", "client", "visibility", "sample", "run"]
    assert all(stop["outline"] >= 2 for stop in stops)
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_label("Agent that asks")).to_be_checked()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.type("0.0.44")
    expect(page.get_by_label("Client release")).to_have_value("0.0.44")
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Finished.")
    later = []
    while focused(page)["name"] != "curl":
        page.keyboard.press("Tab")
        later.append(focused(page)["name"])
        assert len(later) < 10
    assert later == ["changes-only", "events", "curl"]


def test_every_control_has_a_name(page: Page) -> None:
    page.get_by_label("Recording").check()
    run_roles = {"button", "checkbox", "combobox", "link", "radio", "textbox", "table", "article", "region", "form"}
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    found = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node["ignored"] and node["role"]["value"] in run_roles
    ]
    assert {role for role, _ in found} >= {"button", "checkbox", "combobox", "radio", "textbox", "table", "article"}
    assert [role for role, name in found if not name] == []


def test_the_events_are_a_table_for_a_screen_reader(page: Page) -> None:
    run(page)
    table = page.get_by_role("table", name="Event by event")
    expect(table.get_by_role("columnheader")).to_have_text(["No.", "The agent sends", "0.0.58 receives", "Why"])
    row = table.get_by_role("row").nth(1)
    expect(row.get_by_role("rowheader")).to_have_text("1")
    expect(row.get_by_role("cell")).to_have_count(3)


def test_a_screen_reader_is_told_of_the_run_and_not_of_each_event(page: Page) -> None:
    page.evaluate("""() => {
        window.told = [];
        const status = document.getElementById("status");
        new MutationObserver(() => told.push(status.textContent)).observe(status, { childList: true });
    }""")
    run(page)
    told = page.evaluate("() => window.told")
    assert [words.split(".")[0] for words in told] == ["Running", "Finished"]
    assert page.locator("[aria-live], [role=status], [role=alert], [role=log]").count() == 2


def test_headings_go_down_one_by_one_and_ids_are_unique(page: Page) -> None:
    run(page)
    levels = page.evaluate("() => [...document.querySelectorAll('h1,h2,h3,h4')].map((h) => Number(h.tagName[1]))")
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))
    assert page.evaluate("() => document.documentElement.lang") == "en"


@pytest.mark.parametrize("width", [320, 390, 700, 1280])
def test_no_width_scrolls_sideways(browser: Browser, url: str, width: int) -> None:
    with opened(browser, f"{url}/?client=0.0.36", width=width) as page:
        wide = """() => [document.documentElement, document.getElementById("events")]
            .map((e) => e.scrollWidth > e.clientWidth)"""
        page.get_by_label("Recording").check()
        assert page.evaluate(wide) == [False, False]
        run(page, "Failed.")
        page.get_by_label("Sample agent").check()
        run(page)
        assert page.evaluate(wide) == [False, False]
        word = "x" * 200
        event = {"type": word, word: word, "subagentRunId": word}
        paste(page, encode_events([STARTED, *text(word), event, {"type": "RUN_ERROR", "message": word}]))
        run(page)
        assert page.evaluate(wide) == [False, False]


CONTRASTS = """() => {
    const parse = (color) => color.match(/[\\d.]+/g).map(Number);
    const light = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
    const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
    const paper = (e) => {
        for (; e; e = e.parentElement) {
            const [r, g, b, a = 1] = parse(getComputedStyle(e).backgroundColor);
            if (a === 1) return [r, g, b];
            if (a > 0) throw new Error("a translucent background");
        }
        return [255, 255, 255];
    };
    const found = [];
    for (const e of document.querySelectorAll("body *")) {
        const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim() !== "");
        if (!own || e.disabled || e.tagName === "OPTION" || !e.checkVisibility()) continue;
        const [one, other] = [luminance(parse(getComputedStyle(e).color)), luminance(paper(e))];
        const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        found.push([ratio, e.tagName + "." + e.className + ": " + e.textContent.slice(0, 40)]);
    }
    return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(browser: Browser, url: str, scheme: str) -> None:
    """4.5 to 1, which WCAG 2.2 asks of text of any size (1.4.3, AA)."""
    with opened(browser, f"{url}/?client=0.0.36", scheme=scheme) as page:
        run(page)
        found = page.evaluate(CONTRASTS)
        paper = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        page.get_by_label("Recording").check()
        paste(page, b"hello")
        run(page, "Failed.")
        found += page.evaluate(CONTRASTS)
    assert (sum(map(int, paper.removeprefix("rgb(").removesuffix(")").split(", "))) < 200) is (scheme == "dark")
    assert len(found) > 300
    assert [words for ratio, words in found if ratio < 4.5] == []
