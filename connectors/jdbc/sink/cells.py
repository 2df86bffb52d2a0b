"""Values of fields as columns that a database is given: Arrow arrays, made without a look at single rows where
possible.

What a value means is said in `connectors.jdbc.database.types_to_sql`; here it is brought into the form that the column
has which takes it: an instant as the wall clock of `db.timezone`, for example, where the column knows no zones.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Callable, Sequence
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy
from sqlalchemy.dialects import mysql, postgresql

from connect import Schema, Type
from connect.data.column import NoArrowForm
from connect.data.struct_columns import FieldColumn
from connectors.jdbc.database.types_to_sql import Meaning
from connectors.jdbc.sink.errors import RowError

_REFUSALS: Final = (pa.ArrowException, OverflowError, TypeError, ValueError, AttributeError, ArithmeticError)
_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_NUMBERS: Final = {
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "uuid": pa.string(),
    "bytes": pa.binary(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us", "UTC"),
    "datetime": pa.timestamp("us"),
}
#: Elements of an array that are written in the way of its column.
_DECODED: Final = ("timestamp", "date", "bits")
_DAY_US: Final = 86_400_000_000
_YEAR_1_S: Final = -62_135_596_800
_A_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
#: What Debezium writes for infinity and minus infinity of PostgreSQL, by kind and unit.
_INFINITY: Final = {
    ("date", "d"): (2**31 - 1, -(2**31)),
    ("datetime", "ms"): (9223372036825200, -9223372036832400),
    ("datetime", "us"): (9223372036825200000, -9223372036832400000),
}


def cells(
    meaning: Meaning, column: FieldColumn, takes: sqlalchemy.types.TypeEngine[Any], zones: Zones, *, filled: bool = True
) -> pa.Array:
    """A field's values as an Arrow array for a column of this type.

    Args:
        meaning: of the field's values.
        column: the field's values.
        takes: the column's type in the database.
        zones: see there.
        filled: whether a null becomes the default of the field's schema.

    Raises:
        RowError: a value cannot be what its schema says.
    """
    try:
        array = zones.adapted(meaning, _plain(meaning, column, takes, zones), takes)
        if zones.postgresql and _is_before_christ(array):
            array = _texts(array)
        default = column.schema.default
        if filled and default is not None and array.null_count:
            one = cells(meaning, FieldColumn(column.schema, [default]), takes, zones, filled=False)
            if pa.types.is_string(one.type):  # infinity, for example, among dates
                array = array.cast(pa.string())
            array = array.fill_null(one.cast(array.type)[0])
    except _REFUSALS as error:
        raise RowError(f"holds a value that is not of the type {meaning.kind}: {error}") from error
    return array


class Zones:
    """How dates and times without a zone are read.

    Args:
        database: of columns without a zone, `db.timezone`.
        dates: whether a Date is an instant, too, that is read in that zone (`date.timezone=DB_TIMEZONE`, what Java
            does).
        postgresql: whether the database is one, which has infinite dates and times, and arrays.
    """

    def __init__(self, database: ZoneInfo, *, dates: bool, postgresql: bool = False) -> None:
        self.database = database
        self.postgresql = postgresql
        self._name = None if str(database) in ("UTC", "Etc/UTC", "Z", "GMT") else str(database)
        self._dates = dates

    def adapted(self, meaning: Meaning, array: pa.Array, takes: sqlalchemy.types.TypeEngine[Any]) -> pa.Array:
        """The same values for a column of this type."""
        if meaning.kind == "float32" and isinstance(takes, sqlalchemy.Double):
            return array.cast(pa.float64())  # the number that it is, not what its shortest digits are there
        if meaning.kind in ("timestamp", "zoned") and pa.types.is_timestamp(array.type):
            if isinstance(takes, sqlalchemy.BigInteger | sqlalchemy.Integer):
                return array.cast(pa.timestamp("ms", "UTC")).view(pa.int64())
            if not isinstance(takes, sqlalchemy.DateTime) or not takes.timezone:
                return self._wall_clock(array)
        elif (
            meaning.kind == "date"
            and not meaning.unit
            and self._dates
            and self._name is not None
            and pa.types.is_date32(array.type)
        ):
            midnight = array.cast(pa.timestamp("s")).cast(pa.timestamp("s", "UTC"))
            return self._wall_clock(midnight).cast(pa.date32(), safe=False)
        return array

    def instants(self, clocks: pa.Array) -> pa.Array:
        """Dates and times without a zone, for a column that has one."""
        return pc.assume_timezone(clocks, self._name or "UTC", ambiguous="earliest", nonexistent="earliest")

    def _wall_clock(self, instants: pa.Array) -> pa.Array:
        if self._name is None:
            return instants.view(pa.timestamp(instants.type.unit))
        return pc.local_timestamp(instants.cast(pa.timestamp(instants.type.unit, self._name)))


def _plain(meaning: Meaning, column: FieldColumn, takes: sqlalchemy.types.TypeEngine[Any], zones: Zones) -> pa.Array:
    kind = meaning.kind
    if kind == "json":
        return _json(meaning, column)
    if kind == "array":
        assert meaning.element is not None
        write: Callable[[Any], str] = _json_text
        of: sqlalchemy.types.TypeEngine[Any] = sqlalchemy.types.NULLTYPE
        if isinstance(takes, sqlalchemy.ARRAY):
            write, of = _array_text, takes.item_type
        elif zones.postgresql and isinstance(takes, sqlalchemy.types.NullType):
            write = _array_text  # of a type that SQLAlchemy does not know, such as XML; it knows JSON
        # In JSON, instants keep their zone, and bits their bytes.
        decoded = meaning.element.unit or (write is _array_text and meaning.element.kind in _DECODED)
        items = _elements(meaning.element, column, of, zones) if decoded else column.items
        return pa.array([None if item is None else write(item) for item in items], pa.string())
    if kind == "zoned":
        return _zoned(column, takes)
    if kind == "decimal":
        return _with_scales(column) if meaning.unit else _decimals(column)
    if kind == "zonedtime" and isinstance(takes, sqlalchemy.Time) and not takes.timezone:
        return pa.array([None if item is None else _in_utc(item) for item in column.items], pa.time64("us"))
    if kind == "bits":
        return _bits(meaning, column, takes)
    if kind == "duration":
        return _durations(column, takes)
    if meaning.unit:
        counted = _counted(meaning, column, takes)
        if meaning.kind == "datetime" and isinstance(takes, sqlalchemy.DateTime) and takes.timezone:
            counted = zones.instants(counted)
        return _infinite(meaning, column.array, counted) if zones.postgresql else counted
    if column.is_arrow or kind not in ("timestamp", "time"):
        try:
            return column.array
        except NoArrowForm as error:
            raise ValueError(str(error.__cause__ or error)) from error
    # Connect's own encoding has milliseconds; Python's values have more.
    return pa.array(column.items, _NUMBERS[kind])


def _decimals(column: FieldColumn) -> pa.Array:
    try:
        return column.array
    except NoArrowForm:
        # More digits than Arrow has.
        items = column.items
        if any(not isinstance(item, Decimal | int | None) for item in items):
            raise TypeError("it is not a Decimal") from None
        return pa.array([None if item is None else format(Decimal(item), "f") for item in items], pa.string())


def _with_scales(column: FieldColumn) -> pa.Array:
    """Decimals that each have a scale of their own, Debezium's structs, as texts."""
    texts = [
        None
        if item is None
        else format(Decimal(int.from_bytes(item["value"], "big", signed=True)).scaleb(-item["scale"], _EXACT), "f")
        for item in column.items
    ]
    return pa.array(texts, pa.string())


