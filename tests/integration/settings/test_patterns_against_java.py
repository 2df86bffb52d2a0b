"""Patterns written for Java against java.util.regex, by hand and made up by hypothesis."""

import json
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connect.settings.java_regex import java_regex
from tests.support.java import JavaProgram

# Reads a pattern and a text, each as the hexadecimal digits of its UTF-16; answers whether it matches, or "error".
ORACLE = r"""
import java.nio.charset.StandardCharsets; import java.util.*; import java.util.regex.*;
public class Oracle {
    static String read(Scanner in) {
        return new String(HexFormat.of().parseHex(in.nextLine()), StandardCharsets.UTF_16BE);
    }
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        while (in.hasNextLine()) {
            String pattern = read(in), text = read(in);
            try {
                System.out.println(Pattern.compile(pattern).matcher(text).matches());
            } catch (PatternSyntaxException broken) {
                System.out.println("\"error\"");
            }
        }
    }
}
"""
Match = Callable[[str, str], bool | str]


@pytest.fixture(scope="module")
def java(java_program: Callable[..., JavaProgram]) -> Iterator[Match]:
    """Whether Java's pattern matches a whole text."""
    with java_program(ORACLE).answering() as ask:

        def match(pattern: str, text: str) -> bool | str:
            found: bool | str = json.loads(ask(pattern.encode("utf-16-be").hex(), text.encode("utf-16-be").hex()))
            return found

        yield match


PATTERNS = [
    "",
    "orders.*",
    "^orders-[0-9]+$",
    "(?i)ORDERS.*",
    "orders-(?i)EU|us",
    "(a(?i)b|c)d",
    "(?i:A)b",
    "(?i)a(?-i)b|C",
    r"(?<what>\w+)-\k<what>",
    r"\p{Alpha}++-\p{Digit}*",
    r"\P{Upper}+",
    r"[\p{Lower}._-]+",
    r"\Qa.b\E.*",
    r"\Qa.b",
    r"[\Q.-]\E]+",
    r"\h*a\h*",
    r"[\h]a",
    r"a\z",
    r"\x{61}.*",
    r"(?!connect-).*",
    r"(?<!x)a",
    "(?>a*)b",
    "a{1,2}+b",
    "[a|b~&]+",
    "(?s).*",
    r"\w+",
    r"(?i)é",
    "[^a]",
    r"a\|b|c",
    "()|a",
    r"[\w-z]+",
    r"[\d-]+",
    r"\0141.*",
    r"\0141b",
    r"a\cJ?",
    r"a{1,}b{0,2}",
    "a}?",
    r"a\{?",
]
WORDS = "a A b B c C ab AB aB ac cd Cd ABd aBd a.b a.bc axb aab orders ORDERS-1 orders-12 orders-eu orders-EU us US"
TEXTS = [
    *WORDS.split(),
    "",
    "connect-a",
    "x-x",
    "x-y",
    "é",
    "É",
    " a\t",
    "\xa0a",
    "a\n",
    "a|b",
    "~&",
    "ab-12",
    "a_b-c.d",
    ".-]",
    "\n",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_mean_what_they_mean_in_java(java: Match, pattern: str) -> None:
    ours = java_regex(pattern)
    assert [bool(ours.fullmatch(text)) for text in TEXTS] == [java(pattern, text) for text in TEXTS]


@pytest.mark.parametrize("pattern", ["{", "a{", "a{1", "a{,2}", "({1})", "a{x}"])
def test_a_brace_that_is_no_count_is_refused_as_in_java(java: Match, pattern: str) -> None:
    assert java(pattern, "a") in ("error", False)
    with pytest.raises(ValueError, match="regular expression"):
        java_regex(pattern)


PIECES = (
    r"a b A . - 1 \. \w \d \p{Alpha} \P{Digit} [ab] [^a-] [\w.] (?i) (?-i) | * + ? {1,2} ( ) (?: (?<n> (?i: (?= (?! ^ $"
    r" \Q(\E ++"
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(PIECES.split()), max_size=8).map("".join), st.text("abAB.-1(", max_size=5))
def test_patterns_made_up_mean_the_same_or_are_refused(java: Match, pattern: str, text: str) -> None:
    try:
        ours = bool(java_regex(pattern).fullmatch(text))
    except ValueError:
        return
    assert java(pattern, text) in (ours, "error")
