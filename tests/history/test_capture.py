"""What is kept of a response, from both sides of its filters; tokens that both get cost no memory."""

import json
from typing import Any

import pytest
from msgspec import Raw

from agui_middleware import ClientVersion, Event
from agui_middleware.history.beginnings import Cut, cut, delta_in, digest_of, is_cut
from agui_middleware.history.capture import Capture
from agui_middleware.history.merge import restore
from agui_middleware.history.record import Item, Kept, Member
from agui_middleware.protocol.posted import Posted
from tests.history.threads import posted, user
from tests.notation import Json, stream

OLD = ClientVersion.parse("0.0.58")


def events(text: str) -> list[Event]:
    return [Event.parse(json.dumps(event).encode()) for event in stream(text)]


def read(*messages: Json) -> Posted:
    found = Posted.read(posted([user("u1", "hello"), *messages]))
    assert found is not None
    return found


class Both:
    """A response of which the client gets something else than the agent has sent."""

    def __init__(
        self, *messages: Json, client: ClientVersion | None = None, kept: Kept | None = None, limit: int = 1 << 20
    ) -> None:
        self.posted = read(*messages)
        self.capture = Capture(self.posted, self.posted, kept, client, limit)

    def passes(self, text: str) -> "Both":
        """What the client gets as the very same events."""
        for event in events(text):
            self.capture.agent_sent(event)
            self.capture.client_got(event)
        return self

    def untagged(self, text: str) -> "Both":
        """What the client gets without tags."""
        for event in events(text):
            self.capture.agent_sent(event)
            self.capture.client_got(event.untagged())
        return self

    def sends(self, text: str) -> "Both":
        for event in events(text):
            self.capture.agent_sent(event)
        return self

    def gets(self, text: str) -> "Both":
        for event in events(text):
            self.capture.client_got(event)
        return self

    @property
    def kept(self) -> Kept | None:
        return self.capture.finish()

    @property
    def held(self) -> int:
        """How many characters and bytes of text are held."""
        capture = self.capture
        entries = [entry for side in (capture._canonical, capture._base) for entry in side]
        texts = ["".join(entry.text or ()) for entry in entries]
        texts += ["".join(call.arguments or ()) for entry in entries for call in entry.calls()]
        waiting = [*capture._texts._waiting.values(), *capture._calls._waiting.values()]
        return sum(map(len, texts)) + sum(len(token.raw) for tokens in waiting for token in tokens)


TOKENS = "TC m aaaaaaaaaa;" * 50
ARGUMENTS = "KA c aaaaaaaaaa;" * 50
FEW = 100  # characters: a mark has 20


def test_what_passes_unchanged_leaves_nothing_behind() -> None:
    both = Both().passes(f"TS m; {TOKENS} TE m; KS c; {ARGUMENTS} KE c; KR c t; GS g; GC g a; GE g")
    assert both.held < 2 * FEW
    assert both.kept is None


def test_what_only_loses_its_tag_leaves_the_tag_behind() -> None:
    both = Both(client=OLD).untagged(f"TS m @s; {TOKENS.replace(';', ' @s;')} TE m @s")
    assert both.held < FEW
    assert both.kept == Kept(items={"m": Item({"subagentRunId": Member(b'"s"', [b""])})})


@pytest.mark.parametrize("space", ["", " "])
def test_a_token_that_is_masked_and_loses_its_tag_is_kept(space: str) -> None:
    """Of the same length, so that only a look at the bytes tells."""
    both = Both(client=OLD).untagged("TS m @s; TC m first @s")
    for delta in ("secret", "public"):
        sent = json.dumps({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta, "subagentRunId": "s"})
        event = Event.parse(sent.replace(" ", space).encode())
        both.capture.agent_sent(event)
        masked = event.replace(delta="******") if delta == "secret" else event
        both.capture.client_got(masked.without("subagentRunId"))
    assert both.kept is not None
    content = both.kept.items["m"].members["content"]
    assert content == Member(b'"secretpublic"', [b'"******public"'], digest_of("first"))


def test_chunks_that_pass_leave_nothing_behind() -> None:
    text = "TK m aaaaaaaaaa;" + "TK _ aaaaaaaaaa;" * 50 + "KK c aaaaaaaaaa search;" + "KK _ aaaaaaaaaa;" * 50
    both = Both().passes(text)
    assert both.held < 2 * FEW
    assert both.kept is None


def test_chunks_that_are_expanded_leave_nothing_behind() -> None:
    both = (
        Both().sends("TK m a").gets("TS m; TC m a").sends("TK _ b").gets("TC m b").sends("TK _ c").gets("TC m c; TE m")
    )
    assert both.held < FEW
    assert both.kept is None


def test_a_chunk_that_nobody_can_place_changes_nothing() -> None:
    assert Both().passes("TK _ a").kept is None


