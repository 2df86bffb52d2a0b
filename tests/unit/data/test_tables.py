"""Rows of a table are the very values that came, in whatever form these are held; what does not fit is named."""

import datetime as dt
import pickle
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.data import Schema, Type, logical
from connect.data.schema import (
    BOOLEAN,
    BYTES,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    OPTIONAL_FLOAT64,
    OPTIONAL_INT32,
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    STRING,
)
from connect.data.struct_columns import StructColumns
from connect.data.tables import Unfit, rows_of, schema_of, schema_of_table, table_schema
from connect.data.values import DeferredValues, GroupedValues, Text, Values
from connect.data.widening import PRECISION
from connect.errors import SchemaError
from tests.support.arrow_columns import of_rows

_NOON = dt.datetime(2024, 5, 6, 12, tzinfo=dt.UTC)
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
_WHOLE = {INT8: 8, INT16: 16, INT32: 32, INT64: 64}
_PLAIN: list[tuple[Schema, st.SearchStrategy[Any]]] = [
    *((schema, st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)) for schema, bits in _WHOLE.items()),
    (FLOAT32, st.floats(width=32, allow_nan=False)),
    (FLOAT64, st.floats(allow_nan=False)),
    (BOOLEAN, st.booleans()),
    (STRING, _TEXT),
    (BYTES, st.binary(max_size=5)),
    (logical.decimal(2), st.integers(-(10**20), 10**20).map(lambda n: Decimal(n).scaleb(-2))),
    (logical.DATE, st.dates()),
    (logical.TIME, st.integers(0, 86_399_999).map(lambda ms: logical.decode(logical.TIME, ms))),
    (
        logical.TIMESTAMP,
        st.datetimes(timezones=st.just(dt.UTC)).map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)),
    ),
]
_KEYS = [(STRING, _TEXT), (INT32, st.integers(-9, 9)), (logical.DATE, st.dates())]
Typed = tuple[Schema, st.SearchStrategy[Any]]


@st.composite
def _typed(draw: st.DrawFn, depth: int = 2) -> Typed:
    kind = draw(st.sampled_from(["plain", "plain", "array", "map", "struct"])) if depth else "plain"
    pair: Typed
    if kind == "plain":
        pair = draw(st.sampled_from(_PLAIN))
    elif kind == "array":
        element, values = draw(_typed(depth - 1))
        pair = Schema.array(element), st.lists(values, max_size=3)
    elif kind == "map":
        (key, keys), (value, values) = draw(st.sampled_from(_KEYS)), draw(_typed(depth - 1))
        pair = Schema.map(key, value), st.dictionaries(keys, values, max_size=3)
    else:
        pair = draw(_structs(depth - 1))
    return (pair[0].as_optional(), st.none() | pair[1]) if draw(st.booleans()) else pair


@st.composite
def _structs(draw: st.DrawFn, depth: int = 2) -> Typed:
    fields = draw(st.dictionaries(st.sampled_from("abcdef"), _typed(depth), min_size=1, max_size=4))
    schema = Schema.struct({name: schema for name, (schema, _) in fields.items()})
    return schema, st.fixed_dictionaries({name: values for name, (_, values) in fields.items()})


def _in_table(schema: Schema, value: Any) -> Any:
    """What `to_pylist` says of a value in a table."""
    if value is None:
        return None
    if schema.name == logical.TIME_NAME:
        return logical.encode(schema, value)
    match schema.type:
        case Type.STRUCT:
            return {field.name: _in_table(field.schema, value.get(field.name)) for field in schema.fields}
        case Type.ARRAY:
            assert schema.value_schema
            return [_in_table(schema.value_schema, item) for item in value]
        case Type.MAP:
            assert schema.key_schema
            assert schema.value_schema
            return [
                (_in_table(schema.key_schema, k), _in_table(schema.value_schema, item)) for k, item in value.items()
            ]
    return value


def _forms(schema: Schema, rows: list[Any]) -> list[Values]:
    """The ways to hold structs."""
    forms: list[Values] = [Values(rows, schema), DeferredValues(len(rows), lambda: Values(rows, schema))]
    columns = [[row[field.name] for row in rows] for field in schema.fields]
    forms.append(StructColumns(schema, columns))
    arrow = of_rows(schema, rows)
    return [*forms, *([arrow] if arrow is not None else [])]


