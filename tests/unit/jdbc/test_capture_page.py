"""The page of change capture says of each key what the code does, and its example is right."""

import re
from pathlib import Path

from connect.plugins.builtin import BUILT_IN
from connect.settings.definition import text
from connect.settings.setting import REQUIRED
from connectors.jdbc.capture.keys import SETTINGS
from connectors.jdbc.capture.options import CaptureSettings

PAGE = (Path(__file__).parents[3] / "docs" / "connectors" / "postgres-cdc.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([^`]+)` \| (\w+) \| ([^|]+) \| (.+) \|$", re.MULTILINE)


def test_the_page_lists_the_keys_as_they_are() -> None:
    found = ROW.findall(PAGE.partition("| key | type |")[2].partition("\n\n")[0])
    assert found == [
        (
            each.name,
            each.kind.value.lower(),
            "required" if each.default is REQUIRED else text(each.default) or "none",
            each.doc,
        )
        for each in SETTINGS
    ]


def test_the_example_is_right() -> None:
    (example,) = re.findall(r"```properties\n(.*?)```", PAGE, re.DOTALL)
    config = dict(line.split("=", 1) for line in example.replace("\\\\", "\\").splitlines())
    assert [value.errors for value in SETTINGS.validate(config) if value.errors] == []
    chosen = CaptureSettings.of(SETTINGS.parse(config))
    assert chosen.selection.table("public", "orders")
    assert not chosen.selection.table("public", "orders2")
    assert set(config) <= {each.name for each in SETTINGS} | {"name", "connector.class"}


def test_the_page_names_the_connector_as_it_is_found() -> None:
    (ref,) = [ref for ref in BUILT_IN if ref.target.endswith(":PostgresCdcSourceConnector")]
    assert ref.task == "io.debezium.connector.postgresql.PostgresConnectorTask"
    assert all(f"`{name}`" in PAGE for name in (ref.name, *ref.aliases))
