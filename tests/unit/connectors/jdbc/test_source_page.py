"""docs/connectors/jdbc-source.md says what the code does, and its examples are taken."""

import re
from pathlib import Path

import pytest

from connect.plugins.builtin import BUILT_IN
from connect.settings import properties
from connectors.jdbc.source import JdbcSourceConnector

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "connectors" / "jdbc-source.md").read_text(encoding="utf-8")


def test_the_page_names_the_connector_as_it_is_found() -> None:
    (ref,) = [ref for ref in BUILT_IN if ref.target.endswith(":JdbcSourceConnector")]
    assert ref.task == "io.confluent.connect.jdbc.source.JdbcSourceTask"
    assert all(f"`{name}`" in PAGE for name in (ref.name, *ref.aliases))


EXAMPLES = re.findall(r"```properties\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(
    "written", [*EXAMPLES, (ROOT / "config" / "connect-jdbc-source.properties").read_text("utf-8")]
)
def test_examples_are_taken(written: str) -> None:
    config = dict(properties.loads(written))
    assert [value for value in JdbcSourceConnector().validate(config) if value.errors] == []
