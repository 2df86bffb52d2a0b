"""The operators and functions. Null in, null out, unless a function says otherwise. All of them depend only on their
arguments, so there is no now() and no random().

Each takes and returns Python values of the kinds in `kinds`, and raises `DataError` for arguments it does not accept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP as HALF_UP
from decimal import Context, Decimal, DecimalException
from typing import Any, Final

from connect import DataError
from transforms.expressions.kinds import ANY, NUMBERS, Kind, Typed, common, kind_of
from transforms.expressions.moments import as_timestamp, shifted
from transforms.expressions.registry import (
    ANYTHING,
    BOOLEAN,
    INTEGER,
    Result,
    alike,
    first,
    function,
)

AGGREGATES: Final = frozenset(
    {
        *("sum", "count", "avg", "min", "max", "first", "last", "any_value", "array_agg", "string_agg", "listagg"),
        *("group_concat", "stddev", "variance", "median", "mode", "bool_and", "bool_or", "approx_count_distinct"),
        *("count_if", "percentile_cont", "row_number", "rank", "dense_rank", "lag", "lead", "ntile"),
    }
)
IMPURE: Final = frozenset(
    {"now", "current_timestamp", "current_date", "current_time", "random", "rand", "uuid", "gen_random_uuid"}
)

# Arithmetic. Whole numbers have 64 bits and do not wrap; results with a decimal operand are exact.

_EXACT: Final = Context(prec=200)
_HIGH: Final = 1 << 63


def whole(value: int) -> int:
    """The number itself. Raises `DataError` if it does not fit into 64 bits."""
    if not -_HIGH <= value < _HIGH:
        raise DataError(f"{value} does not fit into 64 bits.")
    return value


def _numbers(a: Any, b: Any) -> tuple[Any, Any]:
    """The two as numbers that Python can calculate with: a decimal and a double become two doubles."""
    if isinstance(a, Decimal) and isinstance(b, float):
        return float(a), b
    if isinstance(a, float) and isinstance(b, Decimal):
        return a, float(b)
    return a, b


def _calculated(exact: Callable[[Any, Any], Decimal], plain: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def calculate(a: Any, b: Any) -> Any:
        a, b = _numbers(a, b)
        try:
            if isinstance(a, Decimal) or isinstance(b, Decimal):
                return exact(Decimal(a), Decimal(b))
            result = plain(a, b)
        except DecimalException:
            raise DataError(f"the result of {a} and {b} cannot be computed as a decimal.") from None
        except OverflowError:
            raise DataError(f"{a} is too big for a double.") from None
        return whole(result) if isinstance(result, int) else result

    return calculate


def _scaled(scale: Callable[[int, int], int]) -> Result:
    def gives(types: Sequence[Typed]) -> Typed | None:
        joint = common(list(types))
        if joint is None or joint.kind is not Kind.DECIMAL:
            return joint if joint is None or joint.kind is not Kind.NULL else Typed(Kind.NULL)
        return Typed(Kind.DECIMAL, scale(types[0].scale, types[-1].scale))

    return lambda types: None if (found := gives(types)) is None else found._replace(schema=None)


_plus = _calculated(_EXACT.add, lambda a, b: a + b)
_minus = _calculated(_EXACT.subtract, lambda a, b: a - b)
function("*", takes=[NUMBERS, NUMBERS], gives=_scaled(lambda a, b: a + b))(
    _calculated(_EXACT.multiply, lambda a, b: a * b)
)
_MOVABLE: Final = (*NUMBERS, Kind.DATE, Kind.TIMESTAMP, Kind.INTERVAL)


def _moved(types: Sequence[Typed]) -> Typed | None:
    kinds = [each.kind for each in types]
    if Kind.ANY in kinds:
        return ANY
    moments = [kind for kind in kinds if kind in (Kind.DATE, Kind.TIMESTAMP)]
    if moments or Kind.INTERVAL in kinds:
        return Typed(moments[0]) if len(moments) == 1 and set(kinds) <= {moments[0], Kind.INTERVAL, Kind.NULL} else None
    return _scaled(max)(types)


@function("+", takes=[_MOVABLE, _MOVABLE], gives=_moved)
def _add(a: Any, b: Any) -> Any:
    if kind_of(a) in NUMBERS and kind_of(b) in NUMBERS:
        return _plus(a, b)
    return shifted(b, a, 1) if kind_of(a) is Kind.INTERVAL else shifted(a, b, 1)


@function("-", takes=[_MOVABLE, _MOVABLE], gives=_moved)
def _subtract(a: Any, b: Any) -> Any:
    if kind_of(a) in NUMBERS and kind_of(b) in NUMBERS:
        return _minus(a, b)
    return shifted(a, b, -1)


@function("/", takes=[NUMBERS, NUMBERS], gives=Kind.DOUBLE, example=(1, 1))
def _divide(a: Any, b: Any) -> float:
    if not b:
        raise DataError("division by zero. nullif(x, 0) makes null of 0.")
    try:
        return float(a) / float(b)
    except OverflowError:
        raise DataError(f"{a} is too big for a double.") from None


def _towards_zero(a: Any, b: Any) -> tuple[Any, Any]:
    """Quotient and remainder; the remainder has the sign of a, as in SQL."""
    if not b:
        raise DataError("division by zero. nullif(x, 0) makes null of 0.")
    quotient = abs(a) // abs(b)
    quotient = quotient if (a < 0) == (b < 0) else -quotient
    return quotient, a - quotient * b


@function("div", takes=[INTEGER, INTEGER], gives=Kind.INTEGER, example=(1, 1))
def _div(a: int, b: int) -> int:
    return whole(_towards_zero(a, b)[0])


@function("%", "mod", takes=[INTEGER, INTEGER], gives=Kind.INTEGER, example=(1, 1))
def _mod(a: int, b: int) -> int:
    return int(_towards_zero(a, b)[1])


@function("negate", takes=[NUMBERS], gives=first)
def _negate(a: Any) -> Any:
    return whole(-a) if isinstance(a, int) else -a if isinstance(a, float) else a.copy_negate()


# Comparisons.

_COMPARED: Final = tuple(kind for kind in ANYTHING if kind not in (Kind.LIST, Kind.OBJECT))


def comparable(a: Kind, b: Kind) -> bool:
    """Whether values of two kinds can be compared."""
    return a is b or (a in NUMBERS and b in NUMBERS) or {a, b} <= {Kind.DATE, Kind.TIMESTAMP}


def _compared(types: Sequence[Typed]) -> Typed | None:
    known = [each.kind for each in types if each.kind not in (Kind.NULL, Kind.ANY)]
    return Typed(Kind.BOOLEAN) if all(comparable(known[0], kind) for kind in known[1:]) else None


def ordered(a: Any, b: Any) -> tuple[Any, Any]:
    """Two values in forms that Python can compare."""
    one, two = kind_of(a), kind_of(b)
    if Kind.TIMESTAMP in (one, two) and {one, two} <= {Kind.DATE, Kind.TIMESTAMP}:
        return as_timestamp(a), as_timestamp(b)
    if not comparable(one, two):
        hint = " Write timestamp '...' or date '...' for a constant." if Kind.TEXT in (one, two) else ""
        raise DataError(f"{one.value} cannot be compared with {two.value}. Cast one of them.{hint}")
    return a, b


def _comparison(name: str, test: Callable[[Any, Any], bool], kinds: Sequence[Kind]) -> None:
    function(name, takes=[kinds, kinds], gives=_compared)(lambda a, b: test(*ordered(a, b)))


_comparison("=", lambda a, b: a == b, ANYTHING)
_comparison("<>", lambda a, b: a != b, ANYTHING)
_comparison("<", lambda a, b: a < b, _COMPARED)
_comparison("<=", lambda a, b: a <= b, _COMPARED)
_comparison(">", lambda a, b: a > b, _COMPARED)
_comparison(">=", lambda a, b: a >= b, _COMPARED)


def _same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    a, b = ordered(a, b)
    return bool(a == b)


function("is not distinct from", takes=[ANYTHING, ANYTHING], gives=_compared, nulls=True)(_same)
function("is distinct from", takes=[ANYTHING, ANYTHING], gives=_compared, nulls=True)(lambda a, b: not _same(a, b))


@function("between", takes=[_COMPARED, _COMPARED, _COMPARED], gives=_compared, nulls=True)
def _between(value: Any, low: Any, high: Any) -> bool | None:
    above, below = _not_below(value, low), _not_below(high, value)
    return False if above is False or below is False else None if above is None or below is None else True


def _not_below(a: Any, b: Any) -> bool | None:
    if a is None or b is None:
        return None
    a, b = ordered(a, b)
    return bool(a >= b)


@function("in", takes=[ANYTHING], gives=_compared, least=2, many=True, nulls=True)
def _in(value: Any, *listed: Any) -> bool | None:
    if value is None:
        return None
    unknown = False
    for each in listed:
        if each is None:
            unknown = True
        elif _same(value, each):
            return True
    return None if unknown else False


@function("not", takes=[BOOLEAN], gives=Kind.BOOLEAN)
def _not(value: bool) -> bool:
    return not value


@function(
    "nullif", takes=[ANYTHING, ANYTHING], gives=lambda types: first(types) if _compared(types) else None, nulls=True
)
def _nullif(value: Any, other: Any) -> Any:
    return None if value is not None and other is not None and _same(value, other) else value


def _extreme(choose: Callable[..., Any]) -> Callable[..., Any]:
    def extreme(*values: Any) -> Any:
        there = [value for value in values if value is not None]
        for value in there[1:]:
            ordered(there[0], value)
        return choose(there) if there else None

    return extreme


function("greatest", takes=[_COMPARED], gives=alike, least=1, many=True, nulls=True)(_extreme(max))
function("least", takes=[_COMPARED], gives=alike, least=1, many=True, nulls=True)(_extreme(min))


# Numbers.


@function("abs", takes=[NUMBERS], gives=first)
def _abs(value: Any) -> Any:
    return (
        whole(abs(value)) if isinstance(value, int) else value.copy_abs() if isinstance(value, Decimal) else abs(value)
    )


def rounded(value: Any, digits: int = 0) -> Any:
    """Rounded to `digits` after the point, halves away from zero."""
    if not -400 <= digits <= 400:
        raise DataError(f"cannot round to {digits} digits; the range is -400 to 400.")
    if isinstance(value, float):
        if value - value != 0:
            return value
        return float(quantized(Decimal(repr(value)), digits))
    if isinstance(value, int):
        return value if digits >= 0 else whole(int(quantized(Decimal(value), digits)))
    return _EXACT.quantize(quantized(value, digits), Decimal(1).scaleb(value.as_tuple().exponent))


def quantized(value: Decimal, digits: int) -> Decimal:
    """With exactly `digits` after the point, halves away from zero; a number too long for that stays as it is."""
    try:
        return value.quantize(Decimal(1).scaleb(-digits), HALF_UP, Context(prec=800))
    except DecimalException:
        return value


function("round", takes=[NUMBERS, INTEGER], gives=first, least=1)(rounded)


def _integral(rounding: str) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        if isinstance(value, int) or (isinstance(value, float) and value - value != 0):
            return value
        exact = Decimal(value).to_integral_value(rounding)
        if isinstance(value, float):
            return float(exact)
        return _EXACT.quantize(exact, Decimal(1).scaleb(value.as_tuple().exponent))

    return run


function("ceil", "ceiling", takes=[NUMBERS], gives=first)(_integral("ROUND_CEILING"))
function("floor", takes=[NUMBERS], gives=first)(_integral("ROUND_FLOOR"))
function("trunc", takes=[NUMBERS], gives=first)(_integral("ROUND_DOWN"))


@function("sign", takes=[NUMBERS], gives=Kind.INTEGER)
def _sign(value: Any) -> int:
    return int(value > 0) - int(value < 0)


def _mathematical(name: str, arguments: int = 1) -> Callable[..., float]:
    import math

    of = getattr(math, name)

    def run(*values: Any) -> float:
        try:
            return float(of(*map(float, values)))
        except (ValueError, OverflowError):
            raise DataError(f"{name} of {', '.join(map(str, values))} is not a double.") from None

    return run


for _name, _spellings in {"sqrt": ("sqrt",), "exp": ("exp",), "log": ("ln",), "log10": ("log10",)}.items():
    function(*_spellings, takes=[NUMBERS], gives=Kind.DOUBLE)(_mathematical(_name))
function("power", "pow", takes=[NUMBERS, NUMBERS], gives=Kind.DOUBLE)(_mathematical("pow", 2))
