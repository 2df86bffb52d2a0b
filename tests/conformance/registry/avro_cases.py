"""What is asked of the converters: Avro schemas and Connect schemas, each there for something that it shows."""

import datetime as dt
from decimal import Decimal
from typing import Any

from connect.data import Schema, Type, logical
from connect.data import schema as s

Json = Any

SETTINGS: list[dict[str, str]] = [
    {},
    {"enhanced.avro.schema.support": "true"},
    {"connect.meta.data": "false"},
    {"generalized.sum.type.support": "true"},
    {"discard.type.doc.default": "true"},
    {"allow.optional.map.keys": "true"},
    {"ignore.default.for.nullables": "true"},
    {"enhanced.avro.schema.support": "true", "discard.type.doc.default": "true"},
]


def record(*fields: Json, **more: Json) -> Json:
    return {"type": "record", "name": "R", "namespace": "n", "fields": list(fields), **more}


def of(avro: Json, **more: Json) -> Json:
    """A record with one field of this type."""
    return record({"name": "f", "type": avro, **more})


ENUM = {"type": "enum", "name": "E", "namespace": "n", "symbols": ["A", "B"], "doc": "of E", "default": "B"}
FIXED = {"type": "fixed", "name": "F", "size": 2}
INNER = {
    "type": "record",
    "name": "S",
    "namespace": "m",
    "doc": "of S",
    "fields": [
        {"name": "x", "type": "int", "default": 1},
        {"name": "y", "type": ["null", "string"], "default": None, "doc": "of y"},
    ],
}
ENTRY = {
    "type": "record",
    "name": "MapEntry",
    "namespace": "io.confluent.connect.avro",
    "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": ["null", "string"]}],
}
TIMESTAMP = {"type": "long", "logicalType": "timestamp-millis"}
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
MARKED = {"type": "string", "connect.doc": "of the type", "connect.default": "q"}