@given(st.data())
def test_rows_are_the_values_in_every_form(data: st.DataObject) -> None:
    schema, values = data.draw(_structs())
    rows = data.draw(st.lists(values, min_size=1, max_size=6))
    wanted = [_in_table(schema, row) for row in rows]
    for form in _forms(schema, rows):
        made = rows_of(form, schema)
        assert made.to_pylist() == wanted
        assert made.type == pa.struct(list(table_schema(schema)))
        cut = data.draw(st.integers(0, len(rows) - 1))
        assert rows_of(form.between(cut, len(rows)), schema).to_pylist() == wanted[cut:]
        # Tombstones and another schema between them.
        other = Schema.struct({"zz": STRING})
        members = list(range(0, 2 * len(rows), 2))
        rest = list(range(1, 2 * len(rows), 2))
        mixed = GroupedValues(
            2 * len(rows) + 1,
            [(members, form), (rest, Values([None] * len(rest))), ([2 * len(rows)], Values([{"zz": "x"}], other))],
        )
        both = schema_of(mixed, None)
        found = rows_of(mixed, both).to_pylist()
        absent = {field.name: None for field in schema.fields}
        assert found[0 : 2 * len(rows) : 2] == [{**row, "zz": None} for row in wanted]
        assert found[1 : 2 * len(rows) : 2] == [None] * len(rest)
        assert found[-1] == {**absent, "zz": "x"}


@given(st.data())
def test_the_schema_of_a_table_is_the_one_that_it_was_made_of(data: st.DataObject) -> None:
    schema, values = data.draw(_structs())
    found = schema_of_table(table_schema(schema, required=True))
    rows = data.draw(st.lists(values, max_size=3))
    assert rows_of(Values(rows, schema), found).to_pylist() == [_in_table(schema, row) for row in rows]
    assert table_schema(found, required=True) == table_schema(schema, required=True)


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(st.sampled_from("abcd"), _JSON, min_size=1, max_size=4)


@given(st.lists(_OBJECTS | st.none(), min_size=1, max_size=6), st.data())
def test_of_dicts_nothing_is_lost(rows: list[Any], data: st.DataObject) -> None:
    def settled(rows: list[Any]) -> tuple[Schema, list[Any]]:
        try:
            return schema_of(Values(rows), None), rows
        except Unfit as unfit:
            return settled([row for at, row in enumerate(rows) if at not in unfit.rows])

    schema, rows = settled(rows)
    assert schema_of(Values(rows), schema) is schema
    made = rows_of(Values(rows), schema).to_pylist()
    assert [_known(row) for row in made] == [_known(row) for row in rows]
    # The same as several batches, the schema growing, and all that was written before still fits.
    cut = data.draw(st.integers(0, len(rows)))
    first = schema_of(Values(rows[:cut]), None)
    try:
        grown = schema_of(Values(rows[cut:]), first)
    except Unfit:
        return  # an empty list before a dict, for example: another order, another first
    assert [_known(row) for row in rows_of(Values(rows), grown).to_pylist()] == [_known(row) for row in rows]


def _known(item: Any) -> Any:
    """Without what says nothing: nulls, and lists and dicts of nothing else."""
    if isinstance(item, dict):
        return {name: kept for name, value in item.items() if (kept := _known(value)) not in (None, {}, [])} or None
    if isinstance(item, list):
        kept = [_known(value) for value in item]
        return kept if any(value is not None for value in kept) else None
    return item


def test_a_batch_grows_into_a_schema_by_every_rule() -> None:
    one = Schema.struct({"id": INT32, "name": STRING})
    two = Schema.struct({"id": INT64, "price": FLOAT32})
    values = GroupedValues(
        2, [([0], Values([{"id": 1, "name": "a"}], one)), ([1], Values([{"id": 2, "price": 0.5}], two))]
    )
    schema = schema_of(values, None)
    assert schema == Schema.struct({"id": INT64, "name": OPTIONAL_STRING, "price": FLOAT32.as_optional()})
    assert rows_of(values, schema).to_pylist() == [
        {"id": 1, "name": "a", "price": None},
        {"id": 2, "name": None, "price": 0.5},
    ]
    assert schema_of(values, schema) is schema


