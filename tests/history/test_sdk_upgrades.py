"""What SDKs other than @ag-ui/client post, as a RunAgentInput that ag-ui-protocol 1.0.0 takes."""

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from ag_ui.core import RunAgentInput
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agui_middleware.config.named_clients import parse_client
from agui_middleware.config.sdks import SDKS
from agui_middleware.history.upgrade import upgrades_for
from tests.history.bodies import upgrade
from tests.history.conversations import astray, doubled
from tests.strategies import Json

GO, DART, CPP, KOTLIN = "ag-ui-go@0.0.0-20260601000000-abc", "ag_ui@0.1.0", "ag-ui-cpp@1.0.0", "kotlin-client@0.4.1"
DOTNET, JAVA, RAGAS = "AGUI.Client@0.0.5", "java-client@0.1.0", "ragas@0.4.3"
AGUI_CHAT, TANSTACK, OLD_TANSTACK = (
    "agent-framework-ag-ui@1.7.0",
    "@tanstack/ai-client@0.33.2",
    "@tanstack/ai-client@0.7.9",
)

INPUT: Json = {
    "threadId": "t",
    "runId": "r",
    "messages": [],
    "tools": [],
    "context": [],
    "state": {},
    "forwardedProps": {},
}
USER: Json = {"id": "u", "role": "user", "content": "hi"}
CALL: Json = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASSISTANT: Json = {"id": "a", "role": "assistant", "toolCalls": [CALL]}
TOOL: Json = {"id": "x", "role": "tool", "toolCallId": "c", "content": "1"}


def taken(client: str, body: Json) -> Json:
    """The body as the server gets it, which takes it, and which would be the same upgraded again."""
    after = upgrade(json.dumps(body).encode(), parse_client(client))
    RunAgentInput.model_validate_json(after)
    assert upgrade(after, parse_client(client)) is after
    given: Json = json.loads(after)
    return given


def messages(client: str, *posted: Json) -> list[Json]:
    after: list[Json] = taken(client, INPUT | {"messages": list(posted)})["messages"]
    return after


def stays(client: str, body: Json) -> None:
    raw = json.dumps(body).encode()
    assert upgrade(raw, parse_client(client)) is raw


@pytest.mark.parametrize(
    "client", [f"{reader}" for sdk in SDKS for reader in sdk.readers if not reader.refused], ids=str
)
def test_what_the_protocol_has_stays_for_every_sdk(client: str) -> None:
    stays(client, INPUT | {"messages": [USER, ASSISTANT, TOOL, {"id": "b", "role": "assistant", "content": "ok"}]})
    assert upgrades_for(parse_client(client))


RECORDED = [
    (path.stem, body)
    for path in sorted((Path(__file__).parent.parent / "readers" / "posted").glob("*.json"))
    for body in json.loads(path.read_text())
]


@pytest.mark.parametrize(("package", "body"), RECORDED)
def test_what_the_real_package_has_posted_is_taken_by_a_server_that_knows_the_protocols_names_only(
    package: str, body: Json
) -> None:
    with pytest.raises(ValidationError):
        RunAgentInput.model_validate(body, by_alias=True, by_name=False)
    after = json.loads(upgrade(json.dumps(body).encode(), parse_client(f"{package}@9.9.9")))
    input = RunAgentInput.model_validate(after, by_alias=True, by_name=False)
    called = {call["id"] for message in body["messages"] for call in message.get("tool_calls", ())}
    calls = [call.id for message in input.messages for call in getattr(message, "tool_calls", None) or ()]
    assert sorted(calls) == sorted(called)  # AGUIChatClient posts one that was continued behind a text twice
    assert {message["id"] for message in after["messages"]} <= {message["id"] for message in body["messages"]}
    assert doubled(after["messages"]) == set()
    assert astray(after["messages"]) == []


def test_there_are_recorded_bodies_of_both() -> None:
    assert {package for package, _ in RECORDED} == {"agent-framework-ag-ui", "ragas"}


