"""docs/connectors/delta.md says what the code does, and the examples are configurations that are taken."""

import re
from pathlib import Path

from connect.plugins.builtin import BUILT_IN
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
