"""Cast. Expected values are what Kafka Connect's own class gives."""

import copy
import datetime as dt
import math
import random
from decimal import Decimal
from typing import Any

import pytest

from connect import ConfigError, DataError, Schema, SinkRecord, Type, logical
from connect.data.arrow import from_python, to_python
from connect.data.schema import BOOLEAN, BYTES, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, OPTIONAL_STRING, STRING
from connect.data.text import float32
from transforms.arrow_casts import cast_array
from transforms.cast import CastKey, CastValue
from transforms.java_casts import TARGETS, cast_list

from .forms import configured, forms, told

_INF, _NAN = math.inf, math.nan
_LONG = 9223372036854775807


def _cast(schema: Schema | None, value: Any, spec: str, **config: str) -> SinkRecord:
    """The changed record, the same in each form of a batch; the input is left alone."""
    before = copy.deepcopy(value)
    cast = configured(CastValue, spec=spec, **config)
    record = SinkRecord("t", value, schema)
    changed = cast.apply(record)
    for batch in forms([record] * 120):
        assert [told(r) for r in cast.apply_batch(batch)] == [told(changed)] * 120
    assert value == before or value != value
    return changed


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (INT64, _LONG, {"int8": -1, "int32": -1, "float32": 9.223372036854776e18, "string": f"{_LONG}"}),
        (INT64, 9007199791611905, {"float32": 9007200328482816.0, "float64": 9007199791611904.0}),
        (INT16, 300, {"int8": 44, "int64": 300, "float32": 300.0}),
        (INT32, 0, {"boolean": False}),
        (FLOAT64, _NAN, {"int8": 0, "int64": 0, "boolean": False, "string": "NaN"}),
        (FLOAT64, -_INF, {"int8": 0, "int16": 0, "int32": -(2**31), "int64": -(2**63), "float32": -_INF}),
        (FLOAT64, 3e9, {"int8": -1, "int32": 2147483647, "int64": 3000000000, "string": "3.0E9"}),
        (FLOAT64, 12345678.5, {"string": "1.23456785E7"}),
        (FLOAT64, 0.0001, {"string": "1.0E-4"}),
        (FLOAT64, 1e300, {"int64": _LONG, "float32": _INF, "string": "1.0E300"}),
        (FLOAT64, -129.5, {"int8": 127, "int16": -129, "boolean": True}),
        (FLOAT64, 0.5, {"int32": 0, "boolean": False}),
        (FLOAT64, 0.1, {"float32": 0.10000000149011612, "string": "0.1"}),
        (FLOAT32, float32(0.1), {"float64": 0.10000000149011612, "string": "0.1"}),
        (FLOAT32, 3e9, {"int32": 2147483647, "string": "3.0E9"}),
        (BOOLEAN, True, {"int8": 1, "float32": 1.0, "string": "true", "boolean": True}),
        (STRING, "+5", {"int8": 5, "float64": 5.0, "boolean": False, "string": "+5"}),
        (STRING, "٣", {"int32": 3}),
        (STRING, "TRUE", {"boolean": True}),
        (STRING, "yes", {"boolean": False}),
        (STRING, "\t5\n", {"float64": 5.0}),
        (STRING, "1.5D", {"float64": 1.5}),
        (STRING, "0x1p3", {"float32": 8.0}),
        (STRING, "-Infinity", {"float32": -_INF}),
        (STRING, "1.00000005960464477539062500001", {"float32": 1.0000001192092896, "float64": 1.0000000596046448}),
        (STRING, "1.000000059604644775390625", {"float32": 1.0}),
        (BYTES, b"\x01\x02", {"string": "AQI="}),
        (logical.decimal(2), Decimal("300.12"), {"int8": 44, "int32": 300, "float64": 300.12, "string": "300.12"}),
        (logical.decimal(2), Decimal("0.50"), {"boolean": False}),
        (logical.TIMESTAMP, dt.datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=dt.UTC),
         {"int64": 1700000000123, "int32": -807049093, "string": "2023-11-14T22:13:20.123Z"}),
        (logical.TIMESTAMP, dt.datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=dt.UTC), {"string": "23:59:59.999Z"}),
        (logical.DATE, dt.date(2023, 11, 14), {"int16": 19675, "string": "2023-11-14"}),
        (logical.TIME, dt.time(1, 2, 3, 4000), {"int32": 3723004, "string": "01:02:03.004Z"}),
    ],
)  # fmt: skip
def test_values_become_what_java_makes_of_them(schema: Schema, value: Any, expected: dict[str, Any]) -> None:
    struct = Schema.struct({"f": schema.as_optional(), "n": INT8}, name="s", version=2, optional=True)
    for name, cast in expected.items():
        whole = _cast(schema, value, name)
        assert repr(whole.value) == repr(cast), name
        assert whole.value_schema == Schema(TARGETS[name.upper()])  # a date's or decimal's name is gone, else no change
        field = _cast(struct, {"f": value, "n": 1}, f"f:{name}")
        assert repr(field.value) == repr({"f": cast, "n": 1})
        assert field.value_schema == struct.replace(
            fields={"f": Schema(TARGETS[name.upper()], optional=True), "n": INT8}
        )
        if schema in (INT64, FLOAT64, STRING, BOOLEAN, BYTES):
            assert repr(_cast(None, {"f": value}, f"f:{name}").value) == repr({"f": cast})