def test_types_of_dicts_are_inferred() -> None:
    rows = [
        {"n": 1, "f": 1, "t": "x", "l": [], "d": {}, "o": None, "when": _NOON, "on": _NOON.date(), "m": Decimal("1.5")},
        {"n": 2, "f": 1.5, "l": [{"a": 1}], "d": {"x": True}, "m": Decimal("1.25"), "b": b"x"},
    ]
    schema = schema_of(Values(rows), None)
    assert {field.name: repr(field.schema) for field in schema.fields} == {
        "n": "INT64?",
        "f": "FLOAT64?",
        "t": "STRING?",
        "l": "[STRUCT{a: INT64?}?]?".replace("[", "ARRAY[", 1),
        "d": "STRUCT{x: BOOLEAN?}?",
        "when": "org.apache.kafka.connect.data.Timestamp:INT64?",
        "on": "org.apache.kafka.connect.data.Date:INT32?",
        "m": "org.apache.kafka.connect.data.Decimal:BYTES?",
        "b": "BYTES?",
    }
    made = rows_of(Values(rows), schema).to_pylist()
    assert made[0]["m"] == Decimal("1.5")
    assert made[1]["l"] == [{"a": 1}]
    assert made[0]["when"] == _NOON


@pytest.mark.parametrize(
    ("known", "value", "becomes"),
    [
        (INT32, 5, INT32),
        (INT32, 1 << 40, INT64),
        (INT32, None, OPTIONAL_INT32),
        (INT64, 1.5, FLOAT64),
        (FLOAT32, 0.5, FLOAT32),
        (FLOAT32, 0.1, FLOAT64),
        (logical.decimal(2), 7, logical.decimal(2)),
        (logical.decimal(2), Decimal("1.234"), logical.decimal(3)),
        (Schema.map(STRING, INT64), {"a": 1}, Schema.map(STRING, INT64)),
        (Schema.map(STRING, INT64), {"a": None}, Schema.map(STRING, OPTIONAL_INT64)),
        (Schema.array(INT32), [1 << 40], Schema.array(INT64)),
    ],
)
def test_what_is_known_grows_by_values_without_a_schema_only_where_it_must(
    known: Schema, value: Any, becomes: Schema
) -> None:
    assert schema_of(Values([{"a": value}]), Schema.struct({"a": known})) == Schema.struct({"a": becomes})


@pytest.mark.parametrize(
    ("known", "value"),
    [
        (INT64, "5"),
        (INT64, True),
        (STRING, 5),
        (BOOLEAN, 1),
        (logical.TIMESTAMP, 5),
        (logical.DATE, _NOON),
        (Schema.struct({"x": INT64}), [1]),
        (Schema.array(INT64), {"x": 1}),
        (Schema.array(INT64), ["x"]),
        (STRING, object()),
    ],
)
def test_what_contradicts_is_named(known: Schema, value: Any) -> None:
    schema = Schema.struct({"a": known.as_optional()})
    values = Values([{"a": None}, {"a": value}, None, {"a": value}])
    for call in (schema_of, rows_of):
        with pytest.raises(Unfit, match=r'The record does not fit the table: The field "a') as raised:
            call(values, schema)
        assert raised.value.rows == [1, 3]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (INT8, 300),
        (INT64, 1.0),
        (INT64, 1 << 63),
        (INT64, True),
        (FLOAT64, (1 << 53) + 1),
        (FLOAT64, True),
        (FLOAT32, 0.1),
        (FLOAT32, 1e300),
        (STRING, b"x"),
        (STRING, "\ud800"),
        (BYTES, "x"),
        (BOOLEAN, 1),
        (logical.decimal(2), Decimal("1.234")),
        (logical.decimal(2), Decimal("NaN")),
        (logical.decimal(2), 1.5),
        (logical.decimal(2, optional=True).replace(parameters={"scale": "2", PRECISION: "4"}), Decimal("100.00")),
        (logical.DATE, _NOON),
        (logical.TIME, dt.time(1, 2, 3, 4)),
        (logical.TIME, 5),
        (logical.TIMESTAMP, 5),
        (logical.TIMESTAMP, "2024-05-06"),
        (Schema.array(INT8), [1, 300]),
        (Schema.array(INT8), [None]),
        (Schema.array(INT8), "x"),
        (Schema.map(STRING, INT8), {"a": 300}),
        (Schema.map(STRING, INT8), {1: 1}),
        (Schema.map(STRING, INT8), {None: 1}),
        (Schema.struct({"x": INT8}), {"x": 300}),
        (Schema.struct({"x": INT8}), {}),
        (Schema.struct({"x": INT8}), {"x": 1, "y": 1}),
        (INT8, None),
    ],
)
def test_a_value_that_is_no_value_of_the_column_is_not_bent(schema: Schema, value: Any) -> None:
    table = Schema.struct({"id": INT64, "a": schema})
    good = {"id": 1, "a": None if schema.optional else _good(schema)}
    rows = [good, {"id": 2, "a": value}, None, good, {"id": 3, "a": value}]
    with pytest.raises(Unfit) as raised:
        rows_of(Values(rows), table)
    assert raised.value.rows == [1, 4]
    assert '"a' in raised.value.reason
    assert pickle.loads(pickle.dumps(raised.value)).rows == [1, 4]
    assert rows_of(Values([good, None, good]), table)[1].as_py() is None


