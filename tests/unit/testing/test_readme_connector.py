"""The ten-line connector of the README is found and runs as it stands there."""

import re
import sys
import time
from pathlib import Path

import pytest

from connect.plugins import PluginKind, Plugins, load
from connect.testing import SourceRun

README = Path(__file__).parents[3] / "README.md"
_CONNECTOR = re.compile(r"<!-- ten-line connector -->\s*```python\n(.*?)```.*?```properties\n(.*?)```", re.DOTALL)


def test_the_connector_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = _CONNECTOR.search(README.read_text())
    assert found, "README.md has no Python block below <!-- ten-line connector -->, or no properties after it"
    (tmp_path / "clock.py").write_text(found[1])
    config = dict(line.split("=") for line in found[2].splitlines())
    monkeypatch.setattr(sys, "path", sys.path[:])

    connector = load(Plugins.discover([tmp_path]).find(PluginKind.SOURCE, config["connector.class"]))
    del sys.modules["clock"]
    with SourceRun(connector, config) as run:
        (record,) = run.poll_until(1)
    assert record.topic == config["topic"]
    assert time.strptime(record.value)


def test_it_has_ten_lines() -> None:
    found = _CONNECTOR.search(README.read_text())
    assert found
    assert len([line for line in found[1].splitlines() if line.strip()]) <= 10
