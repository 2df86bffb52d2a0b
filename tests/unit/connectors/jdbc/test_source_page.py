"""docs/connectors/jdbc-source.md says what the code does, and its examples are taken."""

from pathlib import Path

from connect.plugins.builtin import BUILT_IN

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "connectors" / "jdbc-source.md").read_text(encoding="utf-8")


def test_the_page_names_the_connector_as_it_is_found() -> None:
    (ref,) = [ref for ref in BUILT_IN if ref.target.endswith(":JdbcSourceConnector")]
    assert ref.task == "io.confluent.connect.jdbc.source.JdbcSourceTask"
    assert all(f"`{name}`" in PAGE for name in (ref.name, *ref.aliases))
