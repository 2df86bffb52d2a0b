import json
from pathlib import Path

import pytest

from bench import document
from bench.document import Rows


def test_a_ratio_is_taken_within_a_round_and_only_of_rounds_that_both_ended() -> None:
    rows = Rows({"ours": ["java"]})
    for number, rate in enumerate((100.0, 50.0)):
        rows.add("insert", "java", {"rate": rate}, number)
    for number, rate in enumerate((400.0, 100.0, 400.0)):
        rows.add("insert", "ours", {"rate": rate}, number)
    spread = rows.as_json()["insert"]["ours"]["ratio"]["java"]["rate"]
    assert spread == {"median": 3.0, "least": 2.0, "most": 4.0}


def test_every_round_is_kept_and_one_that_failed_is_null() -> None:
    rows = Rows({"ours": ["java"]})
    rows.add("insert", "java", {"rate": 10.0}, 0)
    rows.add("insert", "java", None, 1)
    rows.add("insert", "java", {"rate": 30.0}, 2)
    rows.add("insert", "ours", {"rate": 50.0}, 1)
    found = rows.as_json()["insert"]
    assert found["java"] == {"rounds": [{"rate": 10.0}, None, {"rate": 30.0}], "median": {"rate": 20.0}}
    assert found["ours"] == {"rounds": [None, {"rate": 50.0}, None], "median": {"rate": 50.0}}  # no round in common


def test_a_side_has_a_ratio_to_each_of_its_peers() -> None:
    rows = Rows({"ours": ["raw", "kafka"], "worker": ["spark"]})
    for side, rate in (("ours", 40.0), ("raw", 20.0), ("kafka", 10.0), ("worker", 5.0)):
        rows.add("delta", side, {"rate": rate})
    found = rows.as_json()["delta"]
    assert {peer: of["rate"]["median"] for peer, of in found["ours"]["ratio"].items()} == {"raw": 2.0, "kafka": 4.0}
    assert "ratio" not in found["worker"]  # its peer was not measured


def test_figures_keep_five_digits_and_counts_all() -> None:
    assert document.short({"rate": 123456.789, "us": 0.0123456, "records": 1234567}) == {
        "rate": 123460.0,
        "us": 0.012346,
        "records": 1234567,
    }


def test_a_path_leads_to_its_figures() -> None:
    rows = {"insert": {"ours": {"median": {"rate": 2.0}}}, "upsert": {"ours": {"median": {"rate": 3.0}}}}
    assert list(document.find(rows, "insert/ours/median/rate")) == [("insert/ours/median/rate", 2.0)]
    assert [value for _, value in document.find(rows, "*/ours/median/rate")] == [2.0, 3.0]
    assert not list(document.find(rows, "insert/java/median/rate"))
    assert not list(document.find(rows, "insert/ours/median"))
    assert document.value({"rows": rows}, "upsert/ours/median/rate") == 3.0
    assert document.value({"rows": rows}, "upsert/ours/median/us") is None


def test_a_document_is_read_as_it_was_written_with_a_line_for_each_round(tmp_path: Path) -> None:
    rounds = [{"records": 1_000_000, "seconds": 4.25 + number, "rate": 235294.0} for number in range(3)]
    made = {"part": "jdbc", "rows": {"insert": {"ours": {"rounds": rounds, "median": rounds[1]}}}}
    path = document.write(made, tmp_path / "results")
    assert document.read("jdbc", tmp_path / "results") == made
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line.strip().rstrip(",")) for line in lines if line.strip().startswith('{"records"')] == rounds
    assert [each.name for each in path.parent.iterdir()] == ["jdbc.json"]


def test_what_was_never_measured_has_no_document(tmp_path: Path) -> None:
    assert document.read("jdbc", tmp_path) is None


@pytest.mark.parametrize("path", sorted(document.RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_a_committed_document_says_what_it_is(path: Path) -> None:
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["part"] == path.stem
    assert found["commit"]
    assert found["rows"]
    assert not found.get("quick"), "figures of tiny sizes"
    if "transcribed" not in found:
        assert found["machine"].keys() == {"processor", "cores", "memory_gib", "kernel", "python", "java"}
        assert found["settings"]["rounds"] >= 1
        assert found["load_before"] >= 0
