import re
import time

import pytest

from connect.settings.java_regex import java_regex


@pytest.mark.parametrize(
    "part", ["(?i)|", "(?i)(?-i)|", "(?i)(?s)(?m)a", "(?:(?i)|a)", r"\Q", r"\p{Alpha}", "[a", "{", r"\x{41}"]
)
def test_a_pattern_is_translated_in_time_that_grows_with_its_length(part: str) -> None:
    """Switches of flags were rewritten after each "|": the square of the pattern's length."""
    made = {}
    for count in (500, 2_000):
        began = time.thread_time()
        try:
            made[count] = len(java_regex(part * count).pattern)
        except ValueError:
            made[count] = 0
        assert time.thread_time() - began < 5
    assert made[2_000] <= 5 * made[500]


@pytest.mark.parametrize(
    ("pattern", "matches", "not_these"),
    [
        ("a(?i)b(?s).|C", ["aB\n", "ab.", "c"], ["A b", "a\n"]),
        ("(?i)a(?-i)b|C", ["Ab", "ab", "C"], ["aB", "c"]),
        ("(?i)a(?m-i)b|^C", ["Ab", "C"], ["aB", "c"]),
        ("(a(?i)b|c)d", ["aBd", "Cd"], ["aBD", "Abd"]),
        ("(?i)(?s)a.|b(?-s).", ["A\n", "Bx"], ["b\n"]),
    ],
)
def test_flags_hold_to_the_end_of_their_group(pattern: str, matches: list[str], not_these: list[str]) -> None:
    compiled: re.Pattern[str] = java_regex(pattern)
    assert [text for text in matches if not compiled.fullmatch(text)] == []
    assert [text for text in not_these if compiled.fullmatch(text)] == []


@pytest.mark.parametrize(
    ("pattern", "written"),
    [
        ("(?:ab?c)*+", "(?>(?:ab?c)*)"),
        ("x(a|(b)++c){2,3}+y", "x(?>(a|(?>(b)+)c){2,3})y"),
        ("(?i)(ab)?+", "(?i:(?>(ab)?))"),
        ("[a-c]*+x+?", "(?>[a-c]*)x+?"),
        (r"\Qab\E++", "(?>ab+)"),
    ],
)
def test_what_is_possessive_is_an_atomic_group(pattern: str, written: str) -> None:
    """Python before 3.11.5 found `(?:ab?c)*+` in "a"."""
    assert java_regex(pattern).pattern == written


@pytest.mark.parametrize("pattern", ["*+", "a(*+)", "a|*+", "a*+*", "a{2}{3}", "{2}", "a*+++", "(?i)*+"])
def test_a_quantifier_of_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="is not a regular expression"):
        java_regex(pattern)
