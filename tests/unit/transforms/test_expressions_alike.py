"""Expressions mean the same in SQLite, over rows and over columns of Arrow."""

import sqlite3
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import DataError, Schema, SinkRecord
from connect.data import schema as schemas
from transforms.expression import Expression

from .forms import configured, forms, told

# Chance.

NUMBERS = ["a", "b", "1", "0", "-3", "7"]
TEXTS = ["s", "t", "'x'", "''", "'ab'"]


def _numbers() -> st.SearchStrategy[str]:
    return st.recursive(
        st.sampled_from(NUMBERS),
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
            inner.map(lambda n: f"abs({n})"),
            st.tuples(inner, inner).map(lambda p: f"coalesce({p[0]}, {p[1]})"),
            st.tuples(inner, inner).map(lambda p: f"nullif({p[0]}, {p[1]})"),
            st.sampled_from(TEXTS).map(lambda t: f"length({t})"),
        ),
        max_leaves=5,
    )


def _texts() -> st.SearchStrategy[str]:
    return st.recursive(
        st.sampled_from(TEXTS),
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda p: f"({p[0]} || {p[1]})"),
            inner.map(lambda t: f"upper({t})"),
            inner.map(lambda t: f"replace({t}, 'x', 'yz')"),
            st.tuples(inner, _numbers()).map(lambda p: f"substr({p[0]}, 1, abs({p[1]}))"),
        ),
        max_leaves=4,
    )


def _conditions() -> st.SearchStrategy[str]:
    compared = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "is distinct from", "is not distinct from"])
    leaves = st.one_of(
        st.tuples(_numbers(), compared, _numbers()).map(" ".join),
        st.tuples(_texts(), compared, _texts()).map(" ".join),
        _texts().map(lambda t: f"{t} like 'x%'"),
        _numbers().map(lambda n: f"{n} is null"),
        _texts().map(lambda t: f"{t} is not null"),
        st.tuples(_numbers(), _numbers(), _numbers()).map(lambda p: f"{p[0]} between {p[1]} and {p[2]}"),
        st.tuples(_numbers(), _numbers()).map(lambda p: f"{p[0]} in (1, {p[1]}, null)"),
        st.tuples(_texts(), _texts()).map(lambda p: f"{p[0]} not in ('x', {p[1]})"),
    ).map(lambda c: f"({c})")
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda p: f"({' '.join(p)})"),
            inner.map(lambda c: f"(not {c})"),
            st.tuples(inner, inner, inner).map(lambda p: f"(case when {p[0]} then {p[1]} else {p[2]} end)"),
        ),
        max_leaves=6,
    )


_rows = st.fixed_dictionaries(
    {
        "a": st.none() | st.integers(-5, 5),
        "b": st.none() | st.integers(-5, 5),
        "s": st.none() | st.sampled_from(["", "x", "xy", "Xy", "ab", "ü"]),
        "t": st.none() | st.text("xyz", max_size=2),
    }
)
_SCHEMA = Schema.struct(
    {
        "a": schemas.OPTIONAL_INT32,
        "b": schemas.OPTIONAL_INT64,
        "s": schemas.OPTIONAL_STRING,
        "t": schemas.OPTIONAL_STRING,
    }
)


