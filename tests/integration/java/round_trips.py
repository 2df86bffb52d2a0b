"""Batches of drawn schemas and values cross into a JVM and back: `python -m tests.integration.java.round_trips`.

Eight ways, for each seed: Java's own JsonConverter in our chain writes the bytes that ours writes, and reads them as
ours does; so does its converter of headers; Java's InsertField returns each record as it was, with one field more; a
number that is too large is refused, and so are two keys of a map that are one to Python; headers with long names are
read; and defaults of every type come back. Prints what differs, and exits with 1.
"""

from __future__ import annotations

import argparse
import datetime as dt
import math
import random
import struct
import sys
from decimal import Decimal
from typing import Any

from connect.converters.json_converter import JsonConverter
from connect.converters.simple_header import SimpleHeaderConverter
from connect.data import logical
from connect.data.batch import SinkBatch, SourceBatch
from connect.data.column import column
from connect.data.headers import Header, Headers
from connect.data.record import SinkRecord, SourceRecord
from connect.data.schema import FLOAT64, INT32, OPTIONAL_STRING, STRING, Schema, Type
from connect.errors import DataError
from connect.java.plugins import stand_in

_PLAIN = [
    Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64, Type.BOOLEAN, Type.STRING, Type.BYTES,
]  # fmt: skip
_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_TEXTS = ["", "plain", "Straße", "日本", 'a "quote"', "tab\t", "🎈"]


def drawn_schema(chance: random.Random, depth: int = 0) -> Schema:
    """A schema; of a struct at depth 0."""
    optional = chance.random() < 0.4
    kind = chance.random() if depth else 1.0
    if kind < 0.5 or depth > 3:
        return Schema(chance.choice(_PLAIN), optional=optional)
    if kind < 0.7:
        chosen = chance.choice([logical.DATE, logical.TIME, logical.TIMESTAMP, logical.decimal(chance.randrange(5))])
        return chosen.replace(optional=optional)
    if kind < 0.8:
        return Schema.array(drawn_schema(chance, depth + 1), optional=optional)
    if kind < 0.87:
        keys = chance.choice([STRING, STRING, INT32, logical.DATE, logical.TIME, logical.TIMESTAMP, logical.decimal(2)])
        return Schema.map(keys, drawn_schema(chance, depth + 1), optional=optional)
    fields = {f"f{number}": drawn_schema(chance, depth + 1) for number in range(chance.randrange(1, 6))}
    if depth and chance.random() < 0.3:
        fields["default"] = INT32.replace(default=chance.randrange(9))
    return Schema.struct(fields, optional=optional and depth > 0, name=chance.choice([None, "x.Named"]), version=2)


def drawn_value(chance: random.Random, schema: Schema) -> Any:
    """A value of a schema."""
    if schema.optional and chance.random() < 0.3:
        return None
    match schema.name:
        case logical.DATE_NAME:
            return dt.date(1900, 1, 1) + dt.timedelta(days=chance.randrange(80_000))
        case logical.TIME_NAME:
            return (_EPOCH + dt.timedelta(milliseconds=chance.randrange(86_400_000))).time()
        case logical.TIMESTAMP_NAME:
            return _EPOCH + dt.timedelta(milliseconds=chance.randrange(-(10**12), 2 * 10**12))
        case logical.DECIMAL_NAME:
            digits = chance.choice([1, 9, 20, 38, 45])
            return Decimal(f"{chance.randrange(-(10**digits) + 1, 10**digits)}E-{logical.scale_of(schema)}")
    if schema.type in _BITS:
        most = 1 << _BITS[schema.type] - 1
        return chance.choice([0, 1, -1, most - 1, -most, chance.randrange(-most, most)])
    match schema.type:
        case Type.FLOAT32:
            return struct.unpack("f", struct.pack("f", chance.uniform(-1e6, 1e6)))[0]
        case Type.FLOAT64:
            return chance.choice([0.0, -0.0, 1e300, chance.uniform(-1, 1)])
        case Type.BOOLEAN:
            return chance.random() < 0.5
        case Type.STRING:
            return chance.choice(_TEXTS) * chance.randrange(3)
        case Type.BYTES:
            return chance.randbytes(chance.randrange(9))
        case Type.ARRAY:
            assert schema.value_schema is not None
            return [drawn_value(chance, schema.value_schema) for _ in range(chance.randrange(4))]
        case Type.MAP:
            assert schema.key_schema is not None
            assert schema.value_schema is not None
            names = schema.key_schema.type is Type.STRING
            keys = [f"k{n}" if names else drawn_value(chance, schema.key_schema) for n in range(chance.randrange(3))]
            return {key: drawn_value(chance, schema.value_schema) for key in keys}
    made = {field.name: drawn_value(chance, field.schema) for field in schema.fields}
    return made | {field.name: None for field in schema.fields if field.schema.default is not None}


