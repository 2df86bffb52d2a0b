"""The contexts that tasks are given:

`SourceTaskContext` and `SinkTaskContext` of `connect.api`, in the task's process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from connect.api.metrics import PluginMetrics
from connect.api.sink import ErrantRecordReporter, Offsets
from connect.api.source import TransactionContext
from connect.data.record import TopicPartition
from connect.worker.control import Control
from connect.worker.sink_loop import SinkLoop


class SourceContext:
    """See `connect.api.source.SourceTaskContext`."""

    def __init__(
        self,
        connector: str,
        task_id: int,
        configs: Mapping[str, str],
        metrics: PluginMetrics,
        control: Control,
        transaction: TransactionContext | None = None,
    ) -> None:
        self.connector = connector
        self.task_id = task_id
        self.configs = configs
        self.metrics = metrics
        self.transaction = transaction
        self._control = control

    def offset(self, partition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return self._control.ask_offsets([partition])[0]

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        return list(self._control.ask_offsets(partitions))

    def stopping(self) -> bool:
        return self._control.stopping


class SinkContext:
    """See `connect.api.sink.SinkTaskContext`. `loop` is set before the task starts."""

    loop: SinkLoop
    one_batch = False

    def __init__(
        self,
        connector: str,
        task_id: int,
        configs: Mapping[str, str],
        metrics: PluginMetrics,
        errant_records: ErrantRecordReporter | None,
    ) -> None:
        self.connector = connector
        self.task_id = task_id
        self.configs = configs
        self.metrics = metrics
        self.errant_records = errant_records

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        return self.loop.consumer.assignment

    def committed(self, *partitions: TopicPartition) -> Offsets:
        return self.loop.consumer.committed(partitions)

    def rewind(self, offsets: Offsets) -> None:
        self.loop.rewind(offsets)

    def timeout(self, milliseconds: int) -> None:
        self.loop.timeout(milliseconds)

    def pause(self, *partitions: TopicPartition) -> None:
        self.loop.pause(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        self.loop.resume(partitions)

    def request_commit(self) -> None:
        self.loop.commit_soon()
