"""The pages of the source connectors say of each key what the code does, and the examples are right."""

import re
from pathlib import Path

import pytest

from connect.settings.definition import Definition, text
from connect.settings.setting import REQUIRED
from spark_sink.source import settings
from spark_sink.source.connectors import DeltaSourceConnector, SparkSourceConnector

ROOT = Path(__file__).parents[4]
ROW = re.compile(r"^\| `([^`]+)` \| (\w+) \| ([^|]+) \| (.+) \|$", re.MULTILINE)


@pytest.mark.parametrize(("page", "declared"), [("delta-source", settings.DELTA), ("spark-source", settings.SQL)])
def test_a_page_lists_the_keys_as_they_are(page: str, declared: Definition) -> None:
    said = (ROOT / "docs" / "connectors" / f"{page}.md").read_text(encoding="utf-8")
    found = ROW.findall(said.partition("| key | type |")[2].partition("\n\n")[0])
    expected = [
        (
            each.name,
            each.kind.value.lower(),
            "required" if each.default is REQUIRED else text(each.default) or "none",
            each.doc,
        )
        for each in declared
    ]
    assert found == expected


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
