"""Records that fail in an executor: to the dead letter topic, or kept to become rows of their own."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from connect.data.batch import SinkBatch
from connect.data.record import SinkRecord
from connect.errors import SchemaError
from connect.kafka.client_settings import task_client_settings
from connect.kafka.produce import BatchProducer, DeliveryError
from connect.pipeline import ErrorPolicy, Failure, Stage
from connect.pipeline.build import record_encoder
from connect.pipeline.dead_letter_queue import DeadLetterQueue
from connect.pipeline.dead_letters import DeadLetterSettings, EncodedRecord, original
from connect.pipeline.error_topics import ErrorTopics
from connect.pipeline.failure import exception_name
from connect.plugins import Plugins
from spark_sink.reading.plan import ReadPlan

_CLOSE_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class FailedRecord:
    """A record that the error policy gave up, as it was consumed; `failure` has the fields of the column."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    failure: dict[str, Any]


class Failures:
    """What the error policy of one plan's chain writes to. Called from one thread."""

    def __init__(self, plan: ReadPlan, policy: ErrorPolicy, plugins: Plugins) -> None:
        self._plan = plan
        self._policy = policy
        self._kept: list[FailedRecord] = []
        self._topics: ErrorTopics | None = None
        settings = DeadLetterSettings.of(plan.config)
        if plan.rows is not None and plan.rows.failures:
            policy.dead_letter = self._keep
        elif settings is not None:
            self._topics = ErrorTopics(self._make_producer, lambda: None)
            queue = DeadLetterQueue(settings, plan.connector, 0, self._topics, policy.counts, self._encoder(plugins))
            policy.dead_letter = queue.write

    def reject(self, one: SinkBatch, reason: str) -> None:
        """This record does not fit the table, for this reason.

        Raises:
            SchemaError: the connector does not want to go on without it.
            RecordError: nor does its error policy.
        """
        mismatch = self._plan.config.get("schema.evolution.on.mismatch") or "fail"
        if mismatch == "fail":
            origin = f"{one.original_topics[0]}-{one.original_partitions[0]}@{one.offsets[0]}"
            raise SchemaError(
                f"The record {origin} does not fit the table: {reason} Mend it, or have such records go to the error"
                ' policy with "schema.evolution.on.mismatch": "quarantine".'
            )
        error = SchemaError(f"The record does not fit the table: {reason}")
        self._policy.reject(Failure(Stage.TASK_PUT, "SparkSink", error, one.records()[0], one))

    def taken(self) -> list[FailedRecord]:
        """What was given up since the last call, where it becomes rows."""
        kept, self._kept = self._kept, []
        return kept

    def settle(self) -> None:
        """Return when all dead letters are acknowledged. Raises ConnectError when one is refused."""
        if self._topics is not None:
            self._topics.settle()

    def close(self) -> None:
        """Release the producer."""
        if self._topics is not None:
            self._topics.close(_CLOSE_S)

    def _keep(self, failure: Failure) -> None:
        assert isinstance(failure.batch, SinkBatch)
        found = original(failure.batch, 0)
        error = failure.error
        self._kept.append(
            FailedRecord(
                found.topic,
                found.partition,
                found.offset,
                found.letter.timestamp,
                {
                    "stage": failure.stage.value,
                    "class": failure.class_name or failure.operation,
                    "exception": exception_name(error),
                    "message": str(error),
                    "trace": "".join(traceback.format_exception(error)),
                    "key": found.letter.key,
                    "value": found.letter.value,
                    "headers": [{"key": key, "value": value} for key, value in found.letter.headers] or None,
                },
            )
        )

    def _make_producer(self, refused: Callable[[DeliveryError, object], None]) -> BatchProducer:
        clients = task_client_settings("producer", self._plan.worker, self._plan.config)
        return BatchProducer(clients.librdkafka, lambda: None, refused)

    def _encoder(self, plugins: Plugins) -> Callable[[SinkRecord], EncodedRecord]:
        made: list[Callable[[SinkRecord], EncodedRecord]] = []

        def encode(record: SinkRecord) -> EncodedRecord:
            if not made:
                made.append(record_encoder(plugins, self._plan.worker, self._plan.config))
            return made[0](record)

        return encode
