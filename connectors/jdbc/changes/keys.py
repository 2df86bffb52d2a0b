"""The keys that mean the same in the change capture of every database: Debezium's names and defaults."""

from __future__ import annotations

import re
from typing import Final

from connect import ConfigError, settings
from connect.settings import Listed, Setting
from connectors.jdbc.changes.filters import Filters, Selection, filters

#: The groups of keys.
DATABASE: Final = "Database"
TABLES: Final = "Tables and columns"
EVENTS: Final = "Events"
RUN: Final = "Snapshot and stream"
SIGNALS: Final = "Signals"

#: Where signals come from.
SOURCE: Final = "source"
KAFKA: Final = "kafka"
FILE: Final = "file"
CHANNELS: Final = (SOURCE, KAFKA, FILE)


def _prefix(name: str, value: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9._-]+", value):
        raise ValueError(f'"{value}" cannot begin the names of topics: letters, digits, ".", "_" and "-" only.')


def _operations(name: str, value: list[str]) -> None:
    for each in value:
        if each not in ("c", "u", "d", "t", "none"):
            raise ValueError(f'"{each}" is not an operation. Write some of c, u, d, t, or none.')


def _channels(name: str, value: list[str]) -> None:
    if other := [each for each in value if each not in CHANNELS]:
        raise ValueError(f'"{other[0]}" is no channel of signals here. Write some of {", ".join(CHANNELS)}.')


def names(key: str, what: str, verb: str) -> Setting[Filters]:
    """A list of names: to `verb` are the `what`."""
    return settings.List(
        key,
        default=[],
        importance="HIGH" if key.startswith("table") else "MEDIUM",
        group=TABLES,
        convert=filters,
        listed=None if what.startswith("columns") else Listed.BY_CONNECTOR,
        doc=f"Regular expressions of {what} to {verb}, separated by commas; each matches a whole name, whatever "
        "its case. Not together with its counterpart.",
    )


def no_transactions(order: str) -> Setting[bool]:
    """provide.transaction.metadata, which is refused; fields of `order` tell the same."""

    def refuse(name: str, value: bool) -> None:
        if value:
            raise ValueError(f"transaction topics are not written here. {order} say the order.")

    return settings.Boolean(
        "provide.transaction.metadata",
        default=False,
        importance="LOW",
        group=EVENTS,
        validator=refuse,
        doc=f"Not supported: true is refused. {order} tell transactions apart.",
    )


def _adjustment(what: str, named: str) -> Setting[bool]:
    return settings.String(
        f"{what}.name.adjustment.mode",
        default="none",
        importance="LOW",
        group=EVENTS,
        validator=settings.one_of("none", "avro", ignore_case=True),
        convert=lambda word: word.lower() == "avro",
        doc=f"avro: what Avro does not take in the names of {named} becomes an underscore.",
    )


def adjusted(refused: str, name: str) -> str:
    """A name that is valid in Avro: it begins with no digit."""
    adjusted = re.sub(refused, "_", name)
    return f"_{adjusted}" if adjusted[:1].isdigit() else adjusted


def _key_columns(written: str) -> list[tuple[Filters, list[str]]]:
    found = []
    for part in filter(None, map(str.strip, written.split(";"))):
        tables, colon, columns = part.rpartition(":")
        names = [name.strip() for name in columns.split(",")]
        if not colon or not all(names):
            raise ConfigError("message.key.columns", f'"{part}" is not understood. Write schema.table:column,column.')
        try:
            found.append((filters([tables]), names))
        except ValueError as error:
            raise ConfigError("message.key.columns", str(error)) from None
    return found


