import json
import shutil
from pathlib import Path

import pytest

from bench import beside_java, document, page
from bench.machine import ROOT
from bench.part import PARTS


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A copy of the page and of what it is made from."""
    shutil.copytree(document.RESULTS, tmp_path / "results")
    (tmp_path / "docs" / "images").mkdir(parents=True)
    shutil.copy(page.PAGE, tmp_path / "docs")
    shutil.copy(page.PAGE.parent / "images" / "s3-memory.svg", tmp_path / "docs" / "images")
    return tmp_path


def change(place: Path, part: str, **values: object) -> None:
    found = document.read(part, place / "results")
    assert found is not None
    document.write({**found, **values}, place / "results")


def test_the_page_says_what_the_results_say(capsys: pytest.CaptureFixture[str]) -> None:
    code = page.bring_up_to_date(page.PAGE, document.RESULTS, beside_java.FILE, check=True)
    assert (code, capsys.readouterr().out) == (0, "")


def test_migrate_says_what_the_results_say(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy, said = place / "docs" / "performance.md", place / "measured.json"
    shutil.copy(beside_java.FILE, said)
    found = document.read("jdbc", place / "results")
    assert found is not None
    found["rows"]["insert"]["ours"]["ratio"]["java"]["rate"]["median"] = 7.5
    document.write(found, place / "results")
    assert page.bring_up_to_date(copy, place / "results", said, check=True) == 1
    assert "measured.json is not what bench/results say" in capsys.readouterr().out
    assert page.bring_up_to_date(copy, place / "results", said, check=False) == 0
    figures = json.loads(said.read_text())
    assert figures["io.confluent.connect.jdbc.JdbcSinkConnector"]["rate"] == 7.5
    assert len(figures) == len(beside_java.COMPARED)


def with_rate(place: Path, rate: float) -> None:
    """Make the rate of one row of databases another."""
    found = document.read("jdbc", place / "results")
    assert found is not None
    found["rows"]["insert"]["ours"]["median"]["rate"] = rate
    document.write(found, place / "results")


def test_a_changed_figure_is_noticed_and_brought_to_the_page(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = place / "docs" / "performance.md"
    before = copy.read_text(encoding="utf-8")
    with_rate(place, 123_456.0)
    assert page.bring_up_to_date(copy, place / "results", check=True) == 1
    assert capsys.readouterr().out == (
        "performance.md: the block jdbc is not what bench/results say: run python -m bench.page\n"
    )
    assert copy.read_text(encoding="utf-8") == before
    assert page.bring_up_to_date(copy, place / "results", check=False) == 0
    assert "123,456" in copy.read_text(encoding="utf-8")
    assert page.bring_up_to_date(copy, place / "results", check=True) == 0


def test_a_figure_that_somebody_writes_by_hand_is_noticed(place: Path) -> None:
    copy = place / "docs" / "performance.md"
    with_rate(place, 123_456.0)
    page.bring_up_to_date(copy, place / "results", check=False)
    copy.write_text(copy.read_text(encoding="utf-8").replace("123,456", "223,456"), encoding="utf-8")
    assert page.bring_up_to_date(copy, place / "results", check=True) == 1


def test_words_outside_the_blocks_are_anybody_s(place: Path) -> None:
    copy = place / "docs" / "performance.md"
    text = copy.read_text(encoding="utf-8")
    copy.write_text(text.replace("# Performance", "# Figures\n\nMore words."), encoding="utf-8")
    assert page.bring_up_to_date(copy, place / "results", check=True) == 0


def test_a_part_that_was_never_measured_says_how_it_is(place: Path) -> None:
    (place / "results" / "mirror.json").unlink()
    text = page.written(page.PAGE.read_text(encoding="utf-8"), place / "results")
    assert "Not measured yet: `make bench PARTS=mirror`." in text


def test_the_missed_bars_stand_on_the_page(place: Path) -> None:
    rows = {"jsonl": {"ours": {"median": {}, "ratio": {"hand": {"rate": {"median": 0.5}, "cpu_us": {"median": 1.0}}}}}}
    change(place, "s3", rows=rows)
    text = page.written(page.PAGE.read_text(encoding="utf-8"), place / "results")
    line = next(line for line in text.splitlines() if "jsonl: rate, ours to hand" in line)
    assert [cell.strip() for cell in line.split("|")[-3:-1]] == ["0.5", "≥0.8"]
    assert any("parquet: rate, ours to hand" in line and "not yet" in line for line in text.splitlines())


def test_figures_say_where_and_when_they_were_taken() -> None:
    machine = {
        "processor": "AMD EPYC",
        "cores": 2,
        "memory_gib": 24,
        "kernel": "Linux 6.18",
        "python": "CPython 3.11.7",
        "java": "OpenJDK 17.0.15",
    }
    found = {
        "commit": "f6bc987",
        "machine": machine,
        "versions": {"Debezium": "3.5.0"},
        "settings": {"rounds": 3},
        "load_before": 0.25,
    }
    assert page.origin(found) == (
        "*3 rounds at f6bc987; 2 cores of AMD EPYC, 24 GiB, Linux 6.18; CPython 3.11.7, OpenJDK 17.0.15; "
        "Debezium 3.5.0; load before 0.25.*"
    )
    assert "1 round at f6bc987 with changes;" in page.origin({**found, "settings": {"rounds": 1}, "changed": True})
    assert page.origin({**found, "transcribed": "Published in e8dc806."}) == "*Published in e8dc806.*"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("<!-- bench:jdbc -->", "", "stands without its end"),
        ("<!-- /bench:jdbc -->", "<!-- /bench:jdcb -->", "stands without its end"),
        (
            "<!-- bench:jdbc -->\n",
            "<!-- bench:jdbc -->\n<!-- bench:s3 -->\n<!-- /bench:s3 -->\n",
            "stands without its end",
        ),
        ("bench:mirror -->", "bench:mirrors -->", "bench:mirror"),
    ],
    ids=["no beginning", "no end", "within another", "no such part"],
)
def test_a_broken_mark_is_named(place: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, said: str) -> None:
    copy = place / "docs" / "performance.md"
    copy.write_text(copy.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    assert page.bring_up_to_date(copy, place / "results", check=True) == 1
    assert said in capsys.readouterr().out


def test_every_part_has_its_place_on_the_page() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert all(f"<!-- bench:{part.name} -->" in text for part in PARTS)


def test_memory_of_the_soak_is_drawn_from_its_samples(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(place, "soak", samples=[[number, 200 + number % 3, 10 * number] for number in range(60)])
    copy = place / "docs" / "performance.md"
    picture = place / "docs" / "images" / "s3-memory.svg"
    assert page.bring_up_to_date(copy, place / "results", check=True) == 1
    assert "s3-memory.svg is not what bench/results say" in capsys.readouterr().out
    assert page.bring_up_to_date(copy, place / "results", check=False) == 0
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    assert page.bring_up_to_date(copy, place / "results", check=True) == 0


def test_figures_are_not_left_out_of_what_is_committed() -> None:
    assert "bench/results" not in (ROOT / ".gitignore").read_text(encoding="utf-8")
    assert all(json.loads(path.read_text(encoding="utf-8")) for path in document.RESULTS.glob("*.json"))
