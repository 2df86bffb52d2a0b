"""Logical types: Decimal, Date, Time and Timestamp as Python's own decimal.Decimal, date, time and datetime.

A logical type is a schema's name together with the type that it is encoded as: Decimal in BYTES (two's complement, big
endian, scale as a parameter), Date in INT32 (days since 1970-01-01), Time in INT32 (milliseconds since midnight),
Timestamp in INT64 (milliseconds since the epoch, UTC).
"""

from __future__ import annotations

import datetime as dt
import sys
from decimal import Decimal
from typing import Any, Final

from connect.data.schema import Schema, Type
from connect.data.times import DAY_MS, EPOCH, EPOCH_DAY
from connect.errors import SchemaError

DECIMAL_NAME: Final = "org.apache.kafka.connect.data.Decimal"
DATE_NAME: Final = "org.apache.kafka.connect.data.Date"
TIME_NAME: Final = "org.apache.kafka.connect.data.Time"
TIMESTAMP_NAME: Final = "org.apache.kafka.connect.data.Timestamp"
SCALE: Final = "scale"

DATE: Final = Schema(Type.INT32, name=DATE_NAME, version=1)
TIME: Final = Schema(Type.INT32, name=TIME_NAME, version=1)
TIMESTAMP: Final = Schema(Type.INT64, name=TIMESTAMP_NAME, version=1)

_MILLISECOND: Final = dt.timedelta(milliseconds=1)

_PYTHON_TYPES: Final[dict[str, type]] = {
    DECIMAL_NAME: Decimal,
    DATE_NAME: dt.date,
    TIME_NAME: dt.time,
    TIMESTAMP_NAME: dt.datetime,
}


def decimal(scale: int, **attributes: Any) -> Schema:
    """The schema of decimals with this many digits after the point."""
    return Schema(Type.BYTES, name=DECIMAL_NAME, version=1, parameters={SCALE: str(scale)}, **attributes)


def python_type(schema: Schema) -> type | None:
    """The Python type of a logical type's values; None when the schema is not of a logical type."""
    return _PYTHON_TYPES.get(schema.name) if schema.name is not None else None


def scale_of(schema: Schema) -> int:
    """The number of digits after the point of a Decimal schema."""
    try:
        return int(schema.parameters[SCALE])
    except (KeyError, ValueError):
        raise SchemaError(f"{DECIMAL_NAME} needs a whole number as its parameter {SCALE}.") from None


def encode(schema: Schema, value: Any) -> Any:
    """The int or bytes for a logical value, in its schema's type. Other values are returned as they are.

    Raises:
        SchemaError: the value cannot be encoded without loss, such as a decimal of another scale.
    """
    match schema.name:
        case "org.apache.kafka.connect.data.Decimal":
            return _decimal_to_bytes(schema, value)
        case "org.apache.kafka.connect.data.Date":
            return value.toordinal() - EPOCH_DAY
        case "org.apache.kafka.connect.data.Time":
            return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
        case "org.apache.kafka.connect.data.Timestamp":
            aware = value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)
            return (aware - EPOCH) // _MILLISECOND
    return value


def decode(schema: Schema, encoded: Any) -> Any:
    """The logical value of an int or bytes. Values of schemas without a logical type are returned as they are.

    Raises:
        SchemaError: outside the range of Python's types (years 1 to 9999, a day's milliseconds).
    """
    match schema.name:
        case "org.apache.kafka.connect.data.Decimal":
            return scaled(int.from_bytes(encoded, "big", signed=True), scale_of(schema))
        case "org.apache.kafka.connect.data.Date":
            try:
                return dt.date.fromordinal(encoded + EPOCH_DAY)
            except (ValueError, OverflowError):
                raise SchemaError(f"{encoded} days since 1970 is outside the years 1 to 9999.") from None
        case "org.apache.kafka.connect.data.Time":
            if not 0 <= encoded < DAY_MS:
                raise SchemaError(f"{encoded} ms is not a time of day.")
            seconds, ms = divmod(encoded, 1000)
            minutes, second = divmod(seconds, 60)
            hour, minute = divmod(minutes, 60)
            return dt.time(hour, minute, second, ms * 1000)
        case "org.apache.kafka.connect.data.Timestamp":
            try:
                return EPOCH + dt.timedelta(milliseconds=encoded)
            except OverflowError:
                raise SchemaError(f"{encoded} ms since 1970 is outside the years 1 to 9999.") from None
    return encoded


def scaled(number: int, scale: int) -> Decimal:
    """A number with so many of its digits behind the point.

    Raises:
        SchemaError: it has more digits than Python converts, which takes their square in time.
    """
    try:
        return Decimal(f"{number}E{-scale}")
    except ValueError:
        raise _too_many_digits() from None


def unscaled(value: Decimal) -> int:
    """All digits of a decimal as a whole number.

    Raises:
        SchemaError: as above.
    """
    sign, digits, _ = value.as_tuple()
    try:
        number = int("".join(map(str, digits)))
    except ValueError:
        raise _too_many_digits() from None
    return -number if sign else number


def _too_many_digits() -> SchemaError:
    most = sys.get_int_max_str_digits()
    return SchemaError(f"A decimal has more than {most} digits. PYTHONINTMAXSTRDIGITS, of the worker, allows more.")


def _decimal_to_bytes(schema: Schema, value: Decimal) -> bytes:
    exponent = value.as_tuple().exponent
    scale = scale_of(schema)
    if not isinstance(exponent, int) or -exponent != scale:
        raise SchemaError(
            f"Decimal {value} has scale {-exponent if isinstance(exponent, int) else exponent}, not {scale}."
        )
    number = unscaled(value)
    # Two's complement in the fewest bytes, at least one, as BigInteger.toByteArray has it.
    length = (number + (number < 0)).bit_length() // 8 + 1
    return number.to_bytes(length, "big", signed=True)
