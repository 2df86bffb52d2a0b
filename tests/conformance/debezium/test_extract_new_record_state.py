"""Change events are flattened as Debezium does it."""

import itertools
import random
from typing import Any

import pytest

from connect import ConfigError, DataError, Header, Headers, Schema, SinkRecord, logical
from connect.data import schema as schemas
from transforms.extract_new_record_state import ExtractNewRecordState

from .original import Original, comparable

NAME = "io.debezium.transforms.ExtractNewRecordState"
MODE = "delete.tombstone.handling.mode"

ROW = Schema.struct(
    {
        "id": schemas.INT32,
        "name": schemas.OPTIONAL_STRING,
        "n": schemas.OPTIONAL_INT32.replace(default=5),
        "r": schemas.STRING,
        "at": logical.TIMESTAMP.as_optional(),
    },
    optional=True,
    name="server.db.orders.Value",
    version=2,
    doc="a row",
    parameters={"p": "q"},
)
SOURCE = Schema.struct(
    {
        "version": schemas.STRING,
        "db": schemas.STRING,
        "table": schemas.OPTIONAL_STRING,
        "id": schemas.OPTIONAL_STRING,
        "lsn": schemas.INT64.replace(name="io.lsn", version=3, doc="D", parameters={"a": "b"}, default=8),
        "ts_ms": schemas.INT64,
    },
    name="io.debezium.connector.postgresql.Source",
)
TRANSACTION = Schema.struct({"id": schemas.STRING, "total_order": schemas.INT64}, optional=True)
ENVELOPE = Schema.struct(
    {
        "before": ROW,
        "after": ROW,
        "source": SOURCE,
        "op": schemas.STRING,
        "ts_ms": schemas.OPTIONAL_INT64,
        "transaction": TRANSACTION,
    },
    name="server.db.orders.Envelope",
    version=1,
)
KEY = Schema.struct(
    {"id": schemas.INT32, "name": schemas.OPTIONAL_STRING, "x": schemas.OPTIONAL_INT32.replace(default=4)},
    name="key",
    version=1,
    optional=True,
)
ORIGIN = {"version": "3", "db": "shop", "table": "orders", "lsn": 7, "ts_ms": 5}
NEW = {"id": 1, "name": "ann", "n": None, "r": "to-x"}
OLD = {"id": 1, "name": None, "n": 3, "r": "to-y"}


def event(before: Any, after: Any, op: str, schema: Schema = ENVELOPE, **more: Any) -> SinkRecord:
    value = {"before": before, "after": after, "source": ORIGIN, "op": op, "ts_ms": 9, **more}
    return SinkRecord("orders", value, schema, {"id": 1, "name": "k"}, KEY)


EVENTS = [
    event(None, NEW, "c"),
    event(None, NEW, "r", transaction={"id": "T", "total_order": 2}),
    event(OLD, NEW, "u"),
    event(OLD, None, "d"),
    event(None, None, "t"),
    event(None, None, "m"),
    event(OLD, None, "c"),
    event(None, NEW, "d"),
    SinkRecord("orders", None, None, {"id": 1}, KEY),
    SinkRecord("orders", None, ENVELOPE, {"id": 1}, KEY),
    SinkRecord("orders", None, None, None, None),
    SinkRecord("orders", NEW, ROW, {"id": 1}, KEY),
    SinkRecord("orders", "text", schemas.STRING, "k", schemas.STRING),
    SinkRecord("orders", {"before": None, "after": {"id": 1}, "op": "c"}, None, "k", None),
    event(OLD, NEW, "u").replace(key="k", key_schema=schemas.STRING),
    event(OLD, NEW, "u").replace(key={"id": 1}, key_schema=None),
    *(
        event(OLD, NEW, "u", ENVELOPE.replace(name=name))
        for name in (None, "Envelope", ".Envelope", "xEnvelope", "x.envelope", "x.Envelope.y")
    ),
    event(OLD, NEW, "u", ENVELOPE.replace(fields={**{f.name: f.schema for f in ENVELOPE.fields}, "after": KEY})),
    SinkRecord("orders", {"before": OLD}, Schema.struct({"before": ROW}, name="x.Envelope")),
    SinkRecord(
        "orders", {"after": NEW, "op": "c"}, Schema.struct({"after": ROW, "op": schemas.STRING}, name="x.Envelope")
    ),
]

NAMES = Schema.array(schemas.STRING)
HEADERS = [
    Headers(),
    *(
        Headers([Header("drop", names, NAMES)])
        for names in ([], ["name"], ["r"], ["id", "name", "n", "r", "at"], ["none"], ["n", "__op", "__deleted", "x"])
    ),
    Headers([Header("drop", ["name"]), Header("drop", ["n"])]),
    Headers([Header("drop", "name", schemas.STRING)]),
    Headers([Header("drop", None)]),
    Headers([Header("__op", "mine", schemas.STRING), Header("other", 5, schemas.INT32)]),
]

