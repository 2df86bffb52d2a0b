"""Which types hold the values of others without loss: int32 in int64, int32 in double, a decimal in a longer one.

The lattice behind schema evolution. Everything here is about single types; `connect.data.evolution` handles structs,
arrays and maps.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from connect.data import logical
from connect.data.schema import INT_BITS, Schema, Type
from connect.data.text import float32

#: The parameter by which connectors say how many digits a Decimal has; Connect's own type has a scale only.
PRECISION: Final = "connect.decimal.precision"

_DIGITS: Final = {Type.INT8: 3, Type.INT16: 5, Type.INT32: 10, Type.INT64: 19}
#: How many bits of a whole number a float keeps.
_EXACT_BITS: Final = {Type.FLOAT32: 24, Type.FLOAT64: 53}
_LOGICAL: Final = frozenset({logical.DECIMAL_NAME, logical.DATE_NAME, logical.TIME_NAME, logical.TIMESTAMP_NAME})


def type_name(schema: Schema) -> str:
    """The type in messages: int32, decimal(10,2), timestamp."""
    if schema.name == logical.DECIMAL_NAME:
        digits = precision_of(schema)
        return f"decimal({'*' if digits is None else digits},{logical.scale_of(schema)})"
    if schema.name in _LOGICAL:
        assert schema.name is not None
        return schema.name.rpartition(".")[2].lower()
    return schema.type.value


def precision_of(schema: Schema) -> int | None:
    """The maximum number of digits of a Decimal; None when the schema does not define it."""
    written = schema.parameters.get(PRECISION)
    return int(written) if written is not None and written.isascii() and written.isdigit() else None


def holds(target: Schema, other: Schema) -> bool:
    """Whether every value of `other` is one of `target`'s too. Null, and the content of structs, are ignored."""
    wider = widened(target, other)
    return wider is not None and _same(wider, target)


def widened(target: Schema, other: Schema) -> Schema | None:
    """The narrowest type that holds the values of both without loss, with the target's other attributes; else None.

    For structs, arrays and maps of the same kind it is the target: the caller compares their content.
    """
    mine, yours = _logical(target), _logical(other)
    if logical.DECIMAL_NAME in (mine, yours):
        return _decimal(target, other)
    if mine != yours:
        return None
    if mine is not None or target.type is other.type:
        return target
    if target.type in INT_BITS and other.type in INT_BITS:
        return _retyped(target, max(target.type, other.type, key=INT_BITS.__getitem__))
    if target.type in _EXACT_BITS and other.type in _EXACT_BITS:
        return _retyped(target, Type.FLOAT64)
    if {target.type, other.type} <= {*INT_BITS, *_EXACT_BITS}:
        whole, real = (target.type, other.type) if target.type in INT_BITS else (other.type, target.type)
        # An int8 has 7 bits beside its sign; a float of 24 bits holds every int16 and no int32.
        enough = [real] if INT_BITS[whole] - 1 <= _EXACT_BITS[real] else [Type.FLOAT64]
        return _retyped(target, enough[0]) if INT_BITS[whole] - 1 <= _EXACT_BITS[enough[0]] else None
    return None


def fits(target: Schema, other: Schema) -> Callable[[Any], bool] | None:
    """A test for single values of a type that `target` does not hold as a whole; None when no value can be one of it.

    An int64 that is 5 can be written to an int32: a target that may not be widened need not refuse it.
    """
    whole = other.type in INT_BITS and _logical(other) is None
    if _logical(target) == logical.DECIMAL_NAME and (whole or _logical(other) == logical.DECIMAL_NAME):
        return _decimal_fits(target)
    if _logical(target) is not None or _logical(other) is not None:
        return None
    if target.type in INT_BITS and whole:
        low, high = -(1 << (INT_BITS[target.type] - 1)), (1 << (INT_BITS[target.type] - 1)) - 1
        return lambda value: low <= value <= high
    if target.type in _EXACT_BITS and whole:
        most = 1 << _EXACT_BITS[target.type]
        return lambda value: -most <= value <= most
    if target.type is Type.FLOAT32 and other.type is Type.FLOAT64:
        return lambda value: value != value or float32(value) == value
    return None


def _logical(schema: Schema) -> str | None:
    """The logical type. Other names (a struct's, another project's) do not affect stored values."""
    return schema.name if schema.name in _LOGICAL else None


def _same(one: Schema, two: Schema) -> bool:
    if one is two:
        return True
    return (one.type, _logical(one), dict(one.parameters)) == (two.type, _logical(two), dict(two.parameters))


def _retyped(schema: Schema, kind: Type) -> Schema:
    return schema if schema.type is kind else schema.replace(type=kind)


def _decimal(target: Schema, other: Schema) -> Schema | None:
    mine, yours = _digits(target), _digits(other)
    if mine is None or yours is None:
        return None
    scale = max(mine[1], yours[1])
    before = None if mine[0] is None or yours[0] is None else max(mine[0], yours[0])
    if mine == (before, scale) and target.name == logical.DECIMAL_NAME:
        return target
    parameters = {key: text for key, text in target.parameters.items() if key not in (logical.SCALE, PRECISION)}
    parameters[logical.SCALE] = str(scale)
    if before is not None:
        parameters[PRECISION] = str(before + scale)
    return target.replace(type=Type.BYTES, name=logical.DECIMAL_NAME, version=1, parameters=parameters)


def _digits(schema: Schema) -> tuple[int | None, int] | None:
    """The digits before and after the point that values may have; None before it for an unlimited number."""
    if schema.name == logical.DECIMAL_NAME:
        scale, precision = logical.scale_of(schema), precision_of(schema)
        return None if precision is None else precision - scale, scale
    return (_DIGITS[schema.type], 0) if schema.type in _DIGITS and _logical(schema) is None else None


def _decimal_fits(target: Schema) -> Callable[[Any], bool]:
    scale, precision = logical.scale_of(target), precision_of(target)
    before = None if precision is None else precision - scale

    def test(value: Any) -> bool:
        _, digits, exponent = Decimal(value).as_tuple()
        if not isinstance(exponent, int):
            return False
        written = "".join(map(str, digits)).lstrip("0")
        shortest = written.rstrip("0")
        after = -exponent - (len(written) - len(shortest))
        return not shortest or (after <= scale and (before is None or len(written) + exponent <= before))

    return test
