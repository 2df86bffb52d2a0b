"""The chaos suite itself, for a minute, with a fixed seed: it strikes, waits, judges and reports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

if TYPE_CHECKING:
    from connect.kafka.broker.embedded import Broker

ROOT = Path(__file__).parents[2]
FLOWS = ["file-sink", "http-sink", "notes-sink", "file-source", "numbers", "datagen", "mirror"]
FAULTS = ["kill worker", "kill all tasks", "kill broker", "worker cut from all brokers", "partitions added"]


def command(*more: str) -> list[str]:
    return [sys.executable, "-m", "tests.chaos", *more]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.promise("P1", "P3", "P10")
def test_a_minute_of_faults_loses_and_repeats_nothing(broker: Broker, tmp_path: Path) -> None:
    given = ["--seconds", "60", "--seed", "7", "--workers", "3", "--exactly-once", "--report", str(tmp_path)]
    given += ["--only", ",".join(FLOWS), "--faults", ",".join(FAULTS)]
    done = subprocess.run(command(*given), cwd=ROOT, capture_output=True, text=True, timeout=550, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    report = json.loads((tmp_path / "report.json").read_text())
    assert {row["flow"] for row in report["flows"]} == set(FLOWS)
    for row in report["flows"]:
        assert row["written"] == row["arrived"] > 50, row
        assert row["lost"] == 0, row
        assert row["promise"] != "once" or row["repeated"] == 0, row
    assert report["problems"] == []
    assert len({event["kind"] for event in report["events"]}) >= 3
    assert all(event["recovered"] is not None for event in report["events"])
    ElementTree.fromstring((tmp_path / "timeline.svg").read_text())
    assert "again: python -m tests.chaos --seconds 60 --seed 7" in done.stdout


def test_a_flow_that_there_is_not_is_named() -> None:
    done = subprocess.run(command("--only", "files"), cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "no such flow: files. There are: file-sink" in done.stderr
