"""Configurations and records for both engines: every converter, transformation and predicate is in one of them.

A group is one connector. Each of its cases has a topic of its own, and transformations that a predicate limits to it.
"""

import datetime as dt
import json
import struct
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from connect.converters import JsonConverter
from connect.data import Schema, logical
from connect.data import schema as s
from connect.plugins import PluginKind, Plugins, load

KAFKA = "org.apache.kafka.connect"
SMT = f"{KAFKA}.transforms"
CONFLUENT = "io.confluent.connect.transforms"
DEBEZIUM = "io.debezium.transforms"
JSON = f"{KAFKA}.json.JsonConverter"
STRING = f"{KAFKA}.storage.StringConverter"
BYTES = f"{KAFKA}.converters.ByteArrayConverter"
#: What the default header converter makes texts, numbers, maps and bytes of, one of them twice.
HEADERS = [("h", b'"text"'), ("n", b"42"), ("h", b'{"a":[1,2.5,null]}'), ("raw", b"\xff\x00"), ("none", None)]


class Raw(NamedTuple):
    """A record as it lies in Kafka."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]] | None = None


Settings = dict[str, str]
#: Transformations, in order, and records.
Case = tuple[list[Settings], list[Raw]]


class Group(NamedTuple):
    """One connector: its configuration but for the transformations of its cases."""

    config: Settings
    cases: Mapping[str, Case]


def connector_config(group: Group, topics: Mapping[str, str]) -> Settings:
    """The configuration of a group's connector, given the topic of each case."""
    config = {"errors.tolerance": "all", **group.config}
    aliases = [config["transforms"]] if "transforms" in config else []
    predicates = [config["predicates"]] if "predicates" in config else []
    for case, (transformations, _) in group.cases.items():
        for number, each in enumerate(transformations):
            alias = f"{case}{number}"
            aliases.append(alias)
            config |= {f"transforms.{alias}.{key}": value for key, value in each.items()}
            config.setdefault(f"transforms.{alias}.predicate", f"of_{case}")
        if transformations:
            predicates.append(f"of_{case}")
            config[f"predicates.of_{case}.type"] = f"{SMT}.predicates.TopicNameMatches"
            config[f"predicates.of_{case}.pattern"] = topics[case]
    chosen = {"transforms": ",".join(aliases), "predicates": ",".join(predicates)}
    return {**config, **{key: value for key, value in chosen.items() if value}}


# Records of JSON, and every transformation on them.

_MOMENT = dt.datetime(2024, 2, 29, 12, 34, 56, 789000, dt.UTC)
_INNER = Schema.struct({"a": s.INT32, "b": s.OPTIONAL_STRING}, name="Inner")
SCHEMA = Schema.struct(
    {
        "id": s.INT64,
        "name": s.OPTIONAL_STRING,
        "price": s.FLOAT64,
        "active": s.BOOLEAN,
        "small": s.INT8,
        "at": logical.TIMESTAMP,
        "day": logical.DATE,
        "amount": logical.decimal(2),
        "blob": s.OPTIONAL_BYTES,
        "tags": Schema.array(s.STRING),
        "counts": Schema.map(s.STRING, s.INT32),
        "inner": _INNER.as_optional(),
        "text": s.STRING,
        "op": s.STRING,
        "ts_ms": s.INT64,
        "before": _INNER.as_optional(),
        "after": _INNER.as_optional(),
    },
    name="Order",
    version=3,
    doc="an order",
)
KEY = Schema.struct({"k": s.INT32, "part": s.STRING}, name="Key")


def _value(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"größe {number}",
        "price": number + 0.25,
        "active": number % 2 == 0,
        "small": number,
        "at": _MOMENT + dt.timedelta(hours=number),
        "day": dt.date(2024, 2, 28 + number % 2),
        "amount": Decimal("12.30") + number,
        "blob": bytes([number, 255]),
        "tags": ["x", str(number)],
        "counts": {"x": number},
        "inner": {"a": number, "b": "deep"},
        "text": '{"in": [1, "text"]}',
        "op": "cud"[number % 3],
        "ts_ms": 1_709_210_096_789 + number,
        "before": {"a": number, "b": "old"},
        "after": None if number % 3 == 2 else {"a": number + 1, "b": "new"},
        **changes,
    }


VALUES = [_value(0), _value(1, name=None, inner=None), _value(2, blob=None, text="{broken"), _value(3), _value(3)]
KEYS = [{"k": number % 4, "part": "p"} for number in range(len(VALUES))]

