"""docs/connectors/elasticsearch-source.md says what the code does, and its examples are taken."""

import re
from pathlib import Path

import pytest

from connect.plugins.builtin import BUILT_IN
from connect.settings import properties
from connectors.elasticsearch.source import ElasticsearchSourceConnector
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


EXAMPLES = re.findall(r"```properties\n(.*?)```", PAGE, re.DOTALL)
EXAMPLES += [each for each in re.findall(r"<<'END'\n(.*?)END\n", PAGE, re.DOTALL) if "=Elasticsearch" in each]
FILE = ROOT / "config" / "connect-elasticsearch-source.properties"


@pytest.mark.parametrize("written", [*EXAMPLES, FILE.read_text(encoding="utf-8")])
def test_examples_are_taken(written: str) -> None:
    config = dict(properties.loads(written))
    assert [value for value in ElasticsearchSourceConnector().validate(config) if value.errors] == []
