"""How rows become rows of a table: which changes, which expressions, which rows do not fit. Spark is not needed."""

from typing import Any

import pytest

from connect.data.evolution import AddField, MakeNullable, WidenField
from connect.data.evolution_policy import EvolutionPolicy
from connect.errors import SchemaError
from spark_sink.tables.fitting import (
    Fitted,
    Incoming,
    columns_of,
    fit,
    hinted,
    new_columns,
)
from spark_sink.tables.types import literal, quoted, same, sql_name, widest, without_void

NONE = EvolutionPolicy()
FULL = EvolutionPolicy(allowed=frozenset({"add", "widen", "nullable"}))
IGNORE = EvolutionPolicy(ignore_unknown=True)


def struct(**fields: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": [field(name, kind) for name, kind in fields.items()]}


def array(of: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": of, "containsNull": True}


def field(name: str, kind: Any, nullable: bool = True) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": nullable, "metadata": {}}


def fitted(table: dict[str, Any], rows: dict[str, Any], policy: EvolutionPolicy = NONE) -> Fitted:
    return fit(struct(**table)["fields"], columns_of(struct(**rows), "v"), policy)


def test_columns_that_are_the_same_are_taken_as_they_are() -> None:
    found = fitted({"id": "long", "at": "timestamp"}, {"id": "long", "at": "timestamp"})
    assert found == Fitted((), {"id": "v.`id`", "at": "v.`at`"})
    assert found.select == ["v.`id` AS `id`", "v.`at` AS `at`"]


def test_a_column_that_rows_do_not_have_is_left_to_the_table() -> None:
    assert fitted({"id": "long", "theirs": "string"}, {"id": "long"}).columns == {"id": "v.`id`"}


def test_names_are_those_of_the_table_whatever_their_case() -> None:
    assert fitted({"Id": "long"}, {"iD": "long"}).columns == {"Id": "v.`iD`"}


@pytest.mark.parametrize("rows", [{"a": "long", "A": "long"}, {"s": struct(a="long", A="long"), "b": "long"}])
def test_names_that_differ_in_case_only_are_refused(rows: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="differ in upper and lower case"):
        fitted({"s": struct(a="long")}, rows)


def test_new_fields_are_added_also_within_structs_and_arrays() -> None:
    found = fitted(
        {"id": "long", "s": struct(a="long"), "l": array(struct(q="long"))},
        {"id": "long", "s": struct(a="long", b="string"), "l": array(struct(q="long", r="date")), "n": "double"},
        FULL,
    )
    assert found.changes == (
        AddField(("s", "b"), "string"),
        AddField(("l", "element", "r"), "date"),
        AddField(("n",), "double"),
    )
    assert found.misfits == ()


def test_new_fields_that_may_not_be_added_make_rows_unfit_that_have_them() -> None:
    found = fitted({"id": "long"}, {"id": "long", "n": "double"})
    assert found.changes == ()
    assert found.columns == {"id": "v.`id`"}
    ((condition, why),) = found.misfits
    assert condition == "v.`n` IS NOT NULL"
    assert '"n"' in why


def test_new_fields_that_are_ignored_are_named() -> None:
    found = fitted({"s": struct(a="long")}, {"s": struct(a="long", b="string"), "n": "double"}, IGNORE)
    assert found.misfits == ()
    assert found.ignored == (("s", "b"), ("n",))


@pytest.mark.parametrize(
    ("has", "comes", "gets"),
    [
        ("integer", "long", "long"),
        ("byte", "short", "short"),
        ("float", "double", "double"),
        ("integer", "double", "double"),
        ("integer", "decimal(12,2)", "decimal(12,2)"),
        ("long", "decimal(10,2)", "decimal(22,2)"),
        ("decimal(10,2)", "decimal(9,4)", "decimal(12,4)"),
        ("decimal(10,2)", "long", "decimal(21,2)"),
    ],
)
def test_types_are_widened_if_allowed(has: str, comes: str, gets: str) -> None:
    found = fitted({"x": has}, {"x": comes}, FULL)
    assert found.changes == (WidenField(("x",), has, gets),)
    assert found.misfits == ()
    refused = fitted({"x": has}, {"x": comes})
    assert refused.changes == ()
    assert len(refused.misfits) == 1
    casts = [f"{cast} AS {sql_name(has)})" for cast in ("try_cast(v.`x`", "CAST(NULL")]
    assert refused.columns["x"] in casts


@pytest.mark.parametrize(
    ("has", "comes"),
    [("long", "integer"), ("double", "float"), ("double", "integer"), ("decimal(12,2)", "integer"), ("float", "short")],
)
def test_a_type_that_the_tables_holds_needs_no_change(has: str, comes: str) -> None:
    found = fitted({"x": has}, {"x": comes}, FULL)
    assert found.changes == ()
    assert found.misfits == ()
    assert found.columns == {"x": f"CAST(v.`x` AS {sql_name(has)})"}


@pytest.mark.parametrize(("has", "comes"), [("long", "string"), ("string", "long"), ("date", "timestamp")])
def test_types_that_have_nothing_in_common_never_fit(has: str, comes: str) -> None:
    found = fitted({"x": has}, {"x": comes}, FULL)
    assert found.changes == ()
    assert found.misfits[0][0] == "v.`x` IS NOT NULL"


@pytest.mark.parametrize(("has", "comes"), [("long", "double"), ("decimal(38,0)", "decimal(38,2)")])
def test_no_type_is_changed_to_one_that_loses_something(has: str, comes: str) -> None:
    assert widest(has, comes) is None
    assert fitted({"x": has}, {"x": comes}, FULL).changes == ()


def test_not_null_is_taken_away_if_allowed() -> None:
    table = [field("id", "long", nullable=False), field("s", struct(a="long"))]
    table[1]["type"]["fields"][0]["nullable"] = False
    rows = columns_of(struct(id="long", s=struct(a="long")), "v")
    assert fit(table, rows, FULL).changes == (MakeNullable(("id",)), MakeNullable(("s", "a")))
    strict = fit(table, rows, NONE)
    assert [condition for condition, _ in strict.misfits] == [
        "(true AND v.`id` IS NULL)",
        "(v.`s` IS NOT NULL AND v.`s`.`a` IS NULL)",
    ]
    sure = [Incoming("id", "long", "v.id", nullable=False)]
    assert fit(table[:1], sure, NONE).misfits == ()


def test_a_column_that_the_table_fills_itself_stays_not_null() -> None:
    table = [
        field("id", "long"),
        {**field("at", "timestamp", nullable=False), "metadata": {"CURRENT_DEFAULT": "now()"}},
    ]
    assert fit(table, columns_of(struct(id="long"), "v"), FULL).changes == ()


def test_what_has_been_null_ever_since_is_no_column_yet() -> None:
    found = fitted({"id": "long"}, {"id": "long", "n": "void", "s": struct(a="void")}, FULL)
    assert found.changes == ()
    assert found.untyped == (("n",), ("s",))
    assert fitted({"n": "long"}, {"n": "void"}).columns == {"n": "CAST(NULL AS bigint)"}
    assert new_columns(columns_of(struct(id="long", s=struct(a="void", b="date")), "v")) == [
        ("id", "long"),
        ("s", struct(b="date")),
    ]
    with pytest.raises(SchemaError, match="no field"):
        new_columns(columns_of(struct(n="void"), "v"))


def test_values_within_arrays_and_maps_are_looked_at() -> None:
    table = {"l": array("integer"), "m": {"type": "map", "keyType": "string", "valueType": struct(a="integer")}}
    rows = {"l": array("long"), "m": {"type": "map", "keyType": "string", "valueType": struct(a="long")}}
    found = fitted(table, rows)
    assert [condition.partition("(")[0] for condition, _ in found.misfits] == ["coalesce", "coalesce"]
    assert "exists(v.`l`, _each_1 -> " in found.misfits[0][0]
    assert "exists(map_values(v.`m`), _each_3 -> " in found.misfits[1][0]
    assert found.columns["l"] == "transform(v.`l`, _each_1 -> try_cast(_each_1 AS int))"


def test_names_and_texts_cannot_leave_their_quotes() -> None:
    assert quoted("a`b") == "`a``b`"
    assert literal("it's \\ here\n") == "'it\\'s \\\\ here\\n'"
    assert sql_name(struct(**{"a b": array("integer")})) == "struct<`a b`: array<int>>"


def test_nullability_is_no_difference_of_types() -> None:
    strict = {"type": "struct", "fields": [field("a", "long", nullable=False)]}
    assert same(struct(a="long"), strict)
    assert not same(struct(a="long", b="long"), struct(b="long", a="long"))
    assert without_void(array("void")) is None


def test_a_hint_gives_a_column_its_type_and_what_cannot_be_cast_does_not_fit() -> None:
    columns = hinted(columns_of(struct(id="long", day="string"), "v"), {"day": "date", "other": "long"})
    assert columns[1] == Incoming("day", "date", "try_cast(v.`day` AS date)", cast_from="v.`day`")
    assert new_columns(columns) == [("id", "long"), ("day", "date")]
    found = fit(struct(id="long", day="date")["fields"], columns, NONE)
    assert found.columns["day"] == "try_cast(v.`day` AS date)"
    condition = "(v.`day` IS NOT NULL AND try_cast(v.`day` AS date) IS NULL)"
    assert found.misfits == (
        (condition, 'The value of the column "day" cannot be cast to date, as schema.hints says.'),
    )
    assert fit([], columns, FULL).misfits == found.misfits


def test_what_does_not_fit_is_rescued_by_its_path() -> None:
    table = struct(id="long", s=struct(a="integer"))["fields"]
    rows = columns_of(struct(id="string", s=struct(a="long", b="string"), new="double"), "v")
    found = fit(table, rows, NONE, "_rescued")
    assert found.misfits == ()
    assert found.changes == (AddField(("_rescued",), "string"),)
    assert list(found.columns) == ["id", "s", "_rescued"]
    json = found.columns["_rescued"]
    assert json.startswith("nullif(to_json(named_struct('id', IF(v.`id` IS NOT NULL, v.`id`, NULL), 's.a', IF(")
    assert "'s.b', IF(v.`s`.`b` IS NOT NULL, v.`s`.`b`, NULL)" in json
    assert "'new', IF(v.`new` IS NOT NULL, v.`new`, NULL)" in json
    assert found.columns["s"].count("IF(coalesce(NOT (") == 1, "what is too large is null"


def test_a_row_that_fits_has_null_in_the_column_that_is_there_already() -> None:
    table = struct(id="long", _Rescued="string")["fields"]
    found = fit(table, columns_of(struct(id="long"), "v"), NONE, "_rescued")
    assert found == Fitted((), {"id": "v.`id`", "_Rescued": "CAST(NULL AS string)"})


def test_a_map_is_rescued_as_a_whole_and_has_no_null_as_a_key() -> None:
    table = {"m": {"type": "map", "keyType": "string", "valueType": "integer"}}
    rows = columns_of(struct(m={"type": "map", "keyType": "integer", "valueType": "long"}), "v")
    found = fit(struct(**table)["fields"], rows, NONE, "_rescued")
    assert found.columns["_rescued"].count(", v.`m`, NULL)") == 1
    assert found.columns["_rescued"].count("exists(map_") == 2
    assert found.columns["m"].startswith("IF(coalesce(exists(map_keys(v.`m`), ")


def test_what_a_required_column_has_not_is_not_rescued() -> None:
    found = fit([field("id", "long", nullable=False)], [Incoming("id", "string", "v.id", False)], NONE, "_rescued")
    assert [condition for condition, _ in found.misfits] == ["v.id IS NOT NULL"]
    assert found.columns["_rescued"] == "CAST(NULL AS string)"