_TEXT_SCHEMA = {
    "type": "struct",
    "optional": True,
    "fields": [{"field": "in", "type": "array", "optional": True, "items": {"type": "string", "optional": True}}],
}

#: The settings of each transformation, several where it has ways that differ much.
TRANSFORMATIONS: dict[str, list[Settings]] = {
    "castv": [{"type": f"{SMT}.Cast$Value", "spec": "id:string,price:int32,active:int8"}],
    "castk": [{"type": f"{SMT}.Cast$Key", "spec": "k:string"}],
    "extractv": [{"type": f"{SMT}.ExtractField$Value", "field": "inner.b", "field.syntax.version": "V2"}],
    "extractk": [{"type": f"{SMT}.ExtractField$Key", "field": "k"}],
    "flattenv": [
        {"type": f"{SMT}.ReplaceField$Value", "exclude": "tags,counts"},  # which it does not take
        {"type": f"{SMT}.Flatten$Value", "delimiter": "_"},
    ],
    "flattenk": [{"type": f"{SMT}.Flatten$Key"}],
    "movev": [{"type": f"{SMT}.HeaderFrom$Value", "fields": "name,id", "headers": "h,x", "operation": "move"}],
    "copyk": [{"type": f"{SMT}.HeaderFrom$Key", "fields": "k", "headers": "key", "operation": "copy"}],
    "hoistv": [{"type": f"{SMT}.HoistField$Value", "field": "line"}],
    "hoistk": [{"type": f"{SMT}.HoistField$Key", "field": "line"}],
    "insertv": [
        {"type": f"{SMT}.InsertField$Value", "topic.field": "t!", "partition.field": "p", "offset.field": "o"}
        | {"timestamp.field": "when?", "static.field": "s", "static.value": "größe"}
    ],
    "insertk": [{"type": f"{SMT}.InsertField$Key", "static.field": "s", "static.value": "x"}],
    "maskv": [{"type": f"{SMT}.MaskField$Value", "fields": "name,price,active"}],
    "maskk": [{"type": f"{SMT}.MaskField$Key", "fields": "part", "replacement": "***"}],
    "replacev": [{"type": f"{SMT}.ReplaceField$Value", "exclude": "blob,tags", "renames": "id:key,name:label"}],
    "replacek": [{"type": f"{SMT}.ReplaceField$Key", "include": "k"}],
    "metav": [{"type": f"{SMT}.SetSchemaMetadata$Value", "schema.name": "Other", "schema.version": "7"}],
    "metak": [{"type": f"{SMT}.SetSchemaMetadata$Key", "schema.name": "OtherKey"}],
    "timev": [
        {"type": f"{SMT}.TimestampConverter$Value", "field": "at", "target.type": "string"}
        | {"format": "yyyy-MM-dd'T'HH:mm:ss.SSS"}
    ],
    "unixv": [{"type": f"{SMT}.TimestampConverter$Value", "field": "ts_ms", "target.type": "Timestamp"}],
    "timek": [{"type": f"{SMT}.TimestampConverter$Key", "field": "k", "target.type": "unix"}],
    "dropheaders": [{"type": f"{SMT}.DropHeaders", "headers": "h,none"}],
    "insertheader": [{"type": f"{SMT}.InsertHeader", "header": "new", "value.literal": "5"}],
    "regexrouter": [{"type": f"{SMT}.RegexRouter", "regex": "(.*)-(.*)", "replacement": "$2-$1"}],
    "timestamprouter": [
        {"type": f"{SMT}.TimestampRouter", "topic.format": "${timestamp}-${topic}", "timestamp.format": "yyyy"}
    ],
    "valuetokey": [{"type": f"{SMT}.ValueToKey", "fields": "id,name"}],
    "filter": [{"type": f"{SMT}.Filter"}],
    "chained": [
        {"type": f"{SMT}.ExtractField$Value", "field": "inner"},
        {"type": f"{SMT}.HoistField$Value", "field": "up"},
        {"type": f"{SMT}.InsertField$Value", "static.field": "s", "static.value": "x"},
    ],
    # Those that Kafka Connect does not have.
    "deduplicate": [{"type": "Deduplicate", "fields": "id"}],
    "expression": [
        {"type": "Expression", "filter": "id <> 1"} | {"fields": "total = price * 2, name = upper(name), topic = 'e'"}
    ],
    "jsonv": [
        {"type": "transforms.json_to_structure.JsonToStructure$Value", "fields": "text", "on.malformed": "null"}
        | {"schema.content": json.dumps(_TEXT_SCHEMA)}
    ],
    "jsonk": [{"type": "transforms.json_to_structure.JsonToStructure$Key", "fields": "part", "on.malformed": "keep"}],
    "contractv": [
        {"type": "transforms.schema_contract.SchemaContract$Value", "new.fields": "discard_value"}
        | {"schema.content": '{"type":"struct","fields":[{"field":"id","type":"int64"}]}'}
    ],
    "contractk": [{"type": "transforms.schema_contract.SchemaContract$Key", "learn": "true"}],
    # Confluent's.
    "dropv": [{"type": f"{CONFLUENT}.Drop$Value", "schema.behavior": "force_optional"}],
    "dropk": [{"type": f"{CONFLUENT}.Drop$Key"}],
    "topicv": [
        {"type": f"{CONFLUENT}.ExtractTopic$Value", "field": "$.inner.b", "field.format": "JSON_PATH"}
        | {"skip.missing.or.null": "true"}
    ],
    "topick": [{"type": f"{CONFLUENT}.ExtractTopic$Key", "field": "part"}],
    "topich": [{"type": f"{CONFLUENT}.ExtractTopic$Header", "field": "n", "skip.missing.or.null": "true"}],
    "choosev": [
        {"type": f"{CONFLUENT}.Filter$Value", "filter.condition": "$[?(@.price > 1)]", "filter.type": "include"}
        | {"missing.or.null.behavior": "exclude"}
    ],
    "choosek": [{"type": f"{CONFLUENT}.Filter$Key", "filter.condition": "$.k", "filter.type": "include"}],
    "gzipv": [{"type": f"{CONFLUENT}.GzipDecompress$Value"}],
    "gzipk": [{"type": f"{CONFLUENT}.GzipDecompress$Key"}],
    "messagetime": [{"type": f"{CONFLUENT}.MessageTimestampRouter", "message.timestamp.keys": "no,ts_ms"}],
    "nestedv": [{"type": f"{CONFLUENT}.ReplaceField$Value", "exclude": "inner.a", "renames": "inner.b:c"}],
    "nestedk": [{"type": f"{CONFLUENT}.ReplaceField$Key", "renames": "k:key"}],
    "tombstones": [{"type": f"{CONFLUENT}.TombstoneHandler"}],
    # Debezium's.
    "tables": [{"type": f"{DEBEZIUM}.ByLogicalTableRouter", "topic.regex": "(.*)", "topic.replacement": "all-$1"}],
    "logical": [{"type": f"{DEBEZIUM}.ToLogicalTopicRouter", "topic.regex": "(.*)", "topic.replacement": "all-$1"}],
    "content": [
        {"type": f"{DEBEZIUM}.ContentBasedRouter", "topic.expression": "case when op = 'u' then 'updates' end"}
    ],
    "condition": [{"type": f"{DEBEZIUM}.Filter", "condition": "op <> 'd' and price > 1"}],
}