def _good(schema: Schema) -> Any:
    if schema.name:
        return {
            logical.DECIMAL_NAME: Decimal("1.5"),
            logical.DATE_NAME: _NOON.date(),
            logical.TIME_NAME: dt.time(1),
            logical.TIMESTAMP_NAME: _NOON,
        }[schema.name]
    return {
        Type.INT8: 1,
        Type.INT64: 1,
        Type.FLOAT32: 0.5,
        Type.FLOAT64: 2,
        Type.STRING: "x",
        Type.BYTES: b"x",
        Type.BOOLEAN: True,
        Type.ARRAY: [],
        Type.MAP: {},
        Type.STRUCT: {"x": 1},
    }[schema.type]


def test_arrow_columns_are_held_to_the_same() -> None:
    own = Schema.struct({"n": OPTIONAL_INT64, "f": OPTIONAL_FLOAT64, "more": OPTIONAL_STRING})
    rows = [
        {"n": 1, "f": 0.5, "more": None},
        {"n": 300, "f": 0.5, "more": None},
        {"n": 1, "f": 0.1, "more": None},
        {"n": 1, "f": None, "more": "x"},
        {"n": None, "f": 1.5, "more": None},
    ]
    table = Schema.struct({"n": INT8, "f": FLOAT32.as_optional()})
    for form in _forms(own, rows):
        with pytest.raises(Unfit) as raised:
            rows_of(form, table)
        assert [(each.row, each.reason) for each in raised.value.mismatches] == [
            (1, 'The field "n" holds a value that does not fit into int8.'),
            (2, 'The field "f" holds a value that does not fit into float.'),
            (3, 'The table has no field "more".'),
            (4, 'The field "n" is null, and the table requires it.'),
        ]
        assert rows_of(form.take([0]), table).to_pylist() == [{"n": 1, "f": 0.5}]
        narrow = table.replace(fields={"n": OPTIONAL_INT64, "f": OPTIONAL_FLOAT64})
        assert rows_of(form, narrow, unknown="ignore").to_pylist() == [{"n": r["n"], "f": r["f"]} for r in rows]


def test_narrower_columns_become_wider_ones() -> None:
    own = Schema.struct(
        {"a": INT8, "b": FLOAT32, "c": INT32, "d": logical.decimal(1), "s": Schema.struct({"x": INT16}, optional=True)}
    )
    rows = [{"a": 1, "b": 0.5, "c": 3, "d": Decimal("1.5"), "s": s} for s in ({"x": 4}, None)]
    wide = Schema.struct(
        {
            "a": INT64,
            "b": FLOAT64,
            "c": logical.decimal(2),
            "d": logical.decimal(3),
            "s": Schema.struct({"x": INT64, "y": OPTIONAL_STRING}, optional=True),
        }
    )
    for form in _forms(own, rows):
        made = rows_of(form, wide)
        assert made.type == pa.struct(list(table_schema(wide)))
        assert made.to_pylist() == [
            {"a": 1, "b": 0.5, "c": Decimal("3.00"), "d": Decimal("1.500"), "s": s} for s in ({"x": 4, "y": None}, None)
        ]


