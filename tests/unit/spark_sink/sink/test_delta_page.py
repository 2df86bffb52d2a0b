"""docs/connectors/delta.md says what the code does, and the examples are configurations that are taken."""

import json
import re
from pathlib import Path

import pytest

from connect.plugins.builtin import BUILT_IN
from connect.settings import properties
from spark_sink.sink.connector import SparkSinkConnector
from spark_sink.table_settings import TableOptions

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "connectors" / "delta.md").read_text(encoding="utf-8")
OTHERS = re.compile(r"^\| ((?:`[^`]+`(?:, )?)+) \| [^|]+ \| `([^`]+)`", re.MULTILINE)


def test_the_page_names_the_keys_of_others() -> None:
    others = PAGE.partition("## What others call it")[2]
    told = {name: ours for names, ours in OTHERS.findall(others) for name in re.findall("`([^`]+)`", names)}
    assert told == {name: alias.key for name, alias in TableOptions.definition().others.aliases.items()}


def test_the_page_names_the_connector_as_it_is_found() -> None:
    (ref,) = [ref for ref in BUILT_IN if ref.target.endswith(":SparkSinkConnector")]
    short = {name for name in ref.aliases if "." not in name and not name.endswith("Connector")}
    sentence = PAGE[PAGE.index("The connector is found as") :].partition("each also")[0]
    assert set(re.findall(r"\w+Sink\b", sentence)) == short


EXAMPLES = re.findall(r"```properties\n(.*?)```", PAGE, re.DOTALL)
FILES = ["connect-delta-sink.properties", "connect-spark-sink.properties"]


@pytest.mark.parametrize("written", [*EXAMPLES, *((ROOT / "config" / name).read_text("utf-8") for name in FILES)])
def test_examples_are_taken(written: str) -> None:
    config = _parsed(written)
    assert [value for value in SparkSinkConnector().validate(config) if value.errors] == []


def test_the_example_in_json_says_the_same() -> None:
    written = json.loads((ROOT / "config" / "connect-delta-sink.json").read_text(encoding="utf-8"))
    as_properties = _parsed((ROOT / "config" / "connect-delta-sink.properties").read_text(encoding="utf-8"))
    assert {"name": written["name"], **written["config"]} == as_properties


def _parsed(written: str) -> dict[str, str]:
    return dict(properties.loads(written))
