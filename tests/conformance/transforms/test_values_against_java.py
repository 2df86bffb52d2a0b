"""Each value that is special in one of the types, through the transformations that look at values."""

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from connect.data import Record, Schema, SinkRecord, Type, logical
from connect.data import schema as schemas
from tests.support.java import Oracle

from .compare import batch_disagreements, disagreements
from .generate import TIMES, TYPES
from .java import Case
from .records import BYTES, DECIMALS, FLOATS, INTEGERS, LONGS, MOMENTS, SINGLES, TEXTS, moment

_WIDTHS = {Type.INT8: 7, Type.INT16: 15, Type.INT32: 31, Type.INT64: 63}

VALUES: list[tuple[Schema, Sequence[Any]]] = [
    *((Schema(kind), [n for n in INTEGERS if -(1 << bits) <= n < 1 << bits]) for kind, bits in _WIDTHS.items()),
    (schemas.FLOAT32, SINGLES),
    (schemas.FLOAT64, FLOATS),
    (schemas.STRING, [*TEXTS, *TIMES]),
    (schemas.BOOLEAN, [True, False]),
    (schemas.BYTES, BYTES),
    (logical.TIMESTAMP, [moment(ms) for ms in MOMENTS]),
    (logical.DATE, [moment(ms).date() for ms in MOMENTS]),
    (logical.TIME, [moment(ms).time() for ms in MOMENTS]),
    (logical.decimal(2), [Decimal(f"{unscaled}E-2") for unscaled in [*LONGS, 10**30, -(10**30)]]),
    (Schema.array(schemas.INT32), [[], [1]]),
    (Schema.map(schemas.STRING, schemas.INT32), [{}, {"a": 1}]),
]
#: Without a schema.
BARE: list[Any] = [None, True, False, *LONGS, *FLOATS, *TEXTS, *TIMES, *BYTES, *map(moment, MOMENTS), [], [1]]
BARE += [*map(Decimal, DECIMALS), {}, {"a": 1}, dt.date(2024, 2, 29), dt.time(12, 34, 56, 789_000)]


def whole() -> list[Record]:
    """A record for each value."""
    made = [SinkRecord("t", value, schema) for schema, values in VALUES for value in values]
    return [*made, *(SinkRecord("t", value) for value in BARE)]


def in_field() -> list[Record]:
    """A record for each value, in the field `a`."""
    made = []
    for schema, values in VALUES:
        struct = Schema.struct({"a": schema, "b": schemas.OPTIONAL_STRING})
        made += [SinkRecord("t", {"a": value, "b": None}, struct) for value in values]
    return [*made, *(SinkRecord("t", {"a": value}) for value in BARE)]


def held(java: Oracle, name: str, config: dict[str, str | None], records: list[Record]) -> None:
    """Both sides say the same of each record, and a batch of those that go through gives what they give one by one."""
    case = Case(name, config, records)
    assert disagreements(java, [case]) == []
    assert batch_disagreements([case]) == []
    assert batch_disagreements([Case(name, config, [record]) for record in records]) == []


@pytest.mark.slow
@pytest.mark.parametrize("target", TYPES)
def test_every_value_is_cast_alike(java: Oracle, target: str) -> None:
    held(java, "Cast$Value", {"spec": target}, whole())
    held(java, "Cast$Value", {"spec": f"a:{target}"}, in_field())


REPLACEMENTS = [
    "x", "0", "-0", "-0.0", "+0", "0e5", "1e5", "1E-5", "1.5", "-1.5", "1e400", "-1e400", "1e-400", "-1e-400", "128",
    "300", "-129", "70000", "1e19", "-1e19", "9223372036854775808", "1.", ".5", "+.5", "-.5", "NaN", "Infinity", "1f",
    "1d", "0x1", "1e39", "4e38", "12345678901234567890.5", "1e", "--1", "1e1000", "00", "007", "-", "1_0", "0.1",
    "16777217", "true",
]  # fmt: skip


def test_every_value_is_masked_alike(java: Oracle) -> None:
    held(java, "MaskField$Value", {"fields": "a"}, in_field())


@pytest.mark.slow
def test_numbers_are_replaced_alike(java: Oracle) -> None:
    numbers = [(schema, values[:1]) for schema, values in VALUES]
    records: list[Record] = [
        SinkRecord("t", {"a": v}, Schema.struct({"a": s})) for s, values in numbers for v in values
    ]
    records += [SinkRecord("t", {"a": value}) for value in (5, 1.5, Decimal("1.5"), "x", True, None, b"x", [])]
    for replacement in REPLACEMENTS:
        held(java, "MaskField$Value", {"fields": "a", "replacement": replacement}, records)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["string", "unix", "Date", "Time", "Timestamp"])
def test_every_value_is_a_time_for_both_or_for_none(java: Oracle, target: str) -> None:
    for precision in ("seconds", "milliseconds", "microseconds", "nanoseconds"):
        config = {"target.type": target, "unix.precision": precision, "format": "yyyy-MM-dd'T'HH:mm:ss.SSSX"}
        held(java, "TimestampConverter$Value", config, whole())
        held(java, "TimestampConverter$Value", config | {"field": "a"}, in_field())


def test_defaults_on_the_way_to_a_field_stand_in_alike(java: Oracle) -> None:
    inner = [schemas.INT32, schemas.OPTIONAL_INT32]
    inner += [schema.replace(default=7) for schema in inner]
    for member in inner:
        defaults = [None, {"t": 5}, {"t": None}] if member.optional or member.default else [None, {"t": 5}]
        for default in defaults:
            for optional in (True, False):
                struct = Schema.struct({"t": member}, optional=optional, default=default)
                schema = Schema.struct({"p": struct})
                records = [SinkRecord("t", {"p": {"t": 1}}, schema)]
                if member.optional or member.default:
                    records.append(SinkRecord("t", {"p": {"t": None}}, schema))
                if optional or default:
                    records.append(SinkRecord("t", {"p": None}, schema))
                for replace in ("true", "false"):
                    config: dict[str, str | None] = {"replace.null.with.default": replace}
                    path = config | {"field": "p.t", "field.syntax.version": "V2"}
                    held(java, "ExtractField$Value", path, records)
                    held(java, "ExtractField$Value", config | {"field": "p"}, records)
                    held(java, "ValueToKey", config | {"fields": "p"}, records)
                held(java, "Flatten$Value", {}, records)


def test_what_is_inserted_last_stays(java: Oracle) -> None:
    records: list[Record] = [SinkRecord(f"t{n}", {"a": n}, partition=n, offset=n, timestamp=n) for n in range(3)]
    for first in ("topic.field", "partition.field", "offset.field", "timestamp.field"):
        held(java, "InsertField$Value", {first: "new", "static.field": "new", "static.value": "x"}, records)
        held(java, "InsertField$Value", {first: "a"}, records)
