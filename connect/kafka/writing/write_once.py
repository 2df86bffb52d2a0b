"""Writes few records and waits for each: for callers that must know that they are written."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

#: How long to wait before who asked may say that it is over.
_SLICE_S: Final = 0.2
#: What the client says of a record for which its own time is up.
_UNANSWERED: Final = "_MSG_TIMED_OUT"


class OutgoingRecord(NamedTuple):
    """A record to write.

    Attributes:
        partition: None leaves it to the partitioner, which goes by the key as Java's does.
        headers: pairs of key and bytes, in order.
        timestamp: milliseconds; None is now. 0, which the client takes for now, becomes 1.
    """

    topic: str
    key: bytes | None
    value: bytes | None
    partition: int | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()
    timestamp: int | None = None


class Outcome(NamedTuple):
    """The outcome of a record.

    Attributes:
        partition, offset: of the written record.
        error: why it is not written; empty where it is.
        code: Kafka's name of that error; empty without an answer: it may or may not be written.
    """

    partition: int
    offset: int
    error: str = ""
    code: str = ""


def write_once(
    producer: Any, records: Sequence[OutgoingRecord], timeout: float, over: Callable[[], bool] = lambda: False
) -> list[Outcome]:
    """Write records in order and return the outcome of each. What the client still holds then is not written later.

    Args:
        producer: a `confluent_kafka.Producer`.
        records: few enough to be held at once.
        timeout: seconds until there must be an answer for all of them.
        over: whether to stop waiting.
    """
    from confluent_kafka import KafkaException

    outcomes: dict[int, Outcome] = {}
    deadline = time.monotonic() + timeout

    def waits() -> bool:
        return time.monotonic() < deadline and not over()

    def write(row: int, record: OutgoingRecord) -> None:
        def report(error: Any, message: Any) -> None:
            code = "" if error is None or error.name() == _UNANSWERED else error.name()
            outcomes[row] = Outcome(message.partition(), message.offset(), "" if error is None else error.str(), code)

        partition = -1 if record.partition is None else record.partition
        at = 0 if record.timestamp is None else record.timestamp or 1
        headers = list(record.headers) or None
        while True:
            try:
                producer.produce(record.topic, record.value, record.key, partition, report, None, at, headers)
            except KafkaException as error:
                outcomes[row] = Outcome(partition, -1, error.args[0].str(), error.args[0].name())
            except BufferError:  # its queue is full
                if waits():
                    producer.poll(_SLICE_S)
                    continue
            return

    for row, record in enumerate(records):
        write(row, record)
    while len(outcomes) < len(records) and waits():
        producer.flush(_SLICE_S)
    if len(outcomes) < len(records):
        producer.purge(in_flight=False)
    unanswered = Outcome(-1, -1, "it is being closed" if over() else f"no answer within {timeout:g} s")
    return [outcomes.get(row, unanswered) for row in range(len(records))]


def refusal(outcomes: Sequence[Outcome]) -> str:
    """Why not all of these records are written; empty where they are. Records that fell with another give no reason."""
    errors = [outcome for outcome in outcomes if outcome.error]
    return min(errors, key=lambda outcome: outcome.code.startswith("_PURGE"), default=Outcome(-1, -1)).error
