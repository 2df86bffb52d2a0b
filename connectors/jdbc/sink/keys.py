"""The keys of the sink: Confluent's names, meanings and defaults; Aiven's and Debezium's are accepted as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from connect import ConfigError, settings
from connect.data.evolution_policy import BASIC, FULL, PASS, EvolutionOptions, EvolutionPolicy
from connect.data.unavailable import UNAVAILABLE
from connect.settings import Config, Listed, WithoutEffect
from connectors.jdbc.database.keys import DatabaseOptions
from connectors.jdbc.database.names import TableName

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


def _pair(written: str) -> tuple[str, str]:
    topic, _, table = written.rpartition(":")
    return topic.strip(), table.strip()


def _fields(written: list[str]) -> frozenset[tuple[str | None, str]]:
    pairs = (each.rpartition(":") for each in written)
    return frozenset((topic or None, field) for topic, _, field in pairs)


class _OwnOptions(
    DatabaseOptions,
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
):
    """The keys, except those of schema evolution."""

    mode = settings.String(
        "insert.mode",
        default=INSERT,
        importance="HIGH",
        group=_WRITING,
        validator=settings.one_of(INSERT, UPSERT, UPDATE, ignore_case=True),
        convert=str.lower,
        doc="insert: each record is a new row. upsert: it replaces or adds the row of its primary key. update: it "
        "changes the row of its primary key, if there is one.",
    )
    batch_size = settings.Int(
        "batch.size",
        default=3000,
        group=_WRITING,
        validator=settings.at_least(1),
        doc="The most rows of a statement, except where rows are copied as a whole, as in PostgreSQL. "
        "consumer.override.max.poll.records sets the number of records at a time.",
    )
    deletes = settings.Boolean(
        "delete.enabled",
        default=False,
        group=_WRITING,
        doc="Whether a record without a value deletes the row of its key. Needs pk.mode=record_key.",
    )
    truncates = settings.Boolean(
        "truncate.enabled",
        default=False,
        importance="LOW",
        group=_WRITING,
        doc="Whether Debezium's event of an emptied table empties the table.",
    )
    table = settings.String(
        "table.name.format",
        default="${topic}",
        group=_MAPPING,
        listed=Listed.BY_CONNECTOR,
        doc="The table: ${topic} is the record's topic; ${value.NAME}, ${key.NAME} and ${header.NAME} are a field "
        "(dots lead into structs) or a header of the record; ${source.NAME} is a field of the source block of a "
        "Debezium event. Dots divide catalog, schema and table.",
    )
    tables = settings.List(
        "topics.to.tables.mapping",
        default=[],
        group=_MAPPING,
        convert=lambda written: dict(map(_pair, written)),
        doc="topic:table, with commas: the tables of some topics, instead of table.name.format.",
    )
    normalize = settings.Boolean(
        "table.name.normalize",
        default=False,
        group=_MAPPING,
        doc="Whether every character of a topic other than letters, digits and underscores becomes an underscore in "
        "the table's name.",
    )
    views = settings.List(
        "table.types",
        default=["TABLE"],
        importance="LOW",
        group=_MAPPING,
        convert=lambda written: "VIEW" in map(str.upper, written),
        doc="What may be written to: TABLE, PARTITIONED_TABLE, VIEW. Partitioned tables are tables here; a view is "
        "refused unless it is named.",
    )
    pk_mode = settings.String(
        "pk.mode",
        default=NONE,
        importance="HIGH",
        group=_MAPPING,
        validator=settings.one_of(NONE, KAFKA, RECORD_KEY, RECORD_VALUE, RECORD_HEADER, ignore_case=True),
        convert=str.lower,
        doc="The origin of the primary key: none; kafka (the topic, partition and offset that the record was consumed "
        "from); record_key; record_value; record_header.",
    )
    pk_fields_list = settings.List(
        "pk.fields",
        default=[],
        group=_MAPPING,
        doc="The columns of the primary key. kafka: three names, or the default __connect_topic,__connect_partition,"
        "__connect_offset. record_key: fields of a struct, all of them by default, or the one name for a plain key. "
        "record_value, record_header: fields, or headers; all of them by default.",
    )
    included = settings.List(
        "fields.whitelist",
        default=[],
        group=_MAPPING,
        convert=_fields,
        doc="The fields of the value that are written; all by default. topic:field is for one topic.",
    )
    excluded = settings.List(
        "fields.blacklist",
        default=[],
        group=_MAPPING,
        convert=_fields,
        doc="Fields of the value that are not written. topic:field is for one topic.",
    )
    value_column = settings.String(
        "string.output.value.column.name",
        default="record_value",
        importance="LOW",
        group=_MAPPING,
        doc="The column of values that are not structs, such as StringConverter's.",
    )
    defaults = settings.Boolean(
        "replace.null.with.default",
        default=True,
        importance="LOW",
        group=_TYPES,
        doc="Whether the default of a field's schema is written where the field is null.",
    )
    date_timezone = settings.String(
        "date.timezone",
        default="DB_TIMEZONE",
        importance="LOW",
        group=_TYPES,
        validator=settings.one_of("db_timezone", "utc", ignore_case=True),
        convert=str.lower,
        doc="A Date is midnight in UTC. UTC: its day there is written. DB_TIMEZONE: the day that it is then in "
        "db.timezone, as Java's connector does; west of Greenwich that is the day before.",
    )
    timestamp_fields = settings.List(
        "timestamp.fields.list",
        default=[],
        group=_TYPES,
        convert=frozenset[str],
        doc="INT64 fields that hold an instant as a number since 1970.",
    )
    unit = settings.String(
        "timestamp.precision.mode",
        default="microseconds",
        importance="LOW",
        group=_TYPES,
        validator=settings.one_of("microseconds", "nanoseconds", ignore_case=True),
        convert=lambda written: "ns" if written.lower() == "nanoseconds" else "us",
        doc="What the fields of timestamp.fields.list count. Columns keep microseconds.",
    )
    date_calendar_system = settings.String(
        "date.calendar.system",
        default="LEGACY",
        importance="LOW",
        group=_TYPES,
        validator=settings.one_of("legacy", "proleptic_gregorian", ignore_case=True),
        doc="Without effect: the calendar is the proleptic Gregorian one, Java's old one differs.",
    )
    inference = settings.Boolean(
        "schemaless.inference",
        default=False,
        group=_TYPES,
        doc="Whether records without a schema are written: the types of their fields are inferred from their values. "
        "Java's connector refuses such records.",
    )
    debezium_records = settings.Boolean(
        "debezium.records",
        default=None,
        group=_TYPES,
        doc="Whether the sink applies Debezium's events: it unwraps envelopes, op=d deletes, and Debezium's types of "
        "times, JSON and UUID become such columns. Default: true if connector.class is Debezium's.",
    )
    unavailable_placeholder = settings.String(
        "unavailable.value.placeholder",
        default=None,
        importance="LOW",
        group=_TYPES,
        doc="What stands for a value that the source database did not send, because an update did not change it: rows "
        "that are there keep theirs (insert.mode=upsert or update). Empty: it is written as any value. Default: "
        "__debezium_unavailable_value with debezium.records, else empty.",
    )
    auto_create = settings.Boolean(
        "auto.create", default=False, group=_DDL, doc="Whether the sink creates a missing table."
    )
    auto_evolve = settings.Boolean(
        "auto.evolve",
        default=False,
        group=_DDL,
        doc="Whether the sink may change a table so that records fit: it adds columns, and where values need it, "
        "widens types and drops NOT NULL. It never drops a column or table.",
    )
    mssql_use_merge_holdlock = settings.Boolean(
        "mssql.use.merge.holdlock",
        default=True,
        importance="LOW",
        group=_WRITING,
        doc="Without effect: the sink does not use MERGE.",
    )
    max_retries = settings.Int(
        "max.retries",
        default=10,
        group=_RETRIES,
        validator=settings.at_least(0),
        doc="How often the sink retries a write after an error that may pass: a lost connection, a deadlock.",
    )
    retry_backoff = settings.Int(
        "retry.backoff.ms",
        default=3000,
        group=_RETRIES,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="How long to wait before that.",
    )
    trimmed = settings.Boolean(
        "trim.sensitive.log",
        default=False,
        importance="LOW",
        group=_RETRIES,
        doc="Whether errors leave out the database's details, which may quote values.",
    )
    exactly_once = settings.Boolean(
        "exactly.once",
        default=False,
        group=_DELIVERY,
        doc="Whether the sink keeps its offsets in a table of the database, written in the same transaction as the "
        "rows. Added; needs tables with transactions.",
    )
    offsets_table = settings.String(
        "offsets.table",
        default="connect_offsets",
        group=_DELIVERY,
        validator=settings.non_empty,
        convert=lambda written: TableName.parse(written, key="offsets.table"),
        doc="That table; several connectors may share it. The sink creates it if it is missing.",
    )
    write_behind = settings.Boolean(
        "write.behind",
        default=True,
        importance="LOW",
        group=_DELIVERY,
        doc="Whether the task consumes and decodes the next records while the database still writes. Offsets are "
        "committed only behind what the database has committed in any case.",
    )


def is_debezium(config: Mapping[str, str]) -> bool:
    """Whether the connector has the name of Debezium's class."""
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
            found.append(("topics.to.tables.mapping", f'"{pair}" is not a topic:table.'))
    if parsed.get("table.name.format") == "":
        found.append(("table.name.format", "is empty. Write ${topic}, or the name of a table."))
    return found


