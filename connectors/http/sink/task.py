"""The sink tasks: records in requests, beside consumption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from connect import (
    ConnectError,
    DataError,
    Offsets,
    RetriableError,
    SinkBatch,
    SinkRecord,
    SinkTask,
    TopicPartition,
)
from connectors.http.connection import made_client
from connectors.http.sink.delivery import Batches, Delivery
from connectors.http.sink.keys import SinkOptions
from connectors.http.sink.requests import Cutter

#: Seconds that `put` waits for room, and `pre_commit` for what is under way. A server that hangs holds up neither a
#: stop nor a commit of what it has acknowledged before.
_ROOM_S: Final = 3.0
_SETTLE_S: Final = 1.0
_SETTLE_ONE_BATCH_S: Final = 30.0
_END_S: Final = 0.5


class HttpSinkTask(SinkTask):
    """Sends records.

    `put` splits a batch into requests, which threads send while the next records are consumed. `pre_commit` returns up
    to where the server has acknowledged everything, or the error policy has it. Errors are raised by the next call.
    """

    settings = SinkOptions.definition()

    def start(self, config: Mapping[str, str]) -> None:
        options = SinkOptions.parse(config)
        self._cutter = Cutter(options)
        self._client = made_client(options, options.url, config, self.context.metrics)
        self.context.exit_stack.callback(self._client.close)
        self._delivery = Delivery(options, self._client, Batches.written(config))
        self._failed: Exception | None = None

    def put(self, batch: SinkBatch) -> None:
        self._settle()
        if not len(batch):
            return
        if not self._delivery.room(_ROOM_S):
            self._settle()
            trouble = self._delivery.trouble or f"{self._client.where} is slower than records come."
            raise RetriableError(trouble, waits_for=self._client.where)
        jobs, wrong = self._cutter.cut(batch)
        # First those that no request can be made of: who fails by one of them has sent nothing of the batch.
        for row, why in wrong:
            record = batch.slice(row, row + 1).records()[0]
            where = f"{record.original_topic}-{record.original_partition}@{record.original_offset}"
            self._hand_over(record, DataError(f"{where}: {why}"))
        self._delivery.add(jobs)

    def pre_commit(self, offsets: Offsets) -> Offsets:
        one_batch = self.context.one_batch
        self._delivery.settle(_SETTLE_ONE_BATCH_S if one_batch else _SETTLE_S)
        self._settle()
        durable = self._delivery.durable(offsets)
        if one_batch and durable != offsets:
            raise RetriableError(
                self._delivery.trouble or f"{self._client.where} takes its time.", waits_for=self._client.where
            )
        return durable

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self._delivery.give_up(partitions)

    def stop(self) -> None:
        self._delivery.end(_END_S)

    # Inside.

    def _settle(self) -> None:
        """Pass refused records to the error policy, and raise errors."""
        for job, records in self._delivery.refused():
            if self._failed is None:
                try:
                    for record, error in records:
                        self._hand_over(record, error)
                except Exception as raised:
                    # Once is not enough: offsets behind that record are never to be committed.
                    self._failed = raised
                else:
                    self._delivery.reported(job)
        if (failed := self._failed or self._delivery.error) is not None:
            raise failed

    def _hand_over(self, record: SinkRecord, error: DataError) -> None:
        if self.context.errant_records is None:
            raise ConnectError(f"{error} Set errors.deadletterqueue.topic.name to keep such records.") from error
        self.context.errant_records.report(record, error)
