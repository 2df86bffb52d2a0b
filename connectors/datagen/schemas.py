"""From an Avro schema, with `arg.properties` about the data, to generators of such data.

The properties are those of Confluent's avro-random-generator: `options`, `regex`, `range`, `iteration`, `length`,
`odds`, `keys`, `prefix` and `suffix`. The Connect schema is that of AvroConverter for the Avro schema.
"""

from __future__ import annotations

import json
import logging
import math
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from connect import DataError, Schema, SchemaError, Type, logical
from connect.converters.avro.keys import AvroOptions
from connect.converters.avro.to_connect import ToConnect, default_value, union_members
from connect.converters.avro.types import AvroType, parse
from connectors.datagen import generators as make
from connectors.datagen import patterns
from connectors.datagen.generators import Generator

log = logging.getLogger(__name__)

PROPERTIES: Final = "arg.properties"
_KNOWN: Final = ("options", "regex", "range", "iteration", "length", "odds", "keys", "prefix", "suffix")
_NAMED: Final = ("record", "error", "enum", "fixed")
_OPTIONS: Final = AvroOptions.parse({})
_LENGTH: Final = (8, 15)
#: How many values of one type, elements of elements counted, a record may have: 256 records are made at a time.
_MOST_VALUES: Final = 100_000
_BITS: Final = {"int": 32, "long": 64}
#: What dates and times are without a range: Python's years end before 64 bits do.
_RANGES: Final = {
    logical.DATE_NAME: (0, 25_000),
    logical.TIME_NAME: (0, 86_400_000),
    logical.TIMESTAMP_NAME: (0, 2_000_000_000_000),
}


class Problem(Exception):
    """An error in a schema; the message says where and what."""


def read(text: str, null_share: float) -> tuple[Schema, Generator]:
    """The schema of the values, and their generator. The log tells of `arg.properties` that no type has.

    Args:
        text: an Avro schema.
        null_share: the share of nulls where null is allowed.

    Raises:
        Problem: it is invalid, or requires what cannot be generated.
    """
    try:
        avro = parse(text)
        schema = ToConnect(_OPTIONS).schema(avro)
        for field in _beside_types(json.loads(text)):
            log.warning(
                'Field "%s": the %s beside its type have no effect, as with Confluent\'s connector. Write them into '
                'the type: {"type": {"type": "string", "%s": {...}}}.',
                *(field, PROPERTIES, PROPERTIES),
            )
        return schema, _Maker(null_share).make(avro, schema, avro.short_name or avro.kind)
    except (DataError, KeyError) as error:
        raise Problem(str(error)) from error


def _beside_types(node: Any) -> Iterator[str]:
    """The fields of a schema's JSON that have properties, where only types may."""
    if isinstance(node, list):
        for each in node:
            yield from _beside_types(each)
    elif isinstance(node, dict):
        if PROPERTIES in node and "name" in node and node.get("type") not in _NAMED:
            yield node["name"]
        for key in ("type", "fields", "items", "values"):
            yield from _beside_types(node.get(key))


