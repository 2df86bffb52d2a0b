"""docs/connectors/elasticsearch-source.md says of each key what the code says, and its examples are taken."""

import re
from pathlib import Path
from typing import Any

import pytest

from connect.plugins.builtin import BUILT_IN
from connect.settings import properties
from connect.settings.definition import text
from connect.settings.setting import REQUIRED, Setting
from connectors.elasticsearch.source import ElasticsearchSourceConnector
from connectors.elasticsearch.source.keys import ELASTICSEARCH_SETTINGS, OPENSEARCH_SETTINGS

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "connectors" / "elasticsearch-source.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([^`]+)` \| (\w+) \| ([^|]+) \| (.+) \|$", re.MULTILINE)


def _default(value: Any) -> str:
    return "required" if value is REQUIRED else (text(value) or "none").replace("[hidden]", "none")


def _row(setting: Setting) -> list[str]:
    return [setting.kind.value.lower(), _default(setting.default), setting.doc]


def test_the_page_lists_the_keys_as_they_are() -> None:
    of_elasticsearch, _, of_opensearch = PAGE.partition("## Every key")[2].partition("## Keys for OpenSearch")
    listed = {key: found for key, *found in ROW.findall(of_elasticsearch)}
    assert listed == {s.name: _row(s) for s in ELASTICSEARCH_SETTINGS if not s.internal}
    listed = {key: found for key, *found in ROW.findall(of_opensearch)}
    assert listed == {s.name: _row(s) for s in OPENSEARCH_SETTINGS if s.name not in ELASTICSEARCH_SETTINGS}


def test_the_page_names_what_has_no_effect() -> None:
    assert all(f"`{key}`" in PAGE for key in ELASTICSEARCH_SETTINGS.others.without_effect)


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
