"""Reads ranges of offsets of single partitions, without a group: what Spark's executors do."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from connect.data.batch import SinkBatch
from connect.data.record import TopicPartition
from connect.errors import ConnectError, RetriableError
from connect.kafka._messages import batch_of, records_of
from connect.kafka.client_log import log as client_log

log = logging.getLogger("connect.kafka")

_WAIT_S: Final = 0.5
#: How long nothing may come before reading is given up, and how long the end may lie before a range's end.
_SILENCE_S: Final = 60.0
_TRUNCATED_S: Final = 10.0


class DataLossError(ConnectError):
    """Records that were to be read are not there any more."""


class RangeConsumer:
    """Reads one range after another. Called from one thread.

    A range that begins where the last one ended goes on with what the client has fetched already.

    Args:
        settings: librdkafka's, of a consumer.
        fail_on_data_loss: whether records that are gone are an error; else reading goes on behind them.
        fetch_ahead_kb: how much may be fetched and not yet read.
    """

    def __init__(
        self, settings: Mapping[str, Any], *, fail_on_data_loss: bool = True, fetch_ahead_kb: int = 16_384
    ) -> None:
        from confluent_kafka import Consumer

        own = {
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error" if fail_on_data_loss else "earliest",
            "queued.max.messages.kbytes": fetch_ahead_kb,
            "group.instance.id": None,
        }
        merged = {key: value for key, value in {**settings, **own}.items() if value is not None}
        self._consumer: Any = Consumer({**merged, "logger": client_log})
        self._fail = fail_on_data_loss
        self._at: tuple[TopicPartition, int] | None = None  # what the client hands out next
        self._problem = ""

    def read(self, place: TopicPartition, start: int, end: int, rows: int) -> Iterator[SinkBatch]:
        """The records from offset `start` up to, not including, `end`, as batches of bytes of at most `rows`.

        Raises:
            DataLossError: some are not there any more.
            RetriableError: no broker answers for a while.
            ConnectError: the brokers refuse.
        """
        if self._at != (place, start):
            from confluent_kafka import TopicPartition as Place

            self._consumer.assign([Place(place.topic, place.partition, start)])
        position, heard, ended_at = start, time.monotonic(), None
        while position < end:
            self._at = None  # until it is certain again
            messages = self._consumer.consume(min(rows, end - position), _WAIT_S)
            records = [m for m in messages if m.error() is None] if any(m.error() for m in messages) else messages
            if len(records) < len(messages):
                found = self._look_at_errors(place, messages)
                ended_at = found if found is not None else ended_at
            if records:
                position, heard, ended_at = records[-1].offset() + 1, time.monotonic(), None
                self._at = (place, position)
                if position > end:  # behind a gap
                    records = [message for message in records if message.offset() < end]
                if records:
                    yield batch_of(records, place)
            elif ended_at is not None and ended_at >= end:
                position = ended_at
                self._at = (place, ended_at)
            elif ended_at is not None and time.monotonic() - heard > _TRUNCATED_S:
                self._lost(place, f"the partition ends at offset {ended_at}, before {end}")
                return
            elif time.monotonic() - heard > _SILENCE_S:
                raise RetriableError(
                    f"{place.topic}-{place.partition} cannot be read: nothing came for {_SILENCE_S:.0f} s."
                    f" {self._problem}".rstrip()
                )

    def _look_at_errors(self, place: TopicPartition, messages: list[Any]) -> int | None:
        """Where the partition ends, if the client said so. Raises for errors that do not pass."""
        from confluent_kafka import KafkaError

        end = None
        for message in messages:
            error = message.error()
            if error is None:
                continue
            if error.code() == KafkaError._PARTITION_EOF:
                end = message.offset()
            elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
                self._lost(place, error.str())
            elif error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION):
                self._lost(place, "there is no such partition any more")
            else:
                records_of([message], self._say)
        return end

    def _lost(self, place: TopicPartition, why: str) -> None:
        words = f"Records of {place.topic}-{place.partition} are gone before they were read: {why}."
        if self._fail:
            raise DataLossError(
                f"{words} Alter the connector's offsets to go on from what is there, or set fail.on.data.loss=false."
            )
        log.warning("%s Reading goes on behind them.", words)

    def _say(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            log.warning("%s", problem)

    def close(self) -> None:
        """Release the client."""
        self._consumer.close()
