"""JsonConverter: values as JSON, alone or in an envelope with their schema.

With `schemas.enable` a record reads ``{"schema":{...},"payload":...}``; without, it is the payload alone. KIP-301,
KIP-481 (decimals as numbers), KIP-581 (defaults for null), KIP-1054 (one schema outside of the records).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from types import NoneType
from typing import TYPE_CHECKING, Any, Final

from connect import settings
from connect.api.converter import SchemaAndValue, collect
from connect.converters import json_schema
from connect.converters.json_decode import Decoder, Inexact, schemaless
from connect.converters.json_encode import Preparer, lines
from connect.converters.json_fast import REFUSED, exact, has_long_integer, is_long, may_exceed, parse, shape_of
from connect.converters.json_rows import Rows
from connect.converters.json_text import read, read_at
from connect.converters.json_values import Use, objects
from connect.converters.kind import ConverterOptions, ValueConverter
from connect.converters.lru_cache import LruCache
from connect.data.column import Column
from connect.data.columns_text import pyarrow_is_there
from connect.data.headers import Headers
from connect.data.map_columns import MapColumns, Maps
from connect.data.schema import Schema, Type
from connect.data.struct_columns import StructColumns
from connect.data.values import GroupedValues, JsonValues, Values
from connect.errors import ConfigError, DataError, SchemaError

if TYPE_CHECKING:
    from connect.converters.json_arrow import ArrowRows
    from connect.converters.json_maps import ArrowMaps

#: With fewer records a quiet connector need not load pyarrow.
_WORTH_ARROW: Final = 100
_PAYLOAD: Final = b'"payload":'
_BEFORE_SCHEMA: Final = re.compile(r'[ \t\n\r]*\{[ \t\n\r]*"schema"[ \t\n\r]*:[ \t\n\r]*')
_AFTER_SCHEMA: Final = re.compile(r'[ \t\n\r]*,[ \t\n\r]*"payload":')


class JsonOptions(ConverterOptions):
    """The settings of `JsonConverter`."""

    schemas_enable = settings.Boolean(
        "schemas.enable",
        default=True,
        doc="Whether each record carries its schema: an object of schema and payload.",
        importance=settings.Importance.HIGH,
    )
    schemas_cache_size = settings.Int(
        "schemas.cache.size",
        default=1000,
        doc="How many schemas the converter remembers, so that it does not read or write them again for each record.",
        importance=settings.Importance.HIGH,
    )
    schema_content = settings.String(
        "schema.content",
        default=None,
        doc="A schema, in the form it has in the envelope, for all records that are read. They are then plain JSON "
        "without an envelope. Only with schemas.enable.",
        importance=settings.Importance.HIGH,
    )
    decimal_numeric = settings.String(
        "decimal.format",
        default="BASE64",
        doc="How decimals are written: BASE64 keeps every digit, NUMERIC is a JSON number. Both are read.",
        importance=settings.Importance.LOW,
        validator=settings.one_of("BASE64", "NUMERIC", ignore_case=True),
        convert=lambda word: word.upper() == "NUMERIC",
    )
    replace_null_with_default = settings.Boolean(
        "replace.null.with.default",
        default=True,
        doc="Whether null becomes the default of a field that has one.",
        importance=settings.Importance.LOW,
    )


class JsonConverter(ValueConverter):
    """Converts between JSON and values, with or without schemas."""

    settings = JsonOptions.definition()

    def __init__(self) -> None:
        self._take(JsonOptions.of({}, is_key=False))

    def configure(self, config: Mapping[str, str], *, is_key: bool | None = None) -> None:
        self._take(JsonOptions.of(config, is_key))

    def _take(self, options: JsonOptions) -> None:
        replace_null = options.replace_null_with_default
        self._envelope = options.schemas_enable
        self._decoder = Decoder(replace_null)
        self._preparer = Preparer(decimal_numeric=options.decimal_numeric, replace_null=replace_null)
        size = options.schemas_cache_size
        self._by_start: LruCache[bytes, Schema | None] = LruCache(size)
        self._by_node: LruCache[str, Schema | None] = LruCache(size)
        self._starts: LruCache[Schema | None, bytes] = LruCache(size)
        self._rows: LruCache[Schema, Rows | None] = LruCache(size)
        self._arrow_rows: LruCache[Schema, ArrowRows | None] = LruCache(size)
        self._use = Use(self._map_columns)
        self._arrow_maps: ArrowMaps | None = None
        self._declared: Schema | None = None
        if self._envelope and options.schema_content:
            try:
                self._declared = self._schema_of(read(options.schema_content.encode()))
            except DataError as error:
                raise ConfigError("schema.content", f"holds no schema. {error}") from None

    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        values = self._to_connect([data])
        return SchemaAndValue(values.schemas[0], values[0])

    def to_connect_batch(self, topics: Column[str], data: Sequence[bytes | None]) -> Values:
        return self._to_connect(data)

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        return self._from_connect(schema, [value])[0]

    def from_connect_batch(self, topics: Column[str], values: Values) -> Sequence[bytes | None]:
        columns = values.struct_columns
        if columns is not None and any(field.is_arrow for field in columns.fields):
            from connect.converters import json_columns

            start, end = (self._start(columns.struct), b"}") if self._envelope else (b"", b"")
            return json_columns.rows(columns, self._preparer, start, end)
        if isinstance(values, MapColumns) and values.in_arrow:
            from connect.converters import json_columns

            start, end = (self._start(None), b"}") if self._envelope else (b"", b"")
            return json_columns.map_rows(values.columns, self._preparer, start, end)
        if values.schemas.constant:
            return self._from_connect(values.schemas[0] if len(values) else None, values.to_list())
        items = values.to_list()
        written: dict[int, bytes | None] = {}
        for schema, rows in values.by_schema():
            written.update(zip(rows, self._from_connect(schema, [items[row] for row in rows]), strict=True))
        return [written[row] for row in range(len(items))]

    # Reading.

    def _to_connect(self, data: Sequence[bytes | None]) -> Values:
        try:
            return self._read(data)
        except RecursionError:  # a schema within schemas, or values of a kind that only recursion can make
            raise DataError("This JSON is nested too deeply.") from None

    def _read(self, data: Sequence[bytes | None]) -> Values:
        present = [item for item in data if item is not None]
        if len(present) < len(data):
            return self._with_tombstones(data, self._read(present))
        if not self._envelope:
            return objects(present, _OBJECTS, self._use) or Maps(_schemaless_values(present))
        if self._declared is not None:
            return self._structs_of(self._declared, present) or Values(
                self._values_of(self._declared, present, _nodes), self._declared
            )
        return self._of_envelopes(present)

    def _with_tombstones(self, data: Sequence[bytes | None], present: Values) -> Values:
        if not self._envelope:
            values = iter(present)
            items = [None if item is None else next(values) for item in data]
            return Values(items) if present.json is None else JsonValues(items, list(data))
        rows = [row for row, item in enumerate(data) if item is not None]
        null = [row for row, item in enumerate(data) if item is None]
        groups: list[tuple[Sequence[int], Values]] = [
            ([rows[i] for i in members], values) for members, values in present.groups()
        ]
        return GroupedValues(len(data), [*groups, (null, Values.nulls(len(null)))])

    def _structs_of(self, schema: Schema | None, payloads: list[bytes]) -> StructColumns | None:
        """Structs field by field, without a dict for each; None where `_values_of` is needed."""
        if schema is None or schema.type is not Type.STRUCT or not schema.fields or not payloads:
            return None
        if schema not in self._rows:
            self._rows[schema] = Rows(schema) if Rows.knows(schema) else None
        rows = self._rows[schema]
        if rows is None:
            return None
        if len(payloads) >= _WORTH_ARROW and pyarrow_is_there():
            arrays = self._by_arrow(schema, payloads)
            if arrays is not None:
                return arrays
        try:
            values = rows.columns(payloads, self._decoder)
        except (*REFUSED, Inexact):
            return None
        return StructColumns(schema, [each if type(each) is list else list(each) for each in values])

    def _by_arrow(self, schema: Schema, payloads: list[bytes]) -> StructColumns | None:
        """The same by Arrow's reader, where it supports them."""
        from connect.converters.json_arrow import ArrowRows

        if schema not in self._arrow_rows:
            self._arrow_rows[schema] = ArrowRows(schema) if ArrowRows.knows(schema) else None
        reader = self._arrow_rows[schema]
        arrays = None if reader is None else reader.columns(payloads, self._decoder)
        return None if arrays is None else StructColumns(schema, arrays)

    def _map_columns(self, payloads: list[bytes]) -> Mapping[str, Column[Any]] | None:
        """Objects without a schema by columns, where Arrow can read them."""
        if len(payloads) < _WORTH_ARROW:
            return None
        if self._arrow_maps is None and pyarrow_is_there():
            from connect.converters.json_maps import ArrowMaps

            self._arrow_maps = ArrowMaps()
        return None if self._arrow_maps is None else self._arrow_maps.columns(payloads)

    def _values_of(
        self, schema: Schema | None, payloads: list[bytes], parsed: Callable[[list[bytes]], list[Any]]
    ) -> list[Any]:
        if schema is None:
            return [schemaless(node) for node in map(exact, payloads)]
        try:
            nodes = parsed(payloads)
            if may_exceed(payloads, b"\n".join(payloads)):
                raise Inexact
            values = self._decoder.column(schema, nodes)
        except Inexact:
            values = self._decoder.column(schema, list(map(exact, payloads)))
        return values if isinstance(values, list) else list(values)

    def _of_envelopes(self, data: list[bytes]) -> Values:
        """Records with the same beginning have the same schema: it is read once, and only their payloads are parsed."""
        if not data:
            return Values([])
        first = _start_of(data[0])
        if all([item.startswith(first) for item in data]):  # noqa: C419 - a list is faster here
            found = self._of_group(first, data)
            if found is not None:
                return found
        groups: dict[bytes, list[int]] = {}
        for row, item in enumerate(data):
            groups.setdefault(_start_of(item), []).append(row)
        return GroupedValues(
            len(data),
            [(rows, self._of_any_group(start, [data[row] for row in rows])) for start, rows in groups.items()],
        )

    def _of_any_group(self, start: bytes, data: list[bytes]) -> Values:
        found = self._of_group(start, data)
        return collect([self._of_envelope(item) for item in data]) if found is None else found

    def _of_group(self, start: bytes, data: list[bytes]) -> Values | None:
        """The values of records that all begin like this, or None where each has to be parsed as a whole."""
        if not (start in self._by_start or self._learn(start)):
            return None
        # What is left is the payload, if it is one JSON value and nothing else: the parser makes sure of it.
        if not all([item[-1] == 0x7D for item in data]):  # noqa: C419 - a list is faster here
            return None
        length = len(start)
        payloads = [item[length:-1] for item in data]
        if is_long(payloads, b"\n".join(payloads)):
            return None
        schema = self._by_start[start]
        try:
            if schema is None:
                return Maps(_schemaless_values(payloads, list(map(parse, payloads))))
            return self._structs_of(schema, payloads) or Values(
                self._values_of(schema, payloads, lambda each: list(map(parse, each))), schema
            )
        except REFUSED:
            return None

    def _learn(self, start: bytes) -> bool:
        """Read the schema before a payload; False when this is no beginning of an envelope."""
        try:
            text = start.decode()
            before = _BEFORE_SCHEMA.match(text)
            if before is None:
                return False
            node, end = read_at(text, before.end(), depth=1)
            if _AFTER_SCHEMA.fullmatch(text, end) is None:
                return False
            self._by_start[start] = self._schema_of(node)
        except (DataError, UnicodeDecodeError):
            return False
        return True

    def _of_envelope(self, data: bytes) -> SchemaAndValue:
        node = exact(data)
        if not isinstance(node, dict) or len(node) != 2 or "schema" not in node or "payload" not in node:
            raise DataError(
                'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain '
                "additional fields. If you are trying to deserialize plain JSON data, set schemas.enable=false in "
                "your converter configuration."
            )
        schema = self._schema_of(node["schema"])
        payload = node["payload"]
        value = schemaless(payload) if schema is None else self._decoder.column(schema, [payload])[0]
        return SchemaAndValue(schema, value)

    def _schema_of(self, node: Any) -> Schema | None:
        key = repr(node)
        if key not in self._by_node:
            self._by_node[key] = json_schema.from_json(node, self._default)
        return self._by_node[key]

    def _default(self, schema: Schema, node: Any) -> Any:
        if schema.type is Type.STRUCT and node is not None:
            raise SchemaError("a struct has no default in Kafka Connect's JSON: it refuses what it has written itself.")
        return self._decoder.column(schema, [node], in_struct=True)[0]

    # Writing.

    def _from_connect(self, schema: Schema | None, items: list[Any]) -> list[bytes | None]:
        if schema is None and NoneType in set(map(type, items)):
            present = iter(self._from_connect(None, [item for item in items if item is not None]))
            return [None if item is None else next(present) for item in items]
        try:
            text = lines(self._preparer.column(schema, items))
        except RecursionError:
            raise DataError("the value is nested too deeply, or holds itself.") from None
        if self._envelope and items:
            start = self._start(schema)
            text = start + text[:-1].replace(b"\n", b"}\n" + start) + b"}\n"
        rows: list[bytes | None] = text.split(b"\n")  # type: ignore[assignment]
        rows.pop()
        return rows

    def _start(self, schema: Schema | None) -> bytes:
        """The envelope before a payload of this schema."""
        if schema not in self._starts:
            node = (
                None if schema is None else json_schema.to_json(schema, lambda s, v: self._preparer.column(s, [v])[0])
            )
            self._starts[schema] = b'{"schema":' + lines([node])[:-1] + b"," + _PAYLOAD
        return self._starts[schema]


