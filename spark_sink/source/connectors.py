"""DeltaSourceConnector and SparkSourceConnector: changes of a table, and rows of a query, into a topic.

Only the configuration is looked at here; Spark is imported by the tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from connect import ConnectError, SourceConnector, SourceTask, __version__
from connect.api.connector import ExactlyOnceSupport
from connect.settings import Config, ConfigValue, Definition
from spark_sink.source import settings
from spark_sink.source.positions import MARK

#: A finding: the key, and what is wrong with it.
_Findings = Iterator[tuple[str, str]]


class RunsOnSpark(SourceTask):
    """Stands for the tasks of these connectors, which an engine runs instead (see `connect.api.engine`)."""

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
        for key, message in self.problems(self.settings.parse(config)):
            found[key].errors.append(message)
        return values

    def problems(self, config: Config) -> _Findings:
        """What is wrong beyond single keys."""
        if config["exactly.once.topic"] and not config["exactly.once"]:
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
            self.check_offset(self.settings.parse(config), partition, offset)
        return True

    def check_offset(self, config: Config, partition: Mapping[str, Any], offset: Mapping[str, Any]) -> None:
        """Raise ConnectError for an offset that says no place to begin."""


class DeltaSourceConnector(_OnSpark):
    """Changes of a Delta table, or rows added to it, into a topic."""

    settings: ClassVar[Definition] = settings.DELTA
    spark_task: ClassVar[str] = "spark_sink.source.delta_task:DeltaSourceTask"
    part: ClassVar[str] = "table"

    def problems(self, config: Config) -> _Findings:
        yield from super().problems(config)
        if config["starting.version"] is not None and config["starting.timestamp"] is not None:
            yield "starting.timestamp", "excludes starting.version. Give one of them."
        if config["mode"] == settings.APPENDS:
            for key in ("envelope", "tombstones"):
                if key in config.raw and config[key] not in (settings.NONE, False):
                    yield key, "is for mode=changes: where rows are only added there is no other event. Leave it out."
            return
        if config["skip.change.commits"]:
            yield "skip.change.commits", "is for mode=appends. Leave it out."
        if config["key.fields"]:
            return
        if config["envelope"] == settings.DEBEZIUM:
            yield "key.fields", "is needed with envelope=debezium, to tell which rows were one before. Name the key."
        elif config["tombstones"]:
            yield "key.fields", "is needed with tombstones=true: a null value without a key says nothing."

    def check_offset(self, config: Config, partition: Mapping[str, Any], offset: Mapping[str, Any]) -> None:
        if partition["table"] != config["table"]:
            raise ConnectError(f'This connector reads the table "{config["table"]}", and not "{partition["table"]}".')
        version = offset.get("version")
        if not isinstance(version, int) or isinstance(version, bool) or version < 0:
            raise ConnectError(
                f'"{version}" is no version of a table. Write {{"version": 12}} to begin with that version; reset the'
                " offsets to begin as the configuration says."
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

    settings: ClassVar[Definition] = settings.SQL
    spark_task: ClassVar[str] = "spark_sink.source.sql_task:SqlSourceTask"
    part: ClassVar[str] = "query"

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        if (config.get("mode") or settings.BATCH).strip() == settings.STREAM:
            return ExactlyOnceSupport.SUPPORTED
        told = any((config.get(name) or "").strip() for name in _COLUMNS)
        return ExactlyOnceSupport.SUPPORTED if told else ExactlyOnceSupport.UNSUPPORTED

    def problems(self, config: Config) -> _Findings:
        yield from super().problems(config)
        streams = config["mode"] == settings.STREAM
        for key in _OF_BATCHES if streams else _OF_STREAMS:
            if key in config.raw:
                yield key, f"is for mode={settings.BATCH if streams else settings.STREAM}. Leave it out."
        if config["source.schema"] and not config["source.format"]:
            yield "source.schema", "needs source.format."
        if config["timestamp.delay.interval.ms"] and not config["timestamp.column.name"]:
            yield "timestamp.delay.interval.ms", "needs timestamp.column.name."

    def check_offset(self, config: Config, partition: Mapping[str, Any], offset: Mapping[str, Any]) -> None:
        wanted = {name.partition(".")[0] for name in _COLUMNS if config[name]}
        if config["mode"] == settings.STREAM or not wanted:
            raise ConnectError(
                "Offsets of this query can only be reset: it begins anew then. They can be set where mode=batch has an"
                " incrementing or a timestamp column."
            )
        if set(offset) - {MARK, *_PROGRESS} != wanted:
            raise ConnectError(f"An offset of this query has {' and '.join(sorted(wanted))}, and nothing else.")
