"""Messages of an outbox, and tables that share a topic, as Debezium makes them."""

import itertools
from typing import Any

import pytest

from connect import ConfigError, DataError, Header, Headers, Schema, SinkRecord, Transformation
from connect.data import schema as schemas
from transforms.event_router import EventRouter
from transforms.logical_router import ByLogicalTableRouter

from .original import Original, comparable

OUTBOX = "io.debezium.transforms.outbox.EventRouter"
LOGICAL = "io.debezium.transforms.ByLogicalTableRouter"
PLACED = "table.fields.additional.placement"

#: Debezium's cannot make a record of a sink without a partition, so that each configuration names one.
PART = "part:partition"

ROW = Schema.struct(
    {
        "id": schemas.STRING.replace(name="io.debezium.data.Uuid", version=1),
        "aggregatetype": schemas.STRING,
        "aggregateid": schemas.OPTIONAL_STRING,
        "type": schemas.STRING,
        "payload": schemas.OPTIONAL_STRING.replace(name="io.debezium.data.Json", version=1),
        "version": schemas.OPTIONAL_INT32.replace(default=7),
        "part": schemas.INT32,
        "at": schemas.OPTIONAL_INT64.replace(name="io.debezium.time.MicroTimestamp", version=1),
        "flag": schemas.BOOLEAN,
    },
    optional=True,
    name="server.shard1.outbox.Value",
    version=3,
    doc="a row",
    parameters={"p": "q"},
)
SOURCE = Schema.struct({"connector": schemas.STRING, "ts_ms": schemas.INT64}, name="source")
ENVELOPE = Schema.struct(
    {
        "before": ROW,
        "after": ROW,
        "source": SOURCE,
        "op": schemas.STRING,
        "ts_ms": schemas.OPTIONAL_INT64,
        "note": schemas.OPTIONAL_STRING.replace(default="none"),
    },
    name="server.shard1.outbox.Envelope",
    version=1,
    doc="an event",
)
KEY = Schema.struct(
    {"id": schemas.INT32, "n": schemas.OPTIONAL_INT32.replace(default=4)},
    name="server.shard1.outbox.Key",
    version=2,
    doc="a key",
    optional=True,
)
LIVE = {
    "id": "da8d6de6",
    "aggregatetype": "User",
    "aggregateid": "10711fa5",
    "type": "UserCreated",
    "payload": '{"email": "a@b.c", "n": null, "list": [1, 2], "in": {"big": 3000000000, "rate": 1.5, "all": []}}',
    "version": None,
    "part": 3,
    "at": 1_553_460_779_000_999,
    "flag": True,
}


def event(op: str, key: Any = (KEY, {"id": 1, "n": None}), schema: Schema = ENVELOPE, **row: Any) -> SinkRecord:
    after = None if op == "d" else {**LIVE, **row}
    before = {**LIVE, "payload": None} if op in "ud" else None
    source = {"connector": "postgresql", "ts_ms": 5}
    value = {"before": before, "after": after, "source": source, "op": op, "ts_ms": 9, "note": None}
    headers = Headers([Header("h", "x", schemas.STRING)])
    return SinkRecord("server.shard1.outbox", value, schema, key[1], key[0], headers=headers)


