"""Records of a source that cannot be written: skipped, written as dead letters, or the end of the task.

A dead letter of a source is the record as the task read it, in JSON with its schemas; Kafka Connect has none. It is
written by the task's own producer, before the remaining records of its batch, and in the same transaction where there
are transactions: a source offset is stored only when it is acknowledged (P1).
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from connect.converters import JsonConverter, SimpleHeaderConverter
from connect.data.batch import SourceBatch
from connect.data.column import Plain
from connect.data.record import SourceRecord
from connect.data.values import Values
from connect.kafka.admin.new_topics import NewTopic
from connect.kafka.writing.refusals import DeliveryError
from connect.pipeline import ErrorPolicy
from connect.pipeline.dead_letters import DeadLetterSettings, EncodedRecord, context_of
from connect.pipeline.error_headers import ErrorContext
from connect.pipeline.error_topics import UnwrittenError, new_topic
from connect.pipeline.failure import Failure, Stage

log = logging.getLogger("connect.worker.source")

#: What Kafka Connect calls whoever hands records to the producer.
_PRODUCER: Final = "org.apache.kafka.clients.producer.KafkaProducer"
_TOO_LARGE: Final = "MSG_SIZE_TOO_LARGE"


class SourceErrors:
    """The handling without dead letters. For the task's thread.

    Args:
        policy: the connector's.

    Attributes:
        refused: the number of records that Kafka has refused.
        give_up: called with a record that Kafka refused and that is skipped; None where that is not needed.
    """

    give_up: Callable[[SourceRecord, DeliveryError], None] | None = None

    def __init__(self, policy: ErrorPolicy) -> None:
        self.refused = 0
        self._policy = policy

    def make_topic(self, make: Callable[[NewTopic, str], None]) -> None:
        """Create the topic for dead letters: `make` gets it, and the settings to name in an error."""

    def begin(self, batch: SourceBatch) -> None:
        """Failures from now on belong to this batch."""

    def take(self) -> SourceBatch | None:
        """The dead letters since the last call, with their rows of the batch; None if there are none."""
        return None

    def refuse(self, error: DeliveryError, _: object) -> None:
        """Kafka refuses a record: it is skipped where errors are tolerated (KIP-779), else `error` is raised."""
        self.refused += 1
        counts = self._policy.counts
        counts.failures += 1
        counts.errors += 1
        counts.last_error_ms = int(time.time() * 1000)
        if not self._may_skip(error):
            raise error
        counts.skipped += 1
        if self._policy.log_errors:
            counts.logged += 1
            log.error("%s The record is skipped.", error)

    def _may_skip(self, error: DeliveryError) -> bool:
        return self._policy.tolerate


class SourceDeadLetters(SourceErrors):
    """Collects dead letters for the sender of the task's records.

    Args:
        policy: the connector's; its dead letters come here.
        settings: see there.
        connector, task: for the headers.
        transactions: whether records are sent in transactions.
    """

    def __init__(
        self, policy: ErrorPolicy, settings: DeadLetterSettings, connector: str, task: int, *, transactions: bool
    ) -> None:
        super().__init__(policy)
        self._settings = settings
        self._connector = connector
        self._task = task
        self._transactions = transactions
        self._encoder = _Encoder()
        self._batch = SourceBatch.of(())
        self._rows: list[int] = []
        self._waiting: list[EncodedRecord] = []
        policy.dead_letter = self._write
        if not transactions:
            self.give_up = self._give_up

    def make_topic(self, make: Callable[[NewTopic, str], None]) -> None:
        make(new_topic(self._settings), "errors.deadletterqueue.topic.*")

    def begin(self, batch: SourceBatch) -> None:
        self._batch = batch

    def take(self) -> SourceBatch | None:
        if not self._waiting:
            return None
        waiting, rows = self._waiting, self._rows
        self._waiting, self._rows = [], []
        return SourceBatch(
            self._settings.topic,
            Values.raw([each.value for each in waiting]),
            keys=Values.raw([each.key for each in waiting]),
            timestamps=[each.timestamp for each in waiting],
        ).with_columns(headers=Plain([each.headers or None for each in waiting]), rows=Plain(rows))

    def _may_skip(self, error: DeliveryError) -> bool:
        if error.topic == self._settings.topic:
            self._policy.counts.dead_letters_failed += 1
            raise UnwrittenError(error)
        # In a transaction there is no telling which record it was, and so no dead letter.
        return super()._may_skip(error) and not self._transactions

    def _write(self, failure: Failure) -> None:
        """A record of the batch is given up, by a transformation or a converter."""
        record, row = failure.record, 0
        if isinstance(failure.batch, SourceBatch):
            row = failure.batch.rows[0]
            record = self._batch.records()[row - self._batch.rows[0]]
        assert isinstance(record, SourceRecord)
        self._add(record, failure, None, row)

    def _give_up(self, record: SourceRecord, error: DeliveryError) -> None:
        failure = Failure(Stage.KAFKA_PRODUCE, "the producer", error, record, None, _PRODUCER)
        self._add(record, failure, error.code, 0)

    def _add(self, record: SourceRecord, failure: Failure, code: str | None, row: int) -> None:
        context = context_of(failure, self._connector, self._task, None) if self._settings.context else None
        self._policy.counts.dead_letters += 1
        self._waiting.append(self._encoder.dead_letter(record, context, code))
        self._rows.append(row)


def source_errors(
    policy: ErrorPolicy, config: Mapping[str, str], connector: str, task: int, *, transactions: bool
) -> SourceErrors:
    """The handling by a source connector's configuration. Arguments as in `SourceDeadLetters`. Raises ConfigError."""
    settings = DeadLetterSettings.of(config)
    if settings is None:
        return SourceErrors(policy)
    return SourceDeadLetters(policy, settings, connector, task, transactions=transactions)


