"""`spark_sink.rows.casts` makes of a value what Spark's try_cast makes of it."""

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pytest

from spark_sink.rows.casts import CannotCastError, cast
from spark_sink.rows.sql_types import schema_of_sql
from tests.integration.spark_sink.conftest import session, shared_spark, spark

__all__ = ["session", "shared_spark", "spark"]

pytestmark = pytest.mark.slow

_AT: Final = dt.datetime(2026, 2, 3, 4, 5, 6, 789000, dt.UTC)
_NUMBERS: Final = """1 +7 -7 007 1.5 -1.5 .5 5. 1e3 1E-2 1_000 0x10 127 128 -128 -129 32768 2147483647 2147483648
9223372036854775807 9223372036854775808 3.4028235e38 1e39 1e309 NaN nan Infinity -inf +Infinity 1d 2.5F 99999999.995"""
_WORDS: Final = "true TRUE yes y no n f 0 on truely x soon"
_DATES: Final = "2026 2026-1 2026-1-2 2026-01-02 2026-02-30 2026-13-01 2026-01-02T03 26-01-02"
_MOMENTS: Final = """2026-01-02 03:04:05
2026-01-02T03:04:05.123456789Z
2026-01-02 03:04
2026-01-02T3:4:5+02:00
2026-01-02 03:04:05.5 UTC
2026-01-02T03:04:05-0330
2026-01-02 24:00:00
2026-01-02T03:04:05+5"""
_SPACES: Final = ["", " ", " 12 ", "1 2", " t ", "\t1\n"]
_TEXTS: Final = [*_NUMBERS.split(), *_WORDS.split(), *_DATES.split(), *_MOMENTS.splitlines(), *_SPACES]
_VALUES: Final[Mapping[str, Sequence[Any]]] = {
    "string": _TEXTS,
    "bigint": [0, 1, -1, 127, 128, 1 << 31, (1 << 31) - 1, -(1 << 63), (1 << 53) + 1, 1_770_091_506],
    "double": [0.0, -0.0, 0.1, 1.5, -1.5, 1e7, 1.25e-5, 127.9, 1e10, 1e19, 1e300, math.inf, math.nan, 123456789.125],
    "decimal(20,3)": [*map(Decimal, ["0.000", "1.500", "-1.499", "99999999.995", "10000000000000000.000"])],
    "boolean": [True, False],
    "date": [dt.date(1970, 1, 1), dt.date(2026, 2, 3)],
    "timestamp": [_AT, dt.datetime(1969, 12, 31, 23, 59, 59, 500000, dt.UTC), _AT.replace(microsecond=0)],
    "binary": [b"", b"ab"],
    "array<string>": [[], ["1", "x", None]],
    "map<string, string>": [{}, {"1": "2"}, {"1": "x", "y": None}],
    "struct<a: float, b: array<date>>": [
        {"a": 0.10000000149011612, "b": [dt.date(2026, 2, 3), None]},
        {"a": None, "b": []},
    ],
}
_TYPES: Final = [
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "date", "timestamp"),
    *("decimal(10,2)", "decimal(3,0)", "decimal(38,10)", "array<int>", "map<string, int>", "map<int, string>"),
    *("struct<x: string, y: array<timestamp>>", "struct<a: int, b: array<string>>"),
]


def ours(value: Any, kind: str, source: str) -> Any:
    try:
        return cast(value, schema_of_sql(kind), schema_of_sql(source))
    except CannotCastError:
        return None


def theirs(column: pa.ChunkedArray) -> list[Any]:
    """Spark's values; None for dates that Python cannot have."""
    found = []
    for cell in column:
        try:
            found.append(cell.as_py())
        except OverflowError:
            found.append(None)
    return found


def plain(value: Any) -> Any:
    """In a form in which two values that are the same are equal, and what is not is not: 1 is not 1.0."""
    if isinstance(value, dict):  # a map, which Arrow gives as a list of pairs
        value = list(value.items())
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value if isinstance(value, dt.datetime) else repr(value)


@pytest.mark.parametrize("source", _VALUES)
def test_a_cast_is_that_of_spark(spark: Any, source: str) -> None:
    from pyspark.errors import AnalysisException

    values = _VALUES[source]
    rows = spark.createDataFrame([(number, value) for number, value in enumerate(values)], f"n int, v {source}")
    known = []
    for kind in _TYPES:
        try:
            rows.selectExpr(f"try_cast(v AS {kind})")
        except AnalysisException:
            continue  # Spark refuses it for all values of this type; without Spark some can be had
        known.append(kind)
    selected = [f"try_cast(v AS {kind}) AS c{at}" for at, kind in enumerate(known)]
    table: pa.Table = rows.orderBy("n").selectExpr("n", *selected).toArrow()
    differ = [
        f"{value!r} as {kind}: Spark {other!r}, we {mine!r}"
        for at, kind in enumerate(known)
        for value, other in zip(values, theirs(table[f"c{at}"]), strict=True)
        if plain(mine := ours(value, kind, source)) != plain(other)
    ]
    assert not differ, "\n".join(differ)
