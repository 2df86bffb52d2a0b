"""No regular expression of ours takes more than linear time, whatever a user, a record or a server writes.

The expressions, and the methods by which they are run, are found in the sources; hostile texts are made from each
expression's own structure. Who adds one that fails here repairs it with classes that exclude each other, `*+`,
`(?>...)`, a bound such as {0,200}, or by hand (`connect.settings.variables`).
"""

import importlib
import itertools
import json
import re
import subprocess
import sys

import pytest

from connect.telemetry.secret_shapes import _closing
from tests.support.hostile_texts import repeats_groups_possessively, slowest

#: Not measured as they stand, and why they need not be.
EXEMPT = {
    ("connect.telemetry.secret_shapes", "_STRICT_SCHEME"): "looks at the 40 characters before an address",
}
#: Functions that make some while we run: not ours, or of letters alone, or measured here.
OF_THE_RUN = {
    "connect.cli._demo_run.copy_changed": "a key of ours, escaped, at the beginning of a line",
    "connect.cli.docs.found": "a user's word, escaped, in the user's own command",
    "connect.herder.checks._hide": "a value, escaped",
    "connect.pipeline.cases._check_error": "a user's, in the user's own command",
    "connect.pipeline.cases._of_error": "a user's, in the user's own command",
    "connect.pipeline.tap_masks.__init__": "the operator's: as a shell's, and for each star 50 letters at most",
    "connect.settings.java_regex.java_regex": "a user's: tests/unit/herder/test_users_patterns.py",
    "connect.settings.providers.configure": "the operator's",
    "connect.telemetry.redaction._known_in": "secrets, escaped",
    "connect.telemetry.secret_shapes._closing": "measured here",
    "connectors.jdbc.changes.keys.adjusted": "one of two sets of characters",
    "connectors.jdbc.source.tables._like": "Python's own, linear for each star",
    "connectors.objects.sink.object_names.belongs": "a user's template, in the task; a key has 1,024 bytes at most",
    "rest.security.certificates.parse_rules": "the operator's",
    "rest.security.roles._compiled": "Python's own, linear for each star",
    "spark_sink.known_errors._rule": "attributes of the module, measured there",
    "spark_sink.delta.routing.tables_of": "a user's template, in the task; a folder's name has 255 bytes at most",
    "transforms.expressions.texts._like": "Python's own, linear for each star",
    "transforms.expressions.texts._regexp": "a user's, in the task",
    "transforms.java_dates_parser.__init__": "possessive throughout",
}


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"(a+)+$", "match"),
        (r"\$\{[^}]*\}", "search"),
        (r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}", "sub"),
        (r"\s+x", "search"),
        (r"(\w+\s?)*!", "match"),
        (r"a.*b.*c", "match"),
        (r"\d+\d+x", "fullmatch"),
        (r"(x|xx)*y", "match"),
        (r"\d+(?=x)", "findall"),
        (r'"((?:[^"\\]|\\.)*)"', "finditer"),
        (r"^(.*)=(.*)=$", "match"),
        (r"(?:\.\d+|\d+\.)*$", "search"),
        (rb"[^:]*:[^/]*/x", "search"),
    ],
)
def test_what_is_known_to_be_slow_is_found(pattern: str | bytes, method: str) -> None:
    assert slowest(re.compile(pattern), method)


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"\$\{[^}]*\}", "match"),
        (r"(?:\\.|[^\\\"])*", "match"),
        (r"(?:a|b)*+c", "match"),
        (r"\d+(?:\.\d+)?", "sub"),
        (rb"[a-z][a-z0-9]*", "fullmatch"),
    ],
)
def test_what_is_linear_is_not_suspected(pattern: str | bytes, method: str) -> None:
    assert slowest(re.compile(pattern), method) is None


@pytest.mark.parametrize("pattern", [r"(?:ab?c)*+", r"x|(a(?:(?!b).)++)", r"(?:ab){2,5}+", r"(?=(?:a|bc)?+d)"])
def test_what_is_wrong_before_python_3_11_5_is_found(pattern: str) -> None:
    assert repeats_groups_possessively(re.compile(pattern))


@pytest.mark.parametrize("pattern", [r"[ab]*+\d++.?+x{3,}+", r"(?>(?:ab?c)*)", r"(?:ab)*a+"])
def test_what_is_right_everywhere_is_not_suspected(pattern: str) -> None:
    assert not repeats_groups_possessively(re.compile(pattern))


@pytest.mark.parametrize("depth", [0, 1, 15])
@pytest.mark.parametrize("quote", ['"', "`"])
def test_the_end_of_what_is_quoted_is_found_in_linear_time(depth: int, quote: str) -> None:
    assert slowest(_closing(depth, quote), "search") is None


def test_none_takes_more_than_linear_time() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.expressions"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    *slow, wrong, made, count = map(json.loads, done.stdout.splitlines())
    assert count > 200  # as many as there are: the test looks at something
    assert wrong == []
    assert [one for one in slow if (one[0], one[1]) not in EXEMPT] == []
    assert {f"{one[0]}: {one[1]}" for one in slow} >= {": ".join(one) for one in EXEMPT}  # none is exempt in vain
    assert sorted(set(made)) == sorted(OF_THE_RUN)


@pytest.mark.parametrize(
    ("module", "name", "before", "method"),
    [
        (
            "connect.converters.values_parser",
            "_NUMBER",
            r"[-+](?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\d+\.?\d*(?:[eE][-+]?\d+)?",
            "fullmatch",
        ),
        ("transforms.mask_field", "_NUMBER", r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", "fullmatch"),
        (
            "transforms.java_casts",
            "_NUMBER",
            (
                r"[\0- ]*([-+]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?=[fFdD]?))|"
                r"[-+]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][-+]?\d+)[fFdD]?[\0- ]*"
            ),
            "fullmatch",
        ),
    ],
)
def test_a_repaired_expression_takes_what_it_took(module: str, name: str, before: str, method: str) -> None:
    pattern = getattr(importlib.import_module(module), name)
    for length in range(6):
        for chosen in itertools.product("0.e+xp f", repeat=length):
            text = "".join(chosen)
            was, found = (getattr(one, method)(text) for one in (re.compile(before, pattern.flags), pattern))
            assert (found and found.span()) == (was and was.span()), text