@pytest.mark.parametrize("text", ["", " 5", "5.5", "1e3", "0x10", "1_0", "128", "--5", "²", "1L"])
def test_texts_that_are_no_whole_numbers_are_refused(text: str) -> None:
    _refused(STRING, text, "int8")
    _refused(None, {"f": text}, "f:int8")
    _refused(Schema.struct({"f": STRING}), {"f": text}, "f:int8")


@pytest.mark.parametrize("text", ["", "nan", "inf", "1_0", "٣", "0x10", "1L", "e5", "1e", "- 5"])
def test_texts_that_are_no_numbers_are_refused(text: str) -> None:
    for target in ("float32", "float64"):
        _refused(STRING, text, target)
        _refused(Schema.struct({"f": STRING}), {"f": text}, f"f:{target}")


@pytest.mark.parametrize(
    ("schema", "value", "spec"),
    [
        (BYTES, b"x", "int8"),
        (None, Decimal(1), "int8"),  # Java knows no such schemaless value
        (None, {"a": 1}, "int8"),
        (Schema.array(INT8), [1], "string"),
        (None, "x", "f:int8"),
        (STRING, "x", "f:int8"),
        (Schema.struct({"f": Schema.array(INT8)}), {"f": [1]}, "f:string"),
    ],
)
def test_what_cannot_be_cast_is_an_error(schema: Schema | None, value: Any, spec: str) -> None:
    _refused(schema, value, spec)


def _refused(schema: Schema | None, value: Any, spec: str) -> None:
    cast = configured(CastValue, spec=spec)
    record = SinkRecord("t", value, schema)
    with pytest.raises(DataError):
        cast.apply(record)
    for batch in forms([record] * 120):
        with pytest.raises(DataError):
            cast.apply_batch(batch)


def test_nulls_stay_null() -> None:
    assert _cast(None, None, "int8").value is None
    assert _cast(INT32.as_optional(), None, "int8").value_schema == INT32.as_optional()
    assert _cast(None, {"a": None}, "a:int8,z:string").value == {"a": None, "z": None}
    lists = Schema.struct({"l": Schema.array(INT8, optional=True)})
    changed = _cast(lists, {"l": None}, "l:int8")
    assert (changed.value, changed.value_schema) == ({"l": None}, Schema.struct({"l": INT8.as_optional()}))


def test_nulls_among_whole_values_keep_their_schema() -> None:
    cast = configured(CastValue, spec="string")
    records = [SinkRecord("t", value, INT32.as_optional()) for value in (1, None, 3)]
    for batch in forms(records):
        assert [(r.value, r.value_schema) for r in cast.apply_batch(batch)] == [
            ("1", OPTIONAL_STRING),
            (None, INT32.as_optional()),
            ("3", OPTIONAL_STRING),
        ]


_STRUCT = Schema.struct(
    {"a": INT32.replace(name="n", version=2, doc="d", default=300), "b": OPTIONAL_STRING.replace(default="77")},
    name="nm",
)


def test_defaults_are_cast_and_stand_in_for_nulls() -> None:
    changed = _cast(_STRUCT, {"a": 5, "b": None}, "a:int8,b:int8,zz:int8")
    assert changed.value == {"a": 5, "b": 77}
    assert changed.value_schema == Schema.struct(
        {"a": INT8.replace(default=44), "b": INT8.replace(optional=True, default=77)}, name="nm"
    )
    assert _cast(_STRUCT, {"a": 5, "b": None}, "a:int8", replace_null_with_default="false").value == {"a": 5, "b": None}
    assert _cast(_STRUCT, {"a": 5, "b": None}, "a:int8").value == {"a": 5, "b": "77"}
    _refused(Schema.struct({"b": OPTIONAL_STRING.replace(default="zz")}), {"b": "5"}, "b:int8")


def test_fields_inside_of_others_are_named_by_their_path() -> None:
    spec = "in.a:string,n:int64"
    assert _cast(None, {"in": {"a": 1, "b": 2}, "n": "5"}, spec, field_syntax_version="V2").value == {
        "in": {"a": "1", "b": 2},
        "n": 5,
    }
    schema = Schema.struct({"in": Schema.struct({"a": INT32}, name="i").as_optional(), "n": INT16})
    changed = _cast(schema, {"in": {"a": 1}, "n": 2}, spec, field_syntax_version="V2")
    assert changed.value == {"in": {"a": "1"}, "n": 2}
    inner = Schema.struct({"a": STRING}, name="i").as_optional()
    assert changed.value_schema == Schema.struct({"in": inner, "n": INT64})
    assert _cast(schema, {"in": None, "n": 2}, spec, field_syntax_version="V2").value == {"in": None, "n": 2}


