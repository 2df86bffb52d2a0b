from pathlib import Path

import pytest

from bench import bars, document
from bench.bars import BARS, Bar, judge
from bench.page import PAGE
from bench.part import PARTS

RATE = "insert/ours/ratio/java/rate/median"


def measured(rate: float, **more: object) -> dict[str, object]:
    return {"part": "jdbc", "rows": {"insert": {"ours": {"ratio": {"java": {"rate": {"median": rate}}}}}}, **more}


@pytest.mark.parametrize(("rate", "held"), [(2.49, False), (2.5, True), (4.0, True)])
def test_a_figure_is_held_to_its_bar(rate: float, held: bool) -> None:
    (judged,) = judge(measured(rate), [Bar("jdbc", RATE, ">=", 2.5, "why")])
    assert (judged.held, judged.measured, judged.metric) == (held, rate, RATE)


@pytest.mark.parametrize(("rate", "held"), [(0.24, True), (0.25, True), (0.26, False)])
def test_a_figure_may_have_to_be_small(rate: float, held: bool) -> None:
    (judged,) = judge(measured(rate), [Bar("jdbc", RATE, "<=", 0.25, "why")])
    assert judged.held == held


def test_what_was_not_measured_reaches_no_bar() -> None:
    (judged,) = judge({"part": "jdbc", "rows": {}}, [Bar("jdbc", RATE, ">=", 2.5, "why")])
    assert not judged.held
    assert str(judged) == "jdbc, insert: rate, ours to java was not measured, the bar is ≥2.5: why"


def test_a_missed_bar_says_the_part_what_was_measured_and_the_bar() -> None:
    (judged,) = judge(measured(2.1234), [Bar("jdbc", RATE, ">=", 2.5, "as Debezium")])
    assert str(judged) == "jdbc, insert: rate, ours to java is 2.12, the bar is ≥2.5: as Debezium"


def test_only_bars_of_the_part_are_judged_and_none_of_tiny_sizes() -> None:
    both = [Bar("s3", RATE, ">=", 2.5, ""), Bar("jdbc", RATE, ">=", 2.5, "")]
    assert len(judge(measured(1), both)) == 1
    assert judge(measured(1, quick=True), both) == []


def test_a_rule_holds_for_all_rows_and_an_exception_stands_behind_it() -> None:
    rows = {name: {"Arrow": {"median": {"us": us}}} for name, us in (("Cast", 0.2), ("Times, text", 0.2))}
    rule = Bar("transforms", "*/Arrow/median/us", "<=", 0.1, "")
    exception = Bar("transforms", "Times*/Arrow/median/us", "<=", 1.5, "")
    found = {
        each.metric.partition("/")[0]: each for each in judge({"part": "transforms", "rows": rows}, [rule, exception])
    }
    assert {name: (each.held, each.bar.value) for name, each in found.items()} == {
        "Cast": (False, 0.1),
        "Times, text": (True, 1.5),
    }


def test_every_bar_is_of_a_part_and_says_why() -> None:
    assert {bar.part for bar in BARS} <= {part.name for part in PARTS}
    assert all(bar.why for bar in BARS)


@pytest.mark.parametrize("bar", BARS, ids=lambda bar: f"{bar.part}-{bar.metric}")
def test_every_bar_leads_to_a_figure_of_its_document(bar: Bar) -> None:
    """A path that leads nowhere would otherwise be seen only after an hour of measuring."""
    found = document.read(bar.part)
    if found is None:
        assert f"make bench PARTS={bar.part}" in PAGE.read_text(), "the page says that nobody has measured it"
        return
    (judged, *_) = judge(found, [bar])
    # Documents that were copied from a page have not every figure.
    assert judged.measured is not None or "transcribed" in found


def test_the_command_fails_as_long_as_a_bar_is_missed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bars.show(tmp_path) == 1
    said = capsys.readouterr().out
    assert said.count("MISSED") == len({(bar.part, bar.metric) for bar in BARS})
    assert "jdbc, insert: rate, ours to java was not measured" in said


@pytest.mark.parametrize(
    ("part", "metric", "comparison", "value"),
    [
        ("files", "sink-string/ours/ratio/java/rate/median", ">=", 2.5),
        ("files", "source-string/ours/ratio/java/cpu_us/median", "<=", 0.25),
        ("files", "source-string/ours/ratio/java/pss_mb/median", "<=", 0.33),
        ("jdbc", "upsert/ours/ratio/java/rate/median", ">=", 2),
        ("jdbc", "source/ours/ratio/copy/seconds/median", "<=", 2),
        ("s3", "parquet/ours/ratio/hand/rate/median", ">=", 0.8),
        ("s3", "parquet/ours/ratio/hand/cpu_us/median", "<=", 1.5),
        ("elasticsearch", "index/ours/ratio/client/rate/median", ">=", 0.9),
        ("spark", "delta/ours/ratio/raw/cpu_us/median", "<=", 0.6),
        ("spark", "connector/worker/ratio/spark/cpu_us/median", "<=", 0.4),
        ("avro", "read/columns/ratio/fastavro/us/median", "<=", 1),
        ("pool", "idle/ours/median/worker_percent", "<=", 5),
        ("pool", "change/ours/median/begun_ms", "<=", 300),
        ("rest", "list/ours/median/p99_ms", "<=", 50),
        ("rest", "validate/ours/median/p99_ms", "<=", 500),
        ("transforms", "Flatten/schema/median/us", "<=", 0.5),
        ("transforms", "Flatten/Arrow/median/us", "<=", 0.1),
        ("transforms", "TimestampConverter, text/schema/median/us", "<=", 1.5),
        ("transforms", "TimestampConverter, Timestamp/Arrow/median/us", "<=", 0.1),
        ("transforms", "HeaderFrom/Arrow/median/us", "<=", 2.5),
    ],
)
def test_a_bar_is_what_was_promised(part: str, metric: str, comparison: str, value: float) -> None:
    judged = bars.bar_of(judge(document.read(part) or {}), metric)
    assert judged is not None
    assert (judged.bar.comparison, judged.bar.value) == (comparison, value)
