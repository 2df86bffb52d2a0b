"""Reads Avro's binary form: a function made for one schema processes a whole column of records.

Each value comes out in Connect's form, the fields of a record as a list each. This is half again as fast as fastavro,
which reads record by record and knows nothing of Connect (`python -m bench.avro`), and a truncated record never takes
bytes of the next. https://avro.apache.org/docs/1.12.0/specification/#binary-encoding
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final, NoReturn

from connect.converters.avro.code import DEEPEST, Code
from connect.converters.avro.keys import AvroOptions
from connect.converters.avro.to_connect import is_map_entry, union_members
from connect.converters.avro.types import AvroType
from connect.data import logical
from connect.data.schema import Schema, Type
from connect.data.text import utf8_text
from connect.data.times import EPOCH, EPOCH_DAY
from connect.errors import DataError

#: Takes records and where in each its value begins. Gives a list of values, or for a record a list for each field.
Reader = Callable[[Sequence[bytes], int], list[Any]]

#: Takes values that stand one behind another, where the first begins, and how many to read. Gives what a `Reader`
#: gives, and where the next value begins.
BlockReader = Callable[[bytes, int, int], tuple[list[Any], int]]

#: In all arrays of a value together: entries that take no byte, as null does.
_MOST_EMPTY: Final = 100_000


def make_reader(avro: AvroType, schema: Schema, options: AvroOptions) -> Reader:
    """The function that reads values of this type; it raises `DataError` for invalid bytes."""
    return _careful(lambda text: _Writer(avro, schema, options, text).make())


def make_block_reader(avro: AvroType, schema: Schema, options: AvroOptions) -> BlockReader:
    """The function that reads consecutive values, as in the blocks of a container file."""
    return _careful(lambda text: _Writer(avro, schema, options, text).make_for_blocks())


def _careful(make: Callable[[str], Callable[..., Any]]) -> Callable[..., Any]:
    """A reader that expects valid text, and a second one for invalid text, made when it is needed."""
    quick = make("{}.decode()")
    careful: Callable[..., Any] | None = None

    def read(*where: Any) -> Any:
        nonlocal careful
        try:
            try:
                return quick(*where)
            except UnicodeDecodeError:
                if careful is None:
                    careful = make("utf8_text({})")
                return careful(*where)
        except (IndexError, struct.error):
            raise DataError("an Avro value ends too early. Was it written with the schema that it names?") from None
        except (OverflowError, ValueError, TypeError, RecursionError) as error:
            raise DataError(f"an Avro value cannot be read: {error}.") from None

    return read


class _Writer:
    """Generates a reader."""

    def __init__(self, avro: AvroType, schema: Schema, options: AvroOptions, text: str) -> None:
        self._avro = avro
        self._schema = schema
        self._options = options
        self._text = text
        #: What is handed from one function to the next: the bytes, where in them, how many entries took none.
        self._state = "d, p, z" if _may_swell(avro) else "d, p"
        self._code = Code(_TOOLS)

    def make(self) -> Reader:
        """The reader, which raises Python's own errors for invalid bytes."""
        code = self._code
        with code.function("def read(records, start):"):
            lists = self._lists()
            with code.block("for d in records:"):
                code("p = start")
                self._one(lists)
            code(f"return {self._given(lists)}")
        return code.make("read")

    def make_for_blocks(self) -> BlockReader:
        """The same for consecutive values."""
        code = self._code
        with code.function("def read(d, p, count):"):
            lists = self._lists()
            with code.block("for _ in range(count):"):
                self._one(lists)
            code(f"return {self._given(lists)}, p")
        return code.make("read")

    @property
    def _by_fields(self) -> bool:
        return self._avro.kind == "record" and bool(self._avro.fields)

    def _lists(self) -> list[str]:
        """Generate the lists for the values; returns their names."""
        code = self._code
        lists = [code.name("c") for _ in self._avro.fields] if self._by_fields else ["out"]
        for each in lists:
            code(f"{each} = []", f"{each}_append = {each}.append")
        return lists

    def _one(self, lists: list[str]) -> None:
        """Generate code that reads one value at p, and leaves p after it."""
        code, avro = self._code, self._avro
        if "z" in self._state:
            code("z = 0")
        if self._by_fields:
            for each, field in zip(lists, avro.fields, strict=True):
                member = self._schema.field(field.name)
                assert member is not None
                value = self._value(field.type, member.schema)
                code(f"{each}_append({value})")
        else:
            code(f"out_append({self._value(avro, self._schema)})")
        with code.block("if p > len(d):"):
            code("raise IndexError")

    def _given(self, lists: list[str]) -> str:
        return f"[{', '.join(lists)}]" if self._by_fields else "out"

    def _value(self, avro: AvroType, schema: Schema) -> str:
        """Generate code that reads a value; returns its expression, which may be used once, at once."""
        if self._code.depth > DEEPEST:
            return self._outside(avro, schema)
        kind = avro.kind
        if kind == "union":
            return self._union(avro, schema)
        if kind == "record":
            return self._record(avro, schema)
        if kind == "array":
            return self._map_entries(avro, schema) if schema.type is Type.MAP else self._array(avro, schema)
        if kind == "map":
            return self._map(avro, schema)
        return self._simple(avro, schema)

    def _outside(self, avro: AvroType, schema: Schema) -> str:
        code = self._code
        name, value = code.name("read_"), code.name("v")
        with code.function(f"def {name}({self._state}):"):
            code(f"return {self._value(avro, schema)}, {self._state}")
        code(f"{value}, {self._state} = {name}({self._state})")
        return value

    def _number(self, bits: int = 64) -> None:
        """Generate code that reads a number into b, in its encoded form."""
        code = self._code
        code("b = d[p]", "p += 1")
        with code.block("if b > 127:"):
            code("b &= 127", "s = 7")
            with code.block("while True:"):
                code("c = d[p]", "p += 1")
                with code.block("if c < 128:"):
                    code("b |= c << s", "break")
                code("b |= (c & 127) << s", "s += 7")
                with code.block(f"if s > {bits // 7 * 7}:"):  # Java takes so many bytes and no more, whatever they say
                    code("too_long()")
            with code.block(f"if b >> {bits}:"):
                code("too_long()")

    def _length(self, end: str) -> None:
        """Generate code that reads a length, and its end into the name `end`."""
        self._number()
        with self._code.block("if b & 1:"):
            self._code("negative()")
        self._code(f"{end} = p + (b >> 1)")

    def _simple(self, avro: AvroType, schema: Schema) -> str:
        code, value = self._code, self._code.name("v")
        match avro.kind:
            case "null":
                return "None"
            case "int" | "long":
                self._number(32 if avro.kind == "int" else 64)
                return self._whole(schema)
            case "boolean":
                code(f"{value} = d[p] == 1", "p += 1")
            case "float" | "double":
                code(f"{value}, = {avro.kind}_at(d, p)", f"p += {4 if avro.kind == 'float' else 8}")
            case "string":
                end = code.name("e")
                self._length(end)
                code(f"{value} = {self._text.format(f'd[p:{end}]')}", f"p = {end}")
            case "bytes" | "fixed":
                end = code.name("e")
                if avro.kind == "fixed":
                    code(f"{end} = p + {avro.size}")
                else:
                    self._length(end)
                found = f"d[p:{end}]"
                if schema.name == logical.DECIMAL_NAME:
                    found = f"decimal({found}, {-logical.scale_of(schema)})"
                code(f"{value} = {found}", f"p = {end}")
            case "enum":
                symbols = code.constant(tuple(avro.symbols))
                self._number(32)
                with code.block(f"if b & 1 or b >> 1 >= {len(avro.symbols)}:"):
                    code("no_symbol()")
                return f"{symbols}[b >> 1]"
            case _:
                raise DataError(f"the Avro type {avro.kind} is not known.")
        return value

    def _whole(self, schema: Schema) -> str:
        number = "(b >> 1) ^ -(b & 1)"
        match schema.name if schema.type in (Type.INT32, Type.INT64) else None:
            case logical.DATE_NAME:
                return f"date(({number}) + {EPOCH_DAY})"
            case logical.TIME_NAME:
                return f"time({number})"
            case logical.TIMESTAMP_NAME:
                return f"EPOCH + delta(0, 0, 0, {number})"
        if schema.type in (Type.INT8, Type.INT16):
            with self._code.block(f"if b >> {8 if schema.type is Type.INT8 else 16}:"):
                self._code("too_big()")
        return number

    def _union(self, avro: AvroType, schema: Schema) -> str:
        code, value = self._code, self._code.name("v")
        inner = avro.nullable
        if inner is None and len(avro.branches) == 1 and self._options.flatten:
            self._number()
            with code.block("if b:"):
                code("no_branch()")
            return self._value(avro.branches[0], schema)
        members = {id(branch): name for name, branch in union_members(avro, self._options)} if inner is None else {}
        empty = dict.fromkeys(members.values())
        if len(avro.branches) < 64:
            code("b = d[p]", "p += 1")
        else:
            self._number()
        order = sorted(range(len(avro.branches)), key=lambda at: avro.branches[at].kind == "null")
        for first, at in enumerate(order):
            branch = avro.branches[at]
            with code.block(f"{'elif' if first else 'if'} b == {2 * at}:"):
                if branch.kind == "null":
                    code(f"{value} = None")
                elif inner is not None:
                    code(f"{value} = {self._value(branch, schema)}")
                else:
                    name = members[id(branch)]
                    member = schema.field(name)
                    assert member is not None
                    found = self._value(branch, member.schema)
                    parts = [f"{each!r}: {found if each == name else 'None'}" for each in empty]
                    code(f"{value} = {{{', '.join(parts)}}}")
        with code.block("else:"):
            code("no_branch()")
        return value

    def _record(self, avro: AvroType, schema: Schema) -> str:
        code, value = self._code, self._code.name("v")
        parts = []
        for field in avro.fields:
            member = schema.field(field.name)
            assert member is not None
            each = code.name("f")
            code(f"{each} = {self._value(field.type, member.schema)}")
            parts.append(f"{field.name!r}: {each}")
        code(f"{value} = {{{', '.join(parts)}}}")
        return value

    def _blocks(self, smallest: int, body: Callable[[], None]) -> None:
        """Generate code for the blocks of an array or a map; `body` generates the code for one entry."""
        code = self._code
        with code.block("while True:"):
            self._number()
            with code.block("if not b:"):
                code("break")
            with code.block("if b & 1:"):
                count = code.name("n")
                code(f"{count} = -((b >> 1) ^ -1)")
                self._number()
            with code.block("else:"):
                code(f"{count} = b >> 1")
            if not smallest:
                code(f"z += {count}")
            with code.block(f"if {f'{count} > len(d) - p' if smallest else f'z > {_MOST_EMPTY}'}:"):
                code("too_many()")
            with code.block(f"for _ in range({count}):"):
                body()

    def _array(self, avro: AvroType, schema: Schema) -> str:
        code, value = self._code, self._code.name("v")
        items, element = avro.items, schema.value_schema
        assert items is not None
        assert element is not None
        code(f"{value} = []")
        self._blocks(_smallest(items), lambda: code(f"{value}.append({self._value(items, element)})"))
        return value

    def _map(self, avro: AvroType, schema: Schema) -> str:
        code, value, key, end = self._code, self._code.name("v"), self._code.name("k"), self._code.name("e")
        items, element = avro.items, schema.value_schema
        assert items is not None
        assert element is not None
        code(f"{value} = {{}}")

        def entry() -> None:
            self._length(end)
            code(f"{key} = {self._text.format(f'd[p:{end}]')}", f"p = {end}")
            code(f"{value}[{key}] = {self._value(items, element)}")

        self._blocks(1, entry)
        return value

    def _map_entries(self, avro: AvroType, schema: Schema) -> str:
        code, value, key = self._code, self._code.name("v"), self._code.name("k")
        assert avro.items is not None
        assert is_map_entry(avro.items)
        of_key, of_value = avro.items.fields
        keys, values = schema.key_schema, schema.value_schema
        assert keys is not None
        assert values is not None
        code(f"{value} = {{}}")

        def entry() -> None:
            code(f"{key} = {self._value(of_key.type, keys)}")
            code(f"{value}[{key}] = {self._value(of_value.type, values)}")

        self._blocks(_smallest(of_key.type) + _smallest(of_value.type), entry)
        return value


