"""CAST: conversions between types. A value that does not fit is an error; TRY_CAST makes it null."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, DecimalException
from functools import lru_cache
from typing import Any, Final, NamedTuple

from connect import DataError
from connect.data.text import float32
from transforms.expressions.functions import rounded, whole
from transforms.expressions.kinds import Kind, Typed, kind_of
from transforms.expressions.moments import as_timestamp
from transforms.expressions.texts import as_text


class Target(NamedTuple):
    """The type that a name in CAST stands for."""

    typed: Typed
    convert: Callable[[Any], Any]


_WHOLE: Final = {"tinyint": 8, "smallint": 16, "int": 32, "integer": 32, "bigint": 64}
_MOST_DIGITS: Final = 38
_NUMBER: Final = re.compile(r"\s*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?\s*", re.IGNORECASE)
_SPECIAL: Final = re.compile(r"\s*[+-]?(?:inf(?:inity)?|nan)\s*", re.IGNORECASE)


@lru_cache(maxsize=100)
def target(name: str) -> Target:
    """The type of this name, as sqlglot spells it.

    Raises:
        DataError: there is no such type.
    """
    base, _, numbers = name.rstrip(")").partition("(")
    limits = [int(number) for number in numbers.split(",") if number.isdigit()]
    if base in _WHOLE:
        return Target(Typed(Kind.INTEGER), lambda value: _integer(value, _WHOLE[base]))
    if base in ("float", "real", "double"):
        return Target(Typed(Kind.DOUBLE), _single if base != "double" else _double)
    if base == "decimal":
        precision, scale = (*limits, *([_MOST_DIGITS, 0] if not limits else [0]))[:2]
        if not 0 <= scale <= precision <= _MOST_DIGITS:
            raise DataError(f"a decimal has at most {_MOST_DIGITS} digits, including those after the point.")
        return Target(Typed(Kind.DECIMAL, scale), lambda value: _decimal(value, precision, scale))
    if base in ("varchar", "text", "char", "nvarchar", "nchar", "bpchar"):
        length = limits[0] if limits else None
        return Target(Typed(Kind.TEXT), lambda value: as_text(value)[:length])
    found = _OTHERS.get(base)
    if found is None:
        raise DataError(
            f'there is no type "{base}". Types are boolean, smallint, int, bigint, real, double, decimal(p, s), '
            "varchar, bytea, date, time and timestamp."
        )
    return found


def _refused(value: Any, what: str) -> DataError:
    shown = f' "{value}"' if isinstance(value, str | int | float | Decimal) and len(str(value)) <= 40 else ""
    return DataError(f"{kind_of(value).value}{shown} cannot be cast to {what}.")


def _integer(value: Any, bits: int) -> int:
    kind = kind_of(value)
    if kind is Kind.BOOLEAN:
        return int(value)
    if kind is Kind.TEXT:
        if not re.fullmatch(r"\s*[+-]?[0-9]{1,40}\s*", value):
            raise _refused(value, Kind.INTEGER.value)
        value = int(value)
    elif kind in (Kind.DOUBLE, Kind.DECIMAL):
        if value - value != 0 if kind is Kind.DOUBLE else not value.is_finite():
            raise _refused(value, Kind.INTEGER.value)
        value = int(rounded(value))
    elif kind is not Kind.INTEGER:
        raise _refused(value, Kind.INTEGER.value)
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise DataError(f"{value if abs(value) < 10**40 else 'a number'} does not fit into {bits} bits.")
    return whole(value)


def _double(value: Any) -> float:
    kind = kind_of(value)
    if kind is Kind.TEXT:
        if not _NUMBER.fullmatch(value) and not _SPECIAL.fullmatch(value):
            raise _refused(value, Kind.DOUBLE.value)
    elif kind not in (Kind.BOOLEAN, Kind.INTEGER, Kind.DOUBLE, Kind.DECIMAL):
        raise _refused(value, Kind.DOUBLE.value)
    try:
        return float(value)
    except (OverflowError, ValueError):
        raise _refused(value, Kind.DOUBLE.value) from None


def _single(value: Any) -> float:
    return float32(_double(value))


def _decimal(value: Any, precision: int, scale: int) -> Decimal:
    kind = kind_of(value)
    if kind is Kind.TEXT:
        if not _NUMBER.fullmatch(value):
            raise _refused(value, Kind.DECIMAL.value)
    elif kind not in (Kind.INTEGER, Kind.DOUBLE, Kind.DECIMAL):
        raise _refused(value, Kind.DECIMAL.value)
    try:
        exact = Decimal(repr(value) if isinstance(value, float) else value)
        fitted = exact.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, Context(prec=800))
    except (DecimalException, ValueError):
        raise _refused(value, Kind.DECIMAL.value) from None
    if not fitted.is_finite():
        raise _refused(value, Kind.DECIMAL.value)
    if len(fitted.as_tuple().digits) > precision:
        raise DataError(f"{fitted} has more than {precision} digits.")
    return fitted


def _boolean(value: Any) -> bool:
    kind = kind_of(value)
    if kind is Kind.TEXT:
        word = value.strip().lower()
        if word in ("true", "t", "yes", "on", "1"):
            return True
        if word in ("false", "f", "no", "off", "0"):
            return False
    elif kind in (Kind.BOOLEAN, Kind.INTEGER):
        return bool(value)
    raise _refused(value, Kind.BOOLEAN.value)


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if kind_of(value) is not Kind.BYTES:
        raise _refused(value, Kind.BYTES.value)
    return bytes(value)


def _date(value: Any) -> dt.date:
    kind = kind_of(value)
    if kind is Kind.DATE:
        return value  # type: ignore[no-any-return]
    if kind is Kind.TIMESTAMP:
        return as_timestamp(value).date()
    try:
        if kind is Kind.TEXT and re.fullmatch(r"\d{4}-\d\d-\d\d", value.strip()):
            return dt.date.fromisoformat(value.strip())
    except ValueError:
        pass
    raise _refused(value, f"{Kind.DATE.value} (written as 2026-11-22)")


def _time(value: Any) -> dt.time:
    kind = kind_of(value)
    if kind is Kind.TIME:
        return value  # type: ignore[no-any-return]
    if kind is Kind.TIMESTAMP:
        return as_timestamp(value).time()
    try:
        if kind is Kind.TEXT and re.fullmatch(r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?", value.strip()):
            return dt.time.fromisoformat(value.strip())
    except ValueError:
        pass
    raise _refused(value, f"{Kind.TIME.value} (written as 23:59:59)")


_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)?)?", re.IGNORECASE)


def _timestamp(value: Any) -> dt.datetime:
    kind = kind_of(value)
    if kind in (Kind.DATE, Kind.TIMESTAMP):
        return as_timestamp(value)
    try:
        if kind is Kind.TEXT and _MOMENT.fullmatch(value.strip()):
            text = re.sub(r"(\.\d{6})\d+", r"\1", value.strip())
            return as_timestamp(dt.datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        pass
    raise _refused(value, f"{Kind.TIMESTAMP.value} (written as 2026-11-22T23:59:59Z)")


_OTHERS: Final = {
    "boolean": Target(Typed(Kind.BOOLEAN), _boolean),
    "varbinary": Target(Typed(Kind.BYTES), _bytes),
    "binary": Target(Typed(Kind.BYTES), _bytes),
    "date": Target(Typed(Kind.DATE), _date),
    "time": Target(Typed(Kind.TIME), _time),
    "timestamp": Target(Typed(Kind.TIMESTAMP), _timestamp),
    "timestamptz": Target(Typed(Kind.TIMESTAMP), _timestamp),
}
