"""The context of a sink task on Spark: `SinkContext`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from connect.api.metrics import PluginMetrics
from connect.api.sink import Offsets
from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.pipeline.errant import PolicyReporter


class SinkContext:
    """See `connect.api.sink.SinkTaskContext`.

    Attributes:
        wait: seconds that the task wants to wait before a put that it refused comes again; None when it did not say.
        commit_wanted: whether it wants `pre_commit` to be called soon.
        paused: partitions of which it wants nothing for now.
        begins: for each of its partitions the offset of the first record of this micro-batch.
    """

    one_batch = True

    def __init__(
        self,
        connector: str,
        task_id: int,
        configs: Mapping[str, str],
        metrics: PluginMetrics,
        errant_records: PolicyReporter | None,
    ) -> None:
        self.connector = connector
        self.task_id = task_id
        self.configs = configs
        self.metrics = metrics
        self.errant_records = errant_records
        self.assignment: frozenset[TopicPartition] = frozenset()
        self.wait: float | None = None
        self.commit_wanted = False
        self.paused: set[TopicPartition] = set()
        self.begins: dict[TopicPartition, int] = {}

    def committed(self, *partitions: TopicPartition) -> Offsets:
        """What the query's checkpoint has, which the consumer group is told of: all before this micro-batch."""
        return {partition: self.begins[partition] for partition in partitions if partition in self.begins}

    def rewind(self, offsets: Offsets) -> None:
        raise ConnectError(
            f'Connector "{self.connector}" wants to go back to an earlier record, which it cannot do on Spark: a'
            " micro-batch is read once, from its beginning. Raise RetriableError to be handed the same records again,"
            " or run the connector with engine=worker."
        )

    def timeout(self, milliseconds: int) -> None:
        self.wait = milliseconds / 1000

    def pause(self, *partitions: TopicPartition) -> None:
        self.paused.update(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        self.paused.difference_update(partitions)

    def request_commit(self) -> None:
        self.commit_wanted = True


def said(partitions: Sequence[TopicPartition]) -> str:
    """Partitions as a message names them."""
    return ", ".join(f"{topic}-{number}" for topic, number in sorted(partitions))
