"""DeltaSourceConnector and SparkSourceConnector: changes of a table, and rows of a query, into a topic.

Only the configuration is read here; Spark is imported by the tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from connect import ConnectError, SourceConnector, SourceTask, __version__
from connect.api.connector import ExactlyOnceSupport
from connect.settings import ConfigValue
from spark_sink.source.positions import MARK
from spark_sink.source.settings import (
    APPENDS,
    BATCH,
    DEBEZIUM,
    NONE,
    STREAM,
    DeltaSourceOptions,
    SqlSourceOptions,
    WriteOptions,
)

#: A finding: the key, and what is wrong with it.
_Findings = Iterator[tuple[str, str]]


class RunsOnSpark(SourceTask):
    """The task class of these connectors, whose tasks an engine runs instead (see `connect.api.engine`)."""

    def start(self, config: Mapping[str, str]) -> None:
        raise ConnectError("This connector runs on Spark only. Leave engine out, or set engine=spark.")

    def poll(self) -> None:
        """Never called."""


class _OnSpark(SourceConnector):
    task = RunsOnSpark
    version = __version__
    engines: ClassVar[tuple[str, ...]] = ("spark",)
    #: Where the engine finds the task.
    spark_task: ClassVar[str]
    #: Of source partitions: the one entry that names them.
    part: ClassVar[str]

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = self.settings.validate(config)
        if any(value.errors for value in values):
            return values
        found = {value.name: value for value in values}
        for key, message in self.problems(config):
            found[key].errors.append(message)
        return values

    def problems(self, config: Mapping[str, str]) -> _Findings:
        """Errors beyond single keys."""
        options = WriteOptions.parse(config)
        if options.exactly_once_topic and not options.exactly_once:
            yield "exactly.once.topic", "has no effect without exactly.once=true. Set that, or leave this out."

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[Any, Mapping[str, Any] | None]) -> bool:
        for frozen, offset in offsets.items():
            partition = dict(frozen)
            if offset is None:
                continue  # whatever it is, it may be forgotten
            if set(partition) != {self.part}:
                raise ConnectError(
                    f"Offsets of {partition} cannot be set: a new start is told as an offset of the {self.part}. Leave "
                    "them out."
                )
            self.check_offset(config, partition, offset)
        return True

    def check_offset(self, config: Mapping[str, str], partition: Mapping[str, Any], offset: Mapping[str, Any]) -> None:
        """Raise ConnectError for an offset that is no valid position."""


class DeltaSourceConnector(_OnSpark):
    """Changes of a Delta table, or rows added to it, into a topic."""

    settings = DeltaSourceOptions.definition()
    spark_task: ClassVar[str] = "spark_sink.source.delta_task:DeltaSourceTask"
    part: ClassVar[str] = "table"

    def problems(self, config: Mapping[str, str]) -> _Findings:
        yield from super().problems(config)
        options = DeltaSourceOptions.parse(config)
        if options.starting_version is not None and options.starting_timestamp is not None:
            yield "starting.timestamp", "excludes starting.version. Give one of them."
        if options.mode == APPENDS:
            for key, value in (("envelope", options.envelope), ("tombstones", options.written_tombstones)):
                if key in config and value not in (NONE, False):
                    yield key, "is for mode=changes: where rows are only added there is no other event. Leave it out."
            return
        if options.skip_change_commits:
            yield "skip.change.commits", "is for mode=appends. Leave it out."
        if options.key_fields:
            return
        if options.envelope == DEBEZIUM:
            yield "key.fields", "is needed with envelope=debezium, to tell which rows were one before. Name the key."
        elif options.written_tombstones:
            yield "key.fields", "is needed with tombstones=true: a null value without a key says nothing."

    def check_offset(self, config: Mapping[str, str], partition: Mapping[str, Any], offset: Mapping[str, Any]) -> None:
        table = DeltaSourceOptions.parse(config).table
        if partition["table"] != table:
            raise ConnectError(f'This connector reads the table "{table}", and not "{partition["table"]}".')
        version = offset.get("version")
        if not isinstance(version, int) or isinstance(version, bool) or version < 0:
            raise ConnectError(
                f'"{version}" is not a version of a table. Write {{"version": 12}} to begin with that version; reset'
                " the offsets to begin as the configuration says."
            )
        if extra := sorted(set(offset) - {"version", MARK}):
            raise ConnectError(f"A new start is a version alone. Leave out {', '.join(extra)}.")


_COLUMNS: Final = ("incrementing.column.name", "timestamp.column.name")
_OF_BATCHES: Final = (*_COLUMNS, "timestamp.delay.interval.ms", "poll.interval.ms")
#: Besides, in offsets as they are shown; of no effect in an offset that a user sets.
_PROGRESS: Final = ("batch", "to")
_OF_STREAMS: Final = ("source.format", "source.schema", "output.mode")


class SparkSourceConnector(_OnSpark):
    """Rows of a query in Spark's SQL into a topic."""

    settings = SqlSourceOptions.definition()
    spark_task: ClassVar[str] = "spark_sink.source.sql_task:SqlSourceTask"
    part: ClassVar[str] = "query"

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        if (config.get("mode") or BATCH).strip() == STREAM:
            return ExactlyOnceSupport.SUPPORTED
        told = any((config.get(name) or "").strip() for name in _COLUMNS)
        return ExactlyOnceSupport.SUPPORTED if told else ExactlyOnceSupport.UNSUPPORTED

    def problems(self, config: Mapping[str, str]) -> _Findings:
        yield from super().problems(config)
        options = SqlSourceOptions.parse(config)
        streams = options.mode == STREAM
        for key in _OF_BATCHES if streams else _OF_STREAMS:
            if key in config:
                yield key, f"is for mode={BATCH if streams else STREAM}. Leave it out."
        if options.source_schema and not options.source_format:
            yield "source.schema", "needs source.format."
        if options.timestamp_delay_ms and not options.timestamp_column:
            yield "timestamp.delay.interval.ms", "needs timestamp.column.name."

    def check_offset(self, config: Mapping[str, str], partition: Mapping[str, Any], offset: Mapping[str, Any]) -> None:
        options = SqlSourceOptions.parse(config)
        columns = {"incrementing": options.incrementing_column, "timestamp": options.timestamp_column}
        wanted = {name for name, column in columns.items() if column}
        if options.mode == STREAM or not wanted:
            raise ConnectError(
                "Offsets of this query can only be reset: it starts over then. They can be set where mode=batch has an"
                " incrementing or a timestamp column."
            )
        if set(offset) - {MARK, *_PROGRESS} != wanted:
            raise ConnectError(f"An offset of this query has {' and '.join(sorted(wanted))}, and nothing else.")