def test_a_missing_field_is_its_default() -> None:
    table = Schema.struct({"a": INT64, "b": STRING.replace(default="x"), "c": OPTIONAL_STRING.replace(default="y")})
    own = Schema.struct({"a": INT64})
    wanted = [{"a": 1, "b": "x", "c": "y"}]
    for form in [*_forms(own, [{"a": 1}]), Values([{"a": 1}])]:
        assert rows_of(form, table).to_pylist() == wanted
    full = Schema.struct({"a": INT64, "b": OPTIONAL_STRING, "c": OPTIONAL_STRING})
    for form in _forms(full, [{"a": 1, "b": None, "c": None}]):
        assert rows_of(form, table).to_pylist() == [{"a": 1, "b": "x", "c": None}]


def test_values_that_are_no_structs_make_a_table_of_one_column() -> None:
    for values, kind in [
        (Text([b"a", None, b"\xc3\xa4"]), OPTIONAL_STRING),
        (Text([b"a", None, b"\xff"]), OPTIONAL_STRING),
        (Values(["a", None, "ä"], STRING), OPTIONAL_STRING),
        (Values(["a", None, "ä"]), OPTIONAL_STRING),
        (Values([1, None, 2], INT64), OPTIONAL_INT64),
        (Values([[1], None, [2]]), Schema.array(OPTIONAL_INT64, optional=True)),
    ]:
        schema = schema_of(values, None, wrap="value")
        assert schema == Schema.struct({"value": kind})
        wanted = [None if item is None else {"value": item} for item in values.to_list()]
        assert rows_of(values, schema, wrap="value").to_pylist() == wanted
        for call in (schema_of, rows_of):
            with pytest.raises(Unfit, match="where a table needs a struct") as raised:
                call(values, schema)
            assert raised.value.rows == [0, 2]
    mixed = Values(["a", {"x": 1}, None, "b"])
    schema = schema_of(mixed, None, wrap="value")
    assert rows_of(mixed, schema, wrap="value").to_pylist() == [
        {"x": None, "value": "a"},
        {"x": 1, "value": None},
        None,
        {"x": None, "value": "b"},
    ]


def test_tombstones_alone_are_null_rows() -> None:
    schema = Schema.struct({"a": INT64})
    assert schema_of(Values([None, None]), None) == Schema.struct({})
    assert schema_of(Values([None, None]), schema) is schema
    assert rows_of(Values([None, None], schema), schema).to_pylist() == [None, None]
    assert rows_of(Values([]), schema).to_pylist() == []


def test_structs_without_fields_have_no_column() -> None:
    empty = Schema.struct({})
    schema = Schema.struct({"a": INT64, "e": empty, "l": Schema.array(empty), "m": Schema.map(STRING, empty)})
    assert table_schema(schema).names == ["a"]
    assert rows_of(Values([{"a": 1, "e": {}, "l": [], "m": {}}], schema), schema).to_pylist() == [{"a": 1}]
    assert rows_of(Values([{}, {}]), empty).to_pylist() == [{}, {}]
    with pytest.raises(SchemaError, match="38"):
        table_schema(Schema.struct({"d": logical.decimal(60)}))


def test_a_field_needs_a_name() -> None:
    with pytest.raises(Unfit, match="needs a text as its name") as raised:
        schema_of(Values([{"a": 1}, {1: 1}]), None)
    assert raised.value.rows == [1]


def test_all_rows_that_do_not_fit_are_named_at_once_and_the_others_fit() -> None:
    schema = schema_of(Values([{"a": [1], "b": {"c": "x"}}]), None)
    rows: list[Any] = [
        {"a": [1, 2, "x"]},
        {"a": [3]},
        {"b": {"c": 5}},
        {"b": {"d": 5}, "a": ["x"]},
        {"a": [], "b": None, "z": [None, {}]},
        "x",
        {"z": 0},
    ]
    with pytest.raises(Unfit) as raised:
        rows_of(Values(rows), schema)
    assert raised.value.rows == [0, 2, 3, 5, 6]
    rest = [row for at, row in enumerate(rows) if at not in raised.value.rows]
    assert rows_of(Values(rest), schema).to_pylist() == [{"a": [3], "b": None}, {"a": [], "b": None}]
