"""Paths to fields (KIP-821)."""

from typing import Any

import pytest

from connect import ConfigError, DataError, Schema, Type
from connect.data.schema import INT32, STRING
from connect.data.struct_columns import StructColumns
from tests.support.arrow_columns import of_rows
from transforms.paths import SYNTAX, VERSION, by_parent, column_at, parse, schema_at, values_at, written


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a", ("a",)),
        ("a.b.c", ("a", "b", "c")),
        ("`a.b`.c", ("a.b", "c")),
        ("a.`b.c`", ("a", "b.c")),
        ("a`b.c", ("a`b", "c")),
        ("`a`b`.c", ("a`b", "c")),
        (r"`a\`.b`.c", ("a`.b", "c")),
        (r"`a\`b`", (r"a\`b",)),
        (r"a\.b", ("a\\", "b")),
        ("``.a", ("", "a")),
        ("a.", ("a", "")),
        ("..", ("", "", "")),
    ],
)
def test_paths_of_the_second_version(text: str, path: tuple[str, ...]) -> None:
    assert parse(text, "v2", "field") == path


@pytest.mark.parametrize("text", ["`a", "a.`b", "`a`b", r"`a\`", "`"])
def test_backticks_come_in_pairs(text: str) -> None:
    with pytest.raises(ConfigError, match=r'key "field".*backtick at position') as caught:
        parse(text, "V2", "field")
    assert caught.value.key == "field"


def test_an_empty_path_names_no_field() -> None:
    with pytest.raises(ConfigError, match="must name a field"):
        parse("", "V2", "field")


@pytest.mark.parametrize("text", ["a.b", "`a", "", r"a\`"])
def test_in_the_first_version_a_name_is_a_name(text: str) -> None:
    assert parse(text, "V1", "field") == (text,)


def test_the_version_is_one_of_two() -> None:
    assert SYNTAX.parse({})[VERSION] == "V1"
    assert SYNTAX.parse({VERSION: "v2"})[VERSION] == "v2"
    with pytest.raises(ConfigError, match="V3"):
        SYNTAX.parse({VERSION: "V3"})


def test_paths_are_gathered_by_their_structs() -> None:
    assert by_parent([("a",), ("b", "c"), ("d",), ("b", "e")]) == {(): ["a", "d"], ("b",): ["c", "e"]}
    assert written(("a.b", "c")) == "`a.b`.c"


_INNER = Schema.struct({"x": INT32, "y": Schema(Type.STRING, optional=True, default="d")})
_SCHEMA = Schema.struct({"a": _INNER.as_optional(), "s": STRING})


def test_schemas_of_fields() -> None:
    assert schema_at(_SCHEMA, ("a", "x")) is INT32
    assert schema_at(_SCHEMA, ("a", "z")) is None
    assert schema_at(_SCHEMA, ("b", "z")) is None
    with pytest.raises(DataError, match="STRING"):
        schema_at(_SCHEMA, ("s", "x"))


def test_a_struct_that_is_null_is_its_default_but_none_of_what_it_is_in() -> None:
    inner = Schema(Type.STRUCT, optional=True, default={"x": 7}, fields={"x": INT32})
    schema = Schema.struct({"a": inner})
    assert values_at(schema, [None, {"a": None}, {"a": {"x": 1}}], ("a", "x")) == [None, 7, 1]


@pytest.mark.parametrize(
    ("path", "replace_null", "found"),
    [
        (("a", "x"), True, [1, 2, None]),
        (("a", "y"), True, ["d", "z", None]),
        (("a", "y"), False, [None, "z", None]),
        (("s",), True, ["p", "q", "r"]),
    ],
)
def test_a_default_stands_in_for_a_null_but_not_below_one(
    path: tuple[str, ...], replace_null: bool, found: list[Any]
) -> None:
    items: list[dict[str, Any]] = [
        {"a": {"x": 1, "y": None}, "s": "p"},
        {"a": {"x": 2, "y": "z"}, "s": "q"},
        {"a": None, "s": "r"},
    ]
    assert values_at(_SCHEMA, items, path, replace_null=replace_null) == found
    arrow = of_rows(_SCHEMA, items)
    assert arrow is not None
    lists = StructColumns(_SCHEMA, [[item.get(f.name) for item in items] for f in _SCHEMA.fields])
    for column in (arrow, lists):
        at = column_at(column, path, replace_null=replace_null)
        assert at.items == found
        assert at.schema is schema_at(_SCHEMA, path)
        assert at.is_arrow == (column is arrow)


def test_values_without_a_schema() -> None:
    items = [{"a": {"b": 1}}, {"a": None}, {}, None, {"a": {"b": None}}]
    assert values_at(None, items, ("a", "b")) == [1, None, None, None, None]
    with pytest.raises(DataError, match='a.b looks for "b" in a value of type int'):
        values_at(None, [{"a": 5}], ("a", "b"))
