"""docs/connectors/jdbc-sink.md says what the code does, and its examples are taken."""

from pathlib import Path

from connect.data import evolution_policy
from connectors.jdbc.sink.keys import JdbcSinkOptions

ROOT = Path(__file__).parents[5]
PAGE = (ROOT / "docs" / "connectors" / "jdbc-sink.md").read_text(encoding="utf-8")


def test_the_page_tells_what_others_call_our_keys() -> None:
    _, _, others = PAGE.partition("## What others call it")
    for theirs, alias in JdbcSinkOptions.definition().others.aliases.items():
        if theirs not in {"fields.include", *evolution_policy.ALIASES}:
            assert f"`{theirs}`" in others, theirs
            assert f"`{alias.key}`" in others, alias.key
    for key in JdbcSinkOptions.definition().others.without_effect:
        assert f"`{key}`" in (PAGE if key in JdbcSinkOptions.definition() else others), key
