"""What becomes of a posted conversation, rule by rule, from the body alone."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_middleware import ClientVersion
from agui_middleware.downgrades import DOWNGRADES, SDK_ROWS
from agui_middleware.history.upgrade import ORDER, upgrades_for
from agui_middleware.protocol.releases import RELEASES
from tests.history.bodies import upgrade

Json = dict[str, Any]
OLDEST, BEFORE_MEDIA, BEFORE_ORDER, LAST_OLD = "0.0.36", "0.0.48", "0.0.54", "0.0.59"


def posted(*messages: Json, **members: Any) -> bytes:
    rest = {"tools": [], "context": [], "state": {}, "forwardedProps": {}, **members}
    return json.dumps({"threadId": "t", "runId": "r", "messages": messages, **rest}).encode()


def upgraded(release: str, *messages: Json) -> list[Json]:
    result: list[Json] = json.loads(upgrade(posted(*messages), ClientVersion.parse(release)))["messages"]
    return result


def user(id: str, content: Any = "q", **members: Any) -> Json:
    return {"id": id, "role": "user", "content": content, **members}


def text(id: str, content: str, **members: Any) -> Json:
    return {"id": id, "role": "assistant", "content": content, **members}


def call(id: str, arguments: str = "{}", name: str = "f") -> Json:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(id: str, *held: Json, **members: Any) -> Json:
    return {"id": id, "role": "assistant", "toolCalls": list(held), **members}


def result(id: str, call: str, content: str = "ok") -> Json:
    return {"id": id, "role": "tool", "toolCallId": call, "content": content}


# Which rows have an upgrade, and who gets it.


def test_every_upgrade_of_the_table_has_its_place_in_the_order() -> None:
    assert ({row.upgrade for row in DOWNGRADES} | {row.upgrade for row in SDK_ROWS}) - {None} == set(ORDER)


def test_every_release_before_one_that_reads_everything_gets_upgrades() -> None:
    assert [bool(upgrades_for(release)) for release in RELEASES] == [str(release) < "1" for release in RELEASES]
    assert upgrades_for(None) == ()


def test_the_body_of_a_client_that_reads_everything_is_the_same_object() -> None:
    body = posted(user("u", [{"type": "binary", "mimeType": "image/png", "data": "AA=="}]))
    assert upgrade(body, None) is body
    assert upgrade(body, ClientVersion(1, 0, 0)) is body


# Media.


@pytest.mark.parametrize(
    ("binary", "media"),
    [
        (
            {"mimeType": "image/png", "data": "AA=="},
            {"type": "image", "source": {"type": "data", "value": "AA==", "mimeType": "image/png"}},
        ),
        (
            {"mimeType": "audio/mp3", "url": "http://x/a"},
            {"type": "audio", "source": {"type": "url", "value": "http://x/a", "mimeType": "audio/mp3"}},
        ),
        (
            {"mimeType": "IMAGE/PNG", "data": "AA=="},  # a MIME type has no case
            {"type": "image", "source": {"type": "data", "value": "AA==", "mimeType": "IMAGE/PNG"}},
        ),
        (
            {"mimeType": "video/mp4", "id": "file-1"},
            {"type": "video", "source": {"type": "file", "value": "file-1", "mimeType": "video/mp4"}},
        ),
        (
            {"mimeType": "application/pdf", "data": "AA==", "filename": "a.pdf"},
            {
                "type": "document",
                "source": {"type": "data", "value": "AA==", "mimeType": "application/pdf"},
                "metadata": {"filename": "a.pdf"},
            },
        ),
        (
            {"mimeType": "image/png", "data": "AA==", "url": "http://x", "id": "file-1", "metadata": {"a": 1}},
            {
                "type": "image",
                "source": {"type": "data", "value": "AA==", "mimeType": "image/png"},
                "metadata": {"a": 1},
            },
        ),
        (
            {"mimeType": "image/png", "url": "http://x", "filename": "b.png", "metadata": {"a": 1}},
            {
                "type": "image",
                "source": {"type": "url", "value": "http://x", "mimeType": "image/png"},
                "metadata": {"a": 1, "filename": "b.png"},
            },
        ),
        (
            {"mimeType": "image", "url": "http://x"},
            {"type": "document", "source": {"type": "url", "value": "http://x", "mimeType": "image"}},
        ),
        ({"url": "http://x"}, {"type": "document", "source": {"type": "url", "value": "http://x"}}),
    ],
)
@pytest.mark.parametrize("release", ["0.0.27", "0.0.40", "0.0.41", BEFORE_MEDIA, LAST_OLD])
def test_a_binary_part_becomes_a_media_part(release: str, binary: Json, media: Json) -> None:
    parts = [{"type": "text", "text": "see"}, {"type": "binary", **binary}]
    assert upgraded(release, user("u", parts)) == [user("u", [parts[0], media])]


@pytest.mark.parametrize(
    "binary",
    [{"mimeType": "image/png"}, {"data": "AA=="}, {"mimeType": 1, "url": "http://x"}, {"url": 1}, {"data": ""}],
)
def test_a_binary_part_that_does_not_say_what_it_is_stays(binary: Json) -> None:
    message = user("u", [{"type": "binary", **binary}])
    assert upgraded(LAST_OLD, message) == [message]


@pytest.mark.parametrize(
    ("filled", "kind"), [("image/*", "image"), ("video/*", "video"), ("application/octet-stream", "document")]
)
def test_a_mime_type_that_the_downgrade_has_filled_in_goes(filled: str, kind: str) -> None:
    binary = {"type": "binary", "mimeType": filled, "url": "http://x"}
    unnamed = {"type": kind, "source": {"type": "url", "value": "http://x"}}
    named = {"type": kind, "source": {"type": "url", "value": "http://x", "mimeType": filled}}
    assert upgraded(BEFORE_MEDIA, user("u", [binary])) == [user("u", [unnamed])]
    assert upgraded(LAST_OLD, user("u", [binary])) == [user("u", [named])]


def test_data_keep_the_mime_type_that_they_need() -> None:
    binary = {"type": "binary", "mimeType": "image/*", "data": "AA=="}
    media = {"type": "image", "source": {"type": "data", "value": "AA==", "mimeType": "image/*"}}
    assert upgraded(BEFORE_MEDIA, user("u", [binary])) == [user("u", [media])]


# Results.


def test_results_stand_behind_their_calls() -> None:
    before = [calls("a", call("c1"), call("c2")), text("m", "hi"), result("r2", "c2"), user("u"), result("r1", "c1")]
    after = [before[0], before[2], before[4], before[1], before[3]]
    assert upgraded(BEFORE_ORDER, *before) == after
    assert upgraded("0.0.56", *before) == after
    assert upgraded("0.0.57", *before) == before


def test_results_come_behind_those_that_stand_there_already() -> None:
    before = [calls("a", call("c1"), call("c2")), result("r1", "c1"), text("m", "hi"), result("r2", "c2")]
    assert upgraded(BEFORE_ORDER, *before) == [before[0], before[1], before[3], before[2]]


def test_a_result_between_the_results_of_others_goes_to_its_own_call() -> None:
    before = [calls("a", call("c1")), calls("b", call("c2")), result("r1", "c1"), result("r2", "c2")]
    assert upgraded(BEFORE_ORDER, *before) == [before[0], before[2], before[1], before[3]]


def test_a_result_before_its_call_goes_behind_it() -> None:
    before = [result("r", "c"), calls("a", call("c")), text("m", "hi")]
    assert upgraded(BEFORE_ORDER, *before) == [before[1], before[0], before[2]]


def test_a_result_without_a_call_stays() -> None:
    before = [
        user("u"),
        result("r", "nobody's"),
        text("m", "hi"),
        {"id": "x", "role": "tool", "content": "", "toolCallId": 1},
    ]
    assert upgraded(BEFORE_ORDER, *before) == before


def test_the_results_of_a_call_id_that_an_agent_uses_in_every_run_stay_with_their_runs() -> None:
    first = [calls("a", call("c", '{"x":1}')), result("r1", "c"), user("u")]
    second = [calls("b", call("c", '{"x":2}')), text("m", "wait")]
    late = result("r2", "c")
    assert upgraded(BEFORE_ORDER, *first, *second, late) == [*first, second[0], late, second[1]]


# Pieces.


def test_the_pieces_of_a_message_become_one_in_the_place_of_the_first() -> None:
    before = [text("m", "The answer"), calls("a", call("c")), text("m", " is 42", name="bob"), user("u")]
    joined = text("m", "The answer is 42", name="bob")
    assert upgraded(OLDEST, *before) == [joined, before[1], before[3]]
    assert upgraded("0.0.43", *before) == [joined, before[1], before[3]]
    assert upgraded("0.0.44", *before) == before


def test_a_message_and_the_one_that_its_call_has_made_become_one() -> None:
    before = [calls("m", call("c1")), text("m", "hi"), calls("m", call("c2"))]
    assert upgraded(OLDEST, *before) == [text("m", "hi", toolCalls=[call("c1"), call("c2")])]
    assert upgraded("0.0.57", before[0], before[2]) == [calls("m", call("c1"), call("c2"))]


@pytest.mark.parametrize("role", ["assistant", "user", "system", "developer"])
@pytest.mark.parametrize("first", [text("m", "hi"), user("m", "hi"), user("m", [{"type": "text", "text": "hi"}])])
def test_an_empty_piece_goes(first: Json, role: str) -> None:
    """Releases 0.0.37 to 0.0.43 make an empty message of a second START, and append its text to the first."""
    assert upgraded("0.0.43", first, {"id": "m", "role": role, "content": ""}) == [first]


def test_the_halves_of_a_character_meet() -> None:
    body = posted(text("m", "\ud83d"), text("m", "\ude00"))
    after = upgrade(body, ClientVersion.parse(OLDEST))
    assert json.loads(after)["messages"] == [text("m", "\U0001f600")]


@pytest.mark.parametrize(
    "second",
    [
        result("m", "c"),
        user("m", "typed by the user"),
        {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "hi"}]},
    ],
)
def test_what_is_not_a_piece_stays(second: Json) -> None:
    before = [text("m", "hi"), second]
    assert upgraded("0.0.43", *before) == before


def test_a_message_of_parts_takes_no_text_and_a_user_no_calls() -> None:
    for before in (
        [user("m", [{"type": "text", "text": "a"}]), text("m", "b")],
        [user("m", "a"), calls("m", call("c"))],
    ):
        assert upgraded("0.0.43", *before) == before


def test_null_content_counts_as_none() -> None:
    first, second = calls("m", call("c"), content=None), text("m", "hi")
    assert upgraded(OLDEST, first, second) == [{**first, "content": "hi"}]


def test_the_pieces_of_a_call_become_one_in_the_message_of_the_first() -> None:
    before = [text("m", "hi", toolCalls=[call("c", '{"a":', "old")]), user("u"), calls("c", call("c", "1}", "new"))]
    whole = text("m", "hi", toolCalls=[call("c", '{"a":1}', "new")])
    assert upgraded("0.0.57", *before) == [whole, user("u")]
    assert upgraded("0.0.58", *before) == before


def test_a_message_of_a_piece_that_says_more_stays_without_the_piece() -> None:
    before = [calls("a", call("c", '{"a":')), text("b", "hi", toolCalls=[call("c", "1}"), call("d")])]
    assert upgraded("0.0.57", *before) == [calls("a", call("c", '{"a":1}')), text("b", "hi", toolCalls=[call("d")])]
    before[1]["toolCalls"].pop()
    assert upgraded("0.0.57", *before) == [calls("a", call("c", '{"a":1}')), text("b", "hi")]


def test_an_empty_second_call_of_an_id_goes() -> None:
    before = [calls("a", call("c", '{"a":1}')), calls("c", call("c", ""))]
    assert upgraded("0.0.57", *before) == [before[0]]


def test_a_call_that_an_agent_replays_is_one() -> None:
    before = [calls("a", call("c", '{"a":1}')), calls("b", call("c", '{"a":1}')), result("r", "c")]
    assert upgraded("0.0.56", *before) == [before[0], before[2]]


@pytest.mark.parametrize("arguments", ['{"a":1}', '{"a":2}'])
def test_two_calls_of_one_id_with_a_result_each_are_two_calls(arguments: str) -> None:
    """Joined, their arguments would be no JSON, and a provider refuses the whole conversation."""
    before = [calls("a", call("c", '{"a":1}')), result("r1", "c"), calls("b", call("c", arguments)), result("r2", "c")]
    assert upgraded("0.0.56", *before) == before


@pytest.mark.parametrize("function", [None, "f", {"name": "f"}, {"name": "f", "arguments": {}}])
def test_malformed_calls_of_one_id_stay(function: Any) -> None:
    before = [calls("a", call("c")), calls("b", {"id": "c", "function": function}), calls("d", {"id": 1}, {"id": 1})]
    assert upgraded("0.0.56", *before) == before


def test_pieces_are_joined_before_their_results_are_placed() -> None:
    before = [calls("a", call("c", '{"a":')), text("m", "hi"), calls("c", call("c", "1}")), result("r", "c")]
    assert upgraded(BEFORE_ORDER, *before) == [calls("a", call("c", '{"a":1}')), before[3], before[1]]


def test_the_result_of_a_piece_follows_the_whole_call_also_where_results_have_their_order() -> None:
    before = [calls("a", call("c", '{"a":')), text("m", "hi"), calls("c", call("c", "1}")), result("r", "c")]
    assert upgraded("0.0.57", *before) == [calls("a", call("c", '{"a":1}')), before[3], before[1]]


# Members, and what survives.


def test_members_that_models_before_1_0_require_are_added() -> None:
    body = b'{"threadId":"t","runId":"r","messages":[],"tools":null}'
    assert json.loads(upgrade(body, ClientVersion.parse("0.0.27"))) == {
        "threadId": "t",
        "runId": "r",
        "messages": [],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
    }


def test_a_null_state_and_null_props_are_values() -> None:
    body = posted(state=None, forwardedProps=None)
    assert upgrade(body, ClientVersion.parse(LAST_OLD)) is body


def test_what_is_not_upgraded_keeps_its_bytes() -> None:
    untouched = rb'{"id" : "m", "role":"assistant","content":"\u00e9\ud83d", "x":[1.0, 12345678901234567890, 1e400]}'
    other = b'{"a": 1.50,\n "deep": ' + b"[" * 2000 + b"]" * 2000 + b"}"
    body = (
        b'{"threadId":"t","runId":"r","messages":[%b, {"id":"u","role":"user","content":[{"type":"binary",'
        b'"mimeType":"image/png","id":"f"}]}],"tools":[],"context":[],"state":%b,"forwardedProps":{}, "more":-0}'
    ) % (untouched, other)
    after = upgrade(body, ClientVersion.parse(LAST_OLD))
    assert untouched in after
    assert other.replace(b"\n", b" ") in after
    assert b'"more":-0' in after
    assert b'"binary"' not in after


def test_elements_that_are_not_messages_stay() -> None:
    before: list[Any] = [
        1,
        None,
        "m",
        [],
        {"id": 1},
        {"role": "tool"},
        {"id": None},
        calls("a", call("c")),
        text("m", "a"),
    ]
    assert upgraded(OLDEST, *before, result("r", "c"))[:-2] == before[:-1]


def test_an_element_that_only_names_a_binary_part_stays_beside_one() -> None:
    odd: Any = ["binary"]
    message = user("u", [{"type": "binary", "mimeType": "image/png", "id": "f"}])
    assert upgraded(LAST_OLD, odd, message)[0] == odd


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"\xff\xfe{",
        b'{"messages":[]}',
        b'{"threadId":"t","runId":"r"}',
        b'{"threadId":"t","runId":"r","messages":{}}',
        b'{"threadId":1,"runId":"r","messages":[]}',
        b'{"threadId":"t","runId":"r","messages":[1,}',
        b'{"threadId":"t","runId":"r","messages":[{"id":nope}]}',
        b'{"threadId":"t","runId":"r","messages":[{"id":"a","role":"tool","content":"\xff"]}',
    ],
)
@pytest.mark.parametrize("release", ["0.0.27", BEFORE_MEDIA, LAST_OLD])
def test_what_is_not_an_input_passes_as_it_came(release: str, body: bytes) -> None:
    assert upgrade(body, ClientVersion.parse(release)) is body


# Properties, on conversations with ids and calls that meet in every way.

IDS = st.sampled_from(["a", "b", "c"])
ARGUMENTS = st.sampled_from(["", "{}", '{"a":', "1}", '{"a":1}'])
PARTS = st.sampled_from(
    [
        {"type": "text", "text": "t"},
        {"type": "binary", "mimeType": "image/png", "data": "AA=="},
        {"type": "binary", "mimeType": "image/*", "url": "http://x"},
        {"type": "binary", "mimeType": "image/png"},
        {"type": "binary"},
        {"type": "image", "source": {"type": "url", "value": "http://x"}},
        7,
    ]
)
MESSAGES = st.lists(
    st.one_of(
        st.builds(user, IDS, st.sampled_from(["", "q"]) | st.lists(PARTS, max_size=2)),
        st.builds(text, IDS, st.sampled_from(["", "x", "y"])),
        st.builds(
            lambda id, held: calls(id, *held), IDS, st.lists(st.builds(call, IDS, ARGUMENTS), min_size=1, max_size=2)
        ),
        st.builds(result, st.sampled_from(["r1", "r2", "r3"]), IDS),
    ),
    max_size=8,
)


@given(MESSAGES, st.sampled_from(RELEASES))
def test_an_upgrade_is_a_fixed_point(messages: list[Json], release: ClientVersion) -> None:
    once = upgrade(posted(*messages), release)
    assert upgrade(once, release) is once


@given(MESSAGES, st.sampled_from(RELEASES))
def test_an_upgrade_invents_and_loses_nothing(messages: list[Json], release: ClientVersion) -> None:
    """Every id stays, every text in its order, every result; and nothing new comes."""
    after = json.loads(upgrade(posted(*messages), release))["messages"]
    assert {message["id"] for message in after} | _empty(messages) == {message["id"] for message in messages}
    assert _texts(after) == _texts(messages)
    results = [sorted(str(message) for message in list if message["role"] == "tool") for list in (after, messages)]
    assert results[0] == results[1]
    assert _calls(after) == _calls(messages)


@given(MESSAGES, st.sampled_from([release for release in RELEASES if release < ClientVersion(0, 0, 57)]))
def test_no_result_stands_away_from_its_call(messages: list[Json], release: ClientVersion) -> None:
    assert astray(json.loads(upgrade(posted(*messages), release))["messages"]) == []


def astray(messages: list[Json]) -> list[Json]:
    """The results whose call is there, but not in the message that they follow."""
    found, held = [], set[str]()
    everywhere = {call["id"] for message in messages for call in message.get("toolCalls") or ()}
    for message in messages:
        if message["role"] != "tool":
            held = {call["id"] for call in message.get("toolCalls") or ()}
        elif message["toolCallId"] in everywhere - held:
            found.append(message)
    return found


def _texts(messages: list[Json]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for message in messages:
        if message["role"] == "assistant" and (content := message.get("content")):
            texts[message["id"]] = texts.get(message["id"], "") + content
        elif message["role"] == "user" and isinstance(message["content"], str) and message["content"]:
            texts[message["id"]] = texts.get(message["id"], "") + message["content"]
    return texts


def _calls(messages: list[Json]) -> set[str]:
    return {call["id"] for message in messages for call in message.get("toolCalls") or ()}


def _empty(messages: list[Json]) -> set[str]:
    """The messages that are there for their calls alone."""
    return {message["id"] for message in messages if not message.get("content")}


def test_a_file_name_with_half_a_character_stays_whole() -> None:
    part = b'{"type":"binary","mimeType":"image/png","url":"http://x","filename":"\\ud83d"}'
    body = posted(user("u", "PART")).replace(b'"PART"', b"[%b]" % part)
    [message] = json.loads(upgrade(body, ClientVersion(0, 0, 59)))["messages"]
    source = {"type": "url", "value": "http://x", "mimeType": "image/png"}
    assert message["content"] == [{"type": "image", "source": source, "metadata": {"filename": "\ud83d"}}]


def test_a_result_behind_a_tool_message_that_has_its_call_stays() -> None:
    holder = result("t", "x") | {"toolCalls": [call("c")]}
    assert upgraded("0.0.53", user("u"), holder, result("r", "c"), result("s", "y")) == [
        user("u"),
        holder,
        result("r", "c"),
        result("s", "y"),
    ]


_PART = '{"type":"binary","mimeType":"image/png","data":"AAAA"}'
_MEDIA = {"type": "image", "source": {"type": "data", "value": "AAAA", "mimeType": "image/png"}}


@pytest.mark.parametrize(
    ("content", "members"),
    [
        pytest.param(f'[{{"type":"text","text":"\\u0041"}},{_PART}]', "", id="escapes"),
        pytest.param(f"[{_PART.replace('binary', chr(92) + 'u0062inary')},{_PART}]", "", id="an escaped type"),
        pytest.param(f"[{_PART},{_PART}]", "", id="twice"),
        pytest.param(f"[{_PART}]", f'"metadata":{{"copy":{_PART}}},', id="also elsewhere"),
        pytest.param(f'[{{"type":"text","text":"binary"}},{_PART}]', "", id="a text that says so"),
    ],
)
def test_binary_parts_are_found_wherever_the_word_stands(content: str, members: str) -> None:
    message = f'{{"id":"u",{members}"role":"user","content":{content}}}'
    body = posted({"id": "u"}).replace(b'{"id": "u"}', message.encode())
    assert message.encode() in body
    [after] = json.loads(upgrade(body, ClientVersion.parse("0.0.59")))["messages"]
    before = json.loads(message)
    assert after == {
        **before,
        "content": [_MEDIA if part["type"] == "binary" else part for part in before["content"]],
    }
