"""docs/connectors/jdbc-source.md says of each key what the code says, and its examples are taken."""

import re
from pathlib import Path
from typing import Any

import pytest

from connect.plugins.builtin import BUILT_IN
from connect.settings import properties
from connect.settings.definition import text
from connect.settings.setting import REQUIRED
from connectors.jdbc.source import JdbcSourceConnector
from connectors.jdbc.source.keys import SETTINGS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "connectors" / "jdbc-source.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([^`]+)` \| (\w+) \| ([^|]+) \| (.+) \|$", re.MULTILINE)


def _default(value: Any) -> str:
    return "required" if value is REQUIRED else (text(value) or "none").replace("[hidden]", "none")


def test_the_page_lists_the_keys_as_they_are() -> None:
    listed = {
        key: (kind, default.strip(), meaning.replace("\\|", "|")) for key, kind, default, meaning in ROW.findall(PAGE)
    }
    declared = {s.name: (s.kind.value.lower(), _default(s.default), s.doc) for s in SETTINGS if not s.internal}
    assert listed == declared


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
