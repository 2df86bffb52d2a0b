"""The context that a source task is given: `SourceContext`. That of a sink task is in `connect.delivery.context`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from connect.api.metrics import PluginMetrics
from connect.api.source import TransactionContext
from connect.worker.control import Control


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
        self.exit_stack = ExitStack()
        self.transaction = transaction
        self._control = control

    def offset(self, partition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return self._control.ask_offsets([partition])[0]

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        return list(self._control.ask_offsets(partitions))

    def stopping(self) -> bool:
        return self._control.stopping
