"""Dead letters of sinks: a record as it was consumed, byte for byte, with headers that describe the error.

https://cwiki.apache.org/confluence/display/KAFKA/KIP-298 (KIP-298). No I/O: `error_topics` writes them.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from connect.data.batch import SinkBatch
from connect.pipeline.error_headers import ErrorContext, ParkedHeaders
from connect.pipeline.failure import Failure, exception_name
from connect.settings.connector_keys import DEAD_LETTER, DEAD_LETTER_TOPIC
from connect.telemetry.redaction import redactor


@dataclass(frozen=True, slots=True)
class EncodedRecord:
    """A record for an error topic.

    Attributes:
        key, value: bytes, or None.
        headers: pairs of key and bytes.
        timestamp: in ms since the epoch; None for the time of writing.
    """

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    timestamp: int | None


@dataclass(frozen=True, slots=True)
class Original:
    """A record as it was consumed first.

    Attributes:
        topic, partition, offset: where.
        letter: its bytes, its own headers, its timestamp.
        parked: the headers of a retry topic, if it comes from one.
    """

    topic: str
    partition: int
    offset: int
    letter: EncodedRecord
    parked: ParkedHeaders | None = None


@dataclass(frozen=True, slots=True)
class DeadLetterSettings:
    """The keys errors.deadletterqueue.* of a connector, with a topic named.

    Attributes:
        topic, partitions, replication: see there; -1 leaves a number to the broker.
        context: whether headers describe the error.
    """

    topic: str
    partitions: int
    replication: int
    context: bool

    @classmethod
    def of(cls, connector: Mapping[str, str]) -> DeadLetterSettings | None:
        """None when no topic is named. Raises ConfigError."""
        config = DEAD_LETTER.parse(connector)
        topic = config[DEAD_LETTER_TOPIC].strip()
        if not topic:
            return None
        return cls(
            topic,
            config["errors.deadletterqueue.topic.partitions"],
            config["errors.deadletterqueue.topic.replication.factor"],
            config["errors.deadletterqueue.context.headers.enable"],
        )


def original(batch: SinkBatch, row: int, *, parked: bool = False) -> Original:
    """The record of a row as it was consumed first.

    Args:
        batch: leads back to what was consumed.
        row: of it.
        parked: whether it was consumed from a retry topic.

    Raises:
        ValueError: it was, and is not a parked record.
    """
    consumed = batch.consumed
    row = batch.rows[row]
    raw: Any = consumed.headers[row]  # as they lie in Kafka
    own = [(str(key), value) for key, value in raw or ()]
    key, value, timestamp = consumed.keys[row], consumed.values[row], consumed.timestamps[row]
    if not parked:
        topic, partition = consumed.original_topics[row], consumed.original_partitions[row]
        return Original(topic, partition, consumed.offsets[row], EncodedRecord(key, value, own, timestamp))
    own, headers = ParkedHeaders.split(own)
    encoded = EncodedRecord(key, value, own, headers.timestamp)
    return Original(headers.topic, headers.partition, headers.offset, encoded, headers)


def context_of(failure: Failure, connector: str, task: int, source: Original | None) -> ErrorContext:
    """The description of a failure, including the stack trace; without secrets of the configuration."""
    context = ErrorContext(
        connector=connector,
        task=task,
        stage=failure.stage.value,
        class_name=failure.class_name or failure.operation,
        exception=exception_name(failure.error),
        message=redactor.hide(str(failure.error)),
        stacktrace=redactor.hide("".join(traceback.format_exception(failure.error))),
    )
    if source is None:
        return context
    return replace(context, topic=source.topic, partition=source.partition, offset=source.offset)


def dead_letter(source: Original, context: ErrorContext | None) -> EncodedRecord:
    """The dead letter of a record, with headers that describe the error if a context is given."""
    own = source.letter
    return own if context is None else replace(own, headers=[*own.headers, *context.headers()])
