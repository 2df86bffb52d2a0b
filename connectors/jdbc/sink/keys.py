"""The keys of the sink: Confluent's names, meanings and defaults; Aiven's and Debezium's are understood as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from connect import settings
from connect.data import evolution_policy
from connect.settings import Definition, WithoutEffect
from connectors.jdbc.database.keys import DATABASE

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

_DEBEZIUM: Final = "io.debezium."

_WRITING: Final = "Writing"
_MAPPING: Final = "Tables"
_TYPES: Final = "Types"
_DDL: Final = "Changing tables"
_RETRIES: Final = "Retries"
_DELIVERY: Final = "Delivery"

# Why keys of others do nothing.
_TABLES: Final = "table.name.format names tables"
_ZONES: Final = "what has no zone is UTC's. db.timezone changes that"
_ONE_CONNECTION: Final = "a task has one connection"
#: Debezium's classes, of now and before, for names as they are here.
_TABLES_AS_HERE: Final = (
    "io.debezium.sink.naming.DefaultCollectionNamingStrategy",
    "io.debezium.connector.jdbc.naming.DefaultTableNamingStrategy",
)
_COLUMNS_AS_HERE: Final = (
    "io.debezium.sink.naming.DefaultColumnNamingStrategy",
    "io.debezium.connector.jdbc.naming.DefaultColumnNamingStrategy",
)


_EVOLUTION: Final = (
    evolution_policy.SETTINGS.replaced(
        "schema.evolution",
        group=_DDL,
        doc="How a table may be changed so that records fit: add (columns), widen (types, where a value needs it), "
        "nullable (NOT NULL is taken away, where a value needs it), several with commas; full for all, none for none; "
        "basic (Debezium's) for auto.create and add.",
    )
    .replaced("schema.evolution.unknown.fields", group=_DDL)
    .replaced(
        "schema.evolution.on.mismatch",
        default=evolution_policy.PASS,
        group=_DDL,
        doc="What happens to a record that does not fit the table: fail (the task fails), quarantine (the record goes "
        "to the error policy, the others are written), pass (the database decides; what it refuses goes to the error "
        "policy).",
    )
)

_OWN: Final[Definition] = settings.define(
    settings.String(
        "insert.mode",
        default=INSERT,
        importance="HIGH",
        group=_WRITING,
        validator=settings.one_of(INSERT, UPSERT, UPDATE, ignore_case=True),
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
        validator=settings.one_of(NONE, KAFKA, RECORD_KEY, RECORD_VALUE, RECORD_HEADER, ignore_case=True),
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
        validator=settings.one_of("db_timezone", "utc", ignore_case=True),
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
        validator=settings.one_of("microseconds", "nanoseconds", ignore_case=True),
        doc="What the fields of timestamp.fields.list count. Columns keep microseconds.",
    ),
    settings.String(
        "date.calendar.system",
        default="LEGACY",
        importance="LOW",
        group=_TYPES,
        validator=settings.one_of("legacy", "proleptic_gregorian", ignore_case=True),
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
    aliases={
        "primary.key.mode": "pk.mode",
        "primary.key.fields": "pk.fields",
        "collection.name.format": "table.name.format",
        "field.include.list": "fields.whitelist",
        "fields.include": "fields.whitelist",
        "field.exclude.list": "fields.blacklist",
        "flush.max.retries": "max.retries",
        "flush.retry.delay.ms": "retry.backoff.ms",
    },
    without_effect={
        "date.calendar.system": WithoutEffect("dates are the Gregorian calendar's", unless=("PROLEPTIC_GREGORIAN",)),
        "mssql.use.merge.holdlock": WithoutEffect("rows are not merged by MERGE", unless=("false",)),
        "collection.naming.strategy": WithoutEffect(_TABLES, unless=_TABLES_AS_HERE),
        "table.naming.strategy": WithoutEffect(_TABLES, unless=_TABLES_AS_HERE),
        "collection.table.format": WithoutEffect(_TABLES, unless=("${table}",)),
        "column.naming.strategy": WithoutEffect(
            "columns are called as fields are. The transformation ReplaceField calls them otherwise",
            unless=_COLUMNS_AS_HERE,
        ),
        "cloud.events.schema.name.pattern": "an event of CloudEvents is written as it is. The transformation "
        "ExtractField takes its data out",
        "use.reduction.buffer": WithoutEffect("of a key's records in a batch the last one is written", ("true",)),
        "keyed.message.batch.mode": WithoutEffect(
            "of a key's records in a batch the last one is written", ("deduplication",)
        ),
        "connection.restart.on.errors": WithoutEffect("a connection that was lost is always made again", ("true",)),
        "connection.provider": _ONE_CONNECTION,
        "connection.pool.*": _ONE_CONNECTION,
        "hibernate.*": "rows are written without Hibernate",
        "use.time.zone": WithoutEffect(_ZONES, ("UTC",)),
        "database.time_zone": WithoutEffect(_ZONES, ("UTC",)),
        "dialect.postgres.postgis.schema": "geometry is written as JSON, not in a type of PostGIS",
        "dialect.postgres.unnest.insert.enabled": WithoutEffect("rows are copied into PostgreSQL", ("false",)),
        "dialect.sqlserver.identity.insert": WithoutEffect(
            "values are not forced into identity columns. fields.blacklist leaves the field out", ("false",)
        ),
        "dialect.starrocks.catalog.name": "StarRocks is written as the database of its driver. table.name.format names "
        "a catalog",
        "dialect.*": "this sink does not know it",
    },
)

SETTINGS: Final[Definition] = DATABASE | _OWN | _EVOLUTION


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