def _json(envelope: bool) -> tuple[JsonConverter, JsonConverter]:
    made = JsonConverter(), JsonConverter()
    for converter, is_key in zip(made, (True, False), strict=True):
        converter.configure({"schemas.enable": str(envelope).lower()}, is_key=is_key)
    return made


def json_records(*, envelope: bool) -> list[Raw]:
    """The values and keys as JSON, with tombstones, a record without a key and one that is not JSON."""
    of_keys, of_values = _json(envelope)
    records = [
        Raw(
            of_keys.from_connect_data("t", KEY, key),
            of_values.from_connect_data("t", SCHEMA, value),
            HEADERS if number % 2 else None,
        )
        for number, (key, value) in enumerate(zip(KEYS, VALUES, strict=True))
    ]
    return [
        *records[:2],
        Raw(records[0].key, None, HEADERS),
        *records[2:4],
        Raw(None, b"{"),
        Raw(None, records[4].value),
    ]


def schema_text(schema: Schema, *, is_key: bool) -> str:
    """The schema as JSON's envelope has it."""
    value = KEYS[0] if is_key else VALUES[0]
    envelope = json.loads(_json(envelope=True)[0].from_connect_data("t", schema, value) or b"")
    return json.dumps(envelope["schema"])


def debezium() -> list[Raw]:
    """Changes of a row, as Debezium writes them."""
    row = Schema.struct({"a": s.INT32, "b": s.OPTIONAL_STRING}, name="db.t.Value").as_optional()
    source = Schema.struct({"table": s.STRING}, name="Source")
    fields = {"before": row, "after": row, "source": source, "op": s.STRING, "ts_ms": s.OPTIONAL_INT64}
    schema = Schema.struct(fields, name="db.t.Envelope")
    of_keys, of_values = _json(envelope=True)
    key = of_keys.from_connect_data("t", KEY, KEYS[0])
    old, new = {"a": 1, "b": "old"}, {"a": 1, "b": "new"}
    changes = [("c", None, old), ("u", old, new), ("d", new, None)]
    values = [
        {"before": before, "after": after, "source": {"table": "t"}, "op": op, "ts_ms": 5}
        for op, before, after in changes
    ]
    return [*(Raw(key, of_values.from_connect_data("t", schema, value)) for value in values), Raw(key, None)]