PAYLOADS = [
    *('[{"a": 1, "b": null}, {"a": 2, "b": true}, null]', '{"x": [[1], [2, 3]], "y": ["a", null]}'),
    *("{}", "[", '{"a": [1, "x"]}', '{"a": [1, 2.5]}', '{"a": [null]}', '{"a": NaN}', "text", "", "  ", None),
]
EVENTS = [
    *(event(op) for op in "crud"),
    # A payload that is an array at the top is one that Debezium half expands: see below.
    *(event("c", payload=f'{{"p": {payload}}}' if payload and payload[0] == "[" else payload) for payload in PAYLOADS),
    event("c", aggregateid=None),
    event("c", aggregatetype="", at=None, version=2),
    SinkRecord("t", None, ENVELOPE, {"id": 1}, KEY),
    SinkRecord("t", None, None, None, None),
    SinkRecord("t", LIVE, ROW, {"id": 1}, KEY),
    SinkRecord("t", "text", schemas.STRING, "k", schemas.STRING),
    SinkRecord("t", {"after": LIVE, "op": "c"}, None, "k", None),
]
OUTBOX_CONFIGS = [
    {PLACED: PART},
    {PLACED: f"{PART},type:header:eventType,version:header,flag:HEADER"},
    {PLACED: f"{PART},type:envelope:eventType, version : envelope "},
    {PLACED: f"{PART},type:envelope", "table.field.event.schema.version": "version"},
    {PLACED: f"{PART},type:envelope", "table.field.event.schema.version": "type"},
    {PLACED: f"{PART},nothing:header"},
    {PLACED: f"{PART},nothing:envelope"},
    {PLACED: "type:partition"},
    *({PLACED: PART, "table.op.invalid.behavior": behavior} for behavior in ("warn", "error", "fatal")),
    *({PLACED: f"{PART}{more}", "route.tombstone.on.empty.payload": "true"} for more in ("", ",type:envelope")),
    *(
        {PLACED: f"{PART}{more}", "table.expand.json.payload": "true", "table.json.payload.null.behavior": nulls}
        for more in ("", ",type:envelope")
        for nulls in ("ignore", "optional_bytes")
    ),
    {PLACED: PART, "table.field.event.id": "aggregateid", "table.field.event.key": "version"},
    {PLACED: PART, "table.field.event.payload": "type", "route.by.field": "id"},
    {PLACED: PART, "table.field.event.timestamp": "at"},
    {PLACED: PART, "table.field.event.timestamp": "type"},
    *({PLACED: PART, key: "nothing"} for key in ("table.field.event.id", "table.field.event.key", "route.by.field")),
    {PLACED: PART, "route.by.field": "version"},
    {PLACED: PART, "route.topic.regex": "(?<what>Us).*", "route.topic.replacement": "all.$1"},
    {PLACED: PART, "route.topic.regex": "Order", "route.topic.replacement": "orders"},
]
LOGICAL_CONFIGS = [
    {"topic.regex": r"(.*)shard\d+(.*)", "topic.replacement": "$1all$2", **more}
    for more in (
        {},
        {"key.enforce.uniqueness": "false"},
        {"key.field.name": "from"},
        {"key.field.name": "id"},
        {"key.field.regex": r".*(shard\d+).*", "key.field.replacement": "$1"},
        {"key.field.regex": "other", "key.field.replacement": "x"},
        {"schema.name.adjustment.mode": "avro", "topic.replacement": "$1-all$2"},
        {"schema.name.adjustment.mode": "avro_unicode", "topic.replacement": "1$1-a_l$2"},
        {"topic.regex": "t", "topic.replacement": "u"},
        {"topic.regex": "(x*)server.*", "topic.replacement": "$1"},
    )
]


def agrees(original: Original, name: str, kind: type[Transformation], cases: list[tuple[Any, SinkRecord]]) -> None:
    differences = []
    for (config, record), theirs in zip(cases, original.ask(name, cases), strict=True):
        made = kind()
        made.configure(made.settings.parse(config))
        try:
            ours = comparable(made.apply(record))
        except DataError:
            ours = "error"
        if ours != theirs:
            differences.append(f"{config} {record.value}:\n  Debezium {theirs}\n  ours     {ours}")
    if differences:
        pytest.fail(f"{len(differences)} of {len(cases)}:\n" + "\n".join(differences[:3]), pytrace=False)


#: Debezium takes over the schema of JSON that it then cannot read, and hands on a record that no converter can write:
#: of arrays at the top, and of a null among structs.
def half_expanded(config: dict[str, str], record: SinkRecord) -> bool:
    payload = record.value["after"]["payload"] if isinstance(record.value, dict) and record.value.get("after") else None
    expands = "table.expand.json.payload" in config and isinstance(payload, str)
    return expands and (payload.startswith("[") or "}, null]" in payload)


#: It names the schema of the envelope by the first topic that it saw.
def named_by_another(config: dict[str, str], record: SinkRecord) -> bool:
    after = record.value.get("after") if isinstance(record.value, dict) else None
    return "envelope" in config[PLACED] and after is not None and after["aggregatetype"] != LIVE["aggregatetype"]


@pytest.mark.quick
def test_messages_of_an_outbox(original: Original) -> None:
    cases = [
        each
        for each in itertools.product(OUTBOX_CONFIGS, EVENTS)
        if not half_expanded(*each) and not named_by_another(*each)
    ]
    agrees(original, OUTBOX, EventRouter, cases)


@pytest.mark.quick
def test_tables_that_share_a_topic(original: Original) -> None:
    keys = [(KEY, {"id": 1, "n": None}), (KEY, None), (None, None), (schemas.STRING, "k"), (None, {"id": 1})]
    # Debezium fails with an envelope without the field `before`; here it is renamed like others.
    records = [*EVENTS, *(event("c", key) for key in keys)]
    agrees(original, LOGICAL, ByLogicalTableRouter, list(itertools.product(LOGICAL_CONFIGS, records)))


@pytest.mark.parametrize(
    ("name", "kind", "config"),
    [
        (OUTBOX, EventRouter, {PLACED: "type"}),
        (OUTBOX, EventRouter, {"route.topic.regex": "("}),
        (LOGICAL, ByLogicalTableRouter, {"topic.regex": "x"}),
        (LOGICAL, ByLogicalTableRouter, {"topic.regex": "x", "topic.replacement": "y", "key.field.regex": "z"}),
    ],
)
def test_what_debezium_refuses_we_refuse_before_the_task_runs(
    original: Original, name: str, kind: type[Transformation], config: dict[str, str]
) -> None:
    assert original.ask(name, [(config, EVENTS[0])]) == ["error"]
    made = kind()
    with pytest.raises(ConfigError):
        made.configure(made.settings.parse(config))
