"""The example on the page of change capture of MySQL is right, and the connectors are found by their names."""

import re
from pathlib import Path

import pytest

from connect.plugins.builtin import BUILT_IN
from connectors.jdbc.mysql_capture.keys import CaptureOptions

PAGE = (Path(__file__).parents[5] / "docs" / "connectors" / "mysql-cdc.md").read_text(encoding="utf-8")


def test_the_example_is_right() -> None:
    (example,) = re.findall(r"```properties\n(.*?)```", PAGE, re.DOTALL)
    config = dict(line.split("=", 1) for line in example.replace("\\\\", "\\").splitlines())
    assert [value.errors for value in CaptureOptions.definition().validate(config) if value.errors] == []
    chosen = CaptureOptions.parse(config)
    assert chosen.selection.table("shop", "orders")
    assert not chosen.selection.table("shop", "orders2")
    assert set(config) <= {each.name for each in CaptureOptions.definition()} | {"name", "connector.class"}


@pytest.mark.parametrize("product", ["MySql", "MariaDb"])
def test_the_page_names_the_connectors_as_they_are_found(product: str) -> None:
    (ref,) = [ref for ref in BUILT_IN if ref.target.endswith(f":{product}CdcSourceConnector")]
    assert ref.task == f"io.debezium.connector.{product.lower()}.{product}ConnectorTask"
    assert all(f"`{name}`" in PAGE for name in (ref.name, *ref.aliases))