def _counted(meaning: Meaning, column: FieldColumn, takes: sqlalchemy.types.TypeEngine[Any]) -> pa.Array:
    """Numbers since the epoch, or midnight."""
    array = column.array
    if meaning.kind == "date":
        return array.cast(pa.int32()).view(pa.date32())
    if meaning.kind == "time":
        counts = array.cast(pa.int64())
        if meaning.unit == "ns":
            counts = pc.divide(counts, 1000)
        return _times(pc.multiply_checked(counts, 1000) if meaning.unit == "ms" else counts, takes)
    zone = "UTC" if meaning.kind == "timestamp" else None
    counted = array.cast(pa.int64()).view(pa.timestamp(meaning.unit, zone))
    if meaning.unit == "ns":
        return pc.floor_temporal(counted, unit="microsecond").cast(pa.timestamp("us", zone))
    return counted


def _infinite(meaning: Meaning, counts: pa.Array, counted: pa.Array) -> pa.Array:
    """The same as texts, where some are what Debezium writes for infinity."""
    ends = _INFINITY.get((meaning.kind, meaning.unit))
    if ends is None:
        return counted
    kinds = [pc.equal(counts, end) for end in ends]
    if not any(pc.any(kind).as_py() for kind in kinds):
        return counted
    texts = _texts(pc.if_else(pc.or_(*kinds), None, counted))
    for kind, text in zip(kinds, ("infinity", "-infinity"), strict=True):
        texts = pc.if_else(kind, text, texts)
    return texts


