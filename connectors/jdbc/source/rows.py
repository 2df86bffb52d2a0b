"""A database driver's columns in Connect's form: lists of Python values, or Arrow arrays.

A timestamp without a zone is that of a clock in `db.timezone`. Of an hour that a clock showed twice it is the first;
one that no clock showed counts as the moment before the clock was moved on.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Context, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

from connect import ConnectError, DataError, Schema, StructColumns, Type
from connect.data import logical
from connect.data.times import EPOCH
from connectors.jdbc.database.columns import UNTOLD_SCALE, Column, Kind, Mapping, row_schema

if TYPE_CHECKING:
    import pyarrow as pa

#: The most bytes of a database's text that one batch is made of.
MOST_BYTES: Final = 8 * 1024 * 1024

#: A column as it was read: Python values, or Arrow.
Read = Any

_EPOCH: Final = EPOCH.replace(tzinfo=None)
_MICROSECOND: Final = dt.timedelta(microseconds=1)
_DAY: Final = dt.timedelta(days=1)
_INT64: Final = 1 << 63
_TRUE: Final = ("t", "true", "1")


class Rows:
    """How rows of these columns are converted.

    Args:
        columns: of the result.
        name: of the schema: the table's, or None for a query.
        mapping: how columns become fields.
        zone: `db.timezone`.
        where: the rows in errors: `table orders`.
    """

    def __init__(
        self, columns: Sequence[Column], name: str | None, mapping: Mapping, zone: ZoneInfo, where: str
    ) -> None:
        self.columns = tuple(columns)
        self.schema = row_schema(columns, name, mapping)
        self.zone = zone
        self._mapping = mapping
        self._where = where
        self._indexes = {column.name: index for index, column in enumerate(columns)}
        self._to_python = [self._converter(c, f.schema) for c, f in zip(columns, self.schema.fields, strict=True)]

    def index(self, name: str, key: str) -> int:
        """The position of a column that a key names: exact, else case-insensitive.

        Raises:
            ConnectError: there is no such column.
        """
        if name in self._indexes:
            return self._indexes[name]
        alike = [index for other, index in self._indexes.items() if other.lower() == name.lower()]
        if len(alike) != 1:
            there = ", ".join(self._indexes)
            raise ConnectError(f'{key}: {self._where} has no column "{name}". It has {there}.')
        return alike[0]

    def values(self, read: Sequence[Read]) -> StructColumns:
        """The records' values.

        Raises:
            DataError: a value does not fit its field.
        """
        columns: list[Any] = []
        for column, field, convert, items in zip(self.columns, self.schema.fields, self._to_python, read, strict=True):
            try:
                if isinstance(items, list | tuple):
                    columns.append(convert(items))
                else:
                    columns.append(self._of_arrow(column, field.schema, convert, items))
            except (ValueError, OverflowError, TypeError, InvalidOperation, AttributeError) as error:
                raise DataError(
                    f'Column "{column.name}" ({column.declared or column.kind.value}) of {self._where} holds a value '
                    f"that has no place in a record: {error}"
                ) from error
        return StructColumns(self.schema, columns)

    # From Python.

    def _converter(self, column: Column, schema: Schema) -> Callable[[Sequence[Any]], list[Any]]:
        if schema.name == logical.DECIMAL_NAME:
            exponent = Decimal(1).scaleb(-logical.scale_of(schema))
            digits = _Digits(exponent, column.scale is None)
            return _each(digits)
        kind = column.kind
        if kind in _SIMPLE:
            return _each(_SIMPLE[kind])
        if kind is Kind.NUMERIC:
            return _each(float if schema.type is Type.FLOAT64 else int)
        if kind in (Kind.WALL_CLOCK, Kind.MOMENT):
            write = self._writer(schema)
            return _each(lambda value: write(self.moment(value)))
        return list

    def _writer(self, schema: Schema) -> Callable[[int], Any]:
        """The conversion of microseconds since 1970."""
        chosen = self._mapping.timestamps
        if schema.name == logical.TIMESTAMP_NAME:
            return lambda micros: EPOCH + dt.timedelta(milliseconds=micros // 1000)
        unit, _, form = chosen.partition("_")
        factor = 1000 if unit == "nanos" else 1
        if form == "long":
            return lambda micros: micros * factor
        if form == "string":
            return lambda micros: str(micros * factor)
        zeros = "000" if unit == "nanos" else ""
        return lambda micros: self.wall_clock(micros).isoformat(timespec="microseconds") + zeros

    # Moments.

    def moment(self, value: Any) -> int:
        """Microseconds since 1970, UTC, of a timestamp or date as a driver has it."""
        if isinstance(value, str):
            value = parsed_time(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            return int(value * 1000)  # milliseconds, as Java writes them into SQLite
        if not isinstance(value, dt.datetime):
            value = dt.datetime.combine(value, dt.time())
        if value.tzinfo is not None:
            return int((value - EPOCH) // _MICROSECOND)
        if self.zone.key == "UTC":
            return int((value - _EPOCH) // _MICROSECOND)
        moment = value.replace(tzinfo=self.zone).astimezone(dt.UTC)
        if moment.astimezone(self.zone).replace(tzinfo=None) != value:
            moment = value.replace(tzinfo=self.zone, fold=1).astimezone(dt.UTC)
        return int((moment - EPOCH) // _MICROSECOND)

    def wall_clock(self, micros: int) -> dt.datetime:
        """The clock of `db.timezone` at a moment."""
        moment = EPOCH + dt.timedelta(microseconds=micros)
        return moment.astimezone(self.zone).replace(tzinfo=None)

    def moments(self, index: int, read: Read) -> list[int | None]:
        """The moments in a column, in microseconds since 1970."""
        if isinstance(read, list | tuple):
            return [None if value is None else self.moment(value) for value in read]
        import pyarrow as pa

        if pa.types.is_date(read.type):
            read = read.cast(pa.timestamp("us"))
        if read.type.tz is None and self.zone.key != "UTC":
            return [None if value is None else self.moment(value) for value in read.to_pylist()]
        found: list[int | None] = read.view(pa.int64()).to_pylist()
        return found

    # From Arrow, as the text of PostgreSQL is read.

    def arrow_types(self) -> list[pa.DataType]:
        """The Arrow type for parsing each column of a CSV text."""
        import pyarrow as pa

        from connect.data.arrow import PLAIN_TYPES

        times = {Kind.WALL_CLOCK: pa.timestamp("us"), Kind.MOMENT: pa.timestamp("us", "UTC"), Kind.DATE: pa.date32()}
        types: list[pa.DataType] = []
        for column, field in zip(self.columns, self.schema.fields, strict=True):
            schema = field.schema
            if schema.name == logical.DECIMAL_NAME:
                scale = logical.scale_of(schema)
                fits = column.scale is not None and (column.precision or 99) <= 38 and scale <= 38
                types.append(pa.decimal128(38, scale) if fits else pa.string())
            elif column.kind in times:
                types.append(times[column.kind])
            elif column.kind is Kind.TIME:
                types.append(pa.string() if "with time zone" in column.declared else pa.time64("us"))
            elif schema.type is Type.BYTES:
                types.append(pa.string())
            else:
                types.append(PLAIN_TYPES.get(schema.type, pa.string()))
        return types

    def _of_arrow(
        self, column: Column, schema: Schema, convert: Callable[[Sequence[Any]], list[Any]], items: Any
    ) -> Any:
        import pyarrow as pa

        if schema.name == logical.TIMESTAMP_NAME:
            from connect.data.arrow import arrow_type

            return self._milliseconds(items).view(arrow_type(schema))
        if column.kind is Kind.BYTES:
            return [None if text is None else bytes.fromhex(text[2:]) for text in items.to_pylist()]
        if schema.name == logical.DECIMAL_NAME and pa.types.is_string(items.type):
            return convert([None if text is None else Decimal(text) for text in items.to_pylist()])
        if schema.name == logical.TIME_NAME and pa.types.is_time(items.type):
            return items.cast(pa.time32("ms"), safe=False)
        if schema.name == logical.TIME_NAME or column.kind in (Kind.WALL_CLOCK, Kind.MOMENT):
            return convert(items.to_pylist())
        return items

    def _milliseconds(self, items: Any) -> Any:
        """Timestamps as whole milliseconds since 1970, cut off towards the past."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if items.type.tz is None and self.zone.key != "UTC":
            micros = pa.array(self.moments(0, items), pa.int64())
        else:
            micros = items.view(pa.int64())
        wrong = pc.less(micros, 0)
        whole = pc.divide(micros, 1000)
        if pc.any(wrong).as_py():
            # Division cuts towards zero, which is the future before 1970.
            late = pc.and_(wrong, pc.not_equal(pc.multiply(whole, 1000), micros))
            whole = pc.subtract(whole, pc.cast(late, pa.int64()))
        return whole


