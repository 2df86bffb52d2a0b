from typing import Any

from bench.document import Rows
from bench.in_turn import in_turn, table_of
from bench.tables import RATE, START, compare, markdown


def cells(table: str, word: str) -> list[str]:
    line = next(line for line in table.splitlines() if word in line)
    return [cell.strip() for cell in line.split("|")[1:-1]]


def made(part: str, **sides: list[dict[str, float] | None]) -> dict[str, Any]:
    rows = Rows({"ours": ["java"]})
    for side, rounds in sides.items():
        for number, figures in enumerate(rounds):
            rows.add("insert", side, figures, number)
    return {"part": part, "rows": rows.as_json()}


def test_the_table_shows_medians_and_the_spread() -> None:
    found = made("none", java=[{"start_s": 5.0}, {"start_s": 4.0}, {"start_s": 8.0}], ours=[{"start_s": 1.0}] * 3)
    table = compare(found, {"insert": "insert", "upsert": "upsert"}, [START], ("java", "Java"))
    assert cells(table, "first record") == ["insert", START.title, "5.00", "1.00", "0.20", "0.12-0.25"]


def test_a_side_without_a_figure_is_named_as_failed() -> None:
    table = compare(made("none", java=[{"rate": 200_000.0}], ours=[None]), {"insert": ""}, [RATE], ("java", "Java"))
    assert cells(table, "records/s") == ["records/s", "200,000", "failed"]


def test_a_ratio_that_misses_its_bar_is_bold_and_the_bar_beside_it() -> None:
    for rate, cell in ((240.0, "**2.40**"), (260.0, "2.60")):
        table = compare(
            made("jdbc", java=[{"rate": 100.0}], ours=[{"rate": rate}]), {"insert": ""}, [RATE], ("java", "Debezium")
        )
        assert cells(table, "records/s") == ["records/s", "100", f"{rate:.0f}", cell, "≥2.5"]


def test_an_absolute_bar_marks_our_own_figure() -> None:
    rows = Rows({"ours": ["java"]})
    rows.add("idle", "java", {"worker_percent": 7.0})
    rows.add("idle", "ours", {"worker_percent": 6.0})
    from bench.pool import table

    said = table(
        {"part": "pool", "rows": rows.as_json(), "settings": {"connectors": 9, "workers": 3, "idle_tasks": 100}}
    )
    assert cells(said, "worker and tasks")[1:] == ["7.0", "**6.0**", "0.86", "≤5 (ours)"]


def test_a_row_and_a_figure_that_nobody_measured_are_left_out() -> None:
    table = compare(
        made("none", java=[{"rate": 1.0}], ours=[{"rate": 1.0}]),
        {"insert": "insert", "upsert": "upsert"},
        [RATE, START],
        ("java", "Java"),
    )
    assert "upsert" not in table
    assert START.title not in table


def test_figures_stand_to_the_right() -> None:
    assert markdown([["a", "b"], ["long", "1"]]) == "| a    |   b |\n| ---- | --: |\n| long |   1 |"


def test_ways_in_turn_have_a_round_each_and_their_part_of_the_peer() -> None:
    done: list[str] = []
    ways = {("read", side): lambda side=side: done.append(side) for side in ("alone", "ours")}
    rows = in_turn(ways, 3, 10, {"ours": ["alone"]})
    assert done == ["alone", "ours"] * 3
    assert [len(rows["read"][side]["rounds"]) for side in ("alone", "ours")] == [3, 3]
    rows["read"]["ours"]["ratio"]["alone"]["us"]["median"] = 0.5
    table = table_of({"part": "none", "rows": rows}, {"read": "reading", "write": "writing"}, {"ours": "ours"}, "alone")
    assert "(0.50)" in table
    assert "writing" not in table
