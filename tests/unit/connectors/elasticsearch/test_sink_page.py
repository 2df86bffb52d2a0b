"""docs/connectors/elasticsearch-sink.md says what the code does, and its examples are taken."""

from pathlib import Path

import pytest

from connect.plugins.builtin import BUILT_IN
from connectors.elasticsearch.sink import ElasticsearchSinkConnector, OpenSearchSinkConnector

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "connectors" / "elasticsearch-sink.md").read_text(encoding="utf-8")
CONNECTORS = {"Elasticsearch": ElasticsearchSinkConnector, "Opensearch": OpenSearchSinkConnector}


def test_the_page_says_where_the_products_differ() -> None:
    for key in ("flush.timeout.ms", "data.stream.timestamp.field", "behavior.on.null.values"):
        assert ElasticsearchSinkConnector.settings[key].default != OpenSearchSinkConnector.settings[key].default
    assert "`flush.timeout.ms` is 10000 unless" in PAGE
    assert "`behavior.on.null.values` is ignore for OpenSearch" in PAGE
    for key in ElasticsearchSinkConnector.settings.others.without_effect:
        assert f"`{key}`" in PAGE


@pytest.mark.parametrize("product", CONNECTORS)
def test_the_connectors_are_found_by_the_names_of_java_s(product: str) -> None:
    (ref,) = [ref for ref in BUILT_IN if ref.name.endswith(f"{product}SinkConnector")]
    assert ref.target == f"connectors.elasticsearch.sink:{CONNECTORS[product].__name__}"
    assert f"{product}Sink" in ref.aliases
