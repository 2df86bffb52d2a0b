"""The ten-line connector of the README runs as it stands there."""

import re
from pathlib import Path
from typing import Any

import pytest

from connect import SinkConnector, SourceConnector
from connect.settings import Kind
from connect.testing import SinkRun, SourceRun

README = Path(__file__).parents[3] / "README.md"
_MARKED = re.compile(r"<!-- ten-line connector -->\s*```python\n(.*?)```", re.DOTALL)

# Stands in until there is a README.
_BLOCK = """\
from connect import SinkConnector, SinkTask, SourceConnector, SourceRecord, SourceTask

class CounterTask(SourceTask):
    def start(self, config):
        self.topic = config["topic"]
        self.next = (self.context.offset({}) or {"next": 0})["next"]

    def poll(self):
        self.next += 1
        return [SourceRecord(self.topic, self.next, source_offset={"next": self.next})]

class Counter(SourceConnector):
    task = CounterTask

class PrinterTask(SinkTask):
    def start(self, config): ...

    def put(self, batch):
        for record in batch:
            print(record.value)

class Printer(SinkConnector):
    task = PrinterTask
"""


@pytest.fixture
def connectors() -> list[type[Any]]:
    """The connectors that the README defines."""
    block = _BLOCK
    if README.exists():
        found = _MARKED.search(README.read_text())
        assert found, "README.md has no Python block below <!-- ten-line connector -->"
        block = found[1]
    names: dict[str, Any] = {"__name__": "readme"}
    exec(block, names)
    defined = [one for one in names.values() if isinstance(one, type) and one.__module__ == "readme"]
    return [one for one in defined if issubclass(one, SourceConnector | SinkConnector)]


def config(connector: type[Any]) -> dict[str, str]:
    """Something for every setting that has to be given."""
    given = {s.name: "numbers" if s.kind is Kind.STRING else "1" for s in connector.settings if s.required}
    return {"topic": "numbers", **given} if issubclass(connector, SourceConnector) else given


def test_the_readme_shows_a_connector(connectors: list[type[Any]]) -> None:
    assert connectors


def test_its_sources_give_records_and_go_on_where_they_were(connectors: list[type[Any]]) -> None:
    for connector in connectors:
        if issubclass(connector, SourceConnector):
            with SourceRun(connector, config(connector)) as run:
                run.poll_until(2)
                run.restart()
                records = run.poll_until(4)
            offsets = [repr(record.source_offset) for record in records]
            assert len(set(offsets)) == len(offsets), "a record came again after the restart"


def test_its_sinks_print_what_they_are_given(connectors: list[type[Any]], capsys: pytest.CaptureFixture[str]) -> None:
    for connector in connectors:
        if issubclass(connector, SinkConnector):
            with SinkRun(connector, config(connector)) as run:
                run.put("first line", "second line")
                run.commit()
            printed = capsys.readouterr().out
            assert "first line" in printed
            assert "second line" in printed
            assert len(run.committed) == 1
