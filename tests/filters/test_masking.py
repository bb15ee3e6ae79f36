"""Texts in pieces: what a pattern matches is replaced wherever the pieces are cut, and as little waits as possible."""

import importlib.util
import json
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_middleware.filters import masking
from agui_middleware.filters.masking import CONTEXT, DocumentMasker, JsonMasker, Mask, Masker, PieceMasker

CARD = Mask(r"\b\d{4}(?:[ -]?\d{4}){3}\b", "…", 30)
NUMBER = "4111 1111 1111 1111"


def fed(masker: PieceMasker, *pieces: str) -> list[str]:
    return [*map(masker.feed, pieces), masker.finish()]


@pytest.mark.parametrize(
    "text", [f"Card {NUMBER}, yes.", NUMBER, f"{NUMBER} {NUMBER}!", f"x{NUMBER}", "In 753 BC and 1040."]
)
def test_a_match_is_replaced_wherever_it_is_cut(text: str) -> None:
    whole = CARD.text(text)
    assert whole == re.sub(r"\b\d{4}(?:[ -]?\d{4}){3}\b", "…", text)
    for one in range(len(text)):
        for other in range(one, len(text)):
            assert "".join(fed(Masker(CARD), text[:one], text[one:other], text[other:])) == whole


@pytest.mark.parametrize(
    ("pattern", "pieces", "left"),
    [
        ("secret", ["a se", "cret b"], ["a ", "… b", ""]),
        ("secret", ["a se", "t b"], ["a ", "set b", ""]),
        ("secret", ["a se"], ["a ", "se"]),
        (r"\d+", ["1", "2", "x"], ["", "", "…x", ""]),
        (r"\d+", ["12"], ["", "…"]),
        (r"(?<=key )\w+", ["the key ", "abc", " x"], ["the key ", "", "… x", ""]),
        (r"\bat\b", ["c", "at", " at", "e"], ["c", "at", " ", "ate", ""]),
        ("x*y|(?=q)", ["aqb", "xy"], ["aqb", "", "…"]),
        ("(?i)SECRET", ["Secret."], ["….", ""]),
    ],
)
def test_no_more_is_held_back_than_may_become_a_match(pattern: str, pieces: list[str], left: list[str]) -> None:
    assert fed(Masker(Mask(pattern, "…", 100)), *pieces) == left


def test_what_is_longer_than_a_match_may_be_is_replaced() -> None:
    masker = Masker(Mask(r"<.*>", "…", 5))
    assert fed(masker, "a <1234", "5", "6>") == ["a ", "…", "6>", ""]
    assert masker.held == ""


def test_a_whole_text_may_have_longer_matches() -> None:
    mask = Mask(r"<[^<]*>", "…", 5)
    assert mask.text(f"a <{'b' * 100}> c <{'d' * 100}") == f"a … c <{'d' * 100}"
    assert mask.document(f'["<{"b" * 100}>", "<{"d" * 100}"]') == f'["…", "<{"d" * 100}"]'


def test_what_has_left_is_forgotten() -> None:
    masker = Masker(CARD)
    for _ in range(100):
        masker.feed("word 4111 and " * 10)
    assert len(masker._text) <= CONTEXT + len("and ")


DOCUMENTS = [
    {"card": NUMBER, "other": 5},
    {"card": 4111111111111111, "n": [1.0, True, None]},
    {"é\n": f'quote " and \\ {NUMBER} \ud83d\ude00', NUMBER: ""},
    {"nested": json.dumps({"card": NUMBER})},
    [],
    [NUMBER],
]


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("ascii", [True, False])
def test_json_stays_json_wherever_it_is_cut(document: object, ascii: bool) -> None:
    text = json.dumps(document, ensure_ascii=ascii)
    expected = json.loads(json.dumps(document).replace(NUMBER, "…").replace("4111111111111111", '"…"'))
    for cut in range(len(text) + 1):
        pieces = fed(DocumentMasker(CARD), text[:cut], text[cut:])
        assert json.loads("".join(pieces)) == expected
    assert json.loads(CARD.document(text)) == expected


def test_json_that_holds_no_match_keeps_its_bytes() -> None:
    pieces = [' \t{"a\\u0062\\/": "\\ud83d', '\\ude00", "n" : 1.0, ', '"x": "y"}']
    assert fed(DocumentMasker(CARD), *pieces) == [*pieces, ""]


@pytest.mark.parametrize(
    ("pieces", "left"),
    [
        (['{"a":"\\', "u00", '34111 1111 1111 1111"}'], '{"a":"…"}'),
        (['{"a":"\\', '"', '4111 1111 1111 1111"}'], '{"a":"\\"…"}'),
        (['{"a":"\\u00', 'zz 4111 1111 1111 1111"}'], '{"a":"\\\\u00zz …"}'),
        (['{"a":"\\q 4111 1111 1111 1111'], '{"a":"\\\\q …'),
        (['{"a":"4111 1111 1111 1111\\u00'], '{"a":"…\\u00'),
        (["{\\4111 1111 1111 1111}"], '{\\"…"}'),
    ],
)
def test_broken_json_is_masked_too(pieces: list[str], left: str) -> None:
    assert "".join(fed(DocumentMasker(CARD), *pieces)) == left


def test_what_is_not_json_is_a_plain_text() -> None:
    assert fed(DocumentMasker(CARD), " ", "", f"It is {NUMBER}.") == [" ", "", "It is ….", ""]
    assert fed(DocumentMasker(CARD)) == [""]
    assert DocumentMasker(CARD).held == ""


def test_escapes_are_held_back_until_they_are_whole() -> None:
    masker = JsonMasker(CARD)
    assert masker.feed('{"a":"\\u00') == '{"a":"'
    assert masker.held == "\\u00"
    assert masker.feed('e9"}') == 'é"}'


@pytest.mark.parametrize("flags", [0, re.ASCII, re.IGNORECASE | re.DOTALL, re.VERBOSE, re.MULTILINE])
def test_flags_are_those_of_re(flags: int) -> None:
    pattern = re.compile("^a . é \\w$", flags)
    for text in ("xx\na . é é", "A . É é", "a\né\ne", "a . é e"):
        assert Mask(pattern, "…", 9).text(text) == pattern.sub("…", text)


@pytest.mark.parametrize("pattern", ["(", "[", "", "a*", "a?|b"])
def test_a_pattern_is_a_regular_expression_that_matches_something(pattern: str) -> None:
    with pytest.raises(ValueError, match="pattern "):
        Mask(pattern, "…", 9)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "regex", None)
    spec = importlib.util.spec_from_file_location("again", masking.__file__)
    assert spec is not None
    assert spec.loader is not None
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'agui-middleware\[redact\]'"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


@given(st.lists(st.text("41 -a", max_size=12), max_size=8))
def test_pieces_are_masked_as_the_whole(pieces: list[str]) -> None:
    mask = Mask(r"\b\d{4}(?:[ -]?\d{4}){3}\b|aa+", "…", 200)
    assert "".join(fed(Masker(mask), *pieces)) == mask.text("".join(pieces))