class TestNames:
    """AGUIChatClient and ragas."""

    @pytest.mark.parametrize("client", [AGUI_CHAT, RAGAS, DART])
    def test_snake_case_becomes_the_protocols_spelling(self, client: str) -> None:
        body = {
            "thread_id": "t",
            "run_id": "r",
            "parent_run_id": "p",
            "forwarded_props": {"a_b": 1},
            "state": {"tool_calls": 1},
            "resume": [{"interrupt_id": "i", "status": "resolved", "payload": {"interrupt_id": 1}}],
            "messages": [
                {"id": "a", "role": "assistant", "tool_calls": [CALL | {"encrypted_value": "e"}]},
                {"id": "x", "role": "tool", "tool_call_id": "c", "content": "1"},
                {
                    "id": "u",
                    "role": "user",
                    "content": [
                        {"type": "image", "source": {"type": "data", "value": "AA==", "mime_type": "image/png"}}
                    ],
                },
            ],
        }
        image = {"type": "image", "source": {"type": "data", "value": "AA==", "mimeType": "image/png"}}
        assert taken(client, body) == {
            "threadId": "t",
            "runId": "r",
            "parentRunId": "p",
            "forwardedProps": {"a_b": 1},
            "state": {"tool_calls": 1},
            "resume": [{"interruptId": "i", "status": "resolved", "payload": {"interrupt_id": 1}}],
            "messages": [
                {"id": "a", "role": "assistant", "toolCalls": [CALL | {"encryptedValue": "e"}]},
                TOOL,
                {"id": "u", "role": "user", "content": [image]},
            ],
            "tools": [],
            "context": [],
        }

    def test_where_both_spellings_are_there_the_protocols_counts(self) -> None:
        assert taken(AGUI_CHAT, INPUT | {"thread_id": "other"}) == INPUT

    def test_a_binary_part_in_snake_case_becomes_media(self) -> None:
        part = {"type": "binary", "mime_type": "image/png", "data": "AA=="}
        assert messages(RAGAS, USER | {"content": [part]})[0]["content"][0]["type"] == "image"

    def test_no_other_sdk_posts_them(self) -> None:
        stays(GO, {"thread_id": "t", "run_id": "r", "messages": []})


class TestGaps:
    def test_null_in_place_of_lists_and_objects_is_empty(self) -> None:
        nulls = dict.fromkeys(("messages", "tools", "context", "state", "forwardedProps"))
        assert taken(GO, INPUT | nulls) == INPUT
        stays(GO, {"threadId": "t", "runId": "r", "messages": 1})

    def test_null_members_of_messages_are_removed(self) -> None:
        nulls = {"name": None, "encryptedValue": None}
        assert messages(DOTNET, USER | nulls, ASSISTANT | nulls | {"content": None}, TOOL | {"error": None}) == [
            USER,
            ASSISTANT,
            TOOL,
        ]

    @pytest.mark.parametrize("gap", [{"id": None}, {}])
    def test_a_message_without_an_id_is_named_for_its_thread_and_place(self, gap: Json) -> None:
        nameless = {"role": "user", "content": "hi"} | gap
        assert messages(DART, USER, nameless) == [USER, {"role": "user", "content": "hi", "id": "t-1"}]

    @pytest.mark.parametrize("role", ["user", "system", "developer", "reasoning"])
    @pytest.mark.parametrize("gap", [{"content": None}, {}])
    def test_a_text_without_content_is_empty(self, role: str, gap: Json) -> None:
        assert messages(CPP, {"id": "m", "role": role} | gap) == [{"id": "m", "role": role, "content": ""}]

    def test_a_result_without_content_is_empty(self) -> None:
        result = {"id": "x", "role": "tool", "toolCallId": "c"}
        assert messages(CPP, ASSISTANT, result) == [ASSISTANT, result | {"content": ""}]

    def test_arguments_of_null_are_empty(self) -> None:
        call = CALL | {"function": {"name": "f", "arguments": None}}
        [message] = messages(GO, {"id": "a", "role": "assistant", "content": "", "toolCalls": [call]})
        assert message["toolCalls"][0]["function"]["arguments"] == ""

    def test_the_content_of_an_activity_has_another_name_in_kotlin_and_none_in_cpp(self) -> None:
        activity = {"id": "m", "role": "activity", "activityType": "x"}
        whole = activity | {"content": {"a": None}}
        assert messages(KOTLIN, activity | {"activityContent": {"a": 1}}) == [activity | {"content": {"a": 1}}]
        assert messages(CPP, USER, activity) == [USER]
        assert messages(CPP, whole) == [whole]

    def test_what_is_no_message_stays(self) -> None:
        odd: Any = ["id", 1, None, "content"]
        raw = json.dumps(INPUT | {"messages": odd}).encode()
        assert upgrade(raw, parse_client(GO)) is raw