@given(_rows, _conditions() | _numbers() | _texts())
def test_expressions_mean_what_they_mean_in_sqlite(row: dict[str, Any], text: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("pragma case_sensitive_like = on")
    connection.create_function("upper", 1, lambda value: None if value is None else value.upper())
    select = f"select {text} from (select :a as a, :b as b, :s as s, :t as t)"
    (theirs,) = connection.execute(select, row).fetchone()
    connection.close()
    ours = configured(Expression, fields=f"result = {text}").apply(SinkRecord("t", row)).value["result"]
    assert (int(ours) if isinstance(ours, bool) else ours) == theirs


@given(
    st.lists(st.none() | _rows, max_size=6),
    st.none() | _conditions(),
    st.none() | _numbers(),
    st.none() | _texts(),
    st.booleans(),
    st.booleans(),
)
def test_records_lists_and_columns_give_the_same(
    values: list[Any], condition: str | None, number: str | None, text: str | None, with_schema: bool, drop: bool
) -> None:
    fields = [f"{name} = {each}" for name, each in (("a", number), ("new", text)) if each is not None]
    config = {"fields": ", ".join(fields), "filter": condition, "drop": "t" if drop else ""}
    if not any(config.values()):
        return
    made = configured(Expression, **{key: value for key, value in config.items() if value})
    schema = _SCHEMA if with_schema else None
    records = [SinkRecord("t", value, schema, offset=offset) for offset, value in enumerate(values)]
    expected = [told(result) for result in map(made.apply, records) if result is not None]
    for batch in forms(records):
        assert list(map(told, made.apply_batch(batch))) == expected


_extremes = st.fixed_dictionaries(
    {
        "a": st.none() | st.sampled_from([-(2**31), 2**31 - 1, 0, 7]),
        "b": st.none() | st.sampled_from([-(2**63), 2**63 - 1, 2**53 + 1, 1]),
        "s": st.none() | st.sampled_from(["", "x", "ß", "\u0131", "\U0001f600", "\uffff", "Xy"]),
        "t": st.none() | st.text(max_size=3),
        "x": st.none() | st.floats(width=32),
        "y": st.none() | st.floats() | st.sampled_from([2.0**53, 0.1]),
    }
)
_EXTREMES_SCHEMA = _SCHEMA.replace(
    fields={f.name: f.schema for f in _SCHEMA.fields} | {"x": schemas.OPTIONAL_FLOAT32, "y": schemas.OPTIONAL_FLOAT64}
)
_of_numbers = st.sampled_from(["x * b", "x + y", "y - a", "case when y > b then x else y end", "coalesce(y, x, 0.5)"])
_of_truth = st.sampled_from(
    [
        *("x < y", "b >= y", "a = b", "x in (1, 2.0)", "b in (1, 7)", "y between a and b"),
        *("starts_with(s, 'x')", "contains(t, s)", "not (a > 0)", "upper(s) = 'X'"),
    ]
)


@given(st.lists(_extremes, min_size=1, max_size=4), _of_truth | _conditions(), _of_numbers | _numbers() | _texts())
def test_arrow_does_exactly_as_python_at_the_edges(rows: list[Any], condition: str, text: str) -> None:
    made = configured(Expression, filter=condition, fields=f"result = {text}, truth = {condition}")
    records = [SinkRecord("t", row, _EXTREMES_SCHEMA, offset=offset) for offset, row in enumerate(rows)]
    try:
        expected = [told(result) for result in map(made.apply, records) if result is not None]
    except DataError as error:
        for batch in forms(records):
            with pytest.raises(type(error)):
                made.apply_batch(batch)
        return
    for batch in forms(records):
        assert list(map(told, made.apply_batch(batch))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b + 1", "does not fit into 64 bits"),
        ("b * a", "does not fit into 64 bits"),
        ("-7 - b - b", "does not fit into 64 bits"),
        ("upper(s)", "SS"),
        ("length(s)", 1),
        ("case when n > 1 then 'yes' else 'no' end", "no"),
        ("case when n > 1 then 'yes' end", None),
        ("b in (1, 2)", False),
        ("n in (1, 2)", None),
        ("n = 1 or a = 2", True),
        ("n = 1 and a = 1", False),
        ("not (n = 1)", None),
        ("n is null and a is not null", True),
        ("y = m", False),
        ("y < m", True),
        ("a - b", 2 - (2**63 - 1)),
        ("s || s", "ßß"),
        ("y + a", 2.0**53 + 2),
    ],
)
def test_arrow_at_its_edges(text: str, expected: Any) -> None:
    schema = Schema.struct(
        {
            "a": schemas.INT32,
            "b": schemas.INT64,
            "m": schemas.INT64,
            "n": schemas.OPTIONAL_INT64,
            "s": schemas.STRING,
            "y": schemas.FLOAT64,
        }
    )
    # No double is m.
    value = {"a": 2, "b": 2**63 - 1, "m": 2**53 + 1, "n": None, "s": "ß", "y": 2.0**53}
    made = configured(Expression, fields=f"result = {text}")
    for batch in forms([SinkRecord("t", value, schema, offset=n) for n in range(2)]):
        if expected == "does not fit into 64 bits":
            with pytest.raises(DataError, match=expected):
                made.apply_batch(batch)
            continue
        results = [row.value["result"] for row in made.apply_batch(batch)]
        assert [(type(each), each) for each in results] == [(type(expected), expected)] * 2


def test_columns_in_arrow_stay_there() -> None:
    rows = [{"a": 1, "b": 2, "s": "x", "t": "y"}, {"a": None, "b": 2, "s": "X", "t": None}]
    batch = forms([SinkRecord("t", row, _SCHEMA, offset=n) for n, row in enumerate(rows)])[2]
    made = configured(Expression, filter="b = 2 and s is not null", fields="n = a + b, u = upper(s) || t")
    after = made.apply_batch(batch).values.struct_columns
    assert after is not None
    assert all(field.is_arrow for field in after.fields)
    assert [row["n"] for row in after] == [3, None]
