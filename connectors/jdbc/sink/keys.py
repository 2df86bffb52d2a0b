"""The keys of the sink: Confluent's names, meanings and defaults; Aiven's and Debezium's are understood as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from connect import settings
from connect.settings import Definition
from connectors.jdbc.database.keys import DATABASE, with_aliases

INSERT: Final = "insert"
UPSERT: Final = "upsert"
UPDATE: Final = "update"
NONE: Final = "none"
KAFKA: Final = "kafka"
RECORD_KEY: Final = "record_key"
RECORD_VALUE: Final = "record_value"
RECORD_HEADER: Final = "record_header"
#: The columns of pk.mode=kafka, unless pk.fields names others.
COORDINATES: Final = ("__connect_topic", "__connect_partition", "__connect_offset")
ADD: Final = "add"
WIDEN: Final = "widen"
NULLABLE: Final = "nullable"

#: What Debezium's and other connectors call our keys. Ours win where both are given.
ALIASES: Final = {
    "primary.key.mode": "pk.mode",
    "primary.key.fields": "pk.fields",
    "collection.name.format": "table.name.format",
    "field.include.list": "fields.whitelist",
    "fields.include": "fields.whitelist",
    "field.exclude.list": "fields.blacklist",
    "flush.max.retries": "max.retries",
    "flush.retry.delay.ms": "retry.backoff.ms",
}
#: Keys of theirs that there is nothing to do for: what they switch on is always so here, or only tunes Java.
WITHOUT_EFFECT: Final = (
    "use.reduction.buffer",
    "use.time.zone",  # their dates and times are UTC's, whatever it says
    "keyed.message.batch.mode",
    "connection.restart.on.errors",
    "connection.provider",
    "connection.pool.min_size",
    "connection.pool.max_size",
    "connection.pool.acquire_increment",
    "connection.pool.timeout",
    "dialect.postgres.unnest.insert.enabled",
)
_DEBEZIUM: Final = "io.debezium."

_WRITING: Final = "Writing"
_MAPPING: Final = "Tables"
_TYPES: Final = "Types"
_DDL: Final = "Changing tables"
_RETRIES: Final = "Retries"
_DELIVERY: Final = "Delivery"


def _evolution(_: str, value: list[str]) -> None:
    known = {ADD, WIDEN, NULLABLE, "none", "full", "basic"}
    if wrong := [word for word in value if word.lower() not in known]:
        raise ValueError(f'"{wrong[0]}" is no change. Write none, basic, full, or some of add, widen, nullable.')


def _lower_one_of(*words: str) -> Any:
    def check(_: str, value: str) -> None:
        if value.lower() not in words:
            raise ValueError(f'"{value}" is none of {", ".join(words)}.')

    return check


SETTINGS: Final[Definition] = DATABASE | settings.define(
    settings.String(
        "insert.mode",
        default=INSERT,
        importance="HIGH",
        group=_WRITING,
        validator=_lower_one_of(INSERT, UPSERT, UPDATE),
        doc="insert: each record is a new row. upsert: it is the row of its primary key, whether that is there or not. "
        "update: it changes the row of its primary key, if there is one.",
    ),
    settings.Int(
        "batch.size",
        default=3000,
        group=_WRITING,
        validator=settings.at_least(1),
        doc="How many rows a statement has at most, where rows are not copied in as a whole as PostgreSQL does. How "
        "many records come at a time is consumer.override.max.poll.records.",
    ),
    settings.Boolean(
        "delete.enabled",
        default=False,
        group=_WRITING,
        doc="Whether a record without a value deletes the row of its key. Needs pk.mode=record_key.",
    ),
    settings.Boolean(
        "truncate.enabled",
        default=False,
        importance="LOW",
        group=_WRITING,
        doc="Whether Debezium's event of an emptied table empties the table.",
    ),
    settings.String(
        "table.name.format",
        default="${topic}",
        group=_MAPPING,
        doc="The table: ${topic} is the record's topic; ${value.NAME}, ${key.NAME} and ${header.NAME} are a field "
        "(dots lead into structs) or a header of the record; ${source.NAME} is a field of the source block of a "
        "Debezium event. Dots divide catalog, schema and table.",
    ),
    settings.List(
        "topics.to.tables.mapping",
        default=[],
        group=_MAPPING,
        doc="topic:table, with commas: the tables of some topics, instead of table.name.format.",
    ),
    settings.Boolean(
        "table.name.normalize",
        default=False,
        group=_MAPPING,
        doc="Whether what is no letter, digit or underscore in a topic becomes an underscore in the table's name.",
    ),
    settings.List(
        "table.types",
        default=["TABLE"],
        importance="LOW",
        group=_MAPPING,
        doc="What may be written to: TABLE, PARTITIONED_TABLE, VIEW. Partitioned tables are tables here; a view is "
        "refused unless it is named.",
    ),
    settings.String(
        "pk.mode",
        default=NONE,
        importance="HIGH",
        group=_MAPPING,
        validator=_lower_one_of(NONE, KAFKA, RECORD_KEY, RECORD_VALUE, RECORD_HEADER),
        doc="Where the primary key comes from: none; kafka (the topic, partition and offset that the record was "
        "consumed from); record_key; record_value; record_header.",
    ),
    settings.List(
        "pk.fields",
        default=[],
        group=_MAPPING,
        doc="The columns of the primary key. kafka: three names, or the default __connect_topic,__connect_partition,"
        "__connect_offset. record_key: fields of a struct, all of them by default, or the one name for a plain key. "
        "record_value, record_header: fields, or headers; all of them by default.",
    ),
    settings.List(
        "fields.whitelist",
        default=[],
        group=_MAPPING,
        doc="The fields of the value that are written; all by default. topic:field is for one topic.",
    ),
    settings.List(
        "fields.blacklist",
        default=[],
        group=_MAPPING,
        doc="Fields of the value that are not written. topic:field is for one topic.",
    ),
    settings.String(
        "string.output.value.column.name",
        default="record_value",
        importance="LOW",
        group=_MAPPING,
        doc="The column of values that are no structs, such as StringConverter's.",
    ),
    settings.Boolean(
        "replace.null.with.default",
        default=True,
        importance="LOW",
        group=_TYPES,
        doc="Whether the default of a field's schema is written where the field is null.",
    ),
    settings.String(
        "date.timezone",
        default="DB_TIMEZONE",
        importance="LOW",
        group=_TYPES,
        validator=_lower_one_of("db_timezone", "utc"),
        doc="A Date is midnight in UTC. UTC: its day there is written. DB_TIMEZONE: the day that it is then in "
        "db.timezone, as Java's connector does; west of Greenwich that is the day before.",
    ),
    settings.List(
        "timestamp.fields.list",
        default=[],
        group=_TYPES,
        doc="INT64 fields that hold an instant as a number since 1970.",
    ),
    settings.String(
        "timestamp.precision.mode",
        default="microseconds",
        importance="LOW",
        group=_TYPES,
        validator=_lower_one_of("microseconds", "nanoseconds"),
        doc="What the fields of timestamp.fields.list count. Columns keep microseconds.",
    ),
    settings.String(
        "date.calendar.system",
        default="LEGACY",
        importance="LOW",
        group=_TYPES,
        validator=_lower_one_of("legacy", "proleptic_gregorian"),
        doc="Understood, without effect: the calendar is the proleptic Gregorian one, Java's old one differs.",
    ),
    settings.Boolean(
        "schemaless.inference",
        default=False,
        group=_TYPES,
        doc="Whether records without a schema are written: the types of their fields are inferred from their values. "
        "Java's connector refuses such records.",
    ),
    settings.Boolean(
        "debezium.records",
        default=None,
        group=_TYPES,
        doc="Whether events of Debezium are written as what they tell: envelopes are opened, op=d deletes, and "
        "Debezium's types of times, JSON and UUID become such columns. By default when connector.class is Debezium's.",
    ),
    settings.Boolean("auto.create", default=False, group=_DDL, doc="Whether a table that is missing is created."),
    settings.Boolean(
        "auto.evolve",
        default=False,
        group=_DDL,
        doc="Whether a table may be changed so that records fit: columns are added, and where values need it, types "
        "are widened and columns lose NOT NULL. Nothing is ever dropped.",
    ),
    settings.List(
        "schema.evolution",
        default=["none"],
        validator=_evolution,
        group=_DDL,
        doc="The same with a choice: add, widen, nullable, several with commas; full for all; basic (Debezium's) for "
        "auto.create and add.",
    ),
    settings.String(
        "schema.evolution.unknown.fields",
        default="reject",
        validator=_lower_one_of("reject", "ignore"),
        group=_DDL,
        doc="What a field means that the table has no column for, and that may not be added: reject (the record does "
        "not fit) or ignore (the field is not written).",
    ),
    settings.Boolean(
        "mssql.use.merge.holdlock",
        default=True,
        importance="LOW",
        group=_WRITING,
        doc="Understood, without effect: rows are not merged by MERGE.",
    ),
    settings.Int(
        "max.retries",
        default=10,
        group=_RETRIES,
        validator=settings.at_least(0),
        doc="How often a write is tried again after an error that passes: a lost connection, a deadlock.",
    ),
    settings.Int(
        "retry.backoff.ms",
        default=3000,
        group=_RETRIES,
        validator=settings.at_least(0),
        doc="How long to wait before that.",
    ),
    settings.Boolean(
        "trim.sensitive.log",
        default=False,
        importance="LOW",
        group=_RETRIES,
        doc="Whether errors leave out what the database says in detail, which may quote values.",
    ),
    settings.Boolean(
        "exactly.once",
        default=False,
        group=_DELIVERY,
        doc="Whether the offsets that were consumed are kept in a table of the database, written in the same "
        "transaction as the rows. Added; needs tables that know transactions.",
    ),
    settings.String(
        "offsets.table",
        default="connect_offsets",
        group=_DELIVERY,
        validator=settings.non_empty,
        doc="That table; several connectors may share it. It is created if it is missing.",
    ),
    settings.Boolean(
        "write.behind",
        default=True,
        importance="LOW",
        group=_DELIVERY,
        doc="Whether, while many records come, the next ones are consumed and decoded as the database still writes. "
        "Offsets are committed only behind what it has committed, either way.",
    ),
)


def named_ours(config: Mapping[str, str]) -> dict[str, str]:
    """The configuration with our names for what others call differently."""
    return with_aliases(config, ALIASES)


def is_debezium(config: Mapping[str, str]) -> bool:
    """Whether the connector was named as Debezium names its own."""
    return str(config.get("connector.class", "")).startswith(_DEBEZIUM)


def problems(parsed: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Keys that contradict each other, with what to do.

    Args:
        parsed: values by key; keys that could not be parsed are missing.
    """
    found: list[tuple[str, str]] = []
    mode, insert = str(parsed.get("pk.mode", NONE)).lower(), str(parsed.get("insert.mode", INSERT)).lower()
    fields = parsed.get("pk.fields") or []
    if parsed.get("delete.enabled") and mode != RECORD_KEY:
        found.append(
            ("delete.enabled", "Primary key mode must be 'record_key' when delete support is enabled: set pk.mode.")
        )
    if insert in (UPSERT, UPDATE) and mode == NONE:
        found.append(("insert.mode", f"{insert} needs a primary key: set pk.mode to something other than none."))
    if mode == KAFKA and len(fields) not in (0, 3):
        found.append(("pk.fields", f"pk.mode=kafka needs no names, or three, and not {len(fields)}."))
    if mode == NONE and fields:
        found.append(("pk.fields", "has no meaning with pk.mode=none. Set pk.mode, or remove it."))
    if len(set(fields)) < len(fields):
        found.append(("pk.fields", "names a column twice."))
    for pair in parsed.get("topics.to.tables.mapping") or []:
        topic, colon, table = pair.rpartition(":")
        if not (colon and topic.strip() and table.strip()):
            found.append(("topics.to.tables.mapping", f'"{pair}" is no topic:table.'))
    if parsed.get("table.name.format") == "":
        found.append(("table.name.format", "is empty. Write ${topic}, or the name of a table."))
    return found