class TestExtras:
    def test_data_that_copies_the_forwarded_properties_goes(self) -> None:
        props = {"forwardedProps": {"a": 1}}
        assert taken(TANSTACK, INPUT | props | {"data": {"a": 1}}) == INPUT | props
        stays(TANSTACK, INPUT | props | {"data": {"a": 2}})

    def test_an_empty_answer_to_no_interrupt_goes(self) -> None:
        assert taken(JAVA, INPUT | {"resume": []}) == INPUT
        stays(JAVA, INPUT | {"resume": [{"interruptId": "i", "status": "cancelled"}]})

    def test_the_role_of_a_result_is_not_its_name(self) -> None:
        assert messages(KOTLIN, ASSISTANT, TOOL | {"name": "tool"}) == [ASSISTANT, TOOL]
        stays(KOTLIN, INPUT | {"messages": [ASSISTANT, TOOL | {"name": "f"}, USER | {"name": "tool"}]})


class TestTextParts:
    """.NET's AGUI.Client posts a list of parts for every message of a user."""

    def test_one_text_becomes_a_string(self) -> None:
        assert messages(DOTNET, USER | {"content": [{"type": "text", "text": "hi"}]}) == [USER]

    def test_a_file_becomes_media(self) -> None:
        parts = [{"type": "text", "text": "look"}, {"type": "binary", "mimeType": "image/png", "data": "AA=="}]
        media = {"type": "image", "source": {"type": "data", "value": "AA==", "mimeType": "image/png"}}
        assert messages(DOTNET, USER | {"content": parts}) == [USER | {"content": [parts[0], media]}]

    @pytest.mark.parametrize(
        "parts",
        [
            [],
            [{"type": "text", "text": "hi", "id": "p"}],
            [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        ],
    )
    def test_other_lists_stay(self, parts: list[Json]) -> None:
        stays(DOTNET, INPUT | {"messages": [USER | {"content": parts}]})

    @pytest.mark.parametrize("parts", [["text"], [{"type": "text", "text": 1}], [{"type": "video", "text": "text"}]])
    def test_what_is_no_text_is_the_servers_to_refuse(self, parts: list[Any]) -> None:
        stays(DOTNET, INPUT | {"messages": [USER | {"content": parts}]})


class TestConversation:
    def test_pieces_of_one_id_are_one_message_and_a_result_follows_its_call(self) -> None:
        """As AGUIChatClient posts texts that overlapped."""
        posted: list[Json] = [
            USER,
            {"id": "m", "role": "assistant", "content": "The "},
            ASSISTANT,
            {"id": "n", "role": "assistant", "content": "other"},
            {"id": "m", "role": "assistant", "content": "answer"},
            TOOL,
        ]
        assert messages(AGUI_CHAT, *posted) == [USER, posted[1] | {"content": "The answer"}, ASSISTANT, TOOL, posted[3]]


class TestUiMessages:
    """TanStack's client before its 0.10.0."""

    BODY: ClassVar[Json] = {
        "messages": [
            {
                "id": "u1",
                "role": "user",
                "parts": [{"type": "text", "content": "hi"}],
                "createdAt": "2026-12-02T20:32:29.106Z",
            },
            {
                "id": "a",
                "role": "assistant",
                "parts": [
                    {"type": "thinking", "content": "hm"},
                    {"type": "text", "content": "I "},
                    {"type": "tool-call", "id": "c", "name": "f", "arguments": "{}", "state": "input-complete"},
                    {"type": "text", "content": "look"},
                    {"type": "tool-result", "toolCallId": "c", "content": "1", "state": "complete"},
                    {"type": "tool-call", "id": "d", "name": "g", "arguments": "", "output": {"a": 1}},
                    {"type": "tool-call", "id": "e", "name": "g", "arguments": "", "output": "text"},
                ],
                "createdAt": "2026-12-02T20:32:29.107Z",
            },
            {"id": "u2", "role": "user", "parts": ["odd", {"type": "tool-result"}]},
        ],
        "data": {"conversationId": "chat-1"},
    }

    def test_they_become_an_input_whose_thread_is_the_conversation(self) -> None:
        def call(id: str, name: str, arguments: str) -> Json:
            return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}

        given = taken(OLD_TANSTACK, self.BODY)
        assert (given["threadId"], given["runId"]) == ("chat-1", "u2")
        assert given["forwardedProps"] == {"conversationId": "chat-1"}
        assert given["messages"] == [
            USER | {"id": "u1"},
            {"role": "reasoning", "id": "a-reasoning-0", "content": "hm"},
            {
                "id": "a",
                "role": "assistant",
                "content": "I look",
                "toolCalls": [call("c", "f", "{}"), call("d", "g", ""), call("e", "g", "")],
            },
            {"role": "tool", "id": "tool-c", "toolCallId": "c", "content": "1"},
            {"role": "tool", "id": "tool-d", "toolCallId": "d", "content": '{"a":1}'},
            {"role": "tool", "id": "tool-e", "toolCallId": "e", "content": "text"},
            USER | {"id": "u2", "content": ""},
        ]

    def test_media_stay_parts_beside_texts(self) -> None:
        image = {"type": "image", "source": {"type": "url", "value": "https://example.org/a.png"}}
        message = {"id": "u", "role": "user", "parts": [{"type": "text", "content": "look"}, image]}
        given = taken(OLD_TANSTACK, self.BODY | {"messages": [message]})
        assert given["messages"][0]["content"] == [{"type": "text", "text": "look"}, image]

    def test_an_assistant_that_only_calls_has_no_content(self) -> None:
        message = {
            "id": "a",
            "role": "assistant",
            "parts": [{"type": "tool-call", "id": "c", "name": "f"}, {"type": "tool-result"}, "odd"],
        }
        given = taken(OLD_TANSTACK, self.BODY | {"messages": [message]})
        function = {"name": "f", "arguments": ""}
        assert given["messages"] == [
            {"id": "a", "role": "assistant", "toolCalls": [{"id": "c", "type": "function", "function": function}]}
        ]

    def test_a_message_of_the_protocol_stays(self) -> None:
        assert taken(OLD_TANSTACK, self.BODY | {"messages": [USER]})["messages"] == [USER]

    @pytest.mark.parametrize(
        "body",
        [{"data": {}}, {"data": 1}, {"data": {"conversationId": 1}}, {"messages": []}, {"messages": [{"id": 1}]}],
    )
    def test_what_names_no_conversation_stays(self, body: Json) -> None:
        stays(OLD_TANSTACK, self.BODY | body)

    def test_content_that_is_no_text_is_empty(self) -> None:
        message = {"id": "u", "role": "user", "parts": [{"type": "text", "content": 1}]}
        assert taken(OLD_TANSTACK, self.BODY | {"messages": [message]})["messages"] == [USER | {"content": ""}]