class _Maker:
    def __init__(self, null_share: float) -> None:
        self._null_share = null_share
        self._values = 1.0  # of the type being read, in a record

    def make(self, avro: AvroType, schema: Schema, path: str) -> Generator:
        """The generator of a type's values. `path` leads there, for errors."""
        inner = avro.nullable
        if inner is not None:
            return make.Nullable(self.make(inner, schema, path), self._null_share)
        if avro.kind == "union":
            return self._union(avro, schema, path)
        said = _Said(avro, path)
        if (options := said.get("options", list)) is not None:
            generator: Generator = make.Chosen(said.options(schema, options))
        else:
            maker: Callable[[AvroType, Schema, _Said], Generator] = getattr(self, f"_{avro.kind}")
            generator = maker(avro, schema, said)
        before, behind = said.get("prefix", str) or "", said.get("suffix", str) or ""
        if (before or behind) and avro.kind != "string":
            raise Problem(f"{path}: prefix and suffix are for strings.")
        said.all_used()
        return make.Between(generator, before, behind) if before or behind else generator

    def _union(self, avro: AvroType, schema: Schema, path: str) -> Generator:
        members = union_members(avro, _OPTIONS)
        if not members:
            raise Problem(f"{path}: a union needs a type at least.")
        if len(avro.branches) == 1:
            return self.make(avro.branches[0], schema, path)
        made = []
        for name, branch in members:
            field = schema.field(name)
            assert field is not None
            made.append((name, self.make(branch, field.schema, f"{path}.{name}")))
        one = make.OneOf(made)
        return make.Nullable(one, self._null_share) if len(members) < len(avro.branches) else one

    def _record(self, avro: AvroType, schema: Schema, said: _Said) -> Generator:
        fields = [
            (each.name, self.make(each.type, field.schema, f"{said.path}.{each.name}"))
            for each, field in zip(avro.fields, schema.fields, strict=True)
        ]
        return make.Structs(fields)

    def _array(self, avro: AvroType, schema: Schema, said: _Said) -> Generator:
        assert avro.items is not None
        if schema.type is not Type.ARRAY:
            raise Problem(f"{said.path}: arrays of MapEntry are not made. Use a map.")
        assert schema.value_schema is not None
        low, high = said.length()
        with self._repeated((low + high) / 2, said.path):
            return make.Lists(self.make(avro.items, schema.value_schema, f"{said.path}[]"), low, high)

    def _map(self, avro: AvroType, schema: Schema, said: _Said) -> Generator:
        assert avro.items is not None
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        key_type = AvroType("string", props={PROPERTIES: said.get("keys", dict) or {}})
        keys = self.make(key_type, schema.key_schema, f"{said.path} (keys)")
        low, high = said.length()
        with self._repeated((low + high) / 2, said.path):
            return make.Maps(keys, self.make(avro.items, schema.value_schema, f"{said.path}{{}}"), low, high)

    @contextmanager
    def _repeated(self, times: float, path: str) -> Iterator[None]:
        """What is read meanwhile has so many values in each of those around it."""
        around, self._values = self._values, self._values * times
        if self._values > _MOST_VALUES:
            raise Problem(
                f"{path}: a record would have about {self._values:,.0f} of its elements, more than {_MOST_VALUES:,}. "
                "Give it, or what it is in, a smaller length in arg.properties."
            )
        yield
        self._values = around

    def _enum(self, avro: AvroType, schema: Schema, said: _Said) -> Generator:
        if not avro.symbols:
            raise Problem(f"{said.path}: an enum needs a symbol at least.")
        return make.Chosen(avro.symbols)

    def _boolean(self, avro: AvroType, schema: Schema, said: _Said) -> Generator:
        counted = said.get("iteration", dict)
        if counted is not None:
            return make.Alternating(bool(counted.get("start", False)))
        odds = said.get("odds", (int, float))
        if odds is not None and not 0 <= odds <= 1:
            raise Problem(f"{said.path}: odds are from 0 to 1, not {odds}.")
        return make.Odds(0.5 if odds is None else odds)

    def _int(self, avro: AvroType, schema: Schema, said: _Said) -> Generator:
        half = 1 << (_BITS[avro.kind] - 1)
        generator = said.counted(int, half - 1)
        if generator is None:
            default = _RANGES.get(schema.name or "", (-half, half))
            low, high = said.range(int, default)
            if not -half <= low < high <= half:
                raise Problem(f"{said.path}: the range {low} to {high} is beyond {avro.kind}.")
            generator = make.Whole(low, high)
        if schema.name in _RANGES:
            return make.Converted(generator, _decoded(schema, said.path))
        return generator

    _long = _int

    def _float(self, avro: AvroType, schema: Schema, said: _Said) -> Generator:
        generator = said.counted(float, 2.0**53)
        return generator or make.Fraction(*said.range(float, (0.0, 1.0)))

    _double = _float

    def _string(self, avro: AvroType, schema: Schema, said: _Said) -> Generator:
        expression = said.get("regex", str)
        try:
            if expression is not None:
                return make.Texts(patterns.parse(expression))
        except ValueError as error:
            raise Problem(f"{said.path}: the regex {error}") from None
        counted = said.counted(int, (1 << 63) - 1)
        if counted is not None:
            return make.Converted(counted, str)
        alphabet = patterns.Characters(string.ascii_letters + string.digits)
        return make.Texts(patterns.Repeated(alphabet, *said.length()))

    def _bytes(self, avro: AvroType, schema: Schema, said: _Said) -> Generator:
        if schema.name == logical.DECIMAL_NAME:
            scale = logical.scale_of(schema)
            most = 10 ** int(avro.props.get("precision", 18))
            # By their digits: arithmetic of Decimal rounds to 28 of them, and a float is mostly no decimal.
            limits = said.range(_decimal, (Decimal(f"{-most + 1}E{-scale}"), Decimal(f"{most}E{-scale}")))
            low, high = (math.ceil(Fraction(limit) * 10**scale) for limit in limits)
            if low >= high:
                raise Problem(f"{said.path}: no decimal of scale {scale} is in the range.")
            return make.Converted(make.Whole(low, high), lambda unscaled: Decimal(f"{unscaled}E{-scale}"))
        size = (avro.size, avro.size) if avro.kind == "fixed" else said.length()
        return make.Bytes(*size)

    _fixed = _bytes