def test_tokens_that_are_held_back_leave_nothing_behind() -> None:
    both = Both().sends(f"TS m; {TOKENS} TE m").gets(f"TS m; {TOKENS} TE m")
    # The client had no message to share before its START: both texts are kept, and found equal in the end.
    assert both.kept is None
    late = Both().passes("TS m; TC m a").sends(TOKENS).gets(TOKENS)
    assert late.held < FEW
    assert late.kept is None


def test_empty_deltas_that_a_client_does_not_get_leave_nothing_behind() -> None:
    both = Both().passes("TS m").sends('TC m delta=""; TC m delta=""; TC m a').gets("TC m a").sends('TC m delta=""')
    assert both.kept is None


def test_an_empty_delta_that_makes_a_text_is_kept() -> None:
    both = Both().passes("KS m").sends('TC m delta=""')
    assert both.kept == Kept(items={"m": Item({"content": Member(b'""', [b""])})})


def test_a_text_is_kept_from_where_it_differs() -> None:
    both = Both().passes("TS m; TC m a; TC m b").sends("TC m secret").gets("TC m x").passes("TC m c; TE m")
    assert both.kept is not None
    assert both.kept.items["m"].members["content"] == Member(b'"secretc"', [b'"xc"'], digest_of("ab"))
    after = restore(read({"id": "m", "role": "assistant", "content": "abxc"}), both.kept, None)
    assert json.loads(bytes(after.posted.messages[1][1]))["content"] == "absecretc"
    edited = read({"id": "m", "role": "assistant", "content": "other"})
    assert restore(edited, both.kept, None).posted is edited
    parts = read({"id": "m", "role": "assistant", "content": [1]})
    assert restore(parts, both.kept, None).posted is parts


def restored(both: Both, text: str) -> str:
    """What the agent gets where the client posts this text."""
    assert both.kept is not None
    after = restore(read({"id": "m", "role": "assistant", "content": text}), both.kept, None)
    return str(json.loads(bytes(after.posted.messages[1][1]))["content"])


def test_a_text_whose_end_was_cut_off_gets_it_back_unless_the_user_has_edited_it() -> None:
    both = Both().passes("TS m; TC m the; TC m _secret").sends("TC m _is_out; TE m").gets("TE m")
    assert restored(both, "the_secret") == "the_secret_is_out"
    for edited in ("edited", "", "the_secre", "the_secret_", "the_secret_is_out", "_is_out"):
        assert restored(both, edited) == edited


def test_an_edited_text_whose_end_is_still_the_masked_one_stays() -> None:
    """The end may be as short as a dot."""
    both = Both().passes("TS m; TC m the; TC m _word").sends("TC m _is_secret").gets("TC m .")
    assert restored(both, "the_word.") == "the_word_is_secret"
    assert restored(both, "I say.") == "I say."


def test_a_text_that_went_on_in_this_response_is_known_by_all_of_its_beginning() -> None:
    before = {"id": "m", "role": "assistant", "content": "earlier "}
    both = Both(before).passes("TS m; TC m later").sends("TC m _more")
    assert restored(both, "earlier later") == "earlier later_more"
    assert restored(both, "later") == "later"


@pytest.mark.parametrize("delta", ["a" * 1000, "\ud800", 'é"\\n'])
def test_a_beginning_is_known_however_long_and_however_it_is_written(delta: str) -> None:
    both = Both().passes("TS m; TC m a")
    event = Event.parse(json.dumps({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta}).encode())
    for _ in range(100):
        both.capture.passed(event)
    assert sum(len(tokens) for _, tokens in both.capture._beginnings._texts.values()) * len(event.raw) <= 32 * 1024
    both.sends("TC m end")
    assert restored(both, "a" + delta * 100) == "a" + delta * 100 + "end"
    assert restored(both, "b" + delta * 100) == "b" + delta * 100


def test_arguments_are_kept_from_where_they_differ() -> None:
    both = Both().passes("KS c; KA c a").sends("KA c secret").gets("KA c x")
    assert both.kept is not None
    assert both.kept.calls["c"].members["function.arguments"] == Member(b'"secret"', [b'"x"'], digest_of("a"))


def test_arguments_whose_end_was_cut_off_come_back() -> None:
    both = Both().passes("KS c m; KA c a").sends("KA c secret").gets("KA c x")
    assert both.kept is not None
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "ax"}}
    after = restore(read({"id": "m", "role": "assistant", "toolCalls": [call]}), both.kept, None)
    function = json.loads(bytes(after.posted.messages[1][1]))["toolCalls"][0]["function"]
    assert function == {"name": "f", "arguments": "asecret"}


@pytest.mark.parametrize("delta", [b"5", b"null", b"nonsense"])
def test_a_token_without_a_text_appends_nothing(delta: bytes) -> None:
    assert delta_in(b'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":%b}' % delta) is None