class _Digits:
    """Brings decimals to the scale of their schema."""

    def __init__(self, exponent: Decimal, untold: bool) -> None:
        self._exponent = exponent
        self._untold = untold

    def __call__(self, value: Any) -> Decimal:
        number = value if isinstance(value, Decimal) else Decimal(str(value))
        if not number.is_finite():
            raise ValueError(f"{number} is not a number that Decimal takes. Choose another numeric.mapping.")
        brought = number.quantize(self._exponent, context=Context(prec=2000, Emin=-100_000, Emax=100_000))
        if self._untold and brought != number:
            raise ValueError(
                f"a number has more than {UNTOLD_SCALE} digits after the point. Choose another numeric.mapping, or "
                "give the column a scale."
            )
        return brought


def _each(convert: Callable[[Any], Any]) -> Callable[[Sequence[Any]], list[Any]]:
    def converted(items: Sequence[Any]) -> list[Any]:
        return [None if item is None else convert(item) for item in items]

    return converted


def parsed_time(written: str) -> dt.datetime:
    """A timestamp in ISO 8601, as SQLite holds it in a text. Raises ValueError."""
    return dt.datetime.fromisoformat(written.strip())


def _boolean(value: Any) -> bool:
    if isinstance(value, str):
        return value.lower() in _TRUE
    return bool(value)