class CaptureKeys(settings.Options):
    """What the options of each database begin with: the shared keys, and what they mean together.

    Attributes:
        heartbeats: the topic of heartbeats.
        selection: which tables and columns are captured.
        signal_topic, signal_group: where signals of the channel kafka are, and whose position it is there.
    """

    prefix = settings.String(
        "topic.prefix",
        importance="HIGH",
        group=EVENTS,
        validator=_prefix,
        doc="The name of the source: topics begin with it and offsets are stored under it. Never change it.",
    )
    delimiter = settings.String(
        "topic.delimiter", default=".", importance="LOW", group=EVENTS, doc="Between a topic's parts."
    )
    table_include = names("table.include.list", "tables (schema.table)", "capture")
    table_exclude = names("table.exclude.list", "tables (schema.table)", "leave out")
    column_include = names("column.include.list", "columns (schema.table.column)", "capture")
    column_exclude = names("column.exclude.list", "columns (schema.table.column)", "leave out")
    keys = settings.String(
        "message.key.columns",
        default="",
        group=TABLES,
        convert=_key_columns,
        doc="Columns that make a table's key instead of its primary key: schema.table:a,b;schema.other:c. The tables "
        "are regular expressions.",
    )
    snapshot_tables = settings.List(
        "snapshot.include.collection.list",
        default=[],
        group=RUN,
        convert=filters,
        listed=Listed.BY_CONNECTOR,
        doc="Which of the captured tables a snapshot reads: regular expressions of schema.table. Default: all.",
    )
    snapshot_fetch_size = settings.Int(
        "snapshot.fetch.size",
        default=10240,
        group=RUN,
        validator=settings.at_least(1),
        doc="The most rows of a snapshot in one batch. Rows are streamed, so that it costs no memory beyond that.",
    )
    poll_interval = settings.Long(
        "poll.interval.ms",
        default=500,
        group=RUN,
        validator=settings.at_least(1),
        convert=settings.seconds,
        doc="How long to wait for changes.",
    )
    max_batch_size = settings.Int(
        "max.batch.size", default=2048, group=RUN, validator=settings.at_least(1), doc="The most changes in a batch."
    )
    signal_table = settings.String(
        "signal.data.collection",
        default=None,
        group=SIGNALS,
        doc="The table (schema.table) into whose columns id, type and data signals are inserted: to read tables again "
        "while the stream goes on, to stop or pause that.",
    )
    signal_channels = settings.List(
        "signal.enabled.channels",
        default=[SOURCE],
        group=SIGNALS,
        validator=_channels,
        doc="Where signals come from: source, the table of signal.data.collection; kafka, the topic of "
        "signal.kafka.topic; file, the lines of signal.file.",
    )
    signal_interval = settings.Int(
        "signal.poll.interval.ms",
        default=5000,
        importance="LOW",
        group=SIGNALS,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="How often the topic and the file of signals are looked at.",
    )
    signal_servers = settings.String(
        "signal.kafka.bootstrap.servers",
        default=None,
        group=SIGNALS,
        doc="Brokers of the cluster with the topic of signals. Further settings of the consumer: signal.consumer.*.",
    )
    signal_kafka_topic = settings.String(
        "signal.kafka.topic",
        default=None,
        group=SIGNALS,
        doc="The topic of signals, of which the first partition is read: the key is topic.prefix, the value JSON with "
        "id, type and data. Default: topic.prefix and -signal.",
    )
    signal_kafka_group = settings.String(
        "signal.kafka.groupId",
        default=None,
        importance="LOW",
        group=SIGNALS,
        doc="The consumer group that keeps the position in that topic. Default: kafka-signal- and topic.prefix.",
    )
    signal_file = settings.String(
        "signal.file",
        default="file-signals.txt",
        importance="LOW",
        group=SIGNALS,
        doc="The file of signals: lines of JSON as in the topic. Lines that were followed are removed from it.",
    )
    chunk_size = settings.Int(
        "incremental.snapshot.chunk.size",
        default=1024,
        group=SIGNALS,
        validator=settings.at_least(1),
        doc="How many rows an incremental snapshot reads at a time, and keeps in memory.",
    )
    heartbeat_interval = settings.Int(
        "heartbeat.interval.ms",
        default=0,
        group=RUN,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="How often to write a heartbeat, which advances the stored offset while nothing changes. 0: never.",
    )
    heartbeat_topics_prefix = settings.String(
        "heartbeat.topics.prefix",
        default="__debezium-heartbeat",
        group=RUN,
        doc="The prefix of the heartbeats' topic.",
    )
    topic_heartbeat_prefix = settings.String(
        "topic.heartbeat.prefix",
        default=None,
        importance="LOW",
        group=RUN,
        doc="Debezium's newer name of heartbeat.topics.prefix.",
    )
    heartbeat_action_query = settings.String(
        "heartbeat.action.query",
        default=None,
        group=RUN,
        doc="A statement to run in the database with each heartbeat.",
    )
    tombstones_on_delete = settings.Boolean(
        "tombstones.on.delete", default=True, group=EVENTS, doc="Whether a null follows each deletion, for compaction."
    )
    skipped = settings.List(
        "skipped.operations",
        default=["t"],
        group=EVENTS,
        validator=_operations,
        convert=lambda written: frozenset(written) - {"none"},
        doc="Which changes to leave out: c, u, d, t (truncate), or none.",
    )
    decimal_handling_mode = settings.String(
        "decimal.handling.mode",
        default="precise",
        group=EVENTS,
        validator=settings.one_of("precise", "double", "string", ignore_case=True),
        convert=str.lower,
        doc="How decimals are written: precise: Connect's Decimal. double. string.",
    )
    binary_handling_mode = settings.String(
        "binary.handling.mode",
        default="bytes",
        group=EVENTS,
        validator=settings.one_of("bytes", "base64", "base64-url-safe", "hex", ignore_case=True),
        convert=str.lower,
        doc="How columns of bytes are written.",
    )
    adjusts_schemas = _adjustment("schema", "schemas")
    adjusts_fields = _adjustment("field", "fields")

    heartbeats: str
    selection: Selection
    signal_topic: str
    signal_group: str

    def choose(self, of: str, include: Filters, exclude: Filters) -> None:
        """Set the attributes.

        Args:
            of: what tables are in: schema or database.
            include: which of these are captured.
            exclude: which are not.

        Raises:
            ConfigError: the lists contradict each other.
        """
        self.selection = Selection(
            include, exclude, self.table_include, self.table_exclude, self.column_include, self.column_exclude
        )
        if KAFKA in self.signal_channels and not self.signal_servers:
            raise ConfigError("signal.kafka.bootstrap.servers", "is missing: signals come from a topic.")
        self.signal_topic = self.signal_kafka_topic or f"{self.prefix}-signal"
        self.signal_group = self.signal_kafka_group or f"kafka-signal-{self.prefix}"
        for what, some, others in (
            (of, include, exclude),
            ("table", self.table_include, self.table_exclude),
            ("column", self.column_include, self.column_exclude),
        ):
            if some and others:
                raise ConfigError(f"{what}.exclude.list", f"is not possible together with {what}.include.list.")
        self.heartbeats = self.delimiter.join(
            (self.topic_heartbeat_prefix or self.heartbeat_topics_prefix, self.prefix)
        )

    def topic(self, *parts: str) -> str:
        """The name of a topic: characters that Kafka refuses become underscores."""
        return re.sub(r"[^A-Za-z0-9._-]", "_", self.delimiter.join((self.prefix, *parts)))

    def schema_name(self, *parts: str) -> str:
        """The name of a schema of a table."""
        name = re.sub(r"[^A-Za-z0-9._-]", "_", ".".join((self.prefix, *parts)))
        return adjusted(r"[^A-Za-z0-9_.]", name) if self.adjusts_schemas else name

    def field_name(self, column: str) -> str:
        """The name of a column's field."""
        return adjusted(r"[^A-Za-z0-9_]", column) if self.adjusts_fields else column

    def key_columns(self, schema: str, table: str) -> list[str]:
        """The columns of message.key.columns for a table; empty for none."""
        full = f"{schema}.{table}"
        return next((columns for tables, columns in self.keys if tables.match(full)), [])