def drawn_json(chance: random.Random, depth: int = 0) -> Any:
    """A value without a schema; a map at depth 0."""
    kind = chance.randrange(8 if depth < 3 else 6) if depth else 7
    match kind:
        case 0:
            return None
        case 1:
            return chance.random() < 0.5
        case 2:
            return chance.randrange(-(1 << 63), 1 << 63)
        case 3:
            return chance.uniform(-1e9, 1e9)
        case 4 | 5:
            return chance.choice(_TEXTS)
        case 6:
            return [drawn_json(chance, depth + 1) for _ in range(chance.randrange(3))]
    return {f"m{number}": drawn_json(chance, depth + 1) for number in range(chance.randrange(4))}


def _records(chance: random.Random, *, sink: bool) -> list[Any]:
    schemas = [drawn_schema(chance) for _ in range(chance.choice([1, 1, 3]))]
    made = []
    for number in range(chance.randrange(1, 40)):
        schema = chance.choice([*schemas, None]) if chance.random() < 0.3 else schemas[0]
        value = drawn_json(chance) if schema is None else drawn_value(chance, schema)
        if chance.random() < 0.1:
            schema, value = chance.choice([(None, None), (schema and schema.as_optional(), None)])
        headers = Headers([Header("h", chance.randrange(9), INT32)] if chance.random() < 0.3 else [])
        if chance.random() < 0.1:
            kind = drawn_schema(chance, 1)
            headers = Headers([*headers, Header("Überschrift", drawn_value(chance, kind), kind), Header("n", None)])
        common: dict[str, Any] = {
            "topic": chance.choice(["one", "two"]), "partition": chance.randrange(2), "key": f"k{number}",
            "key_schema": STRING, "value": value, "value_schema": schema, "headers": headers,
            "timestamp": chance.choice([None, number]),
        }  # fmt: skip
        if sink:
            made.append(SinkRecord(offset=number, **common))
        else:
            made.append(SourceRecord(source_partition={"p": 1}, source_offset={"o": number}, **common))
    return made


def _insert(chance: random.Random) -> None:
    sink = chance.random() < 0.5
    records = _records(chance, sink=sink)
    kind = stand_in("transformation", "org.apache.kafka.connect.transforms.InsertField$Value", None)
    made = kind()
    made.configure(made.settings.parse({"static.field": "added", "static.value": "it"}))
    batch: Any = SinkBatch.of(records) if sink else SourceBatch.of(records)
    results = made.apply_batch(batch).records()
    made.close()
    assert len(results) == len(records)
    for before, after in zip(records, results, strict=True):
        value = None if before.value is None else {**before.value, "added": "it"}
        _same(value, after.value, before)
        for name in ("topic", "partition", "key", "key_schema", "timestamp", "headers"):
            _same(getattr(before, name), getattr(after, name), before)
        if before.value is None:
            _same(before.value_schema, after.value_schema, before)
        elif before.value_schema is None:
            assert after.value_schema is None
        else:
            fields = {field.name: field.schema for field in after.value_schema.fields}
            del fields["added"]
            _same({field.name: field.schema for field in before.value_schema.fields}, fields, before)