def _whole(value: Any) -> int:
    if isinstance(value, bytes):
        return int.from_bytes(value, "big")
    number = int(value)
    if number != value and not isinstance(value, str):
        raise ValueError(f"{value} is not whole.")
    return number


def _int64(value: Any) -> int:
    number = _whole(value)
    if not -_INT64 <= number < _INT64:
        raise ValueError(f"{number} has more than 64 bits with its sign. Cast it in a query.")
    return number


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode()
    if isinstance(value, dict | list):
        import json

        return json.dumps(value, default=str)
    return str(value)


def _bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _date(value: Any) -> dt.date:
    if isinstance(value, str):
        value = parsed_time(value)
    elif isinstance(value, int):
        value = _EPOCH + dt.timedelta(milliseconds=value)
    return value.date() if isinstance(value, dt.datetime) else dt.date(value.year, value.month, value.day)


def _time(value: Any) -> dt.time:
    if isinstance(value, str):
        value = dt.time.fromisoformat(value)
    if isinstance(value, int):
        value = dt.timedelta(milliseconds=value)
    if isinstance(value, dt.timedelta):
        if not dt.timedelta(0) <= value < _DAY:
            raise ValueError(f"{value} is not a time of day.")
        value = (_EPOCH + value).time()
    if value.tzinfo is not None:
        value = dt.datetime.combine(dt.date(2000, 1, 2), value).astimezone(dt.UTC).time()
    return dt.time(value.hour, value.minute, value.second, value.microsecond // 1000 * 1000)


_SIMPLE: Final[dict[Kind, Callable[[Any], Any]]] = {
    Kind.BOOLEAN: _boolean,
    Kind.INT8: _whole,
    Kind.INT16: _whole,
    Kind.INT32: _whole,
    Kind.INT64: _int64,
    Kind.FLOAT32: float,
    Kind.FLOAT64: float,
    Kind.STRING: _text,
    Kind.BYTES: _bytes,
    Kind.DATE: _date,
    Kind.TIME: _time,
}
