"""The keys of the JDBC source: Confluent's names and defaults, Aiven's additions, and a few new ones."""

from __future__ import annotations

import re
from typing import Final

from connect import ConfigError, settings
from connect.settings import Config, Listed, Secret, WithoutEffect
from connect.settings.java_regex import java_regex
from connectors.jdbc.database.columns import GRANULARITIES, LOGICAL, NUMERIC_MAPPINGS
from connectors.jdbc.database.keys import DatabaseOptions

BULK: Final = "bulk"
SNAPSHOT: Final = "snapshot"
TIMESTAMP: Final = "timestamp"
INCREMENTING: Final = "incrementing"
BOTH: Final = "timestamp+incrementing"
MODES: Final = (BULK, SNAPSHOT, TIMESTAMP, INCREMENTING, BOTH)

ISOLATIONS: Final = (
    "DEFAULT",
    "READ_UNCOMMITTED",
    "READ_COMMITTED",
    "REPEATABLE_READ",
    "SERIALIZABLE",
    "SQL_SERVER_SNAPSHOT",
)

_TABLES: Final = "Tables"
_MODE: Final = "Mode"
_READING: Final = "Reading"
_RECORDS: Final = "Records"


def _regexes(values: list[str]) -> list[re.Pattern[str]]:
    return list(map(java_regex, values))


def _column_mappings(values: list[str]) -> list[tuple[re.Pattern[str], tuple[str, ...]]]:
    return list(map(_column_mapping, values))