def _refuse(chance: random.Random) -> None:
    """A number that Java's type has not: a whole one of no long, or one that does not fit its schema."""
    number = chance.choice([1 << 63, (1 << 64) - 1, 1 << 64, -(1 << 63) - 1])
    schema: Schema | None = None
    value: Any = {"a": [number]}
    why = f"{number} has more than 64 bits."
    if chance.random() < 0.5:
        kind = chance.choice([Type.INT8, Type.INT16, Type.INT32])
        half = 1 << _BITS[kind] - 1
        number, schema = chance.choice([half, -half - 1, 1 << 40]), Schema.struct({"a": Schema(kind)})
        value, why = {"a": number}, f"{number} does not fit into {kind.name}."
    elif chance.random() < 0.3:
        schema, value, why = Schema.struct({"a": Schema(Type.INT64)}), {"a": 1.5}, "class java.lang.Double"
    made = stand_in("transformation", "org.apache.kafka.connect.transforms.InsertField$Value", None)()
    made.configure(made.settings.parse({"static.field": "added", "static.value": "it"}))
    record = SinkRecord(topic="t", partition=0, offset=0, value=value, value_schema=schema)
    try:
        made.apply_batch(SinkBatch.of([record]))
    except DataError as error:
        said = str(error)
    else:
        said = "it has crossed"
    made.close()
    assert why in said, said


def _convert(chance: random.Random) -> None:
    records = _records(chance, sink=True)
    batch = SinkBatch.of(records)
    config = {"schemas.enable": "true", "converter.type": "value", "schemas.cache.size": "0"}
    ours = JsonConverter()
    java = stand_in("converter", "org.apache.kafka.connect.json.JsonConverter", None)()
    for each in (ours, java):
        each.configure(config, is_key=False)
    nothing = column([None] * len(records))
    written, _ = ours.from_connect_batch_with_headers(batch.topics, batch.values, nothing)
    by_java, _ = java.from_connect_batch_with_headers(batch.topics, batch.values, nothing)
    for record, one, other in zip(records, written, by_java, strict=True):
        _same(one, other, record)
    read = ours.to_connect_batch_with_headers(batch.topics, written, nothing)
    read_by_java = java.to_connect_batch_with_headers(batch.topics, written, nothing)
    for record, *values in zip(records, read, read_by_java, read.schemas, read_by_java.schemas, strict=True):
        _same(values[0], values[1], record)
        _same(values[2], values[3], record)
    java.close()


def _headers(chance: random.Random) -> None:
    """Kafka Connect's default header converter, ours and Java's, on the same headers."""
    rows = []
    for _ in range(chance.randrange(1, 20)):
        made = []
        for _ in range(chance.randrange(3)):
            schema = chance.choice([STRING, INT32, FLOAT64, Schema.array(STRING), Schema.map(STRING, INT32), None])
            value = chance.choice(_TEXTS) if schema is None else drawn_value(chance, schema)
            made.append(Header(chance.choice(["h", "Überschrift"]), value, schema))
        rows.append(Headers(made))
    ours = SimpleHeaderConverter()
    java = stand_in("header_converter", "org.apache.kafka.connect.storage.SimpleHeaderConverter", None)()
    for each in (ours, java):
        each.configure({})
    topics = column(["t"] * len(rows))
    written = ours.from_connect_headers(topics, column(rows))
    _same(written, java.from_connect_headers(topics, column(rows)), rows)
    read = ours.to_connect_headers(topics, column(written))
    _same(read, java.to_connect_headers(topics, column(written)), written)
    for items, pairs in zip(rows, written, strict=True):
        for header, (key, data) in zip(items, pairs or (), strict=True):
            _same(data, java.from_connect_header("t", key, header.schema, header.value), header)
            _same(ours.to_connect_header("t", key, data), java.to_connect_header("t", key, data), header)
    java.close()