# Anything that may be posted, in any place.

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=3)
    | st.sampled_from(["text", "tool-call", "user", "c"]),
    lambda values: st.lists(values, max_size=2) | st.dictionaries(st.sampled_from(["type", "id", "content"]), values),
    max_leaves=4,
)
PARTS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["text", "image", "thinking", "tool-call", "tool-result", "binary"]) | VALUES,
        **dict.fromkeys(("id", "content", "text", "output", "toolCallId", "name", "arguments", "source"), VALUES),
    },
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant", "tool", "activity", "reasoning"]) | VALUES,
        "parts": st.lists(PARTS | VALUES, max_size=3) | VALUES,
        "content": st.lists(PARTS | VALUES, max_size=2) | VALUES,
        **dict.fromkeys(("id", "name", "toolCallId", "tool_call_id", "activityContent"), VALUES),
        **dict.fromkeys(("toolCalls", "tool_calls"), st.lists(PARTS | VALUES, max_size=2) | VALUES),
    },
)
BODIES = st.fixed_dictionaries(
    {"messages": st.lists(MESSAGES | VALUES, max_size=4) | VALUES},
    optional={
        "data": st.fixed_dictionaries({"conversationId": st.text(max_size=3)}) | VALUES,
        **dict.fromkeys(("threadId", "runId", "thread_id", "run_id"), st.text(max_size=3) | VALUES),
        **dict.fromkeys(("state", "forwardedProps", "tools", "resume"), VALUES),
    },
)


@given(BODIES, st.sampled_from([GO, DART, CPP, KOTLIN, DOTNET, JAVA, RAGAS, AGUI_CHAT, TANSTACK, OLD_TANSTACK]))
def test_no_body_raises_and_what_is_upgraded_needs_no_upgrade(body: Json, client: str) -> None:
    """It found roles and ids that have no hash."""
    raw = json.dumps(body).encode()
    after = upgrade(raw, parse_client(client))
    assert upgrade(after, parse_client(client)) is after
