"""What counts as the same line, and how lines of a file that grows are counted."""

from pathlib import Path

import pytest

from bench.any_shape import _Lines, same


@pytest.mark.parametrize(
    ("expected", "made", "in_order"),
    [
        (b"Struct{a=2.0E-3}", b"Struct{a=2.0E-3}", True),
        (b"Struct{a=5.684341886080802E-14}", b"Struct{a=5.684341886080801600E-14}", True),
        (b"{a=1, b=x}", b"{b=x, a=1}", False),
    ],
)
def test_same(expected: bytes, made: bytes, in_order: bool) -> None:
    assert same(expected, made, in_order=in_order)


@pytest.mark.parametrize(
    ("expected", "made", "in_order"),
    [
        (b"Struct{a=1.5}", b"Struct{a=1.25}", True),
        (b"Struct{a=1,b=x}", b"Struct{b=x,a=1}", True),
        (b"{a=1, b=x}", b"{b=x, a=2}", False),
    ],
)
def test_not_the_same(expected: bytes, made: bytes, in_order: bool) -> None:
    assert not same(expected, made, in_order=in_order)


def test_lines_are_counted_as_they_come(tmp_path: Path) -> None:
    path = tmp_path / "output"
    lines = _Lines(path)
    assert lines.count() == 0
    path.write_bytes(b"a\nb\nc")
    assert lines.count() == 2
    with path.open("ab") as file:
        file.write(b"\nd\n")
    assert lines.count() == 4
