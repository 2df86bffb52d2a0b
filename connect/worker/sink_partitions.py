"""The partitions of a sink task: those assigned by its group, and which of them are consumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from connect.api.sink import SinkTask
from connect.data.record import TopicPartition
from connect.delivery.retrying_consumer import SinkConsumer
from connect.worker.control import Control
from connect.worker.messages import LeftGroup, Membership
from connect.worker.sink_offsets import SinkOffsets


class SinkPartitions:
    """The partitions of one task's consumer. For the task it is the `connect.delivery.context.PartitionOwner`.

    A partition is consumed unless the task has paused it or the loop has paused all.
    """

    def __init__(self, control: Control, offsets: SinkOffsets) -> None:
        self.paused_by_task: set[TopicPartition] = set()
        self._control = control
        self._offsets = offsets
        self._consumer: SinkConsumer | None = None
        self._consuming = True
        self._opening: dict[TopicPartition, int | None] = {}  # what is being opened, and where that is to begin
        self._member: str | None = None

    @property
    def consumer(self) -> SinkConsumer:
        """The consumer, once the task has started."""
        assert self._consumer is not None
        return self._consumer

    @consumer.setter
    def consumer(self, consumer: SinkConsumer) -> None:
        self._consumer = consumer

    @property
    def there(self) -> bool:
        """Whether there is a consumer."""
        return self._consumer is not None

    # What the task wants.

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        return self.consumer.assignment

    def committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return self.consumer.committed(partitions)

    def offsets_at(self, timestamp: int, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return self.consumer.offsets_at(timestamp, partitions)

    def rewind(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._opening |= {p: offset for p, offset in offsets.items() if p in self._opening}
        offsets = {p: offset for p, offset in offsets.items() if p not in self._opening}
        self.consumer.seek(offsets)
        self._offsets.rewound({p: offset for p, offset in offsets.items() if p in self.assignment})

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        self.paused_by_task.update(partitions)
        self.consumer.pause(partitions)

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        self.paused_by_task.difference_update(partitions)
        self._consume(partitions)

    # What the loop wants.

    def consume(self, wanted: bool) -> None:
        """Consume partitions, except those that the task has paused; or none."""
        self._consuming = wanted
        if wanted:
            self._consume(self.assignment)
        else:
            self.consumer.pause(self.assignment)

    def _consume(self, partitions: Iterable[TopicPartition]) -> None:
        if self._consuming:
            self.consumer.resume([partition for partition in partitions if partition not in self.paused_by_task])

    # What the group wants.

    def open_by(self, task: SinkTask, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int] | None:
        """Have the task open partitions. Returns where to begin, as far as it said or rewound meanwhile."""
        self._opening = dict.fromkeys(partitions)
        try:
            known = task.open(partitions)
            rewound = {p: offset for p, offset in self._opening.items() if offset is not None}
        finally:
            self._opening = {}
        return {**rewound, **(known or {})} if rewound else known

    def came(self, partitions: Sequence[TopicPartition]) -> None:
        """Partitions were assigned."""
        if not self._consuming:
            self.consumer.pause(partitions)
        self.tell_membership()

    def went(self, partitions: Sequence[TopicPartition]) -> None:
        """Partitions belong to another member now."""
        self._offsets.forget(partitions)
        self.paused_by_task.difference_update(partitions)

    def leave(self) -> None:
        """Give all partitions back."""
        if self.there:
            self.tell_membership()  # it may be joining, and have to stay
            if self.consumer.close():
                self._control.send(LeftGroup())

    def tell_membership(self) -> None:
        """Report the task's member of the group to the worker as soon as there is one."""
        consumer = self.consumer
        member = consumer.member_id or ("" if consumer.instance_id else None)
        if member is not None and member != self._member:
            self._member = member
            self._control.send(Membership(consumer.group, member, consumer.instance_id))