def test_a_text_whose_end_the_client_does_not_get() -> None:
    both = Both().passes("TS m; TC m a").sends("TC m b; TC m c")
    assert both.kept is not None
    assert both.kept.items["m"].members["content"] == Member(b'"bc"', [b'""'], digest_of("a"))


def test_a_token_that_nobody_sent_is_the_clients() -> None:
    both = Both().passes("TS m; TC m a").gets("TC m b")
    assert both.kept is not None
    assert both.kept.items["m"].members["content"] == Member(b'""', [b'"b"'], digest_of("a"))


def test_tokens_of_a_message_that_the_client_has_not_are_kept() -> None:
    both = Both().sends("TS m; TC m a; TC m b; TE m")
    assert both.kept is not None
    assert json.loads(both.kept.items["m"].whole) == {"id": "m", "role": "assistant", "content": "ab"}


def test_metadata_of_tokens_is_kept_with_the_text_that_it_came_with() -> None:
    both = Both(client=OLD).passes('TS m; TC m a; TC m b metadata={"a":1}; TC m c')
    assert both.kept == Kept(items={"m": Item({"metadata": Member(b'{"a":1}', [b""])})})


def test_reasoning_is_kept_for_a_client_that_may_lose_it() -> None:
    late = ClientVersion.parse("0.0.49")
    both = Both(client=late).passes("GS g; GC g a; GE g; SNAP n")
    assert both.kept is not None
    assert json.loads(both.kept.items["g"].whole)["content"] == "a"


def test_a_message_that_the_client_loses_behind_its_tokens_cannot_come_back() -> None:
    both = Both().passes("TS m; TC m a; TE m; KS c n; KA c a; KE c").gets("SNAP u1:user x")
    assert both.kept is not None
    assert (list(both.kept.items), list(both.kept.calls), list(both.kept.extras)) == (["n"], [], ["x"])


def test_a_snapshot_of_the_clients_own_leaves_the_text_that_cannot_be_compared() -> None:
    both = Both().passes("TS m; TC m a; TE m").gets("SNAP u1:user m")
    assert both.kept is None
    again = Both().passes("TS m; TC m a; TE m").gets("SNAP u1:user m").passes("TS m; TC m b; TE m")
    assert again.kept is None


def test_a_snapshot_that_both_get_begins_anew() -> None:
    both = Both().passes("TS m; TC m a; SNAP m; TC m b; TC m c; TE m")
    assert both.held < 2 * FEW
    assert both.kept is None


def test_a_snapshot_parts_what_waits() -> None:
    """Tokens that come out behind a snapshot: the agent's are in its text, and both have the snapshot's in the end."""
    both = Both().passes("TS m; TC m a").sends("TC m b; SNAP m").gets("TC m b; SNAP m")
    assert both.kept is None


def test_a_text_that_differed_before_the_run_is_compared_whole() -> None:
    before = read({"id": "m", "role": "assistant", "content": "***"})
    given = read({"id": "m", "role": "assistant", "content": "secret"})
    capture = Capture(given, before, None, None, 1 << 20)
    for event in events("TS m; TC m a; TC m b; TE m"):
        capture.agent_sent(event)
        capture.client_got(event)
    assert capture.finish() == Kept(items={"m": Item({"content": Member(b'"secretab"', [b'"***ab"'])})})


def test_lanes_of_chunks_close_where_a_token_is_left_out() -> None:
    both = Both().sends("GS g; KK c 1 search").gets("KS c; KA c 1").sends("TS m; TC m a").gets("TS m; TC m a")
    both.sends("KK _ 2")
    assert both.kept is not None
    assert "c" not in both.kept.calls


def test_a_token_closes_the_lane_of_a_chunk() -> None:
    assert Both().passes("TS m; KK c 1 search; TC m a; KK _ 2").kept is None


def test_a_chunk_that_the_client_does_not_get_is_kept() -> None:
    both = Both().passes("TK m a; TK _ b").sends("TK _ c")
    assert both.kept is not None
    assert both.kept.items["m"].members["content"] == Member(b'"c"', [b'""'], digest_of("ab"))


def test_a_token_that_comes_behind_a_snapshot_of_the_clients_own() -> None:
    both = Both().passes("TS m; TC m a").sends("TC m b").gets("SNAP u1:user m; TC m b")
    assert both.kept is None


def test_a_message_of_the_clients_own_of_which_the_text_is_not_kept() -> None:
    both = Both().passes("TS m; TC m a; TE m").sends("SNAP u1:user")
    assert both.kept is None


def test_more_than_the_limit_is_not_kept() -> None:
    both = (
        Both(limit=100)
        .sends("TS m;" + "TC m aaaaaaaaaa;" * 100 + "TE m; TS n; TC n a; KK c a search; KA c a")
        .gets("TC m a; TS m")
    )
    assert both.held < 4096
    assert both.kept is None
    late = Both(limit=10).sends("TS m; TC m " + "a" * 100)
    assert late.kept is None