def _smallest(avro: AvroType) -> int:
    """1 when each value takes at least a byte, else 0."""
    if avro.kind == "record":
        return int(any(_smallest(field.type) for field in avro.fields))
    return int(not (avro.kind == "null" or (avro.kind == "fixed" and avro.size == 0)))


def _may_swell(avro: AvroType) -> bool:
    """Whether there are arrays of entries without bytes: a few bytes could announce millions."""
    inside = [*(field.type for field in avro.fields), *avro.branches, *([avro.items] if avro.items else [])]
    return (avro.kind == "array" and avro.items is not None and not _smallest(avro.items)) or any(
        map(_may_swell, inside)
    )


def _time(ms: int) -> dt.time:
    found: dt.time = logical.decode(logical.TIME, ms)
    return found


def _decimal(unscaled: bytes, exponent: int) -> Decimal:
    if not unscaled:
        raise DataError("an Avro value has a decimal without a byte.")
    return logical.scaled(int.from_bytes(unscaled, "big", signed=True), -exponent)


def _too_long() -> NoReturn:
    raise DataError("an Avro value has a number of more bits than its type.")


def _too_big() -> NoReturn:
    raise DataError("an Avro int is beyond the int8 or int16 that its connect.type says.")


def _negative() -> NoReturn:
    raise DataError("an Avro value has a length below 0.")


def _no_branch() -> NoReturn:
    raise DataError("an Avro value is of a type that its union has not.")


def _no_symbol() -> NoReturn:
    raise DataError("an Avro value is of a symbol that its enum has not.")


def _too_many() -> NoReturn:
    raise DataError(f"an Avro array or map has more entries than there are bytes, or {_MOST_EMPTY:,} that take none.")


_TOOLS: Final = {
    "float_at": struct.Struct("<f").unpack_from,
    "double_at": struct.Struct("<d").unpack_from,
    "utf8_text": utf8_text,
    "date": dt.date.fromordinal,
    "time": _time,
    "EPOCH": EPOCH,
    "delta": dt.timedelta,
    "decimal": _decimal,
    "too_long": _too_long,
    "too_big": _too_big,
    "negative": _negative,
    "no_branch": _no_branch,
    "no_symbol": _no_symbol,
    "too_many": _too_many,
}
