"""When a dead letter is durable: before a commit, or at once where the task commits by itself."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from connect.data.batch import SinkBatch
from connect.data.record import TopicPartition
from connect.data.values import Values
from connect.delivery.error_outputs import ErrorOutputs, TaskConfigs
from connect.errors import DataError
from connect.pipeline import ErrorPolicy, Failure, Stage
from connect.pipeline.parked import RetrySettings, Tier
from connect.plugins import Plugins
from tests.unit.worker.fakes import FakeProducer

T0 = TopicPartition("t", 0)


class Outputs(ErrorOutputs):
    """With a producer whose records are acknowledged when somebody waits for them."""

    def _make_producer(self, refused: Any) -> Any:
        self.producer = FakeProducer(refused, [])
        self.producer.at_once = False
        self.producer.drain = self._drain  # type: ignore[method-assign]
        return self.producer

    def _drain(self, timeout: float) -> bool:
        self.producer.acknowledge(len(self.producer.pending))
        return True


@pytest.mark.promise("P1")
@pytest.mark.parametrize(("known", "durable"), [(None, False), ({}, True), ({T0: 5}, True)])
@pytest.mark.parametrize("tiers", [(), (Tier("retry-5s", 5000),)], ids=["dead letter", "parked"])
def test_a_failed_record_is_durable_at_once_where_the_target_keeps_offsets(
    known: dict[TopicPartition, int] | None, durable: bool, tiers: tuple[Tier, ...]
) -> None:
    policy = ErrorPolicy(tolerate=True)
    task = TaskConfigs("sink", 0, {}, {"errors.deadletterqueue.topic.name": "dead"})
    retry = RetrySettings(tiers, None, -1, keep_order=False) if tiers else None
    outputs = Outputs(task, policy, Plugins.discover([]), lambda: None, retry)
    outputs._partitions["retry-5s"] = 1
    listener: Any = SimpleNamespace(assigned=lambda _: known)
    given: list[Any] = []

    def make(listener: Any) -> Any:
        given.append(listener)
        return SimpleNamespace(committed=lambda _: {})

    outputs.consumer(make, listener)
    assigned: Sequence[TopicPartition] = [T0]
    assert (given[0].assigned(assigned) or None) == (known or None)
    one = SinkBatch("t", Values.raw([b"x"]), offsets=[7])
    policy.reject(Failure(Stage.TASK_PUT, "Op", DataError("bad"), one[0], one, "Op"))
    assert bool(outputs.producer.pending) is not durable


def test_a_wait_that_was_removed_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    names = ["t", "r-5s", "r-1m", "r-10m", "r-10m-5s", "r-orders", "q-10m"]

    class Maker:
        def __init__(self, *_: object) -> None: ...

        def __call__(self, topic: str) -> None: ...

        def partitions(self) -> dict[str, int]:
            return dict.fromkeys(names, 1)

    monkeypatch.setattr("connect.delivery.error_outputs.TopicMaker", Maker)
    retry = RetrySettings((Tier("r-5s", 5000), Tier("r-1m", 60_000)), None, -1, keep_order=False)
    for number in (0, 1):
        task = TaskConfigs("sink", number, {}, {})
        Outputs(task, ErrorPolicy(), Plugins.discover([]), lambda: None, retry).make_topics(["t"], lambda _: None)
    (said,) = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert 'the topic "r-10m", so nobody reads it' in said
