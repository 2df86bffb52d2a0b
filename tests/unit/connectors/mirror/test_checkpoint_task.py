"""A checkpoint that was found is written, whatever else a cluster does not answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from connect import RetriableError, TopicPartition
from connect.data import Plain
from connect.kafka.admin.answers import Committed
from connect.kafka.admin.cluster import RefusedError
from connect.telemetry.metrics import Registry
from connectors.mirror import checkpoint_task
from connectors.mirror.checkpoint_task import MirrorCheckpointTask
from connectors.mirror.notes import Checkpoint, OffsetSync

ORDERS = TopicPartition("orders", 0)
CONFIG = {
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "source.cluster.bootstrap.servers": "localhost:1",
    "target.cluster.bootstrap.servers": "localhost:2",
    "topics": "orders",
    "task.assigned.groups": "shop,bank",
    "sync.group.offsets.enabled": "true",
    "emit.checkpoints.interval.seconds": "1",
    "sync.group.offsets.interval.seconds": "1",
}


class Cluster:
    """Either cluster. `silent` are questions that it does not answer, once each, `forbidden` such that it refuses."""

    name = "Cluster"

    def __init__(self, silent: Collection[str] = (), forbidden: Collection[str] = ()) -> None:
        self.silent = set(silent)
        self.forbidden = forbidden
        self.commits: list[str] = []

    def topics(self) -> dict[str, int]:
        return {"mm2-offset-syncs.B.internal": 1}

    def ends(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 100)

    def committed(self, group: str) -> dict[TopicPartition, tuple[int, str]]:
        self._answer(f"committed {group}")
        return {ORDERS: (7, "")}

    def group_states(self, groups: Sequence[str]) -> dict[str, str]:
        self._answer(f"states {','.join(groups)}")
        return dict.fromkeys(groups, "DEAD")

    def commit(self, group: str, offsets: Mapping[TopicPartition, Committed]) -> None:
        self._answer(f"commit {group}")
        self.commits.append(group)

    def _answer(self, question: str) -> None:
        if question in self.forbidden:
            raise RefusedError(f"may not: {question}", "GROUP_AUTHORIZATION_FAILED")
        if question in self.silent:
            self.silent.remove(question)
            raise RetriableError(f"no answer: {question}")


class Syncs:
    """The topic of offset syncs."""

    at_end = True

    def __init__(self, *_: Any, **__: Any) -> None:
        sync = OffsetSync(ORDERS, 5, 5)
        self._batches = [type("Batch", (), {"keys": Plain([sync.key]), "values": Plain([sync.value]), "offsets": [0]})]

    def poll(self, *_: Any) -> Any:
        return self._batches.pop() if self._batches else None

    def close(self) -> None: ...


def started(monkeypatch: pytest.MonkeyPatch, cluster: Cluster, clock: list[float], syncs: type[Syncs]) -> Any:
    """A task by this clock."""
    monkeypatch.setattr(checkpoint_task.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(checkpoint_task, "admin", lambda *_: cluster)
    monkeypatch.setattr(checkpoint_task, "PartitionReader", syncs)
    task = MirrorCheckpointTask()
    context: Any = SimpleNamespace(connector="mirror", task_id=0, metrics=Registry().labelled())
    context.stopping = lambda: False
    task.context = context
    task.start(CONFIG)
    return task


def test_checkpoints_are_written_though_new_syncs_come_all_the_time(monkeypatch):
    """As of a busy topic: one for a hundred records, of each partition."""
    clock = [1000.0]

    class Busy(Syncs):
        polls = 0

        def poll(self, *_: Any) -> Any:
            clock[0] += 0.02
            Busy.polls += 1
            assert Busy.polls < 1000
            sync = OffsetSync(ORDERS, 5 + self.polls, 5 + self.polls)
            return type("Batch", (), {"keys": Plain([sync.key]), "values": Plain([sync.value]), "offsets": [0]})

    task = started(monkeypatch, Cluster(), clock, Busy)
    written = [Checkpoint.read(record.key, record.value) for _ in range(6) for record in task.poll() or ()]
    assert {checkpoint.group for checkpoint in written} == {"shop", "bank"}


@pytest.mark.parametrize("forbidden", ["committed shop", "states shop", "commit shop"])
def test_a_group_that_is_refused_costs_no_other(monkeypatch, caplog, forbidden):
    clock = [1000.0]
    cluster = Cluster(forbidden={forbidden})
    task = started(monkeypatch, cluster, clock, Syncs)
    written = set()
    for _ in range(6):
        clock[0] += 3.0
        written |= {Checkpoint.read(record.key, record.value).group for record in task.poll() or ()}
    assert "bank" in written
    assert set(cluster.commits) == {"bank"}
    assert caplog.text.count("The group is left out") == 1


@pytest.mark.parametrize("silent", ["committed bank", "states shop"])
def test_checkpoints_are_written_though_a_cluster_does_not_answer_what_follows(monkeypatch, silent):
    clock = [1000.0]
    cluster = Cluster(silent={silent})
    task = started(monkeypatch, cluster, clock, Syncs)
    written = set()
    for _ in range(6):
        clock[0] += 3.0
        try:
            batch = task.poll()
        except RetriableError:
            continue
        written |= {Checkpoint.read(record.key, record.value).group for record in batch or ()}
    assert not cluster.silent
    assert written == {"shop", "bank"}
