"""Writes Avro's binary form: a function made for one pair of schemas processes a whole column of values.

The pair is Connect's schema of the values and the Avro type to write, which may differ from the derived one
(use.latest.version): fields and the members of unions are matched by their names, numbers may become wider ones.
https://avro.apache.org/docs/1.12.0/specification/#binary-encoding
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, Final, NoReturn

from connect.converters.avro import names
from connect.converters.avro.code import DEEPEST, Code
from connect.converters.avro.from_connect import is_union
from connect.converters.avro.keys import AvroOptions
from connect.converters.avro.to_connect import ToConnect, is_map_entry, union_members
from connect.converters.avro.types import NO_DEFAULT, AvroType
from connect.data import logical
from connect.data.schema import INT_BITS, Schema, Type
from connect.data.times import EPOCH_DAY, time_ms, timestamp_ms
from connect.errors import DataError

#: Takes the values' columns (one for each field that is written, or the values alone) and what each record begins with.
Writer = Callable[[Iterable[tuple[Any, ...]], bytes], list[bytes]]

_TAKES: Final = {
    "boolean": {Type.BOOLEAN},
    "int": {Type.INT8, Type.INT16, Type.INT32},
    "long": set(INT_BITS),
    "float": {*INT_BITS, Type.FLOAT32},
    "double": {*INT_BITS, Type.FLOAT32, Type.FLOAT64},
    "string": {Type.STRING},
    "enum": {Type.STRING},
    "bytes": {Type.BYTES},
    "fixed": {Type.BYTES},
    "array": {Type.ARRAY, Type.MAP},
    "map": {Type.MAP},
    "record": {Type.STRUCT},
}


class MadeWriter:
    """A writer and its columns.

    Attributes:
        fields: of the struct, in the order of their columns; None: the values themselves.
    """

    def __init__(self, avro: AvroType, schema: Schema, options: AvroOptions) -> None:
        self.fields: list[str] | None = None
        self._write = self._made(avro, schema, options)

    def _made(self, avro: AvroType, schema: Schema, options: AvroOptions) -> Writer:
        maker = _Maker(schema, options)
        write = maker.make(avro)
        self.fields = maker.fields
        return write

    def columns(self, columns: Sequence[Sequence[Any]], prefix: bytes) -> list[bytes]:
        """The bytes of each row. Raises `DataError` for a value that cannot be written."""
        try:
            return self._write(zip(*columns, strict=True), prefix)
        except (TypeError, ValueError, AttributeError, KeyError, OverflowError, struct.error, RecursionError) as error:
            raise DataError(f"a value does not fit its schema: {type(error).__name__}: {error}.") from None

    def values(self, values: Sequence[Any], prefix: bytes) -> list[bytes]:
        """The bytes of each value, none of which is None. Raises as `columns`."""
        if self.fields is None:
            return self.columns([values], prefix)
        if not self.fields:
            return self._write([()] * len(values), prefix)
        try:
            columns = [[value.get(name) for value in values] for name in self.fields]
        except AttributeError as error:
            raise DataError(f"a value is not a struct: {error}.") from None
        return self.columns(columns, prefix)


class _Maker:
    """Generates the code of a writer."""

    def __init__(self, schema: Schema, options: AvroOptions) -> None:
        self._schema = schema
        self._options = options
        self._code = Code(_TOOLS)
        self.fields: list[str] | None = None

    def make(self, avro: AvroType) -> Writer:
        code, schema = self._code, self._schema
        by_fields = avro.kind == "record" and schema.type is Type.STRUCT and not is_union(schema)
        with code.function("def write(rows, prefix):"):
            code("out = []", "out_append = out.append")
            if by_fields:
                pairs = self._pairs(avro, schema)
                self.fields = [name for name, _ in pairs if name is not None]
                named = {name: code.name("v") for name in self.fields}
                head = f"for {''.join(f'{each}, ' for each in named.values()) or '_'} in rows:"
            else:
                head = "for v, in rows:"
            with code.block(head):
                code("o = bytearray(prefix)", "a = o.append")
                if by_fields:
                    for (name, constant), field in zip(pairs, avro.fields, strict=True):
                        self._member(field.type, schema, name, "" if name is None else named[name], constant)
                else:
                    self._value(avro, schema, "v")
                code("out_append(bytes(o))")
            code("return out")
        return code.make("write")

    def _pairs(self, avro: AvroType, schema: Schema) -> list[tuple[str | None, bytes]]:
        """For each field of the record the field of the struct, or None and the bytes of its default."""
        scrub = names.scrubbed if self._options.scrub else str
        by_name = {scrub(field.name): field.name for field in schema.fields}
        found: list[tuple[str | None, bytes]] = []
        for field in avro.fields:
            if field.name in by_name:
                found.append((by_name[field.name], b""))
            elif field.default is not NO_DEFAULT:
                found.append((None, default_bytes(field.type, field.default, self._options)))
            else:
                raise DataError(
                    f'the record {avro.name} has the field "{field.name}", which the value has not, and no default for '
                    "it."
                )
        return found

    def _member(self, avro: AvroType, struct: Schema, name: str | None, value: str, constant: bytes) -> None:
        """Generate code for a field of a record."""
        if name is None:
            self._code(f"o += {constant!r}")
            return
        field = struct.field(name)
        assert field is not None
        default = field.schema.default
        if default is not None and not self._options.ignore_default:
            with self._code.block(f"if {value} is None:"):
                self._code(f"{value} = {self._code.constant(default)}")
        self._value(avro, field.schema, value)

    def _value(self, avro: AvroType, schema: Schema, value: str) -> None:
        """Generate code that writes the value in a name."""
        code = self._code
        if code.depth > DEEPEST:
            name = code.name("write_")
            with code.function(f"def {name}(o, {value}):"):
                code("a = o.append")
                self._value(avro, schema, value)
            code(f"{name}(o, {value})")
            return
        if avro.kind == "union":
            self._union(avro, schema, value)
            return
        with code.block(f"if {value} is None:"):
            code("no_null()")
        if schema.type not in _TAKES.get(avro.kind, ()):
            raise DataError(f"a value of type {schema.type.name} cannot be written as Avro's {avro.name or avro.kind}.")
        match avro.kind:
            case "record":
                self._record(avro, schema, value)
            case "array":
                if schema.type is Type.MAP:
                    self._entries(avro, schema, value)
                else:
                    self._array(avro, schema, value)
            case "map":
                self._map(avro, schema, value)
            case _:
                self._simple(avro, schema, value)

    def _number(self, expression: str, bits: int = 64, *, length: bool = False) -> None:
        """Generate code that writes a whole number (a length is never below 0)."""
        code = self._code
        code(f"n = {expression}")
        code("n <<= 1" if length else "n = n << 1 if n >= 0 else ~(n << 1)")
        with code.block("if n > 127:"):
            if not length:
                with code.block(f"if n >> {bits}:"):
                    code("too_big()")
            with code.block("while n > 127:"):
                code("a(n & 127 | 128)", "n >>= 7")
        code("a(n)")

    def _simple(self, avro: AvroType, schema: Schema, value: str) -> None:
        code = self._code
        match avro.kind:
            case "int" | "long":
                self._number(self._whole(schema, value), min(INT_BITS[schema.type], 32 if avro.kind == "int" else 64))
            case "boolean":
                with code.block(f"if {value} is True:"):
                    code("a(1)")
                with code.block(f"elif {value} is False:"):
                    code("a(0)")
                with code.block("else:"):
                    code("no_boolean()")
            case "float":
                code(f"o += pack_float(float32({value}))")
            case "double":
                code(f"o += pack_double({value})")
            case "string":
                text = code.name("t")
                code(f"{text} = {value}.encode('utf-8', 'replace')")
                self._number(f"len({text})", length=True)
                code(f"o += {text}")
            case "bytes" | "fixed":
                data = code.name("t")
                if schema.name == logical.DECIMAL_NAME:
                    schema_name = code.constant(schema)
                    size = avro.size if avro.kind == "fixed" else 0
                    code(f"{data} = decimal({schema_name}, {value}, {size})")
                else:
                    code(f"{data} = as_bytes({value})")
                if avro.kind == "bytes":
                    self._number(f"len({data})", length=True)
                else:
                    with code.block(f"if len({data}) != {avro.size}:"):
                        code(f"wrong_size({avro.size})")
                code(f"o += {data}")
            case "enum":
                scrub = names.scrubbed if self._options.scrub else str
                symbols = {symbol: place for place, symbol in enumerate(avro.symbols)}
                table = code.constant({**symbols, **self._symbols(schema, symbols, scrub)})
                code(f"n = {table}.get({value})")
                with code.block("if n is None:"):
                    code("no_symbol()")
                self._number("n", length=True)

    def _symbols(self, schema: Schema, symbols: dict[str, int], scrub: Callable[[str], str]) -> dict[str, int]:
        """The symbols that have another name in Connect because Avro does not allow theirs."""
        found: dict[str, int] = {}
        for key in (names.ENUM, names.GENERAL_ENUM):
            written = (name[len(key) + 1 :] for name in schema.parameters if name.startswith(f"{key}."))
            found |= {symbol: symbols[scrub(symbol)] for symbol in written if scrub(symbol) in symbols}
        return found

    def _whole(self, schema: Schema, value: str) -> str:
        match schema.name:
            case logical.DATE_NAME if schema.type is Type.INT32:
                return f"days({value})"
            case logical.TIME_NAME if schema.type is Type.INT32:
                return f"time_ms({value})"
            case logical.TIMESTAMP_NAME if schema.type is Type.INT64:
                return f"timestamp_ms({value})"
        return value

    def _union(self, avro: AvroType, schema: Schema, value: str) -> None:
        code = self._code
        null = next((at for at, branch in enumerate(avro.branches) if branch.kind == "null"), None)
        with code.block(f"if {value} is None:"):
            code("no_null()" if null is None else f"a({2 * null})")
        if null is not None and len(avro.branches) == 1:
            with code.block("else:"):
                code("no_branch()")
        elif is_union(schema):
            self._members(avro, schema, value)
        else:
            at = self._branch(avro, schema)
            with code.block("else:"):
                self._number(str(at), length=True)
                self._value(avro.branches[at], schema, value)

    def _members(self, avro: AvroType, schema: Schema, value: str) -> None:
        """Generate code for a struct of which one field is set."""
        code = self._code
        scrub = names.scrubbed if self._options.scrub else str
        by_name = dict(union_members(avro, self._options))
        others = [branch for branch in avro.branches if branch.kind != "null"]
        for place, field in enumerate(schema.fields):
            branch = by_name.get(scrub(field.name))
            if branch is None and len(others) == len(schema.fields):
                branch = others[place]
            if branch is None:
                raise DataError(f'a union in Avro has no type for the field "{field.name}" of the struct.')
            member = code.name("m")
            with code.block(f"elif ({member} := {value}.get({field.name!r})) is not None:"):
                self._number(str(avro.branches.index(branch)), length=True)
                self._value(branch, field.schema, member)
        with code.block("else:"):
            null = next((at for at, branch in enumerate(avro.branches) if branch.kind == "null"), None)
            code("no_branch()" if null is None else f"a({2 * null})")

    def _branch(self, avro: AvroType, schema: Schema) -> int:
        """The branch for values of a schema that is not a union: an exact match before a possible one."""
        for exactly in (True, False):
            for at, branch in enumerate(avro.branches):
                if branch.kind == "null" or schema.type not in _TAKES[branch.kind]:
                    continue
                own = _connect_type(branch, self._options)
                same_name = branch.name is None or schema.name is None or schema.name == branch.name
                if not exactly or (own is schema.type and same_name):
                    return at
        raise DataError(f"a union in Avro has no type for values of type {schema.type.name}.")

    def _record(self, avro: AvroType, schema: Schema, value: str) -> None:
        code = self._code
        get = code.name("g")
        code(f"{get} = {value}.get")
        for (name, constant), field in zip(self._pairs(avro, schema), avro.fields, strict=True):
            each = code.name("v")
            if name is not None:
                code(f"{each} = {get}({name!r})")
            self._member(field.type, schema, name, each, constant)

    def _array(self, avro: AvroType, schema: Schema, value: str) -> None:
        code, each = self._code, self._code.name("v")
        assert avro.items is not None
        assert schema.value_schema is not None
        with code.block(f"if {value}:"):
            self._number(f"len(as_list({value}))", length=True)
            with code.block(f"for {each} in {value}:"):
                self._value(avro.items, schema.value_schema, each)
        code("a(0)")

    def _map(self, avro: AvroType, schema: Schema, value: str) -> None:
        code, key, each, text = self._code, self._code.name("k"), self._code.name("v"), self._code.name("t")
        assert avro.items is not None
        assert schema.value_schema is not None
        with code.block(f"if {value}:"):
            self._number(f"len({value})", length=True)
            with code.block(f"for {key}, {each} in {value}.items():"):
                code(f"{text} = {key}.encode('utf-8', 'replace')")
                self._number(f"len({text})", length=True)
                code(f"o += {text}")
                self._value(avro.items, schema.value_schema, each)
        code("a(0)")

    def _entries(self, avro: AvroType, schema: Schema, value: str) -> None:
        code, key, each = self._code, self._code.name("k"), self._code.name("v")
        assert avro.items is not None
        if not is_map_entry(avro.items):
            raise DataError("a map can be written as an array in Avro only if its items are entries of key and value.")
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        of_key, of_value = avro.items.fields
        with code.block(f"if {value}:"):
            self._number(f"len({value})", length=True)
            with code.block(f"for {key}, {each} in {value}.items():"):
                self._value(of_key.type, schema.key_schema, key)
                self._value(of_value.type, schema.value_schema, each)
        code("a(0)")


def default_bytes(avro: AvroType, default: Any, options: AvroOptions) -> bytes:
    """A default in a schema's JSON, as it is written."""
    if avro.kind == "union":
        at = next((at for at, each in enumerate(avro.branches) if (each.kind == "null") == (default is None)), 0)
        return _zigzag(at) + default_bytes(avro.branches[at], default, options)
    if avro.kind == "null":
        return b""
    schema = ToConnect(options).schema(avro)
    from connect.converters.avro.to_connect import default_value

    return MadeWriter(avro, schema, options).values([default_value(avro, schema, default, options)], b"")[0]


