"""The example on the page of change capture is right, and the connector is found by its names."""

import re
from pathlib import Path

from connect.plugins.builtin import BUILT_IN
from connectors.jdbc.capture.keys import CaptureOptions

PAGE = (Path(__file__).parents[4] / "docs" / "connectors" / "postgres-cdc.md").read_text(encoding="utf-8")


def test_the_example_is_right() -> None:
    (example,) = re.findall(r"```properties\n(.*?)```", PAGE, re.DOTALL)
    config = dict(line.split("=", 1) for line in example.replace("\\\\", "\\").splitlines())
    assert [value.errors for value in CaptureOptions.definition().validate(config) if value.errors] == []
    chosen = CaptureOptions.parse(config)
    assert chosen.selection.table("public", "orders")
    assert not chosen.selection.table("public", "orders2")
    assert set(config) <= {each.name for each in CaptureOptions.definition()} | {"name", "connector.class"}


def test_the_page_names_the_connector_as_it_is_found() -> None:
    (ref,) = [ref for ref in BUILT_IN if ref.target.endswith(":PostgresCdcSourceConnector")]
    assert ref.task == "io.debezium.connector.postgresql.PostgresConnectorTask"
    assert all(f"`{name}`" in PAGE for name in (ref.name, *ref.aliases))
