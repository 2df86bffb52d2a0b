"""When files end: the same records in any batches make the same files."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from connect.data.column import Constant, Plain
from connectors.objects.sink.rotation import Append, Close, End, Rotation, Rows, Rules

File = tuple[str, Any, list[int]]


def files(
    rules: Rules, records: Sequence[tuple[str, Any, int, int]], cuts: Sequence[int]
) -> tuple[list[File], list[int]]:
    """The files that ended, with the offsets of their records, and the beginnings of the stretches that did.

    Args:
        records: place, schema, time and size of each.
        cuts: where one batch ends and the next begins.
    """
    rotation = Rotation(rules)
    contents: dict[int, list[int]] = {}
    ended: list[File] = []
    stretches: list[int] = []
    for start, stop in zip([0, *cuts], [*cuts, len(records)], strict=True):
        batch = records[start:stop]
        rows = Rows(
            range(len(batch)),
            Plain(list(range(start, stop))),
            Plain([record[0] for record in batch]),
            Plain([record[1] for record in batch]),
            [record[2] for record in batch],
            [record[3] for record in batch],
        )
        before = rotation
        rotation = rotation.copy()
        for step in rotation.take(rows):
            match step:
                case Append(part, chosen):
                    contents.setdefault(part.number, []).extend(start + row for row in chosen)
                case Close(part):
                    assert (part.first, part.last) == (contents[part.number][0], contents[part.number][-1])
                    assert part.records == len(contents[part.number])
                    ended.append((part.pattern, part.schema, contents.pop(part.number)))
                case End(first):
                    stretches.append(first)
        assert before is not rotation
    return ended, stretches


RULES = [
    Rules(records=7),
    Rules(records=20, file_bytes=50),
    Rules(records=30, file_records=4),
    Rules(interval_ms=10),
    Rules(interval_ms=10, on_change=True),
    Rules(records=25, open_files=2),
    Rules(records=25, open_files=2, file_bytes=40, interval_ms=30),
    Rules(records=9, by_schema=True),
    Rules(records=40, file_bytes=60, interval_ms=25, open_files=3, by_schema=True),
]


@pytest.mark.promise("P10")
@pytest.mark.parametrize("rules", RULES, ids=repr)
@pytest.mark.parametrize("places", ["a", "abc"])
def test_the_same_records_make_the_same_files_however_they_come(rules: Rules, places: str, seed: int) -> None:
    chance = random.Random(seed)
    records = [
        (chance.choice(places), chance.choice("xxxxy"), n + chance.randint(-5, 5), chance.randint(5, 20))
        for n in range(200)
    ]
    whole = files(rules, records, [])
    assert whole[0]
    for _ in range(20):
        cuts = sorted(chance.sample(range(1, 200), chance.randint(1, 50)))
        found = files(rules, records, cuts)
        assert sorted(found[0]) == sorted(whole[0])
        assert found[1] == whole[1]


@pytest.mark.promise("P10")
@pytest.mark.parametrize("rules", RULES, ids=repr)
def test_from_the_beginning_of_a_stretch_on_the_same_files_come_again(rules: Rules, seed: int) -> None:
    """A task that died begins at what was committed: the beginning of a stretch."""
    chance = random.Random(seed)
    records = [
        (chance.choice("abc"), chance.choice("xxxxy"), n + chance.randint(-5, 5), chance.randint(5, 20))
        for n in range(200)
    ]
    ended, stretches = files(rules, records, [])
    for first in stretches:
        again, _ = files(rules, records[first:], [])
        moved = [(place, schema, [first + offset for offset in offsets]) for place, schema, offsets in again]
        assert sorted(moved) == sorted(file for file in ended if file[2][0] >= first)


def test_rows_of_one_place_go_the_short_way_to_the_same_files() -> None:
    constant = Rows(range(10), Plain(list(range(10))), Constant("a", 10), Constant("x", 10), None, None)
    short = Rotation(Rules(records=3)).take(constant)
    each = Rotation(Rules(records=3)).take(constant._replace(patterns=Plain(["a"] * 10)))

    def told(steps: Sequence[Any]) -> list[Any]:
        return [(type(step).__name__, list(getattr(step, "rows", ()))) for step in steps]

    assert told(short) == told(each)
