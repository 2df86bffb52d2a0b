"""docs/connectors/elasticsearch-source.md says what the code does, and its examples are taken."""

from pathlib import Path

import pytest

from connect.plugins.builtin import BUILT_IN
from connectors.elasticsearch.source.keys import ElasticsearchSourceOptions

ROOT = Path(__file__).parents[5]
PAGE = (ROOT / "docs" / "connectors" / "elasticsearch-source.md").read_text(encoding="utf-8")


def test_the_page_names_what_has_no_effect() -> None:
    assert all(f"`{key}`" in PAGE for key in ElasticsearchSourceOptions.definition().others.without_effect)


@pytest.mark.parametrize("connector", ["ElasticsearchSourceConnector", "OpenSearchSourceConnector"])
def test_the_page_names_the_connectors_as_they_are_found(connector: str) -> None:
    (ref,) = [ref for ref in BUILT_IN if ref.target == f"connectors.elasticsearch.source:{connector}"]
    names = [ref.name, *ref.aliases] if ref.task else ref.aliases
    assert [name for name in names if f"`{name}`" not in PAGE] == []