def _column_mapping(written: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """`regex:[col1|col2]` or `regex:col`: which tables, and their columns.

    Raises:
        ValueError: it is neither.
    """
    pattern, colon, columns = written.rpartition(":")
    names = columns.strip()
    if names.startswith("[") and names.endswith("]"):
        names = names[1:-1]
    found = tuple(name.strip() for name in names.split("|"))
    if not colon or not pattern.strip() or not all(found):
        raise ValueError(f'"{written}" does not say which columns. Write regex:[column1|column2], or regex:column.')
    return java_regex(pattern.strip()), found


class JdbcSourceOptions(
    DatabaseOptions,
    aliases={"timestamp.initial.ms": "timestamp.initial"},
    without_effect={
        "max.buffer.size": "rows are not read before they are wanted. batch.max.rows says how many are held",
        "poll.linger.ms": "a poll never waits for a buffer to fill",
        "date.calendar.system": WithoutEffect("dates are the Gregorian calendar's", unless=("PROLEPTIC_GREGORIAN",)),
        "engine.shutdown.timeout": "task.shutdown.graceful.timeout.ms of the worker says how long a stop may take",
    },
):
    """The keys, and what they mean together.

    Attributes:
        query: the user's SELECT; empty where tables are read.
    """

    mode = settings.String(
        "mode",
        default="",
        importance="HIGH",
        group=_MODE,
        validator=settings.one_of("", *MODES),
        doc="bulk: all rows, at every poll. snapshot (added): all rows, once. incrementing: rows with a higher number "
        "than those before. timestamp: rows with a later time. timestamp+incrementing: both. Optional if "
        "timestamp.columns.mapping or incrementing.column.mapping set it for each table.",
    )
    incrementing_column_name = settings.String(
        "incrementing.column.name",
        default="",
        group=_MODE,
        doc="The column whose numbers only grow. Default: the column by which the database numbers rows. With "
        "mode=snapshot the column by which a table is read in parts; default: its primary key.",
    )
    timestamp_column_name = settings.List(
        "timestamp.column.name",
        default=[],
        group=_MODE,
        doc="The columns with the time of a row's last change. The first that is not null counts.",
    )
    incrementing_column_mapping = settings.List(
        "incrementing.column.mapping",
        default=[],
        group=_MODE,
        convert=_column_mappings,
        doc="incrementing.column.name for each table, as regex:column; each table must match exactly one.",
    )
    timestamp_columns_mapping = settings.List(
        "timestamp.columns.mapping",
        default=[],
        group=_MODE,
        convert=_column_mappings,
        doc="timestamp.column.name for each table, as regex:[column1|column2]; each table must match exactly one.",
    )
    timestamp_initial = settings.Long(
        "timestamp.initial",
        default=None,
        importance="LOW",
        group=_MODE,
        doc="For tables that have no offset yet: begin after this time, in milliseconds since 1970. -1: now; unset: "
        "the earliest row. Aiven's timestamp.initial.ms is an alias.",
    )
    incrementing_initial = settings.Long(
        "incrementing.initial",
        default=None,
        group=_MODE,
        doc="For tables that have no offset yet: begin after this number. Unset: the lowest.",
    )
    validate_non_null = settings.Boolean(
        "validate.non.null",
        default=True,
        importance="LOW",
        group=_MODE,
        doc="Whether to refuse tables whose incrementing column, or all of whose timestamp columns, may be null: the "
        "source never reads such rows.",
    )
    timestamp_delay_interval_ms = settings.Long(
        "timestamp.delay.interval.ms",
        default=5_000,
        importance="HIGH",
        group=_MODE,
        validator=settings.at_least(0),
        doc="How old a row's time must be before it is read, for transactions that end later than others that began "
        "after them. Confluent's connector has 0, and loses such rows.",
    )
    table_include_list = settings.List(
        "table.include.list",
        default=[],
        group=_TABLES,
        convert=_regexes,
        listed=Listed.BY_CONNECTOR,
        doc="Regular expressions of tables to read, such as public.order.*; each is matched against the whole name, "
        "with or without schema and catalog.",
    )
    table_exclude_list = settings.List(
        "table.exclude.list",
        default=[],
        group=_TABLES,
        convert=_regexes,
        listed=Listed.BY_CONNECTOR,
        doc="Regular expressions of tables not to read, of those that table.include.list leaves.",
    )
    table_whitelist = settings.List(
        "table.whitelist",
        default=[],
        group=_TABLES,
        listed=Listed.BY_CONNECTOR,
        doc="Names of the tables to read; no others are.",
    )
    table_blacklist = settings.List(
        "table.blacklist",
        default=[],
        group=_TABLES,
        listed=Listed.BY_CONNECTOR,
        doc="Names of tables not to read.",
    )
    catalog_pattern = settings.String(
        "catalog.pattern",
        default=None,
        group=_TABLES,
        doc="Only tables of this catalog; in MySQL that is a database. Default: of the database of connection.url. "
        "Empty: tables without a catalog.",
    )
    schema_pattern = settings.String(
        "schema.pattern",
        default=None,
        importance="HIGH",
        group=_TABLES,
        doc="Only tables of schemas like this (% and _ as in LIKE). Default: all but the system's own. Empty: tables "
        "without a schema.",
    )
    table_types = settings.List(
        "table.types",
        default=["TABLE"],
        importance="LOW",
        group=_TABLES,
        doc="What counts as a table: TABLE, PARTITIONED_TABLE, VIEW, MATERIALIZED_VIEW, FOREIGN_TABLE.",
    )
    table_poll_interval = settings.Long(
        "table.poll.interval.ms",
        default=60_000,
        importance="LOW",
        group=_TABLES,
        validator=settings.at_least(1),
        convert=settings.seconds,
        doc="How often to look for new and dropped tables. The tasks restart if there are some.",
    )
    table_monitoring_startup_polling_limit = settings.Long(
        "table.monitoring.startup.polling.limit.ms",
        default=10_000,
        importance="LOW",
        group=_TABLES,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="How long the start may wait for the first list of tables.",
    )
    table_splits = settings.Int(
        "table.splits",
        default=1,
        importance="LOW",
        group=_TABLES,
        validator=settings.between(1, 1000),
        doc="Added. With mode=bulk or snapshot: into how many ranges of its key to cut each table, for several tasks. "
        "Only for tables with a whole number as their primary key (or incrementing.column.name).",
    )
    table_names_qualify = settings.Boolean(
        "table.names.qualify",
        default=True,
        importance="LOW",
        group=_TABLES,
        doc="Whether statements name tables with catalog and schema.",
    )
    query_written = settings.String(
        "query",
        default="",
        group=_TABLES,
        doc="A SELECT of your own instead of tables, for one task. The connector adds the condition for new rows.",
    )
    query_masked = settings.Password(
        "query.masked",
        convert=Secret.reveal,
        default="",
        group=_TABLES,
        doc="The same as query, hidden like a password.",
    )
    query_suffix = settings.String(
        "query.suffix",
        default="",
        importance="LOW",
        group=_READING,
        doc="Text put at the end of each statement that reads: a LIMIT, or FOR UPDATE. With mode=snapshot a LIMIT is "
        "the number of rows that are read at all.",
    )
    poll_interval = settings.Int(
        "poll.interval.ms",
        default=5_000,
        importance="HIGH",
        group=_READING,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="The time between two polls of a table.",
    )
    batch_max_rows = settings.Int(
        "batch.max.rows",
        default=10_000,
        importance="LOW",
        group=_READING,
        validator=settings.at_least(1),
        doc="The most rows in memory and in a batch; fewer if rows are big. Confluent's connector has 1,000.",
    )
    max_buffer_size = settings.Int(
        "max.buffer.size",
        default=0,
        importance="LOW",
        group=_READING,
        doc="Without effect: the source reads no rows in advance.",
    )
    poll_linger_ms = settings.Long(
        "poll.linger.ms",
        default=5_000,
        importance="LOW",
        group=_READING,
        doc="Without effect: a poll never waits for a buffer to fill.",
    )
    transaction_isolation_mode = settings.String(
        "transaction.isolation.mode",
        default="DEFAULT",
        importance="LOW",
        group=_READING,
        validator=settings.one_of(*ISOLATIONS, ignore_case=True),
        convert=str.upper,
        doc=f"The isolation of the transactions that read: {', '.join(ISOLATIONS)}.",
    )
    query_retry_attempts = settings.Int(
        "query.retry.attempts",
        default=-1,
        importance="LOW",
        group=_READING,
        validator=settings.at_least(-1),
        doc="How often in a row reading a table may fail with errors that may pass, before the task fails. -1: always.",
    )
    query_timeout_ms = settings.Long(
        "query.timeout.ms",
        default=0,
        importance="LOW",
        group=_READING,
        validator=settings.at_least(0),
        doc="Added. The time-out of a statement, where the database has one (PostgreSQL, MySQL, MariaDB). 0: none.",
    )
    topic_prefix = settings.String(
        "topic.prefix",
        default="",
        importance="HIGH",
        group=_RECORDS,
        doc="A table's topic is this and the table's name; a query's topic is this alone.",
    )
    numeric_mapping = settings.String(
        "numeric.mapping",
        default=None,
        importance="LOW",
        group=_RECORDS,
        validator=settings.one_of(*NUMERIC_MAPPINGS, ignore_case=True),
        convert=str.lower,
        doc="What NUMERIC and DECIMAL become. none: Decimal. precision_only: whole numbers of up to 18 digits INT8 to "
        "INT64. best_fit: others of up to 18 digits FLOAT64 as well. best_fit_eager_double: all with digits after the "
        "point FLOAT64. Default: as numeric.precision.mapping says.",
    )
    numeric_precision_mapping = settings.Boolean(
        "numeric.precision.mapping",
        default=False,
        importance="LOW",
        group=_RECORDS,
        doc="true is numeric.mapping=precision_only, false is none.",
    )
    timestamp_granularity = settings.String(
        "timestamp.granularity",
        default=LOGICAL,
        importance="LOW",
        group=_RECORDS,
        validator=settings.one_of(*GRANULARITIES, ignore_case=True),
        convert=str.lower,
        doc="What timestamps become. connect_logical: Timestamp, in milliseconds. micros_long, nanos_long: whole "
        "numbers since 1970. micros_string, nanos_string: those as text. micros_iso_datetime_string, "
        "nanos_iso_datetime_string: date and time as a clock in db.timezone shows them.",
    )
    date_calendar_system = settings.String(
        "date.calendar.system",
        default="LEGACY",
        importance="LOW",
        group=_RECORDS,
        validator=settings.one_of("LEGACY", "PROLEPTIC_GREGORIAN", ignore_case=True),
        doc="Without effect: dates are the database's own, in the Gregorian calendar.",
    )
    tables = settings.List("tables", default=[], internal=True, doc="The tables that a task reads.")
    tables_fetched = settings.Boolean(
        "tables.fetched", default=False, internal=True, doc="Whether tables have been looked for."
    )
    task_parts = settings.String(
        "task.parts", default=None, internal=True, doc="JSON: tables, and parts of them, of a task."
    )
    engine_shutdown_timeout = settings.Int(
        "engine.shutdown.timeout",
        default=10,
        internal=True,
        doc="Without effect.",
    )

    def __init__(self, config: Config) -> None:
        """Check parsed values.

        Raises:
            ConfigError: they contradict each other.
        """
        super().__init__(config)
        self.query = (self.query_written or self.query_masked).strip().rstrip(";")
        lists = [name for name in ("table.whitelist", "table.blacklist") if self.config[name]]
        regexes = [name for name in ("table.include.list", "table.exclude.list") if self.config[name]]
        if self.query_written and self.query_masked:
            raise ConfigError("query.masked", "excludes query. Give one of them.")
        if self.query and (lists or regexes):
            raise ConfigError((lists + regexes)[0], "is for tables and excludes query. Give one of them.")
        if len(lists) == 2:
            raise ConfigError("table.blacklist", "excludes table.whitelist. Give one of them.")
        if lists and regexes:
            raise ConfigError(lists[0], f"excludes {regexes[0]}. Give one of them.")
        self._check_mode()

    def _check_mode(self) -> None:
        mode, query = self.mode, self.query
        mapped = [name for name in ("timestamp.columns.mapping", "incrementing.column.mapping") if self.config[name]]
        if mapped and query:
            raise ConfigError(mapped[0], "is for tables. With a query name the columns themselves.")
        if not mode and not mapped:
            raise ConfigError("mode", f"is required: one of {', '.join(MODES)}.")
        for mapping, single in (
            ("timestamp.columns.mapping", "timestamp.column.name"),
            ("incrementing.column.mapping", "incrementing.column.name"),
        ):
            if self.config[mapping] and self.config[single]:
                raise ConfigError(mapping, f"excludes {single}. Give one of them.")
        if mode in (TIMESTAMP, BOTH) and not (self.timestamp_column_name or self.timestamp_columns_mapping):
            raise ConfigError("timestamp.column.name", f"is required with mode={mode}: name the column.")
        if mode in (INCREMENTING, BOTH) and query and not self.incrementing_column_name:
            raise ConfigError("incrementing.column.name", f"is required with mode={mode} and a query: name the column.")
        if self.table_splits > 1 and (query or (mode not in (BULK, SNAPSHOT))):
            raise ConfigError("table.splits", "is for tables with mode=bulk or mode=snapshot. Leave it out.")

    @property
    def numbers(self) -> str:
        """The chosen one of NUMERIC_MAPPINGS."""
        return self.numeric_mapping or ("precision_only" if self.numeric_precision_mapping else "none")
