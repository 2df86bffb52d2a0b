"""Deleting what was tried again from retry topics: what brokers cannot do now is asked again."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from connect.data.record import TopicPartition
from connect.kafka.admin import purge
from connect.kafka.admin.purge import Purge
from tests.unit.worker.fakes import Clock

R0, R1 = TopicPartition("retry-5s", 0), TopicPartition("retry-5s", 1)


class Admin:
    """Notes what is to be deleted, and answers with the errors that a test gives."""

    def __init__(self) -> None:
        self.asked: list[dict[TopicPartition, int]] = []
        self.errors: dict[TopicPartition, int] = {}

    def delete_records(self, before: Sequence[Any]) -> dict[Any, Future[None]]:
        self.asked.append({TopicPartition(each.topic, each.partition): each.offset for each in before})
        return {each: self._answer(TopicPartition(each.topic, each.partition)) for each in before}

    def _answer(self, partition: TopicPartition) -> Future[None]:
        answer: Future[None] = Future()
        if (code := self.errors.pop(partition, None)) is None:
            answer.set_result(None)
        else:
            answer.set_exception(KafkaException(KafkaError(code)))
        return answer


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> Admin:
    made = Admin()
    monkeypatch.setattr("confluent_kafka.admin.AdminClient", lambda _: made)
    return made


@pytest.fixture
def minutes(monkeypatch: pytest.MonkeyPatch) -> Any:
    clock = Clock()
    monkeypatch.setattr(purge, "time", clock)

    def pass_by() -> None:
        clock.now += 61

    return pass_by


@pytest.mark.parametrize("code", [KafkaError._TIMED_OUT, KafkaError.NOT_LEADER_FOR_PARTITION])
def test_what_passes_is_asked_again(admin: Admin, minutes: Any, code: int) -> None:
    it = Purge({})
    admin.errors = {R0: code}
    it.before({R0: 5, R1: 7})
    minutes()
    it.before({R1: 9})
    assert admin.asked == [{R0: 5, R1: 7}, {R0: 5, R1: 9}]


def test_a_refusal_is_told_and_is_the_end(admin: Admin, minutes: Any, caplog: pytest.LogCaptureFixture) -> None:
    it = Purge({})
    admin.errors = {R0: KafkaError.TOPIC_AUTHORIZATION_FAILED}
    for offset in (5, 6, 7):
        it.before({R0: offset})
        minutes()
    assert len(admin.asked) == 1
    assert caplog.text.count("Grant DELETE") == 1
