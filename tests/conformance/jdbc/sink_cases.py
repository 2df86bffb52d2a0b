"""Records with every type and every way to say a row, for comparing what sinks make of them in a database."""

import base64
import json
from typing import Any, NamedTuple

from connect.testing import Message

Json = dict[str, Any]

CONNECT = "org.apache.kafka.connect.data."
TIME = "io.debezium.time."
DATA = "io.debezium.data."


class Typed(NamedTuple):
    """Values of one type.

    Attributes:
        schema: as JsonConverter writes it.
        values: as JsonConverter writes them. None is added.
    """

    schema: Json
    values: list[Any]


def binary(value: bytes) -> str:
    return base64.b64encode(value).decode()


def unscaled(value: int) -> str:
    return binary(value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def named(kind: str, name: str, **parameters: str) -> Json:
    return {"type": kind, "name": name, "version": 1, **({"parameters": parameters} if parameters else {})}


def decimal(scale: int, **more: str) -> Json:
    return named("bytes", f"{CONNECT}Decimal", scale=str(scale), **more)


def array(items: Json | str) -> Json:
    return {"type": "array", "items": {"type": items, "optional": True} if isinstance(items, str) else items}


def from_source(kind: str, column: str, **more: str) -> Json:
    """What Debezium's sources say of a column with column.propagate.source.type."""
    sizes = {f"__debezium.source.column.{name}": value for name, value in more.items()}
    return {"type": kind, "parameters": {"__debezium.source.column.type": column, **sizes}}


VARIABLE_SCALE = {
    **named("struct", f"{DATA}VariableScaleDecimal"),
    "fields": [{"field": "scale", "type": "int32"}, {"field": "value", "type": "bytes"}],
}
GEOMETRY = [
    {"field": "wkb", "type": "bytes"},
    {"field": "srid", "type": "int32", "optional": True},
]
_POINT = binary(bytes.fromhex("0101000000000000000000f03f0000000000000040"))

TYPES: dict[str, Typed] = {
    "int8": Typed({"type": "int8"}, [0, 127, -128]),
    "int16": Typed({"type": "int16"}, [0, 32767, -32768]),
    "int32": Typed({"type": "int32"}, [0, 2**31 - 1, -(2**31)]),
    "int64": Typed({"type": "int64"}, [0, 2**63 - 1, -(2**63)]),
    "float32": Typed({"type": "float"}, [0.0, 1.5, -0.1, 3.4028235e38, 1.4e-45]),
    "float64": Typed({"type": "double"}, [0.0, 0.1, -1.7976931348623157e308, 5e-324]),
    "boolean": Typed({"type": "boolean"}, [True, False]),
    "string": Typed({"type": "string"}, ["", "a'b\"c\\d\n\t😀%s", "x" * 300]),
    "bytes": Typed({"type": "bytes"}, [binary(b""), binary(bytes(range(256)))]),
    "decimal_0": Typed(decimal(0), [unscaled(0), unscaled(-(10**20)), unscaled(7)]),
    "decimal_2": Typed(decimal(2), [unscaled(12345), unscaled(-1), unscaled(0)]),
    "decimal_10": Typed(decimal(10), [unscaled(10**25 + 1), unscaled(-1)]),
    "decimal_minus": Typed(decimal(-2), [unscaled(12), unscaled(-5)]),
    "decimal_precise": Typed(
        decimal(3, **{"connect.decimal.precision": "12"}), [unscaled(123456789012), unscaled(-1), unscaled(100)]
    ),
    "date": Typed(named("int32", f"{CONNECT}Date"), [0, 19782, -25567, 2932896]),
    "time": Typed(named("int32", f"{CONNECT}Time"), [0, 86_399_999, 45_296_789]),
    "timestamp": Typed(
        named("int64", f"{CONNECT}Timestamp"),
        [0, 1_711_848_615_123, -2_208_988_800_000, 253_402_300_799_999],
    ),
    "dbz_date": Typed(named("int32", f"{TIME}Date"), [0, 19782, -25567, 2932896]),
    "dbz_time": Typed(named("int32", f"{TIME}Time"), [0, 86_399_999, 45_296_789]),
    "dbz_microtime": Typed(named("int64", f"{TIME}MicroTime"), [0, 86_399_999_999, 45_296_789_123]),
    "dbz_nanotime": Typed(named("int64", f"{TIME}NanoTime"), [0, 45_296_789_123_456, 45_296_789_123_999]),
    "dbz_timestamp": Typed(
        named("int64", f"{TIME}Timestamp"),
        [0, 1_711_848_615_123, -2_208_988_800_000, 253_402_300_799_999],
    ),
    "dbz_microtimestamp": Typed(
        named("int64", f"{TIME}MicroTimestamp"), [0, 1_711_848_615_123_456, -2_208_988_800_000_001, 253402300799999999]
    ),
    "dbz_nanotimestamp": Typed(
        named("int64", f"{TIME}NanoTimestamp"), [0, 1_711_848_615_123_456_000, 1_711_848_615_123_456_789, -1000]
    ),
    "dbz_zonedtime": Typed(named("string", f"{TIME}ZonedTime"), ["13:45:01.123456Z", "13:45:01+02:30", "00:00:00Z"]),
    "dbz_zonedtimestamp": Typed(
        named("string", f"{TIME}ZonedTimestamp"),
        ["2024-03-31T01:30:15.123456Z", "2024-03-31T01:30:15+02:00", "2001-01-01T00:00:00Z"],
    ),
    "dbz_zonedtimestamp_old": Typed(named("string", f"{TIME}ZonedTimestamp"), ["1900-01-01T00:00:00Z"]),
    "dbz_interval": Typed(named("string", f"{TIME}Interval"), ["P1Y2M3DT4H5M6.78S", "P0Y0M-3DT-4H0M0S"]),
    "dbz_microduration": Typed(named("int64", f"{TIME}MicroDuration"), [0, 37_091_106_789_000, -5]),
    "dbz_nanoduration": Typed(named("int64", f"{TIME}NanoDuration"), [0, 37_091_106_789_000_000, -5000]),
    "dbz_year": Typed(named("int32", f"{TIME}Year"), [2024, 1970]),
    "dbz_isodate": Typed(named("string", f"{TIME}IsoDate"), ["2024-02-29Z", "1970-01-01Z"]),
    "dbz_isotime": Typed(named("string", f"{TIME}IsoTime"), ["13:45:01.123456Z", "00:00:00Z"]),
    "dbz_isotimestamp": Typed(
        named("string", f"{TIME}IsoTimestamp"), ["2024-02-29T13:45:01.123456Z", "1970-01-01T00:00:00Z"]
    ),
    "dbz_uuid": Typed(named("string", f"{DATA}Uuid"), ["6b1a2c3d-0000-4000-8000-000000000001"]),
    "dbz_json": Typed(named("string", f"{DATA}Json"), ['{"a": [1, 2.50], "b": null}', "1"]),
    "dbz_xml": Typed(named("string", f"{DATA}Xml"), ["<a>b</a>"]),
    "dbz_enum": Typed(named("string", f"{DATA}Enum", allowed="sad,ok,happy"), ["sad", "happy"]),
    "dbz_enumset": Typed(named("string", f"{DATA}EnumSet", allowed="a,b,c"), ["a", "a,c"]),
    "dbz_bits": Typed(named("bytes", f"{DATA}Bits", length="12"), [binary(b"\x05\x08"), binary(b"\x00\x00")]),
    "dbz_bits_few": Typed(named("bytes", f"{DATA}Bits", length="7"), [binary(b"\x05"), binary(b"\x7f")]),
    "dbz_bits_high": Typed(named("bytes", f"{DATA}Bits", length="12"), [binary(b"\xff\x0f")]),
    "dbz_variable": Typed(
        VARIABLE_SCALE, [{"scale": 2, "value": unscaled(12345)}, {"scale": 0, "value": unscaled(-(10**20))}]
    ),
    "dbz_ltree": Typed(named("string", f"{DATA}Ltree"), ["a.b.c"]),
    "dbz_tsvector": Typed(named("string", f"{DATA}TsVector"), ["'cat':3 'fat':2"]),
    "dbz_point": Typed(
        {
            **named("struct", f"{DATA}geometry.Point"),
            "fields": [
                {"field": "x", "type": "double"},
                {"field": "y", "type": "double"},
                {**GEOMETRY[0], "optional": True},
                GEOMETRY[1],
            ],
        },
        [{"x": 1.0, "y": 2.0, "wkb": _POINT, "srid": None}],
    ),
    "dbz_geometry": Typed(
        {**named("struct", f"{DATA}geometry.Geometry"), "fields": GEOMETRY}, [{"wkb": _POINT, "srid": None}]
    ),
    "dbz_floatvector": Typed({**named("array", f"{DATA}FloatVector"), "items": {"type": "float"}}, [[1.5, -2.0]]),
    "dbz_doublevector": Typed({**named("array", f"{DATA}DoubleVector"), "items": {"type": "double"}}, [[0.1, 2.0]]),
    "array_int": Typed(array("int32"), [[1, None, 3], []]),
    "array_text": Typed(array("string"), [["a", 'b, "c"\\', None, ""], []]),
    "array_double": Typed(array("double"), [[0.1, -2.5]]),
    "array_boolean": Typed(array("boolean"), [[True, False]]),
    "array_date": Typed(array(named("int32", f"{TIME}Date")), [[0, 19782]]),
    "array_uuid": Typed(array(named("string", f"{DATA}Uuid")), [["6b1a2c3d-0000-4000-8000-000000000001"]]),
    "map_text": Typed(
        {"type": "map", "keys": {"type": "string"}, "values": {"type": "string", "optional": True}},
        [{"a": "1", "b c": None}, {}],
    ),
    "struct": Typed({"type": "struct", "fields": [{"field": "x", "type": "int32"}]}, [{"x": 1}]),
    "from_varchar": Typed(from_source("string", "VARCHAR", length="20"), ["abc", ""]),
    "from_char": Typed(from_source("string", "CHAR", length="5"), ["abc"]),
    "from_numeric": Typed(from_source("double", "NUMERIC", length="9", scale="3"), [1.5]),
    "from_inet": Typed(from_source("string", "INET"), ["10.0.0.1"]),
}


def typed(name: str, topic: str) -> list[Message]:
    """A topic of this type: `id`, `v` that may be null, `r` that may not."""
    schema, values = TYPES[name]
    row = {
        "type": "struct",
        "fields": [
            {"field": "id", "type": "int32"},
            {**schema, "field": "v", "optional": True},
            {**schema, "field": "r", "optional": False},
        ],
    }
    return [
        Message(topic, written(row, {"id": number, "v": value, "r": values[0] if value is None else value}))
        for number, value in enumerate([*values, None])
    ]


def written(schema: Any, payload: Any) -> bytes:
    return json.dumps({"schema": schema, "payload": payload}).encode()


# Ways to say a row.

KEY = {"type": "struct", "name": "k.Key", "fields": [{"field": "id", "type": "int32"}]}
PRECISE = {"connect.decimal.precision": "9"}
ROW = {
    "type": "struct",
    "name": "k.Value",
    "optional": True,
    "fields": [
        {"field": "id", "type": "int32"},
        {"field": "name", "type": "string", "optional": True},
        {"field": "price", **decimal(2, **PRECISE), "optional": True},
        {"field": "at", **named("int64", f"{TIME}MicroTimestamp"), "optional": True},
    ],
}
WIDER = {**ROW, "fields": [*ROW["fields"], {"field": "note", "type": "string", "optional": True, "default": "none"}]}
#: As a MySQL or PostgreSQL connector writes them.
SOURCE = {
    "type": "struct",
    "fields": [{"field": "schema", "type": "string"}, {"field": "table", "type": "string"}],
}
ENVELOPE = {
    "type": "struct",
    "name": "shop.public.people.Envelope",
    "fields": [
        {**ROW, "field": "before"},
        {**ROW, "field": "after"},
        {**SOURCE, "field": "source"},
        {"field": "op", "type": "string"},
        {"field": "ts_ms", "type": "int64", "optional": True},
    ],
}
MICROS = 1_711_848_615_123_456


def row(number: int, name: str | None = "Ada") -> Json:
    return {"id": number, "name": name, "price": unscaled(number * 100 + 5), "at": MICROS + number}


def flat(topic: str, number: int, name: str | None = "Ada") -> Message:
    return Message(topic, written(ROW, row(number, name)), written(KEY, {"id": number}))


def event(topic: str, op: str, number: int, name: str | None = "Ada") -> Message:
    payload = {
        "before": row(number) if op in "ud" else None,
        "after": row(number, name) if op in "cur" else None,
        "source": {"schema": "public", "table": "people"},
        "op": op,
        "ts_ms": 1,
    }
    return Message(topic, written(ENVELOPE, payload), None if op == "t" else written(KEY, {"id": number}))


def gone(topic: str, number: int) -> Message:
    return Message(topic, None, written(KEY, {"id": number}))


def life(topic: str) -> list[Message]:
    """Rows that come, change, go and come back."""
    return [
        *(flat(topic, number) for number in range(6)),
        flat(topic, 1, "Bob"),
        flat(topic, 1, None),
        gone(topic, 2),
        gone(topic, 3),
        flat(topic, 3, "back"),
        gone(topic, 99),
        gone(topic, 99),
    ]


def changes(topic: str) -> list[Message]:
    """The same as events, with tombstones."""
    return [
        *(event(topic, "r", number) for number in range(3)),
        *(event(topic, "c", number) for number in range(3, 7)),
        event(topic, "u", 1, "Bob"),
        event(topic, "u", 1, None),
        event(topic, "d", 2),
        gone(topic, 2),
        event(topic, "d", 3),
        gone(topic, 3),
        event(topic, "c", 3, "back"),
        event(topic, "d", 4),
    ]


def two_keys(topic: str) -> list[Message]:
    schema = {
        "type": "struct",
        "fields": [
            {"field": "word", "type": "string"},
            {"field": "day", **named("int32", f"{TIME}Date")},
            {"field": "number", "type": "int64"},
        ],
    }
    value = {"type": "struct", "fields": [*schema["fields"], {"field": "v", "type": "double", "optional": True}]}  # type: ignore[index]
    keys = [{"word": word, "day": day, "number": 2**40} for word in ("a", "A", "ä") for day in (0, 19782)]
    return [
        Message(topic, written(value, {**key, "v": number / 4}), written(schema, key))
        for number, key in enumerate([*keys, *keys[:3]])
    ]


def defaults(topic: str) -> list[Message]:
    fields = [
        {"field": "id", "type": "int32"},
        {"field": "a_text", "type": "string", "optional": True, "default": "it's"},
        {"field": "a_number", "type": "int64", "optional": True, "default": 7},
        {"field": "a_double", "type": "double", "optional": True, "default": 0.25},
        {"field": "a_boolean", "type": "boolean", "optional": True, "default": True},
        {"field": "a_decimal", **decimal(2, **PRECISE), "optional": True, "default": unscaled(150)},
        {"field": "a_date", **named("int32", f"{TIME}Date"), "optional": True, "default": 19782},
        {"field": "a_required", "type": "int32", "default": 3},
    ]
    empty = {"id": 1, **{str(field["field"]): None for field in fields[1:]}}
    schema = {"type": "struct", "fields": fields}
    return [Message(topic, written(schema, empty)), Message(topic, written(schema, {**empty, "id": 2, "a_text": "x"}))]


def headers(topic: str) -> list[Message]:
    own = {"type": "struct", "fields": [{"field": "name", "type": "string"}]}
    return [
        Message(
            topic,
            written(own, {"name": f"n{number}"}),
            None,
            (("hid", written({"type": "int32"}, number % 3)), ("kind", written({"type": "string"}, "x"))),
        )
        for number in range(5)
    ]


def odd_names(topic: str) -> list[Message]:
    schema = {
        "type": "struct",
        "fields": [{"field": "id", "type": "int32"}, {"field": "CamelCase", "type": "string"}],
    }
    return [Message(topic, written(schema, {"id": 1, "CamelCase": "x"}), written(KEY, {"id": 1}))]


def every_time(topic: str, *without: str) -> list[Message]:
    """All types of dates and times in one row."""
    names = [name for name in TYPES if name in TIMES and name not in without]
    fields = [{**TYPES[name].schema, "field": name} for name in names]
    schema = {"type": "struct", "fields": [{"field": "id", "type": "int32"}, *fields]}
    return [
        Message(topic, written(schema, {"id": number, **{name: TYPES[name].values[number] for name in names}}))
        for number in range(2)
    ]


TIMES = [
    *("date", "time", "timestamp", "dbz_date", "dbz_time", "dbz_microtime", "dbz_nanotime", "dbz_timestamp"),
    *("dbz_microtimestamp", "dbz_nanotimestamp", "dbz_zonedtime", "dbz_zonedtimestamp"),
]


def _times(time: str, datetime: str, zoned_time: str, zoned: str) -> str:
    """Columns for `every_time`."""
    of = dict(
        zip(TIMES, ["date", time, datetime, "date", *[time] * 3, *[datetime] * 3, zoned_time, zoned], strict=True)
    )
    return ", ".join(["id int", *(f"{name} {kind}" for name, kind in of.items())])


class Way(NamedTuple):
    """A way to say a row.

    Attributes:
        config: keys of the connector.
        messages: of a topic of its name.
        tables: that are written to.
        prepared: the columns of the table in each database, if it is there already: of PostgreSQL, of MariaDB.
        before: rows that are in it.
    """

    config: dict[str, str]
    messages: list[Message]
    tables: list[str]
    prepared: tuple[str, str] | None = None
    before: str = ""


BASIC = {"schema.evolution": "basic"}
UPSERT = {**BASIC, "insert.mode": "upsert", "primary.key.mode": "record_key", "delete.enabled": "true"}
PREPARED = (
    "id int PRIMARY KEY, name varchar(20), price numeric(9,3), at timestamp",
    "id int PRIMARY KEY, name varchar(20), price decimal(9,3), at datetime(6)",
)
WAYS: dict[str, Way] = {
    "inserts": Way(BASIC, [flat("inserts", number) for number in range(4)], ["inserts"]),
    "insert_keyed": Way(
        {**BASIC, "primary.key.mode": "record_key"}, [flat("insert_keyed", n) for n in range(3)], ["insert_keyed"]
    ),
    "upsert": Way(UPSERT, life("upsert"), ["upsert"]),
    "upsert_prepared": Way(
        UPSERT | {"schema.evolution": "none"}, life("upsert_prepared"), ["upsert_prepared"], PREPARED
    ),
    "upsert_reduced": Way(UPSERT | {"use.reduction.buffer": "true"}, life("upsert_reduced"), ["upsert_reduced"]),
    "upsert_undeleted": Way(UPSERT | {"delete.enabled": "false"}, life("upsert_undeleted"), ["upsert_undeleted"]),
    "upsert_value": Way(
        {**BASIC, "insert.mode": "upsert", "primary.key.mode": "record_value", "primary.key.fields": "id"},
        [flat("upsert_value", number % 3, f"n{number}") for number in range(5)],
        ["upsert_value"],
    ),
    "upsert_wide_keys": Way(UPSERT | {"delete.enabled": "false"}, two_keys("upsert_wide_keys"), ["upsert_wide_keys"]),
    "updates": Way(
        UPSERT | {"insert.mode": "update"},
        life("updates"),
        ["updates"],
        PREPARED,
        "(1, 'old', 0, NULL), (2, 'old', 1, NULL), (77, 'old', 2, NULL)",
    ),
    "plain_key": Way(
        UPSERT | {"primary.key.fields": "pk"},
        [
            Message("plain_key", written(ROW, row(number)), written({"type": "string"}, f"k{number % 3}"))
            for number in range(4)
        ],
        ["plain_key"],
    ),
    "kafka": Way({**BASIC, "primary.key.mode": "kafka"}, [flat("kafka", number) for number in range(3)], ["kafka"]),
    "kafka_upsert": Way(
        {**BASIC, "primary.key.mode": "kafka", "insert.mode": "upsert"},
        [flat("kafka_upsert", number) for number in range(3)],
        ["kafka_upsert"],
    ),
    "headers": Way(
        {**BASIC, "insert.mode": "upsert", "primary.key.mode": "record_header", "primary.key.fields": "hid,kind"},
        headers("headers"),
        ["headers"],
    ),
    "events": Way(UPSERT, changes("shop.public.people"), ["shop_public_people"]),
    "events_prepared": Way(
        UPSERT | {"schema.evolution": "none"}, changes("events_prepared"), ["events_prepared"], PREPARED
    ),
    "events_truncated": Way(
        UPSERT | {"truncate.enabled": "true"},
        [
            *(event("events_truncated", "c", n) for n in range(3)),
            event("events_truncated", "t", 0),
            event("events_truncated", "c", 1),
        ],
        ["events_truncated"],
    ),
    "events_insert": Way(BASIC, [event("events_insert", "c", n) for n in range(3)], ["events_insert"]),
    "taken": Way(UPSERT | {"field.include.list": "taken:id,taken:name"}, life("taken"), ["taken"]),
    "left_out": Way(UPSERT | {"field.exclude.list": "left_out:name,left_out:price"}, life("left_out"), ["left_out"]),
    "format": Way(UPSERT | {"collection.name.format": "x_${topic}"}, life("form.at"), ["x_form_at"]),
    "format_source": Way(
        UPSERT | {"collection.name.format": "${source.schema}_${source.table}"},
        changes("s.p.people"),
        ["public_people"],
    ),
    "evolving": Way(
        UPSERT,
        [
            *life("evolving"),
            Message("evolving", written(WIDER, {**row(7), "note": "new"}), written(KEY, {"id": 7})),
            Message("evolving", written(WIDER, {**row(8), "note": None}), written(KEY, {"id": 8})),
        ],
        ["evolving"],
    ),
    "defaults": Way(BASIC, defaults("defaults"), ["defaults"]),
    "odd_names": Way(UPSERT, odd_names("OddNames"), ["OddNames", "oddnames"]),
    "odd_quoted": Way(
        UPSERT | {"quote.identifiers": "true"}, odd_names("Odd-Quoted"), ["Odd-Quoted", "Odd_Quoted", "odd_quoted"]
    ),
    "odd_columns": Way(UPSERT, odd_names("odd_columns"), ["odd_columns"]),
    "zone": Way(BASIC | {"use.time.zone": "America/New_York"}, every_time("zone", "dbz_zonedtime"), ["zone"]),
    "zone_prepared": Way(
        {"use.time.zone": "America/New_York"},
        every_time("zone_prepared"),
        ["zone_prepared"],
        (
            _times("time", "timestamp", "timetz", "timestamptz"),
            _times("time(6)", "datetime(6)", "time(6)", "datetime(6)"),
        ),
    ),
}
WAYS |= {f"t_{name}": Way(BASIC, typed(name, f"t_{name}"), [f"t_{name}"]) for name in TYPES}
#: Columns that are there already, of PostgreSQL and of MariaDB.
PREPARED_FOR = {
    "int8": ("bigint", "bigint"),
    "int32": ("numeric(12,1)", "decimal(12,1)"),
    "float32": ("float8", "double"),
    "boolean": ("boolean", "int"),
    "string": ("varchar(300)", "varchar(300)"),
    "bytes": ("bytea", "varbinary(300)"),
    "decimal_2": ("numeric(9,1)", "decimal(9,3)"),
    "timestamp": ("timestamptz", "datetime(3)"),
    "dbz_date": ("timestamp", "datetime"),
    "dbz_microtime": ("time(3)", "time(6)"),
    "dbz_microtimestamp": ("timestamp(6)", "datetime(6)"),
    "dbz_zonedtimestamp": ("timestamptz(6)", "timestamp(6) null"),
    "dbz_uuid": ("uuid", "varchar(36)"),
    "dbz_json": ("jsonb", "longtext"),
    "dbz_xml": ("xml", "longtext"),
    "dbz_bits_few": ("bit(7)", "bit(7)"),
    "dbz_microduration": ("interval", "bigint"),
    "dbz_variable": ("double precision", "double"),
    "dbz_enum": ("text", "enum('sad','ok','happy')"),
    "dbz_year": ("int", "year"),
}
WAYS |= {
    f"p_{name}": Way(
        {"insert.mode": "insert"},
        typed(name, f"p_{name}"),
        [f"p_{name}"],
        (f"id int, v {of_postgresql}, r {of_postgresql}", f"id int, v {of_mariadb}, r {of_mariadb}"),
    )
    for name, (of_postgresql, of_mariadb) in PREPARED_FOR.items()
}
#: What Debezium's sink fails with has a connector of its own. Other ways share one with all that are told the same.
_NEITHER = [
    *("plain_key", "t_dbz_bits_high", "t_dbz_floatvector", "t_dbz_doublevector", "t_array_date", "t_map_text"),
    "t_struct",
]
ALONE = {
    "postgresql": [*_NEITHER, "t_dbz_ltree", "t_dbz_point", "t_dbz_geometry"],
    "mariadb": [
        *_NEITHER,
        *("t_decimal_0", "t_decimal_minus", "t_dbz_zonedtime", "t_dbz_zonedtimestamp_old", "t_array_int"),
        *("t_array_text", "t_array_double", "t_array_boolean", "t_array_uuid"),
    ],
}