def _zigzag(at: int) -> bytes:
    return bytes([2 * at]) if at < 64 else bytes([(2 * at) & 127 | 128, (2 * at) >> 7])


_TYPES: Final = {
    "boolean": Type.BOOLEAN,
    "int": Type.INT32,
    "long": Type.INT64,
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
    "string": Type.STRING,
    "enum": Type.STRING,
    "bytes": Type.BYTES,
    "fixed": Type.BYTES,
    "array": Type.ARRAY,
    "map": Type.MAP,
    "record": Type.STRUCT,
}


def _connect_type(avro: AvroType, options: AvroOptions) -> Type:
    small = avro.props.get(names.CONNECT_TYPE)
    if avro.kind == "int" and small in ("int8", "int16"):
        return Type(small)
    if avro.kind == "array" and avro.items is not None and is_map_entry(avro.items):
        return Type.MAP
    return _TYPES[avro.kind]


def _days(value: dt.date) -> int:
    if isinstance(value, dt.datetime):
        raise DataError("a Date has a time of day.")
    return value.toordinal() - EPOCH_DAY


def _decimal(schema: Schema, value: Decimal, size: int) -> bytes:
    found: bytes = logical.encode(schema, value)
    if not size:
        return found
    return int.from_bytes(found, "big", signed=True).to_bytes(size, "big", signed=True)


