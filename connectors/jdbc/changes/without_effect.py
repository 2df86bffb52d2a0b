"""Debezium's keys of every database that nothing here follows, and why."""

from __future__ import annotations

from typing import Final

from connect.settings import WithoutEffect

_NOTHING_WRITTEN: Final = (
    "an incremental snapshot writes nothing into the database: its watermarks are positions of the log"
)
NO_PARTS: Final = "a snapshot reads tables one after another, in one transaction"
WAITS: Final = "the worker restarts what failed, and the connector waits for a server that is away"
_NO_MASKS: Final = "columns are captured as they are. The transformation MaskField hides a field"
_NO_SOURCE_TYPES: Final = "types are not told beside schemas"
_OWN_SNAPSHOTS: Final = "snapshot.mode has the ways there are"
_QUEUE: Final = "there is no queue: max.batch.size bounds what is in memory"
_ALONE: Final = "columns are converted by their types alone. Transformations convert fields"
_NO_PROCESSING: Final = "events are not processed further. Transformations do that"

WITHOUT_EFFECT: Final[dict[str, str | WithoutEffect]] = {
    "signal.kafka.poll.timeout.ms": "signal.poll.interval.ms says how often the topic is looked at",
    "incremental.snapshot.watermarking.strategy": _NOTHING_WRITTEN,
    "incremental.snapshot.allow.schema.changes": WithoutEffect("each part has the columns of its moment", ("true",)),
    "read.only": WithoutEffect(_NOTHING_WRITTEN, unless=("true",)),
    "notification.*": "this connector sends no notifications",
    "converters": _ALONE,
    "converter.*": _ALONE,
    "post.processors": _NO_PROCESSING,
    "post.processor.*": _NO_PROCESSING,
    "snapshot.select.statement.overrides*": "a snapshot reads whole tables",
    "snapshot.max.threads*": WithoutEffect(NO_PARTS, unless=("1",)),
    "legacy.snapshot.max.threads": NO_PARTS,
    "snapshot.tables.order.by.row.count": WithoutEffect(NO_PARTS, unless=("disabled",)),
    "snapshot.delay.ms": WithoutEffect("a snapshot begins at once", unless=("0",)),
    "streaming.delay.ms": WithoutEffect("the stream begins behind the snapshot at once", unless=("0",)),
    "snapshot.mode.custom.name": _OWN_SNAPSHOTS,
    "snapshot.mode.configuration.based.*": _OWN_SNAPSHOTS,
    "snapshot.query.mode*": WithoutEffect(_OWN_SNAPSHOTS, unless=("select_all",)),
    "snapshot.scan.all.columns.force": WithoutEffect("columns are those of the tables that are captured", ("false",)),
    "column.mask.*": _NO_MASKS,
    "column.truncate.*": _NO_MASKS,
    "column.propagate.source.type": _NO_SOURCE_TYPES,
    "datatype.propagate.source.type": _NO_SOURCE_TYPES,
    "include.schema.comments": WithoutEffect(_NO_SOURCE_TYPES, unless=("false",)),
    "skip.messages.without.change": WithoutEffect("every change is an event", unless=("false",)),
    "topic.naming.strategy": WithoutEffect(
        "topic.prefix and topic.delimiter name topics. The transformation RegexRouter names them otherwise",
        unless=("io.debezium.schema.SchemaTopicNamingStrategy", "io.debezium.schema.DefaultTopicNamingStrategy"),
    ),
    "topic.cache.size": "there are as many names as tables",
    "topic.transaction": "transaction topics are not written here",
    "transaction.metadata.factory": "transaction topics are not written here",
    "custom.sanitize.pattern": "topic names keep what Kafka takes",
    "sourceinfo.struct.maker": "the source block is as Debezium's is by itself",
    "errors.max.retries": WAITS,
    "retriable.restart.connector.wait.ms": WAITS,
    "custom.retriable.exception": WAITS,
    "event.processing.failure.handling.mode": WithoutEffect("the task fails", unless=("fail",)),
    "event.converting.failure.handling.mode": WithoutEffect("the task fails", unless=("fail",)),
    "max.queue.size": _QUEUE,
    "max.queue.size.in.bytes": _QUEUE,
    "query.fetch.size": "snapshot.fetch.size says how many rows are read at a time",
    "database.initial.statements": "sessions are set up by the connector alone",
    "table.ignore.builtin": WithoutEffect("tables of the server itself are never captured", unless=("true",)),
    "connection.validation.timeout.ms": "a validation waits 5 s for the database",
    "executor.shutdown.timeout.ms": "task.shutdown.graceful.timeout.ms of the worker says how long a stop may take",
    "extended.headers.enabled": WithoutEffect("events have no headers about the connector", unless=("false",)),
    "log.position.check.enable": WithoutEffect("a position that the server has no more is always found", ("true",)),
    "guardrail.collections.*": "there is no limit on tables. table.include.list chooses them",
    "custom.metric.tags": "metrics have the labels that `connect docs metrics` tells",
}
