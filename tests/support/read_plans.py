"""Carries out the read plans of a source without Spark: one instance plans, fresh ones read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple, Self

from connect.api.connector import SourceConnector
from connect.api.splits import SplitSourceTask
from connect.data.record import SourceRecord
from connect.errors import ConnectError
from connect.storage.offsets import MemoryOffsetStore
from connect.telemetry.metrics import Registry

Offsets = Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]


class PlanContext:
    """As `SourceTaskContext`; a reader's has no offsets."""

    def __init__(self, config: Mapping[str, str], offsets: MemoryOffsetStore | None) -> None:
        self.connector = "c"
        self.task_id = 0
        self.configs = config
        self.metrics = Registry().labelled(connector="c", task="0")
        self.exit_stack = ExitStack()
        self.transaction = None
        self._offsets = offsets

    def offset(self, partition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return self.offsets([partition])[0]

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        if self._offsets is None:
            raise ConnectError("A reader of splits has no offsets.")
        return self._offsets.get("c", partitions)

    def stopping(self) -> bool:
        return False


class ReadSplits(NamedTuple):
    """Of one plan.

    Attributes:
        records: by split.
        offsets: that the plan stores.
    """

    records: list[list[SourceRecord]]
    offsets: Offsets


class Planner:
    """The planning instance of a connector's one task; a context manager.

    Args:
        connector: not started, with a context if it needs one.
        config: of the task.
        offsets: that are stored.
    """

    def __init__(self, connector: SourceConnector, config: Mapping[str, str], offsets: Offsets = ()) -> None:
        self.stored = MemoryOffsetStore()
        self.stored.set("c", [(dict(partition), offset) for partition, offset in offsets])
        self._class = connector.task_class()
        self.config = dict(config)
        self.task: SplitSourceTask = self._class()
        self.task.context = self.context = PlanContext(self.config, self.stored)

    def __enter__(self) -> Self:
        self.task.start(self.config)
        return self

    def __exit__(self, *_: object) -> None:
        self.task.stop()
        self.context.exit_stack.close()

    def carry_out(self, most: int = 4) -> ReadSplits | None:
        """Make a plan, read its splits, store its offsets. None when there is nothing to read."""
        plan = self.task.plan(most)
        if plan is None:
            return None
        assert 1 <= len(plan.splits) <= most
        text = json.dumps(list(plan.splits))
        assert len(text) < 500_000
        records = [self.read(split) for split in json.loads(text)]
        self.stored.set("c", plan.offsets)
        self.task.commit()
        return ReadSplits(records, plan.offsets)

    def read(self, split: Mapping[str, Any]) -> list[SourceRecord]:
        """Read a split as an executor does."""
        reader: SplitSourceTask = self._class()
        context = PlanContext(self.config, None)
        reader.context = context
        with context.exit_stack:
            return [record for batch in reader.read(self.config, split) for record in batch.records()]