def outbox() -> list[Raw]:
    """Rows of an outbox table, as Debezium writes them: inserted, changed and deleted."""
    texts = ("id", "aggregatetype", "aggregateid", "type", "payload")
    row = Schema.struct(dict.fromkeys(texts, s.STRING), name="db.outbox.Value").as_optional()
    source = Schema.struct({"connector": s.STRING}, name="Source")
    fields = {"before": row, "after": row, "source": source, "op": s.STRING, "ts_ms": s.OPTIONAL_INT64}
    schema = Schema.struct(fields, name="db.outbox.Envelope")
    of_keys, of_values = _json(envelope=True)
    key = of_keys.from_connect_data("t", KEY, KEYS[0])
    rows = [
        dict(zip(texts, (str(number), kind, f"a{number}", "Created", payload), strict=True))
        for number, (kind, payload) in enumerate([("User", '{"n": 1}'), ("Order", ""), ("User", '{"n": 2}')])
    ]
    values = [
        {"before": None if op == "c" else each, "after": None if op == "d" else each, "op": op, "ts_ms": 5}
        | {"source": {"connector": "postgresql"}}
        for each, op in [*((each, "c") for each in rows), (rows[0], "u"), (rows[0], "d")]
    ]
    return [*(Raw(key, of_values.from_connect_data("t", schema, value), HEADERS) for value in values), Raw(key, None)]


ROUTE: list[Settings] = [
    {"type": f"{DEBEZIUM}.outbox.EventRouter", "table.fields.additional.placement": "type:header,type:envelope"}
    | {"table.expand.json.payload": "true", "route.tombstone.on.empty.payload": "true"}
]
UNWRAP: list[Settings] = [
    {"type": f"{DEBEZIUM}.ExtractNewRecordState", "delete.tombstone.handling.mode": "rewrite"}
    | {"add.fields": "op,source.table", "add.headers": "op"}
]

_BY_HEADER: list[Settings] = [
    {"type": f"{SMT}.InsertHeader", "header": name, "value.literal": "yes", "predicate": predicate, "negate": negate}
    for name, predicate, negate in [
        ("tombstone", "tombstone", "false"),
        ("value", "tombstone", "true"),
        ("header", "has_h", "false"),
        ("no-header", "has_h", "true"),
    ]
]
_PREDICATES: Settings = {
    "predicates": "tombstone,has_h",
    "predicates.tombstone.type": f"{SMT}.predicates.RecordIsTombstone",
    "predicates.has_h.type": f"{SMT}.predicates.HasHeaderKey",
    "predicates.has_h.name": "h",
}


def _of_json(config: Settings, *, envelope: bool, more: Mapping[str, Case] | None = None) -> Group:
    records = json_records(envelope=envelope)
    plain = {} if envelope else {"key.converter.schemas.enable": "false", "value.converter.schemas.enable": "false"}
    cases = {name: (settings, records) for name, settings in TRANSFORMATIONS.items()}
    converters = {"key.converter": JSON, "value.converter": JSON}
    return Group(
        {**converters, **plain, **_PREDICATES, **config},
        {"none": ([], records), "predicates": (_BY_HEADER, records), **cases, **(more or {})},
    )


def _declared() -> Group:
    content = {
        "key.converter.schema.content": schema_text(KEY, is_key=True),
        "value.converter.schema.content": schema_text(SCHEMA, is_key=False),
    }
    group = _of_json(content, envelope=False)
    enabled = {"key.converter.schemas.enable": "true", "value.converter.schemas.enable": "true"}
    return Group({**group.config, **enabled}, group.cases)


