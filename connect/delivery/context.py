"""The context of a sink task: `SinkContext`, over the owner of its partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Protocol

from connect.api.metrics import PluginMetrics
from connect.api.sink import Offsets
from connect.data.record import TopicPartition
from connect.delivery.sink import SinkDelivery


class PartitionOwner(Protocol):
    """The owner of a sink task's partitions; the contract is at `connect.api.sink.SinkTaskContext`."""

    @property
    def assignment(self) -> frozenset[TopicPartition]: ...

    def committed(self, partitions: Sequence[TopicPartition]) -> Offsets: ...

    def offsets_at(self, timestamp: int, partitions: Sequence[TopicPartition]) -> Offsets: ...

    def rewind(self, offsets: Offsets) -> None: ...

    def pause(self, partitions: Sequence[TopicPartition]) -> None: ...

    def resume(self, partitions: Sequence[TopicPartition]) -> None: ...


class SinkContext:
    """See `connect.api.sink.SinkTaskContext`. `owner` is set before the task starts."""

    owner: PartitionOwner

    def __init__(
        self,
        connector: str,
        task_id: int,
        configs: Mapping[str, str],
        metrics: PluginMetrics,
        delivery: SinkDelivery,
        *,
        one_batch: bool = False,
    ) -> None:
        self.connector = connector
        self.task_id = task_id
        self.configs = configs
        self.metrics = metrics
        self.exit_stack = ExitStack()
        self.errant_records = delivery.reporter
        self.one_batch = one_batch
        self._delivery = delivery

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        return self.owner.assignment

    def committed(self, *partitions: TopicPartition) -> Offsets:
        return self.owner.committed(partitions)

    def offsets_at(self, timestamp: int, *partitions: TopicPartition) -> Offsets:
        return self.owner.offsets_at(timestamp, partitions)

    def rewind(self, offsets: Offsets) -> None:
        self.owner.rewind(offsets)

    def timeout(self, milliseconds: int) -> None:
        self._delivery.timeout(milliseconds)

    def pause(self, *partitions: TopicPartition) -> None:
        self.owner.pause(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        self.owner.resume(partitions)

    def request_commit(self) -> None:
        self._delivery.request_commit()