def test_malformed_events_change_nothing() -> None:
    both = Both()
    both.passes("TS m; TC m a")
    for members in (
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": Raw(b"nonsense")},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": 1, "delta": "a"},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": Raw(b"nonsense")},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "x", "delta": Raw(b"nonsense")},
    ):
        sent, got = Event(**members), Event(**members)
        both.capture.agent_sent(sent)
        both.capture.client_got(got)
    kept = both.kept
    assert kept is None or "m" not in kept.items


def test_a_message_that_is_no_json_ends_the_comparison() -> None:
    both = Both(client=OLD)
    both.capture.agent_sent(Event(type="TOOL_CALL_RESULT", messageId="t", toolCallId="c", content=Raw(b"nonsense")))
    both.capture.client_got(Event(type="TOOL_CALL_RESULT", messageId="t", toolCallId="c", content="x"))
    assert both.kept is None


def test_marks() -> None:
    assert cut("a", "b") == Cut("a", "b", "")
    assert not is_cut(b"a")


def test_content_parts_of_older_releases() -> None:
    parts: list[Any] = [
        {"type": "text", "text": "a", "id": "p", "metadata": {"k": 1}},
        {"type": "image", "source": {"type": "url", "value": "x"}, "id": "q"},
        {"type": "binary", "mimeType": "image/png"},
        7,
    ]
    message = {"id": "m", "role": "user", "content": parts}
    snapshot = Event(type="MESSAGES_SNAPSHOT", messages=[user("u1"), message])
    both = Both(client=OLD)
    both.capture.agent_sent(snapshot)
    both.capture.client_got(snapshot)
    assert both.kept is not None
    held = json.loads(both.kept.items["m"].members["content"].bases[0])
    assert held[:2] == [{"type": "text", "text": "a"}, {"type": "image", "source": {"type": "url", "value": "x"}}]


def test_content_parts_that_a_snapshot_gives_to_a_message_that_was_posted() -> None:
    parts = [{"type": "text", "text": "a", "id": "p"}]
    message = {"id": "m", "role": "user", "content": parts}
    for before, lost in (("a", True), (parts, False)):
        both = Both({"id": "m", "role": "user", "content": before}, client=OLD)
        snapshot = Event(type="MESSAGES_SNAPSHOT", messages=[user("u1", "hello"), Raw(json.dumps(message).encode())])
        both.capture.agent_sent(snapshot)
        both.capture.client_got(snapshot)
        assert (both.kept is not None) is lost


def test_calls_that_are_none_are_compared_as_they_are() -> None:
    calls = [{"function": {"name": "f"}}, {"id": "c", "subagentRunId": "s"}]
    snapshot = Event(type="MESSAGES_SNAPSHOT", messages=[{"id": "m", "role": "assistant", "toolCalls": calls}])
    both = Both(client=OLD)
    both.capture.agent_sent(snapshot)
    both.capture.client_got(snapshot)
    assert both.kept is not None
    assert both.kept.calls == {"c": Item({"subagentRunId": Member(b'"s"', [b""])})}


def test_strips_of_calls_that_a_snapshot_brings() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}, "metadata": {"a": 1}}
    snapshot = Event(type="MESSAGES_SNAPSHOT", messages=[{"id": "m", "role": "assistant", "toolCalls": [call]}])
    both = Both(client=OLD)
    both.capture.agent_sent(snapshot)
    both.capture.client_got(snapshot)
    assert both.kept is not None
    assert both.kept.calls == {"c": Item({"metadata": Member(b'{"a":1}', [b""])})}
    again = Both({"id": "m", "role": "assistant", "toolCalls": [call]}, client=OLD).passes("TS m @s; TC m a")
    assert again.kept is None


def test_ids_of_a_restored_thread() -> None:
    both = Both().sends("TS m; TC m a; TE m")
    assert both.kept is not None
    after = restore(read(user("u2")), both.kept, None).posted
    assert [head.id for head, _ in after.messages] == ["u1", "m", "u2"]


def test_tokens_with_metadata_are_taken_also_where_they_pass() -> None:
    both = Both(client=OLD)
    for event in events('TS m; TC m a; TC m b; TC m c metadata={"a":1}; TC m d'):
        both.capture.passed(event)
    assert both.kept == Kept(items={"m": Item({"metadata": Member(b'{"a":1}', [b""])})})


def test_tokens_that_pass_unchanged_need_not_be_taken() -> None:
    """From the second one on: the first shows that both sides have the text."""
    both = Both()
    for event in events("RS r; TS m; TC m a; TC m b; TC m c; TE m; RF r"):
        both.capture.passed(event)
    assert both.capture.finish() is None
