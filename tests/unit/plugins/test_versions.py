import random

import pytest

from connect.plugins.versions import VersionRange, order


def test_versions_sort_by_age(seed: int) -> None:
    by_age = [
        None,
        "0.9",
        "1.0.dev1",
        "1.0a1",
        "1.0b1",
        "1.0-rc1",
        "1.0",
        "1.0.1",
        "1.2",
        "1.10",
        "2.0-SNAPSHOT",
        "2.0",
    ]
    mixed = by_age[:]
    random.Random(seed).shuffle(mixed)
    assert sorted(mixed, key=order) == by_age


def test_zeros_at_the_end_do_not_matter() -> None:
    assert order("1") == order("1.0.0") == order("v1.0")


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("1.2", ["1.2", "1.2.0"], ["1.2.1", "1.1"]),
        ("[1.2]", ["1.2"], ["1.3"]),
        ("[1.0,2.0)", ["1.0", "1.9.9"], ["0.9", "2.0", "3"]),
        ("(1.0,2.0]", ["1.1", "2.0"], ["1.0", "2.1"]),
        ("[1.5,)", ["1.5", "99"], ["1.4"]),
        ("(,2)", ["0.1"], ["2"]),
        ("(,1.3],[1.5,)", ["1.2", "1.3", "1.5", "2"], ["1.4", "1.3.1"]),
        ("[1.0, 1.2) , (1.2,2.0]", ["1.0", "1.2.1", "2.0"], ["0.9", "1.2", "2.1"]),
        ("[1.2],[1.4]", ["1.2", "1.4"], ["1.3"]),
    ],
)
def test_a_range_holds_what_lies_between_its_ends(text: str, inside: list[str], outside: list[str]) -> None:
    found = VersionRange.parse(text)
    assert [version for version in inside if version not in found] == []
    assert [version for version in [*outside, None] if version in found] == []


@pytest.mark.parametrize("text", ["", "[", "[1,2", "1,2", "(1)", "[2,1]", "[]", "[1,2,3]", "1)", "[1],", "[1][3]"])
def test_what_is_no_range_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"Write 1\.2 for exactly that"):
        VersionRange.parse(text)
