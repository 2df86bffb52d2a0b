"""Functions over dates, times and timestamps. The parts of a timestamp are those in UTC."""

from __future__ import annotations

import calendar
import datetime as dt
from typing import Any, Final

from connect import DataError
from connect.data.times import EPOCH, timestamp_ms, timestamp_of
from transforms.expressions.kinds import Interval, Kind, kind_of
from transforms.expressions.registry import INTEGER, TEXT, function

_MILLISECOND: Final = dt.timedelta(milliseconds=1)
_MOMENT: Final = (Kind.DATE, Kind.TIMESTAMP)
_UNITS: Final = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond")
_SPANS: Final = {"week": 604_800_000, "day": 86_400_000, "hour": 3_600_000, "minute": 60_000, "second": 1000}


def as_timestamp(value: Any) -> dt.datetime:
    """A date as its midnight; a timestamp without a zone as UTC."""
    if not isinstance(value, dt.datetime):
        return dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
    return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)


def written(value: dt.date | dt.time) -> str:
    """ISO 8601, with milliseconds where there are any; a timestamp ends with Z."""
    if isinstance(value, dt.datetime):
        moment = as_timestamp(value)
        spec = "milliseconds" if moment.microsecond else "seconds"
        return moment.isoformat(timespec=spec).removesuffix("+00:00") + "Z"
    if isinstance(value, dt.time):
        return value.isoformat(timespec="milliseconds" if value.microsecond else "seconds")
    return value.isoformat()


def shifted(moment: Any, span: Any, sign: int) -> Any:
    """A date or timestamp moved by an interval. A day that the month does not have becomes its last."""
    if kind_of(moment) not in _MOMENT or kind_of(span) is not Kind.INTERVAL:
        raise DataError("only an interval can be added to or subtracted from a date or timestamp. See date_diff.")
    try:
        return _shifted(moment, span, sign)
    except (OverflowError, ValueError):
        raise DataError("the result is outside the years 1 to 9999.") from None


def _shifted(moment: Any, span: Interval, sign: int) -> Any:
    if span.months:
        year, month = divmod(moment.year * 12 + moment.month - 1 + sign * span.months, 12)
        day = min(moment.day, calendar.monthrange(year, month + 1)[1])
        moment = moment.replace(year=year, month=month + 1, day=day)
    if not isinstance(moment, dt.datetime) and span.rest % dt.timedelta(days=1):
        raise DataError("a date can only be moved by whole days. Cast it to a timestamp first.")
    return moment + sign * span.rest


def _unit(name: str, known: tuple[str, ...] = _UNITS) -> str:
    unit = name.lower().removesuffix("s")
    if unit not in known:
        raise DataError(f'"{name}" is not a unit. Write one of {", ".join(known)}.')
    return unit


@function(
    "date_trunc", takes=[TEXT, _MOMENT], gives=lambda types: types[1]._replace(schema=None), example=("day", EPOCH)
)
def _date_trunc(name: str, value: Any) -> Any:
    unit = _unit(name)
    moment = as_timestamp(value)
    if unit == "week":
        moment -= dt.timedelta(days=moment.weekday())
    months = {"year": 1, "quarter": (moment.month - 1) // 3 * 3 + 1}
    fields: dict[str, int] = {}
    place = _UNITS.index(unit)
    if unit in months:
        fields |= {"month": months[unit], "day": 1}
    elif unit == "month":
        fields["day"] = 1
    for field, below in (("hour", 5), ("minute", 6), ("second", 7)):
        if place < below:
            fields[field] = 0
    fields["microsecond"] = moment.microsecond // 1000 * 1000 if unit == "millisecond" else 0
    moment = moment.replace(**fields)  # type: ignore[arg-type]
    return moment if isinstance(value, dt.datetime) else moment.date()


@function("date_part", "datepart", takes=[TEXT, _MOMENT], gives=Kind.INTEGER, example=("day", EPOCH))
def _date_part(name: str, value: Any) -> int:
    moment = as_timestamp(value)
    unit = _unit(name, (*_UNITS, "dow", "isodow", "doy", "epoch"))
    match unit:
        case "quarter":
            return (moment.month + 2) // 3
        case "week":
            return moment.isocalendar().week
        case "millisecond":
            return moment.second * 1000 + moment.microsecond // 1000
        case "dow":
            return moment.isoweekday() % 7
        case "isodow":
            return moment.isoweekday()
        case "doy":
            return moment.timetuple().tm_yday
        case "epoch":
            return (moment - EPOCH) // dt.timedelta(seconds=1)
    part: int = getattr(moment, unit)
    return part


for _name in ("year", "month", "day", "hour", "minute", "second"):
    function(_name, takes=[_MOMENT], gives=Kind.INTEGER)(lambda value, unit=_name: _date_part(unit, value))


@function("date_diff", "datediff", takes=[TEXT, _MOMENT, _MOMENT], gives=Kind.INTEGER, example=("day", EPOCH, EPOCH))
def _date_diff(name: str, start: Any, end: Any) -> int:
    """How many whole units lie between two times."""
    unit, a, b = _unit(name), as_timestamp(start), as_timestamp(end)
    if unit in ("year", "quarter", "month"):
        sign = 1 if b >= a else -1
        early, late = (a, b) if sign > 0 else (b, a)
        months = (late.year - early.year) * 12 + late.month - early.month
        if _shifted(early, Interval(months, dt.timedelta()), 1) > late:
            months -= 1
        return sign * (months // {"year": 12, "quarter": 3, "month": 1}[unit])
    span = (b - a) // _MILLISECOND
    width = _SPANS.get(unit, 1)
    return span // width if span >= 0 else -(-span // width)


@function("epoch_ms", takes=[_MOMENT], gives=Kind.INTEGER)
def _epoch_ms(value: Any) -> int:
    return timestamp_ms(as_timestamp(value))


function("from_epoch_ms", takes=[INTEGER], gives=Kind.TIMESTAMP)(timestamp_of)
function("from_epoch", "to_timestamp", takes=[INTEGER], gives=Kind.TIMESTAMP)(lambda value: timestamp_of(value * 1000))


@function("strftime", takes=[_MOMENT, TEXT], gives=Kind.TEXT)
def _strftime(value: Any, pattern: str) -> str:
    try:
        return as_timestamp(value).strftime(pattern)
    except ValueError as error:
        raise DataError(f'"{pattern}" is not a date pattern: {error}.') from None


@function("strptime", takes=[TEXT, TEXT], gives=Kind.TIMESTAMP)
def _strptime(text: str, pattern: str) -> dt.datetime:
    try:
        return as_timestamp(dt.datetime.strptime(text, pattern))  # noqa: DTZ007 - without a zone it is UTC
    except ValueError as error:
        raise DataError(f"{error}.") from None
