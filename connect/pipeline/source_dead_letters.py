"""The dead letter queue of a source task: what the error policy gives up, written by the task's own producer.

Dead letters go before the records that are left of their batch, in the same transaction where there are transactions:
a source offset is stored only when they are acknowledged (P1).
"""

from __future__ import annotations

from connect.data.batch import SourceBatch
from connect.data.column import Plain
from connect.data.record import SourceRecord
from connect.data.values import Values
from connect.kafka.produce import DeliveryError
from connect.pipeline.dead_letters import DeadLetterSettings, EncodedRecord, context_of
from connect.pipeline.failure import Failure, Stage
from connect.pipeline.policy import ErrorCounts
from connect.pipeline.source_letters import SourceLetters

#: What Kafka Connect calls whoever hands records to the producer.
_PRODUCER = "org.apache.kafka.clients.producer.KafkaProducer"


class SourceDeadLetters:
    """Collects dead letters for the loop to send. Called from the task's thread.

    Args:
        settings: see there.
        connector, task: for the headers.
        counts: counts what is written.
    """

    def __init__(self, settings: DeadLetterSettings, connector: str, task: int, counts: ErrorCounts) -> None:
        self.topic = settings.topic
        self._settings = settings
        self._connector = connector
        self._task = task
        self._counts = counts
        self._letters = SourceLetters()
        self._polled = SourceBatch.of(())
        self._rows: list[int] = []
        self._waiting: list[EncodedRecord] = []

    def polled(self, batch: SourceBatch) -> None:
        """What fails from now on is of this batch."""
        self._polled = batch

    def write(self, failure: Failure) -> None:
        """A record of the batch is given up, by a transformation or a converter."""
        record, row = failure.record, 0
        if isinstance(failure.batch, SourceBatch):
            row = failure.batch.rows[0]
            record = self._polled.records()[row - self._polled.rows[0]]
        assert isinstance(record, SourceRecord)
        self._add(record, failure, None, row)

    def refused(self, record: SourceRecord, error: DeliveryError) -> None:
        """A record is given up that Kafka does not take."""
        failure = Failure(Stage.KAFKA_PRODUCE, "the producer", error, record, None, _PRODUCER)
        self._add(record, failure, error.code, 0)

    def take(self) -> SourceBatch | None:
        """The dead letters since the last time, with the rows of the batch that they were; None if there are none."""
        if not self._waiting:
            return None
        letters, rows = self._waiting, self._rows
        self._waiting, self._rows = [], []
        return SourceBatch(
            self.topic,
            Values.raw([letter.value for letter in letters]),
            keys=Values.raw([letter.key for letter in letters]),
            timestamps=[letter.timestamp for letter in letters],
        ).with_columns(headers=Plain([letter.headers or None for letter in letters]), rows=Plain(rows))

    def _add(self, record: SourceRecord, failure: Failure, code: str | None, row: int) -> None:
        context = context_of(failure, self._connector, self._task, None) if self._settings.context else None
        self._counts.dead_letters += 1
        self._waiting.append(self._letters.letter(record, context, code=code))
        self._rows.append(row)
