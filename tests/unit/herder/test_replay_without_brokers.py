"""Records that are written again one by one when brokers refuse several together, and not when nobody answers."""

from collections.abc import Sequence

import pytest
from confluent_kafka import Producer

from connect.errors import ConnectError
from connect.herder.replay import Replayed, _Batch
from connect.kafka.reading.read_range import StoredRecord
from connect.kafka.writing.write_once import Outcome, OutgoingRecord, write_once

NOBODY = "127.0.0.1:1"


class Writer:
    """With a client to whom no broker answers, and who gives up soon."""

    def __init__(self) -> None:
        self.writes: list[int] = []
        self._producer = Producer({"bootstrap.servers": NOBODY, "message.timeout.ms": 300, "log_level": 0})

    def write(self, records: Sequence[OutgoingRecord]) -> list[Outcome]:
        self.writes.append(len(records))
        return write_once(self._producer, records, 30)


def test_what_brokers_do_not_answer_in_the_time_of_the_client_has_no_code() -> None:
    (outcome,) = Writer().write([OutgoingRecord("t", None, b"x")])
    assert (outcome.error, outcome.code) == ("Local: Message timed out", "")


def test_a_replay_ends_when_no_broker_answers_and_does_not_try_record_by_record() -> None:
    writer, done, nothing = Writer(), Replayed("dead", False, [], [], 0, True, None), (-1, "CreateTime", None, b"x", ())
    batch = _Batch(None, None, writer, done)  # type: ignore[arg-type]
    for offset in range(3):
        batch.add(StoredRecord("dead", 0, offset, *nothing), OutgoingRecord("t", None, b"x"))
    with pytest.raises(ConnectError, match="The brokers do not answer"):
        batch.flush()
    assert writer.writes == [3]
    assert {each.reason for each in done.skipped} == {"no broker answered in time."}
