"""docs/connectors/jdbc-sink.md says of each key what the code does, and its examples are taken."""

import re
from pathlib import Path

import pytest

from connect.data import evolution_policy
from connect.settings import properties
from connect.settings.definition import text
from connectors.jdbc.sink import JdbcSinkConnector
from connectors.jdbc.sink.keys import SETTINGS

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "connectors" / "jdbc-sink.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([^`]+)` \| (\w+) \| ([^|]+) \| ([^|]+) \|", re.MULTILINE)
EXAMPLES = re.findall(r"```properties\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_lists_the_keys_as_they_are() -> None:
    own, _, _ = PAGE.partition("## What others call it")
    listed = {key: (kind, default, doc) for key, kind, default, doc in ROW.findall(own)}
    declared = {
        s.name: (
            s.kind.value.lower(),
            "required"
            if s.name == "connection.url"
            else text(s.default or None)
            if s.default is not False
            else "false",
            s.doc,
        )
        for s in SETTINGS
    }
    assert listed == {name: (kind, default or "none", doc) for name, (kind, default, doc) in declared.items()}


def test_the_page_tells_what_others_call_our_keys() -> None:
    _, _, others = PAGE.partition("## What others call it")
    for theirs, alias in SETTINGS.others.aliases.items():
        if theirs not in {"fields.include", *evolution_policy.ALIASES}:
            assert f"`{theirs}`" in others, theirs
            assert f"`{alias.key}`" in others, alias.key
    for key in SETTINGS.others.without_effect:
        assert f"`{key}`" in (PAGE if key in SETTINGS else others), key


@pytest.mark.parametrize(
    "written", [*EXAMPLES, (ROOT / "config" / "connect-jdbc-sink.properties").read_text(encoding="utf-8")]
)
def test_examples_are_taken(written: str) -> None:
    config = dict(properties.loads(written))
    assert [value for value in JdbcSinkConnector().validate(config) if value.errors] == []