AVRO: list[Json] = [
    *("null", "boolean", "int", "long", "float", "double", "bytes", "string"),
    ["null", "int"],
    ["int", "null"],
    ["int"],
    ["null", "int", "string"],
    ["null", {"type": "record", "name": "a.X", "fields": []}, {"type": "record", "name": "b.Y", "fields": []}],
    [{"type": "record", "name": "a.X", "fields": []}, {"type": "record", "name": "b.X", "fields": []}],
    {"type": "map", "values": "int"},
    {"type": "map", "values": ["null", ENUM]},
    {"type": "array", "items": ["null", "int"]},
    {"type": "array", "items": {"type": "array", "items": ["null", "int", "string"]}},
    {"type": "array", "items": ENTRY},
    {"type": "array", "items": ["null", ENTRY]},
    {"type": "array", "items": {**ENTRY, "name": "Of", "connect.internal.type": "MapEntry"}},
    {"type": "array", "items": {**ENTRY, "name": "Of"}},
    {"type": "int", "logicalType": "date"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "long", "logicalType": "time-micros"},
    TIMESTAMP,
    *(
        {"type": "long", "logicalType": f"{kind}timestamp-{unit}"}
        for kind in ("", "local-")
        for unit in ("micros", "nanos")
    ),
    {"type": "string", "logicalType": "uuid"},
    DECIMAL,
    {"type": "bytes", "logicalType": "decimal", "precision": 9},
    {"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 3},
    {"type": "string", "logicalType": "date"},
    {"type": "long", "logicalType": "date"},
    {"type": "int", "logicalType": "timestamp-millis"},
    {"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"},
    {**MARKED, "connect.name": "my.S", "connect.version": 3, "connect.parameters": {"a": "b", "c": "1"}},
    *({"type": "int", "connect.type": kind, "connect.default": 5} for kind in ("int8", "int16", "int24")),
    {"type": "string", "connect.type": "int8"},
    {"type": "bytes", "connect.name": logical.DECIMAL_NAME, "connect.version": 1, "connect.parameters": {"scale": "2"}},
    {"type": "int", "connect.name": logical.DATE_NAME, "connect.version": 1},
    {"type": "record", "name": "NoNamespace", "fields": []},
    record(doc="of R", **{"connect.name": "other.R", "connect.version": 2, "connect.doc": "of Connect"}),
    record({"name": "a", "type": "int", "aliases": ["b"], "order": "ignore"}, aliases=["Old"]),
    *(
        {**record(), "name": name, "namespace": "io.confluent.connect.avro"}
        for name in ("ConnectDefault", "ConnectDefault7")
    ),
    ENUM,
    {**ENUM, "connect.name": "other.E", "connect.parameters": {"io.confluent.connect.avro.Enum": "n.E"}},
    FIXED,
    {**FIXED, "connect.name": "W", "connect.parameters": {"a": "b"}},
    {"type": "array", "items": "int", "connect.name": "Numbers", "connect.default": [1]},
    {"type": "map", "values": "int", "connect.name": "Map", "connect.doc": "of a map"},
    {**record({"name": "a", "type": "string", "avro.of.field": "z", "q": "w"}), "avro.x": "1", "other": "2"},
    {"type": "int", "avro.number": 5},
    {"type": "string", "avro.java.string": "String"},
    of("string", default="d", doc="of f"),
    of(["null", "string"], default=None, doc="of f"),
    of(["string", "null"], default="x"),
    of("bytes", default="\u00ff\u0001"),
    of(FIXED, default="ab"),
    of("double", default=1),
    of("float", default=0.1),
    of("long", default=5),
    of("boolean", default=True),
    of(ENUM, default="A"),
    of(["null", ENUM], default=None),
    of({**ENUM, "connect.default": "B"}),
    of({"type": "array", "items": "int"}, default=[1, 2]),
    of({"type": "map", "values": "int"}, default={"a": 1}),
    of({"type": "map", "values": INNER}, default={}),
    of(INNER, doc="of f"),
    of(INNER, default={"x": 3, "y": None}),
    of(INNER, default={"x": 3}),
    of(["null", INNER], default=None),
    record(
        {"name": "a", "type": INNER}, {"name": "b", "type": "m.S"}, {"name": "c", "type": ["null", "m.S"], "doc": "Q"}
    ),
    of({"type": "int", "logicalType": "date"}, default=3),
    of(TIMESTAMP, default=3),
    of(["null", TIMESTAMP], default=None),
    of([TIMESTAMP, "null"], default=4),
    of(DECIMAL, default="\u0005"),
    of(["null", DECIMAL], default=None),
    of({"type": "int", "connect.default": 7}, default=8),
    of({"type": "int", "connect.default": 7}),
    of({"type": "int", "connect.type": "int8"}, default=3),
    of(MARKED, doc="of f"),
    of(MARKED),
    of([MARKED, "null"], doc="of f"),
    of(["null", MARKED], default=None),
    of(["int", "string"], default=3),
    of(["int"], default=4),
    of(["null", "int", "string"], default=None),
    of([{"type": "int", "connect.name": "named.I"}, "string"]),
    of([{"type": "map", "values": "int"}, {"type": "array", "items": "int"}, ENUM, FIXED, "float", "double", "null"]),
    record(*({"name": name, "type": ["null", "int", kind]} for name, kind in (("a", "string"), ("b", "long")))),
    of({"type": "int", "logicalType": "date", "connect.default": 5}),
    of({"type": "bytes", "connect.default": "\u00ff"}),
    of(INNER | {"fields": [{"name": "again", "type": ["null", "R"]}]}),
]

UNION = Schema.struct({"int": s.OPTIONAL_INT32, "string": s.OPTIONAL_STRING}, name="io.confluent.connect.avro.Union")
GENERAL_UNION = Schema.struct(
    {"connect_union_field_0": s.OPTIONAL_INT32, "connect_union_field_1": s.OPTIONAL_STRING},
    name="connect_union_0",
    parameters={"org.apache.kafka.connect.data.Union": "connect_union_0"},
)
_E = "io.confluent.connect.avro.Enum"
AN_ENUM = Schema(
    Type.STRING,
    name="n.E",
    parameters={
        _E: "n.E",
        f"{_E}.A": "A",
        f"{_E}.B": "B",
        "io.confluent.connect.avro.enum.doc.E": "of E",
        "io.confluent.connect.avro.enum.default.E": "A",
    },
)
_G = "org.apache.kafka.connect.data.Enum"
A_GENERAL_ENUM = Schema(Type.STRING, name="n.E", parameters={_G: "n.E", f"{_G}.A": "0", f"{_G}.B": "1"})
A_FIXED = Schema(Type.BYTES, name="n.F", parameters={"connect.fixed.size": "3"})
PAIRS = Schema.map(s.INT32, s.OPTIONAL_STRING)
DEFAULTS = Schema.struct(
    {
        "a": s.INT32.replace(default=5),
        "b": s.OPTIONAL_STRING,
        "c": s.OPTIONAL_STRING.replace(default="x"),
        "d": s.STRING.replace(doc="of d"),
        "e": s.OPTIONAL_STRING.replace(doc="of e", name="nn", parameters={"u": "v"}),
    },
    name="x.R",
)
NAMED = Schema.struct({"b": s.INT32}, name="n.In")
EVERY = {"name": "n.I", "version": 2, "doc": "of I", "parameters": {"avro.z": "1", "q": "2"}}

#: Schemas, each with values to write.
CONNECT: list[tuple[Schema, list[Any]]] = [
    (s.INT8, [0, -128, 127]),
    (s.INT16, [0, -32768, 32767]),
    (s.INT32, [0, 1, -1, 63, 64, -64, -65, 2**31 - 1, -(2**31)]),
    (s.INT64, [0, 8191, 8192, 2**63 - 1, -(2**63)]),
    (s.FLOAT32, [0.0, 1.5, float("inf")]),
    (s.FLOAT64, [0.0, 0.1, -1e300]),
    (s.BOOLEAN, [True, False]),
    (s.STRING, ["", "x" * 100, "äß€😀", "\x00"]),
    (s.BYTES, [b"", b"\x00\xff" * 70]),
    (s.OPTIONAL_INT8, [1, None]),
    (s.OPTIONAL_STRING, ["x"]),
    (s.STRING.replace(**{**EVERY, "default": "q", "optional": True}), ["x"]),
    (s.INT8.replace(**EVERY, default=3), [1]),
    (Schema.array(s.INT32, **EVERY, default=[1]), [[], [1, 2]]),
    (Schema.map(s.STRING, s.INT32, **EVERY), [{}, {"a": 1}]),
    (Schema.map(s.INT32, s.INT32, **EVERY), [{}, {1: 2}]),
    (Schema.struct({"a": s.INT32}, **EVERY), [{"a": 1}]),
    (A_FIXED, [b"abc", b"ab"]),
    (A_FIXED.replace(name=None), [b"ab"]),
    (A_FIXED.replace(version=1, doc="of F", default=b"abc"), [b"xyz"]),
    (logical.DATE, [dt.date(1969, 12, 31), dt.date(2026, 2, 28)]),
    (logical.TIME, [dt.time(0), dt.time(23, 59, 59, 999000)]),
    (logical.TIMESTAMP, [dt.datetime(1969, 12, 31, 23, 59, 59, 999000, dt.UTC)]),
    (logical.decimal(2), [Decimal("-123.45"), Decimal("0.00"), Decimal("1.000")]),
    (logical.decimal(2).replace(parameters={"scale": "2", "connect.decimal.precision": "9"}), [Decimal("1.00")]),
    (Schema.array(s.OPTIONAL_INT32), [[1, None], []]),
    (Schema.array(s.OPTIONAL_STRING.replace(default="z")), [["a", None]]),
    (Schema.map(s.STRING, s.INT32), [{}, {"a": 1, "b": 2}]),
    (Schema.map(s.OPTIONAL_STRING, s.INT32), [{"a": 1}]),
    (PAIRS, [{}, {1: "x", 2: None}]),
    (PAIRS.replace(name="x.M"), [{1: "x"}]),
    (Schema.map(s.STRING, Schema.array(PAIRS.as_optional(), optional=True), optional=True), [{"a": [{1: "x"}, None]}]),
    (Schema.struct({}, name="Empty"), [{}]),
    (Schema.struct({"a": s.INT32}), [{"a": 1}]),
    (Schema.struct({"a": s.INT32}, name="R"), [{"a": 1}]),
    (DEFAULTS, [{"d": "d"}, {"b": None, "c": None, "d": "d"}, {"a": 1, "b": "b", "c": "c", "d": "d", "e": "e"}, {}]),
    (Schema.struct({"a": NAMED, "b": NAMED, "c": NAMED.as_optional()}, name="x.R"), [{"a": {"b": 1}, "b": {"b": 2}}]),
    (Schema.struct({"a": Schema.struct({"b": s.INT32}), "c": Schema.struct({"q": s.INT32})}), []),
    (Schema.struct({"a": Schema.struct({"b": s.INT32}), "c": Schema.struct({"b": s.INT32})}), []),
    (Schema.struct({"a": Schema.struct({"b": s.INT32}, name="A")}, name="n.B"), [{"a": {"b": 1}}]),
    (Schema.struct({"a": NAMED.replace(doc="1"), "c": NAMED.replace(doc="2")}, name="n.B"), []),
    (Schema.array(Schema.struct({"x": s.INT32})), [[{"x": 1}]]),
    (
        Schema.struct({"m": Schema.map(s.INT32, NAMED), "n": Schema.map(s.INT32, NAMED)}),
        [{"m": {1: {"b": 2}}, "n": {}}],
    ),
    (UNION, [{"int": 1}, {"string": "x"}, {}]),
    (
        Schema.struct({"u": UNION, "w": UNION.as_optional()}, name="R"),
        [{"u": {"string": "z"}}, {"u": {"int": 1}, "w": {"int": 2}}],
    ),
    (Schema.struct({"u": GENERAL_UNION}, name="R"), [{"u": {"connect_union_field_1": "z"}}]),
    (AN_ENUM, ["A", "B", "C"]),
    (A_GENERAL_ENUM, ["A", "B"]),
    (Schema.struct({"e": AN_ENUM.replace(name=None, default="B")}, name="R"), [{"e": "A"}, {}]),
    (
        Schema.struct(
            {
                "a": s.INT32.replace(parameters={"io.confluent.connect.avro.field.default": "true"}, default=5),
                "b": s.INT32.replace(doc="of b"),
            },
            name="R",
            parameters={
                "io.confluent.connect.avro.field.doc.a": "of a",
                "io.confluent.connect.avro.record.doc": "of R",
                "connect.record.doc": "of old R",
            },
        ),
        [{"b": 1}],
    ),
    (
        Schema.struct(
            {
                "d": logical.DATE.replace(optional=True, default=dt.date(1970, 1, 2)),
                "t": logical.TIMESTAMP.replace(default=dt.datetime(1970, 1, 1, 0, 0, 0, 5000, dt.UTC)),
                "q": logical.decimal(2, default=Decimal("1.23")),
                "l": Schema.array(s.STRING, default=["x"]),
                "m": Schema.map(s.STRING, s.INT32, default={"a": 1}),
                "n": Schema.map(s.INT32, s.INT32, default={2: 1}),
                "o": Schema.map(s.INT32, s.INT32, default={}, optional=True),
                "f": s.FLOAT32.replace(default=float.fromhex("0x1.99999ap-4")),
                "g": s.FLOAT64.replace(default=1.9807040628566084e28),
                "h": s.FLOAT64.replace(default=float("inf")),
                "i": s.BOOLEAN.replace(default=False),
                "s": s.STRING.replace(default='a"\\\n\x1fü😀/'),
            },
            name="R",
        ),
        [{}],
    ),
]

#: What Avro's reader and the mapping make of these bytes.
VALUES: list[tuple[Json, bytes]] = [
    ("int", b"\x04"),
    ("int", b"\x04\x04"),
    ("int", b""),
    ("int", b"\x80\x80\x80\x80\x80\x10"),
    ("int", b"\xff\xff\xff\xff\x0f"),
    ("long", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
    ("long", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
    ("float", b"\x00\x00\x80?"),
    ("float", b"\x00\x00\x80"),
    ("boolean", b"\x00"),
    ("boolean", b"\x01"),
    ("boolean", b"\x02"),
    ("string", b"\x04\xff\xfe"),
    ("string", b"\x04a\xed\xa0\x80"),
    ("string", b"\x03"),
    ("string", b"\x06ab"),
    ("bytes", b"\x04\x00\xff"),
    (FIXED, b"ab"),
    (FIXED, b"a"),
    (ENUM, b"\x02"),
    (ENUM, b"\x04"),
    (ENUM, b"\x01"),
    ({"type": "map", "values": "int"}, b"\x01\x06\x02a\x02\x00"),
    ({"type": "map", "values": "int"}, b"\x02\x02a\x02\x02\x02b\x04\x00"),
    ({"type": "array", "items": "int"}, b"\x02\x02\x02\x04\x00"),
    ({"type": "array", "items": "int"}, b"\x03\x04\x02\x04\x00"),
    ({"type": "array", "items": "int"}, b"\x04\x02"),
    ({"type": "array", "items": "null"}, b"\x06\x00"),
    ({"type": "array", "items": ENTRY}, b"\x04\x02\x02\x02x\x04\x00\x00"),
    ({"type": "int", "logicalType": "date"}, b"\x03"),
    ({"type": "int", "logicalType": "time-millis"}, b"\x04"),
    (TIMESTAMP, b"\x03"),
    ({"type": "long", "logicalType": "timestamp-micros"}, b"\x03"),
    (DECIMAL, b"\x04\x01\x02"),
    (DECIMAL, b"\x02\xff"),
    (["null", "int"], b"\x00"),
    (["null", "int"], b"\x02\x02"),
    (["null", "int", "string"], b"\x00"),
    (["null", "int", "string"], b"\x04\x02z"),
    (["int", "string"], b"\x06"),
    (of(["null", MARKED]), b"\x00"),
    (record(), b""),
    (record({"name": "a", "type": INNER}, {"name": "u", "type": ["int", "m.S"]}), b"\x02\x02\x02z\x02\x04\x00"),
]