def _as_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    raise DataError(f"a value of bytes is a {type(value).__name__}.")


def _as_list(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise DataError(f"a value of an array is a {type(value).__name__}.")
    return value


def _float32(value: float) -> float:
    """A float in 32 bits; a larger one becomes infinite, as a cast does in Java."""
    try:
        _FLOAT.pack(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return value


def _no_null() -> NoReturn:
    raise DataError("a value is null, and its schema is neither optional nor has a default.")


def _too_big() -> NoReturn:
    raise DataError("a whole number is beyond what its type holds.")


def _no_boolean() -> NoReturn:
    raise DataError("a value of type BOOLEAN is neither true nor false.")


def _wrong_size(size: int) -> NoReturn:
    raise DataError(f"a fixed value has not {size} bytes.")


def _no_symbol() -> NoReturn:
    raise DataError("a value is not a symbol of its enum.")


def _no_branch() -> NoReturn:
    raise DataError("a struct that stands for a union has no field that is set.")


_FLOAT: Final = struct.Struct("<f")

_TOOLS: Final = {
    "pack_float": _FLOAT.pack,
    "pack_double": struct.Struct("<d").pack,
    "float32": _float32,
    "days": _days,
    "time_ms": time_ms,
    "timestamp_ms": timestamp_ms,
    "decimal": _decimal,
    "as_bytes": _as_bytes,
    "as_list": _as_list,
    "no_null": _no_null,
    "too_big": _too_big,
    "no_boolean": _no_boolean,
    "wrong_size": _wrong_size,
    "no_symbol": _no_symbol,
    "no_branch": _no_branch,
}