def _decimal(number: float) -> Decimal:
    """The decimal that is written so."""
    return Decimal(str(number))


def _decoded(schema: Schema, path: str) -> Callable[[Any], Any]:
    def decoded(number: int) -> Any:
        try:
            return logical.decode(schema, number)
        except SchemaError as error:
            raise DataError(f"{path}: {error} Give a range in arg.properties.") from None

    return decoded


class _Said:
    """A type's `arg.properties`. Every one of them must be used."""

    def __init__(self, avro: AvroType, path: str) -> None:
        found = avro.props.get(PROPERTIES, {})
        if not isinstance(found, Mapping):
            raise Problem(f"{path}: {PROPERTIES} is an object.")
        self._avro = avro
        self._found: Mapping[str, Any] = found
        self._used: set[str] = set()
        self.path = path

    def get(self, name: str, kind: type | tuple[type, ...]) -> Any:
        """A property, None where it is not set."""
        self._used.add(name)
        value = self._found.get(name)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise Problem(f'{self.path}: "{name}": {value!r} is not understood.')
        return value

    def all_used(self) -> None:
        """Refuse unused properties."""
        # What options or a regex have decided leaves nothing to the others, as in the original.
        decided = any(name in self._found and name in self._used for name in ("options", "regex"))
        for name in self._found:
            if name not in _KNOWN:
                raise Problem(f'{self.path}: "{name}" is not a property of data. There are {", ".join(_KNOWN)}.')
            if name not in self._used and not decided:
                raise Problem(f'{self.path}: "{name}" is not for {self._avro.kind}.')

    def options(self, schema: Schema, given: Sequence[Any]) -> list[Any]:
        """The values to choose from."""
        if not given:
            raise Problem(f"{self.path}: options are at least one.")
        try:
            return [default_value(self._avro, schema, value, _OPTIONS) for value in given]
        except (DataError, KeyError, ValueError, TypeError, AttributeError, AssertionError) as error:
            raise Problem(f"{self.path}: an option does not fit {self._avro.kind}: {error}") from error

    def length(self) -> tuple[int, int]:
        """The least and the greatest length, both included."""
        given = self.get("length", (int, dict))
        if given is None:
            return _LENGTH
        low, high = (given, given) if isinstance(given, int) else (given.get("min", 0), given.get("max", 16) - 1)
        if not 0 <= low <= high <= 10_000_000:
            raise Problem(f"{self.path}: the length {given} is none. min is included, max is not.")
        return low, high

    def range(self, number: Callable[[Any], Any], default: tuple[Any, Any]) -> tuple[Any, Any]:
        """The lower limit, and the upper one, which is not included."""
        given = self.get("range", dict) or {}
        low, high = self._number(given, "min", number, default[0]), self._number(given, "max", number, default[1])
        if given and low >= high:
            raise Problem(f"{self.path}: the range begins with {low} and ends before {high}: it is empty.")
        return low, high

    def counted(self, number: type[Any], most: Any) -> Generator | None:
        """Consecutive numbers, if requested."""
        given = self.get("iteration", dict)
        if given is None:
            return None
        start = self._number(given, "start", number, 0)
        step = self._number(given, "step", number, None)
        restart = self._number(given, "restart", number, None)
        if step is None:
            step = number(-1 if restart is not None and restart < start else 1)
        if restart is None:
            restart = most if step > 0 else -most - 1
        initial = self._number(given, "initial", number, start)
        span = restart - start if step > 0 else start - restart
        ahead = initial - start if step > 0 else start - initial
        if not step or span <= 0 or not 0 <= ahead < span:
            raise Problem(f"{self.path}: the iteration {dict(given)} leads nowhere.")
        return make.Counted(start, step, span, ahead)

    def _number(self, given: Mapping[str, Any], name: str, number: Callable[[Any], Any], default: Any) -> Any:
        value = given.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or (number is int and value != int(value)):
            raise Problem(f'{self.path}: "{name}": {value!r} is not a {"whole " if number is int else ""}number.')
        return number(value)
