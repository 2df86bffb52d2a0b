"""The examples on the connectors' pages and in config/ are configurations that their connectors take."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from connect.plugins import PluginKind, Plugins
from connect.plugins.loading import load
from connect.settings import properties

ROOT = Path(__file__).parents[3]
PAGES = sorted((ROOT / "docs" / "connectors").glob("*.md"))
_BLOCKS = re.compile(r"```properties\n(.*?)```|<<'END'\n(.*?)END\n", re.DOTALL)


def examples() -> Iterator[tuple[str, str]]:
    """Where each stands, and its text."""
    for page in PAGES:
        blocks = [properties_ or heredoc for properties_, heredoc in _BLOCKS.findall(page.read_text(encoding="utf-8"))]
        yield from ((f"{page.name} {number}", block) for number, block in enumerate(blocks) if _is_one(block))
    for file in sorted((ROOT / "config").glob("*.properties")):
        if _is_one(written := file.read_text(encoding="utf-8")):
            yield file.name, written


def _is_one(block: str) -> bool:
    return re.search(r"^\s*connector\.class\s*=", block, re.MULTILINE) is not None


EXAMPLES = dict(examples())


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_taken(name: str) -> None:
    config = dict(properties.loads(EXAMPLES[name]))
    connector = load(Plugins().find((PluginKind.SOURCE, PluginKind.SINK), config["connector.class"]))
    errors = [error for value in connector().validate(config) for error in value.errors]
    assert [error for error in errors if not re.search(r"db\.example\.com:\d+\S* cannot be reached", error)] == []


def test_every_page_has_one() -> None:
    assert {page.name for page in PAGES} == {name.partition(" ")[0] for name in EXAMPLES if ".md" in name}


def test_the_example_in_json_says_the_same() -> None:
    written = json.loads((ROOT / "config" / "connect-delta-sink.json").read_text(encoding="utf-8"))
    assert {"name": written["name"], **written["config"]} == dict(
        properties.loads(EXAMPLES["connect-delta-sink.properties"])
    )