def _defaults(chance: random.Random) -> None:
    """Defaults of every type come back, and Java sees those of structs, which its JsonConverter cannot read."""
    inner = Schema.struct({"x": INT32, "y": OPTIONAL_STRING, "z": drawn_schema(chance, 2)}, name="x.Inner")
    one = {"x": 5, "y": None, "z": drawn_value(chance, inner.fields[2].schema)}
    drawn = drawn_schema(chance, 1).replace(optional=False)
    fields = {
        "double": FLOAT64.replace(default=chance.choice([math.nan, math.inf, -0.0])),
        "struct": inner.replace(default=one),
        "around": Schema.struct({"inner": inner.replace(default=one)}, parameters={"default": "no default"}),
        "list": Schema.array(inner).replace(default=[one, one]),
        "map": Schema.map(INT32, inner).replace(default={-1: one}),
        "drawn": drawn.replace(default=drawn_value(chance, drawn)),
    }
    before = Schema.struct(fields)
    value = {"double": 1.0, "struct": one, "around": {"inner": None}, "list": [], "map": {}, "drawn": None}
    made = stand_in("transformation", "org.apache.kafka.connect.transforms.InsertHeader", None)()
    made.configure(made.settings.parse({"header": "h", "value.literal": "it"}))
    moved = stand_in("transformation", "org.apache.kafka.connect.transforms.HoistField$Value", None)()
    moved.configure(moved.settings.parse({"field": "hoisted"}))
    batch = SinkBatch.of([SinkRecord(topic="t", partition=0, offset=0, value=value, value_schema=before)])
    (after,) = moved.apply_batch(made.apply_batch(batch)).records()
    _same(value, after.value["hoisted"], value)
    schema = after.value_schema.field("hoisted").schema
    for field in before.fields:
        _same(field.schema.default, schema.field(field.name).schema.default, field)
        _same(field.schema.replace(default=None), schema.field(field.name).schema.replace(default=None), field)
    made.close()
    moved.close()


def _long_names(chance: random.Random) -> None:
    """Headers with names that fill a block to its last byte: each seed has another length."""
    java = stand_in("header_converter", "org.apache.kafka.connect.storage.SimpleHeaderConverter", None)()
    java.configure({})
    for length in range(chance.randrange(32, 40), 100, 5):
        pairs = [[("n" * chance.randrange(32, 100), b"text")], *[[("n" * length, b"text")]] * 1500]
        read = java.to_connect_headers(column(["t"] * len(pairs)), column(pairs))
        _same([[(header.key, b"text") for header in row] for row in read], pairs, length)
    java.close()


def _keys(chance: random.Random) -> None:
    """A map of Java with two keys that are one to Python is refused, and costs no entry."""
    java = stand_in("header_converter", "org.apache.kafka.connect.storage.SimpleHeaderConverter", None)()
    java.configure({})
    for text in (b'{1:"a",true:"b"}', b'{0:1,"x":2,false:3}'):
        try:
            said = f"it has crossed: {java.to_connect_header('t', 'h', text)}"
        except DataError as error:
            said = str(error)
        assert "two keys that only Java tells apart" in said, said
    number = chance.randrange(1000)
    read = java.to_connect_header("t", "h", b'{%d:1,"x":2,1.5:3}' % number)
    _same({number: 1, "x": 2, 1.5: 3}, read.value, number)
    java.close()


def _same(wanted: Any, found: Any, record: Any) -> None:
    if repr(wanted) != repr(found) and wanted != found:
        raise AssertionError(f"{record}\nwanted {wanted!r}\nfound  {found!r}")


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.integration.java.round_trips", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    asked = parser.parse_args()
    for seed in range(asked.first, asked.first + asked.seeds):
        for way in (_insert, _refuse, _convert, _headers, _defaults, _long_names, _keys):
            try:
                way(random.Random(seed))
            except Exception as error:
                sys.stdout.write(f"seed {seed}, {way.__name__}: {type(error).__name__}: {error}\n")
                raise
    sys.stdout.write(f"{asked.seeds} seeds\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