MODES = [
    {},
    *({MODE: mode} for mode in ("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone")),
]
CONFIGS = [
    {},
    {MODE: "Rewrite"},
    {"add.fields": "op"},
    {"add.fields": "op,table", "add.headers": "db"},
    {"add.fields": "source.ts_ms,ts_ms,id,total_order", "add.headers": "id,total_order,lsn,transaction.id"},
    {"add.fields": "lsn,transaction.id", "add.headers": "before.id,after.name"},
    {"add.fields": "op:OP,source.ts_ms:at_ms", "add.headers": "op:OP"},
    {"add.fields": "op", "add.fields.prefix": "", "add.headers": "op", "add.headers.prefix": "H."},
    {"add.fields": "nothing,source.nothing,OP", "add.headers": "nothing,source.nothing,source.op"},
    {"add.fields": "source.table.x,op:", "add.headers": "op,op"},
    {"add.fields": "id", "add.fields.prefix": ""},
    {"route.by.field": "r"},
    {"route.by.field": "name"},
    {"route.by.field": "id"},
    {"route.by.field": "nothing"},
    {"replace.null.with.default": "false"},
    {"replace.null.with.default": "false", "add.fields": "op"},
]


def agrees(original: Original, cases: list[tuple[dict[str, str], SinkRecord]]) -> None:
    differences = []
    for (config, record), theirs in zip(cases, original.ask(NAME, cases), strict=True):
        made = ExtractNewRecordState()
        made.configure(made.settings.parse(config))
        try:
            ours = comparable(made.apply(record))
        except DataError:
            ours = "error"
        if ours != theirs:
            differences.append(f"{config} {record.value} {record.headers}:\n  {_difference(theirs, ours)}")
    if differences:
        pytest.fail(f"{len(differences)} of {len(cases)}:\n" + "\n".join(differences[:3]), pytrace=False)


def _difference(theirs: Any, ours: Any) -> str:
    if not isinstance(theirs, tuple) or not isinstance(ours, tuple):
        return f"Debezium {theirs}\n  ours     {ours}"
    return "\n  ".join(f"Debezium {one}\n  ours     {two}" for one, two in zip(theirs, ours, strict=True) if one != two)


#: Debezium reads its source without looking whether there is one.
def without_source(config: dict[str, str], record: SinkRecord) -> bool:
    named = {"add.fields", "add.headers"} & config.keys()
    schema = record.value_schema
    return bool(named) and schema is not None and schema.field("after") is not None and schema.field("source") is None


#: It also looks for optional fields in the schema that delete-to-tombstone has just taken away.
def without_schema(config: dict[str, str], record: SinkRecord) -> bool:
    keeps = config["drop.fields.keep.schema.compatible"] == "true"
    is_delete = isinstance(record.value, dict) and record.value.get("after") is None
    return keeps and is_delete and config.get(MODE) == "delete-to-tombstone"


@pytest.mark.quick
def test_every_kind_of_event_under_every_configuration(original: Original) -> None:
    configs = [{**config, **mode} for config in CONFIGS for mode in MODES if not config.keys() & mode.keys()]
    cases = [(config, record) for config in configs for record in EVENTS if not without_source(config, record)]
    agrees(original, cases)


def test_fields_are_dropped_as_a_header_says(original: Original, seed: int) -> None:
    flags = ("drop.fields.from.key", "drop.fields.keep.schema.compatible", "replace.null.with.default")
    configs = [
        {"drop.fields.header.name": "drop", **mode, **dict(zip(flags, values, strict=True)), **more}
        for mode, values, more in itertools.product(
            MODES, itertools.product(("true", "false"), repeat=3), ({}, {"add.fields": "op", "add.headers": "op"})
        )
    ]
    cases = [
        (config, record.replace(headers=headers))
        for config, record, headers in itertools.product(configs, EVENTS, HEADERS)
        if not without_source(config, record) and not without_schema(config, record)
    ]
    agrees(original, random.Random(seed).sample(cases, 2000))


def test_a_struct_that_is_not_there_is_an_error(original: Original) -> None:
    agrees(original, [({key: "nothing.x"}, record) for key in ("add.fields", "add.headers") for record in EVENTS[:3]])


@pytest.mark.parametrize("config", [{MODE: "none"}, {"add.fields": "op,op"}])
def test_what_debezium_refuses_we_refuse_before_the_task_runs(original: Original, config: dict[str, str]) -> None:
    assert original.ask(NAME, [(config, EVENTS[0])]) == ["error"]
    made = ExtractNewRecordState()
    with pytest.raises(ConfigError):
        made.configure(made.settings.parse(config))


def test_whole_structs_may_be_added_which_debezium_cannot_do(original: Original) -> None:
    config = {"add.fields": "source"}
    assert original.ask(NAME, [(config, EVENTS[0])]) == ["error"]
    made = ExtractNewRecordState()
    made.configure(made.settings.parse(config))
    assert made.apply(EVENTS[0]).value["__source"] == ORIGIN


OLD_CONFIGS = [
    {"drop.tombstones": "false"},
    {"drop.tombstones": "true"},
    *({"delete.handling.mode": mode} for mode in ("drop", "none", "rewrite")),
    *(
        {"delete.handling.mode": mode, "drop.tombstones": "false", "add.headers": "op", "add.fields": "op"}
        for mode in ("drop", "none", "rewrite")
    ),
    {"delete.handling.mode": "rewrite", "replace.null.with.default": "true"},
]


def test_the_keys_of_debezium_2_mean_what_they_meant_there(original_2: Original) -> None:
    cases = [(config, record) for config in OLD_CONFIGS for record in EVENTS if not without_source(config, record)]
    agrees(original_2, cases)