class JdbcSinkOptions(_OwnOptions, EvolutionOptions):
    """The keys, and what they mean together.

    Attributes:
        included, excluded: fields, each with the topic that it is for, or None.
        unit: of `timestamp_fields`: us or ns.
        connector: its name.
        pk_fields: the columns of the key, if they are named.
        dates_in_zone: whether a Date is the day in `db.timezone`.
        debezium: whether records are events of Debezium.
        folds: whether names are lower case where the database would fold them, as with Debezium's class, which quotes
            no names.
        unavailable: stands for values that the source database did not send; empty for nothing.
        create: whether tables are created.
        policy: how tables may be changed, and what happens to records that do not fit.
        behind: whether writes continue while the next records are consumed.
    """

    allowed = EvolutionOptions.allowed.replaced(
        group=_DDL,
        doc="How a table may be changed so that records fit: add (columns), widen (types, where a value needs it), "
        "nullable (NOT NULL is dropped, where a value needs it), several with commas; full for all, none for none; "
        "basic (Debezium's) for auto.create and add.",
    )
    unknown_fields = EvolutionOptions.unknown_fields.replaced(group=_DDL)
    mismatch = EvolutionOptions.mismatch.replaced(
        default=PASS,
        group=_DDL,
        doc="What happens to a record that does not fit the table: fail (the task fails), quarantine (the record goes "
        "to the error policy, the others are written), pass (the database decides; what it refuses goes to the error "
        "policy).",
    )

    def __init__(self, config: Config) -> None:
        """Check parsed values.

        Raises:
            ConfigError: they contradict each other.
        """
        super().__init__(config)
        for key, why in problems(config):
            raise ConfigError(key, why)
        written = config.raw
        debezium = is_debezium(written)
        self.connector = str(written.get("name", ""))
        self.pk_fields = tuple(self.pk_fields_list) or (COORDINATES if self.pk_mode == KAFKA else ())
        self.dates_in_zone = self.date_timezone == "db_timezone" and not (debezium and "date.timezone" not in written)
        self.debezium = debezium if self.debezium_records is None else self.debezium_records
        placeholder = UNAVAILABLE if self.debezium else ""
        self.unavailable = placeholder if self.unavailable_placeholder is None else self.unavailable_placeholder
        self.folds = debezium and "quote.sql.identifiers" not in written
        self.create = self.auto_create or BASIC in map(str.lower, self.allowed)
        self.policy = policy_of(config)
        # Who halves puts from outside has to see what becomes of each.
        self.behind = self.write_behind and written.get("errors.put.tolerance", "none") != "all"


def policy_of(parsed: Config) -> EvolutionPolicy:
    """How tables may be changed. `auto.evolve` alone allows everything, and more than elsewhere.

    Raises:
        ConfigError: the keys contradict each other.
    """
    if parsed["auto.evolve"] and not parsed.raw.get("schema.evolution"):
        parsed = Config({**parsed, "schema.evolution": [FULL]}, parsed.raw)
    return EvolutionPolicy.of(parsed)
