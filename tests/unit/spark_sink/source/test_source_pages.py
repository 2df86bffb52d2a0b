"""The examples on the pages of the source connectors are right."""

import re
from pathlib import Path

import pytest

from spark_sink.source.connectors import DeltaSourceConnector, SparkSourceConnector

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(
    ("name", "connector"), [("delta-source", DeltaSourceConnector), ("spark-source", SparkSourceConnector)]
)
def test_examples_are_right(name: str, connector: type[DeltaSourceConnector]) -> None:
    page = (ROOT / "docs" / "connectors" / f"{name}.md").read_text(encoding="utf-8")
    examples = [one for one in re.findall(r"```properties\n(.*?)```", page, re.DOTALL) if "connector.class" in one]
    examples.append((ROOT / "config" / f"connect-{name}.properties").read_text(encoding="utf-8"))
    for example in examples:
        config = dict(line.split("=", 1) for line in example.splitlines() if line and not line.startswith("#"))
        assert [value.errors for value in connector().validate(config) if value.errors] == []