def _of_converters(key: str, value: str, header: str, records: list[Raw], **config: str) -> Group:
    said = {name.replace("__", "."): text for name, text in config.items()}
    hoisted = {"hoistv": TRANSFORMATIONS["hoistv"], "castk": [{"type": f"{SMT}.Cast$Key", "spec": "string"}]}
    cases: dict[str, Case] = {"none": ([], records)} | {name: (each, records) for name, each in hoisted.items()}
    return Group({"key.converter": key, "value.converter": value, "header.converter": header, **said}, cases)


def _number(name: str) -> str:
    return f"{KAFKA}.converters.{name}Converter"


GROUPS: dict[str, Group] = {
    "json": _of_json({}, envelope=False),
    "json-enveloped": _of_json({}, envelope=True, more={"unwrap": (UNWRAP, debezium()), "outbox": (ROUTE, outbox())}),
    "json-declared": _declared(),
    "strings": _of_converters(
        *(STRING, STRING, STRING),
        [
            Raw("schlüssel".encode("utf-16"), "größe \U0001f600".encode("utf-16"), HEADERS[:2]),
            Raw(None, b""),
            Raw(b"", None),
        ],
        key__converter__encoding="UTF-16",
        value__converter__encoding="UTF-16",
    ),
    "bytes": _of_converters(BYTES, BYTES, BYTES, [Raw(b"\x00", b"\xff", HEADERS), Raw(None, b""), Raw(b"k", None, [])]),
    "integers": _of_converters(
        *(_number("Integer"), _number("Long"), JSON),
        [
            Raw(struct.pack(">i", -5), struct.pack(">q", 1 << 62), HEADERS[:1]),
            *(Raw(None, None), Raw(b"odd", b"odd"), Raw(struct.pack(">i", 7), struct.pack(">q", -1))),
        ],
        header__converter__schemas__enable="false",
    ),
    "floats": _of_converters(
        *(_number("Short"), _number("Double"), _number("Long")),
        [
            Raw(struct.pack(">h", -5), struct.pack(">d", 0.1), [("n", struct.pack(">q", 5))]),
            *(Raw(None, None), Raw(b"odd", b"odd"), Raw(b"\x00\x01", struct.pack(">d", -0.0))),
        ],
    ),
    "flags": _of_converters(
        *(_number("Float"), _number("Boolean"), f"{KAFKA}.storage.SimpleHeaderConverter"),
        [Raw(struct.pack(">f", 0.1), b"\x01", HEADERS), Raw(None, b"\x00"), Raw(None, None), Raw(b"odd", b"odd")],
    ),
}

#: Converters with a registry: what makes their bytes, and their settings beside its address.
REGISTRY: dict[str, tuple[str, Settings]] = {
    "avro": ("io.confluent.connect.avro.AvroConverter", {"enhanced.avro.schema.support": "true"}),
    "protobuf": ("io.confluent.connect.protobuf.ProtobufConverter", {}),
    "jsonschema": ("io.confluent.connect.json.JsonSchemaConverter", {}),
}


def of_registry(name: str, url: str, topics: Mapping[str, str]) -> Group:
    """A group of a converter with a registry, for these topics: a schema is registered for each."""
    cls, settings = REGISTRY[name]
    plugins = Plugins.discover()
    records: dict[str, list[Raw]] = {}
    for case, topic in topics.items():
        made = []
        for is_key, schema, values in ((True, KEY, KEYS), (False, SCHEMA, VALUES)):
            converter = load(plugins.find(PluginKind.CONVERTER, cls))()
            converter.configure({"schema.registry.url": url, **settings}, is_key=is_key)
            made.append([converter.from_connect_data(topic, schema, value) for value in values])
            converter.close()
        rows = [Raw(key, value, HEADERS if n % 2 else None) for n, (key, value) in enumerate(zip(*made, strict=True))]
        records[case] = [*rows, Raw(rows[0].key, None), Raw(None, b"\x00no"), Raw(b"no", rows[0].value)]
    config = {}
    for part in ("key.converter", "value.converter"):
        config |= {part: cls, f"{part}.schema.registry.url": url}
        config |= {f"{part}.{key}": value for key, value in settings.items()}
    return Group(config, {case: (TRANSFORMATIONS.get(case, []), records[case]) for case in topics})
