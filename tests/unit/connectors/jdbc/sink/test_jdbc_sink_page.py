"""docs/connectors/jdbc-sink.md says what the code does, and its examples are taken."""

import re
from pathlib import Path

import pytest

from connect.data import evolution_policy
from connect.settings import properties
from connectors.jdbc.sink import JdbcSinkConnector
from connectors.jdbc.sink.keys import JdbcSinkOptions

ROOT = Path(__file__).parents[5]
PAGE = (ROOT / "docs" / "connectors" / "jdbc-sink.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```properties\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_tells_what_others_call_our_keys() -> None:
    _, _, others = PAGE.partition("## What others call it")
    for theirs, alias in JdbcSinkOptions.definition().others.aliases.items():
        if theirs not in {"fields.include", *evolution_policy.ALIASES}:
            assert f"`{theirs}`" in others, theirs
            assert f"`{alias.key}`" in others, alias.key
    for key in JdbcSinkOptions.definition().others.without_effect:
        assert f"`{key}`" in (PAGE if key in JdbcSinkOptions.definition() else others), key


@pytest.mark.parametrize(
    "written", [*EXAMPLES, (ROOT / "config" / "connect-jdbc-sink.properties").read_text(encoding="utf-8")]
)
def test_examples_are_taken(written: str) -> None:
    config = dict(properties.loads(written))
    assert [value for value in JdbcSinkConnector().validate(config) if value.errors] == []