def _times(micros: pa.Array, takes: sqlalchemy.types.TypeEngine[Any]) -> pa.Array:
    """Microseconds since midnight as times of day; as texts where some are none and the database has such times."""
    ends = pc.min_max(micros).as_py()
    if ends["min"] is None or (ends["min"] >= 0 and ends["max"] < _DAY_US):
        return micros.view(pa.time64("us"))
    # MySQL has times of some weeks, and negative ones; PostgreSQL has 24:00.
    if not isinstance(takes, mysql.TIME | postgresql.TIME):
        raise ValueError(f"{_clock(ends['min'] if ends['min'] < 0 else ends['max'])} is not a time of day")
    return pa.array([None if item is None else _clock(item) for item in micros.to_pylist()], pa.string())


def _zoned(column: FieldColumn, takes: sqlalchemy.types.TypeEngine[Any]) -> pa.Array:
    if not isinstance(takes, sqlalchemy.DateTime):
        return column.array
    try:
        read = [None if item is None else dt.datetime.fromisoformat(item) for item in column.items]
    except ValueError:
        if not (isinstance(takes, postgresql.TIMESTAMP) and takes.timezone):
            raise
        # Infinity, and years that Python does not have.
        return pa.array([None if item is None else _in_postgresql(item) for item in column.items], pa.string())
    return pa.array(read, pa.timestamp("us", "UTC"))


def _is_before_christ(array: pa.Array) -> bool:
    """Whether some of these are dates, or moments, before the year 1."""
    if pa.types.is_date32(array.type):
        array = array.cast(pa.timestamp("s"))
    if not pa.types.is_timestamp(array.type):
        return False
    lowest = pc.min(array.view(pa.int64())).as_py()
    return lowest is not None and lowest < _YEAR_1_S * _A_SECOND[array.type.unit]


def _texts(moments: pa.Array) -> pa.Array:
    """Dates, or moments, as PostgreSQL reads them."""
    written = moments.cast(pa.string()).to_pylist()
    return pa.array([None if item is None else _in_postgresql(item) for item in written], pa.string())


def _in_postgresql(written: str) -> str:
    """A date or an instant in ISO 8601 as PostgreSQL reads it: years before 1 are those before Christ."""
    year, dash, rest = written.lstrip("-").partition("-")
    if year.isdigit() and (written.startswith("-") or not int(year)):
        return f"{int(year) + 1:04d}{dash}{rest} BC"
    return written.removeprefix("+")


def _in_utc(text: str) -> dt.time:
    """A time with a zone in UTC, for a column without one."""
    read = dt.time.fromisoformat(text)
    return (dt.datetime.combine(dt.date(2000, 1, 2), read) - (read.utcoffset() or dt.timedelta())).time()


def _bits(meaning: Meaning, column: FieldColumn, takes: sqlalchemy.types.TypeEngine[Any]) -> pa.Array:
    """Bits, the lowest byte first, in the column's form: digits, bytes of a number, or these bytes."""
    if not isinstance(takes, postgresql.BIT | mysql.BIT):
        return column.array
    numbers = [None if item is None else int.from_bytes(item, "little") for item in column.items]
    if isinstance(takes, mysql.BIT):
        # As the bytes that it is held in: a number in a text would be taken for its digits.
        return pa.array([None if number is None else number.to_bytes(8, "big") for number in numbers], pa.binary())
    width = f"0{meaning.precision}b" if meaning.precision else "b"
    return pa.array([None if number is None else format(number, width) for number in numbers], pa.string())