def test_keys_are_cast_and_values_left_alone() -> None:
    changed = configured(CastKey, spec="string").apply(SinkRecord("t", 1, key=1))
    assert (changed.key, changed.value) == ("1", 1)


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "bla",
        "a:bla",
        "a:int8:c",
        "a:bytes",
        "a:array",
        "bytes",
        "a:int8,int16",
        "int16,int8",
        "a:int8,,b:int8",
        "a:",
    ],
)
def test_wrong_specs_are_refused(spec: str) -> None:
    with pytest.raises(ConfigError, match='key "spec"'):
        configured(CastValue, spec=spec)


def test_a_spec_may_be_written_loosely() -> None:
    assert _cast(None, {"a": "5"}, " a : INT8 ").value == {"a": 5}
    assert _cast(None, {"a": "500"}, "a:int8,a:int16").value == {"a": 500}


_CHANCE: dict[Type, Any] = {
    Type.INT8: lambda r: r.randrange(-128, 128),
    Type.INT16: lambda r: r.randrange(-(2**15), 2**15),
    Type.INT32: lambda r: r.choice([0, r.randrange(-(2**31), 2**31)]),
    Type.INT64: lambda r: r.choice([0, r.randrange(-(2**63), 2**63), r.randrange(-1000, 1000)]),
    Type.FLOAT32: lambda r: float32(
        r.choice([0.0, -0.0, r.uniform(-300, 300), r.uniform(-1e6, 1e6), float(r.randrange(99))])
    ),
    Type.FLOAT64: lambda r: r.choice([0.0, -0.0, r.uniform(-300, 300), r.uniform(-1e6, 1e6), float(r.randrange(99))]),
    Type.BOOLEAN: lambda r: r.random() < 0.5,
    Type.STRING: lambda r: r.choice([str(r.randrange(-128, 128)), "-0", "007"]),
}
_RARE = {
    Type.FLOAT64: [_NAN, _INF, 1e300, 1e-5, 2.0**63, -(2.0**63), 1e7, 1e-3, 9999999.999, 2147483648.0, 5e-324],
    Type.FLOAT32: [_NAN, -_INF, float32(1e30), float32(1e-5), 2147483648.0],
    Type.STRING: ["1.5", "128", "+1", "1e3", "1.0000000596046447753906250", "99999999999999999999", "TRUE", "x"],
}


@pytest.mark.parametrize("source", _CHANCE)
@pytest.mark.parametrize("target", TARGETS.values())
def test_arrow_gives_what_values_give(source: Type, target: Type) -> None:
    chance = random.Random(f"{source}{target}")
    schema = Schema(source, optional=True)
    for extra in [None, None, *_RARE.get(source, [])]:
        items = [None if chance.random() < 0.1 else _CHANCE[source](chance) for _ in range(50)]
        if extra is not None:
            items.append(extra)
        made = cast_array(schema, from_python(schema, items), target)
        if made is None:
            assert extra is not None or source in (Type.FLOAT32, Type.FLOAT64), "the usual values stay in Arrow"
            continue
        assert repr(to_python(Schema(target), made)) == repr(cast_list(schema, target, items)), extra


@pytest.mark.parametrize("schema", [logical.DATE, logical.TIME, logical.TIMESTAMP], ids=["Date", "Time", "Timestamp"])
def test_arrow_writes_dates_and_times_as_values_are_written(schema: Schema) -> None:
    chance = random.Random(str(schema.name))
    day = dt.date(2024, 2, 29)
    usual: dict[str | None, Any] = {
        logical.DATE_NAME: lambda: day + dt.timedelta(days=chance.randrange(9999)),
        logical.TIME_NAME: lambda: dt.time(chance.randrange(24), 5, 6, chance.randrange(1000) * 1000),
        logical.TIMESTAMP_NAME: lambda: (
            dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
            + dt.timedelta(milliseconds=chance.choice([0, 86_400_000, chance.randrange(10**12)]))
        ),
    }
    optional = schema.as_optional()
    for nulls in (0.0, 0.3, 1.0):
        items = [None if chance.random() < nulls else usual[schema.name]() for _ in range(50)]
        made = cast_array(optional, from_python(optional, items), Type.STRING)
        assert made is not None
        assert made.to_pylist() == cast_list(optional, Type.STRING, items)
    first = {logical.DATE_NAME: dt.date(1970, 1, 1), logical.TIMESTAMP_NAME: dt.datetime(1970, 1, 1, 23, tzinfo=dt.UTC)}
    if schema.name in first:  # Java writes those of the first day as times
        assert cast_array(schema, from_python(schema, [first[schema.name]]), Type.STRING) is None