class _Encoder:
    """Writes records as JSON.

    Key and value are what JsonConverter writes with `schemas.enable=true`, whatever the connector's converters; headers
    are written by SimpleHeaderConverter. Behind them stand the headers of an `ErrorContext`, with the record's source
    partition and offset. A value that is too large for Kafka is left out, and a header says so.
    """

    def __init__(self) -> None:
        self._json = JsonConverter()
        self._json.configure({"schemas.enable": "true", "converter.type": "value"}, is_key=False)
        self._headers = SimpleHeaderConverter()

    def dead_letter(self, record: SourceRecord, context: ErrorContext | None, code: str | None) -> EncodedRecord:
        """The dead letter of a record.

        Args:
            record: as the task read it.
            context: what happened; None for no headers.
            code: with which Kafka's error the broker or the client refused the record, if one did.
        """
        key = None if record.key is None else self._envelope(record, record.key_schema, record.key)
        value = None if record.value is None else self._envelope(record, record.value_schema, record.value)
        if code is not None and code.removeprefix("_") == _TOO_LARGE and value is not None:
            omitted = f"it is too large: {len(value)} bytes as JSON"
            value = None
            context = None if context is None else replace(context, omitted=omitted)
        headers = [(header.key, self._header(record.topic, header)) for header in record.headers]
        if context is not None:
            context = replace(
                context,
                topic=record.topic,
                partition=record.partition,
                source_partition=dict(record.source_partition),
                source_offset=dict(record.source_offset),
            )
            headers += context.headers()
        return EncodedRecord(key, value, headers, record.timestamp)

    def _envelope(self, record: SourceRecord, schema: Any, value: Any) -> bytes | None:
        return _or_text(
            lambda: self._json.from_connect_data(record.topic, schema, value),
            lambda: json.dumps({"schema": None, "payload": repr(value)}).encode(),
        )

    def _header(self, topic: str, header: Any) -> bytes | None:
        return _or_text(
            lambda: self._headers.from_connect_header(topic, header.key, header.schema, header.value),
            lambda: repr(header.value).encode(),
        )


def _or_text(write: Callable[[], bytes | None], text: Callable[[], bytes]) -> bytes | None:
    try:
        return write()
    except Exception:  # that it cannot be converted may be why it is a dead letter
        return text()
