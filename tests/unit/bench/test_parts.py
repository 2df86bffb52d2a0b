import re
from pathlib import Path

import pytest

from bench import document
from bench.machine import ROOT
from bench.page import PAGE
from bench.part import PARTS, Part, Settings, named

ALL = pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)


@ALL
def test_a_part_can_measure_and_show_what_it_measured(part: Part) -> None:
    module = part.load()
    assert callable(module.measure)
    found = document.read(part.name)
    if found is None:
        assert f"make bench PARTS={part.name}" in PAGE.read_text(), "the page says that nobody has measured it"
        return
    assert module.table(found).count("|") > 10


@ALL
def test_a_part_runs_by_itself_under_its_own_name(part: Part) -> None:
    text = Path(ROOT, *part.module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
    assert f'sys.exit(one.main("{part.module}", "{part.name}"))' in text


@ALL
def test_a_part_has_three_times_as_long_as_it_takes(part: Part) -> None:
    assert part.limit(quick=False) >= 3 * 60 * part.minutes
    assert part.limit(quick=True) > 60 * part.quick_minutes


def test_every_module_that_measures_is_a_part() -> None:
    found = {
        f"bench.{path.stem}"
        for path in (ROOT / "bench").glob("*.py")
        if re.search(r"^def measure\(", path.read_text(), re.MULTILINE)
    }
    assert found == {part.module for part in PARTS}


def test_a_wrong_name_of_a_part_names_those_that_there_are() -> None:
    with pytest.raises(KeyError, match=r'There is no part "nope"\. There are: files, chain'):
        named("nope")


def test_tiny_sizes_are_for_those_who_only_want_to_see_it_work() -> None:
    full, quick = Settings(Path()), Settings(Path(), quick=True)
    assert (full.count(1000, 10), quick.count(1000, 10), Settings(Path(), size=7).count(1000, 10)) == (1000, 10, 7)
    assert (full.repeat(), quick.repeat(), Settings(Path(), quick=True, rounds=2).repeat()) == (3, 1, 2)


def test_rows_are_chosen_by_parts_of_their_names() -> None:
    assert Settings(Path()).wants("insert")
    some = Settings(Path(), only=("Cast", "up"))
    assert [row for row in ("insert", "upsert", "cast, numbers") if some.wants(row)] == ["upsert", "cast, numbers"]