def _durations(column: FieldColumn, takes: sqlalchemy.types.TypeEngine[Any]) -> pa.Array:
    """Microseconds, as hours, minutes and seconds for a column of intervals."""
    if not isinstance(takes, postgresql.INTERVAL):
        return column.array
    return pa.array([None if item is None else _clock(item) for item in column.items], pa.string())


def _clock(micros: int) -> str:
    seconds, fraction = divmod(abs(micros), 1_000_000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    return f"{'-' if micros < 0 else ''}{hours}:{minute:02}:{second:02}.{fraction:06}"


# Nested values.


def _elements(
    meaning: Meaning, column: FieldColumn, takes: sqlalchemy.types.TypeEngine[Any], zones: Zones
) -> list[list[Any] | None]:
    """Arrays of encoded numbers, dates and times, as arrays of their meanings in columns that take such elements."""
    schema, items = column.schema.value_schema, column.items
    assert schema is not None
    flat = FieldColumn(schema, [each for item in items if item is not None for each in item])
    decoded = iter(cells(meaning, flat, takes, zones, filled=False).to_pylist())
    return [None if item is None else [next(decoded) for _ in item] for item in items]


def _json(meaning: Meaning, column: FieldColumn) -> pa.Array:
    if meaning.unit == "text":
        return column.array
    return pa.array([None if item is None else _json_text(item) for item in column.items], pa.string())


def _json_text(item: Any) -> str:
    try:
        return orjson.dumps(item, default=_in_json, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        # Numbers of more than 64 bits, which orjson does not write.
        return json.dumps(item, default=_slowly_in_json, ensure_ascii=False, separators=(",", ":"))


def _in_json(value: Any) -> Any:
    if isinstance(value, Decimal):
        return orjson.Fragment(format(value, "f"))
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    raise TypeError(f"A {type(value).__name__} has no form in JSON.")


def _slowly_in_json(value: Any) -> Any:
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    found = _in_json(value)
    return format(value, "f") if isinstance(found, orjson.Fragment) else found


def _array_text(items: Sequence[Any]) -> str:
    """PostgreSQL's text of an array."""
    return "{" + ",".join(map(_element, items)) + "}"


def _element(item: Any) -> str:
    if item is None:
        return "NULL"
    if isinstance(item, bool):
        return "t" if item else "f"
    if isinstance(item, int | float | Decimal):
        return str(item)
    if isinstance(item, bytes | bytearray | memoryview):
        return f'"\\\\x{bytes(item).hex()}"'
    text = item if isinstance(item, str) else item.isoformat()
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# What a schema says of a single default, for a statement.


def literal(schema: Schema, meaning: Meaning) -> str | None:
    """A field's default as a literal of SQL; None for types that databases write differently."""
    value = schema.default
    if value is not None and meaning.kind == "date":
        try:
            day = value if isinstance(value, dt.date) else dt.date(1970, 1, 1) + dt.timedelta(days=value)
        except OverflowError:  # infinity, or a year that Python does not have
            return None
        return f"'{day.isoformat()}'"
    if value is None or meaning.unit:
        return None
    if isinstance(value, bool):
        return None if meaning.kind != "boolean" else ("TRUE" if value else "FALSE")
    if isinstance(value, int | Decimal):
        return format(value, "f") if isinstance(value, Decimal) else str(value)
    if isinstance(value, float):
        return repr(value) if value == value and abs(value) != float("inf") else None
    if isinstance(value, str) and schema.type is Type.STRING and "\\" not in value and "\0" not in value:
        return "'" + value.replace("'", "''") + "'"
    return None


def python_values(array: pa.Array) -> list[Any]:
    """The values for a driver.

    Raises:
        RowError: one is a date or time that Python does not have.
    """
    try:
        return array.to_pylist()  # type: ignore[no-any-return]
    except (OverflowError, ValueError) as error:
        raise RowError("it has a date or a time that is not of the years 1 to 9999.") from error


def python_rows(rows: pa.RecordBatch, change: Sequence[Callable[[Any], Any] | None]) -> list[tuple[Any, ...]]:
    """Rows as tuples for a driver.

    Args:
        change: for each column the conversion of its values that are not null, if any.
    """
    columns = []
    for array, convert in zip(rows.columns, change, strict=True):
        items = python_values(array)
        columns.append(items if convert is None else [None if item is None else convert(item) for item in items])
    return list(zip(*columns, strict=True))
