"""Texts match the expression that they are made of, and all that it allows comes about."""

import re
from random import Random

import pytest

from connectors.datagen.patterns import parse

EXPRESSIONS = [
    "User_[1-9]",
    "User_[1-9]{0,1}",
    "[A-Z]{3}[0-9]{3}",
    r"10\.[0-9]\.\d{1,3}",
    "a|bc|(d|e)f?",
    "(?:Page|Item)_[0-9]{2,4}x*y+",
    r"[^a-z]{4}\w\W\s\S.",
    r"[\d\-x\]]+",
    "[]a]{2}",
    r"\+\u0041\t",
    "^anchored$",
    "((ab){2}|c){1,3}",
    "ä{2}[ж-щ]",
    "",
    "x{0}",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_texts_match(expression: str, seed: int) -> None:
    texts = parse(expression).column(Random(seed), 500)
    assert len(texts) == 500
    wrong = [text for text in texts if not re.fullmatch(expression, text)]
    assert wrong == []


@pytest.mark.parametrize(
    ("expression", "all_of_them"),
    [
        ("[abc]", {"a", "b", "c"}),
        ("a?b{1,2}", {"b", "bb", "ab", "abb"}),
        ("one|two", {"one", "two"}),
        ("[0-9]", set("0123456789")),
        ("x*", {"x" * n for n in range(9)}),
    ],
)
def test_everything_comes_about(expression: str, all_of_them: set[str], seed: int) -> None:
    assert set(parse(expression).column(Random(seed), 2000)) == all_of_them


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("(a", 'lacks a "\\)"'),
        ("a)", 'a "\\)" too many at character 2'),
        ("[a", "ends too early"),
        ("a{x}", "says not how often"),
        ("a{3,2}", "ends before it begins"),
        ("*", "nothing to repeat"),
        ("[z-a]", "is not a range"),
        ("(?=a)", 'only "\\(\\?:" is understood'),
        (r"(a)\1", "is not understood"),
        ("\\", "ends too early"),
    ],
)
def test_what_cannot_be_made_is_refused(expression: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse(expression)