# Parsing. The fast parser comes first, and what it refuses, or reads in another way, is parsed exactly.

_MINUS_ZERO: Final = re.compile(rb"-0(?:\.0+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)(?![0-9.])")


def _nodes(data: list[bytes]) -> list[Any]:
    try:
        return list(map(parse, data))
    except REFUSED:
        return list(map(exact, data))


def _schemaless_values(data: list[bytes], nodes: list[Any] | None = None, *, within_limits: bool = False) -> list[Any]:
    """The values of JSON without a schema, some already parsed, or known to be within Java's limits."""
    if nodes is None:
        try:
            nodes = list(map(parse, data))
        except REFUSED:
            return [schemaless(exact(item)) for item in data]
    # What the fast parser reads in another way than Java: minus zero, whole numbers beyond 64 bits, what Java refuses.
    joined = b"\n".join(data)
    shape = None if within_limits else shape_of(joined)
    if (
        _MINUS_ZERO.search(joined)
        or (has_long_integer(joined, shape) and not _fit_into_int64(nodes))
        or (not within_limits and may_exceed(data, joined, shape))
    ):
        return [schemaless(exact(item)) for item in data]
    return nodes


_OBJECTS: Final = partial(_schemaless_values, within_limits=True)


def _fit_into_int64(values: Sequence[Any]) -> bool:
    while values:
        kinds = set(map(type, values))
        numbers = [value for value in values if type(value) is int] if int in kinds else [0]
        if min(numbers) < -(1 << 63) or max(numbers) >= 1 << 63:
            return False
        inner = [value if type(value) is list else value.values() for value in values if type(value) in (list, dict)]
        values = list(chain.from_iterable(inner))
    return True


def _start_of(item: bytes) -> bytes:
    return item[: item.find(_PAYLOAD) + len(_PAYLOAD)]
