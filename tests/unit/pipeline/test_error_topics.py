"""Records for error topics that are not written: nothing behind them may be committed, whoever catches the error."""

from types import SimpleNamespace
from typing import Any

import pytest

from connect.kafka.writing.refusals import DeliveryError
from connect.pipeline.dead_letters import EncodedRecord
from connect.pipeline.error_topics import ErrorTopics, UnwrittenError
from connect.worker.control import Stopping

pytestmark = pytest.mark.promise("P1")


class Producer:
    """Has nothing under way, and accepts nothing."""

    def __init__(self, error: BaseException) -> None:
        self.deliveries = SimpleNamespace(acknowledged=list)
        self._error = error

    def send(self, batch: Any, mark: Any) -> None:
        raise self._error

    def drain(self, timeout: float) -> bool:
        return True


def keep_going() -> None:
    raise Stopping


def sends(error: BaseException) -> ErrorTopics:
    topics = ErrorTopics(lambda _: Producer(error), keep_going)  # type: ignore[arg-type, return-value]
    with pytest.raises(UnwrittenError if isinstance(error, DeliveryError) else type(error)):
        topics.send("dead", EncodedRecord(None, b"x", [], None))
    return topics


def test_a_record_that_was_to_wait_for_its_topic_when_the_task_was_stopped_is_not_settled() -> None:
    topics = sends(Stopping())
    assert not topics.settled(0.01)
    with pytest.raises(Stopping):
        topics.settle()


def test_a_record_that_is_refused_is_not_settled_even_if_the_task_catches_that() -> None:
    topics = sends(DeliveryError("dead", "UNKNOWN_TOPIC_OR_PART", "there is none"))
    for wait in (topics.settle, lambda: topics.settled(0.01)):
        with pytest.raises(UnwrittenError):
            wait()
