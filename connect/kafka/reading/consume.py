"""Consumes batches of records for a sink task, and keeps the task's positions.

Columns are made from the client's messages only when they are used: topics, partitions, offsets, timestamps and headers
of a batch that is written as plain values are never touched.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from connect.data.batch import SinkBatch
from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.clients.errors import ClientErrors
from connect.kafka.clients.log import log as client_log
from connect.kafka.group.static_member import KEY as STATIC
from connect.kafka.reading.arrivals import arrivals
from connect.kafka.reading.backlog import Backlog
from connect.kafka.reading.group_offsets import GroupOffsets, names_of
from connect.kafka.reading.messages import batch_of, records_of
from connect.kafka.reading.standstill import Standstill
from connect.kafka.reading.subscription import Subscription

log = logging.getLogger("connect.kafka")

#: More is slower: the client fills its queue in batches of about this size (measured: 2,000 beat 10,000).
ROWS_PER_BATCH = 2000
#: How long to wait for the broker to let a member go that owns nothing; some milliseconds, unless it is busy otherwise.
_LEAVE_S = 1.0
_TICK_S = 0.01
#: When to seek again where the client does not read yet.
_SEEK_AGAIN_S = 0.05


class RebalanceListener(Protocol):
    """Called when partitions are assigned and revoked, from within `BatchConsumer.poll`."""

    def assigned(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int] | None:
        """These partitions were assigned. Returns where to begin in those for which that is known."""

    def revoked(self, partitions: Sequence[TopicPartition]) -> None:
        """These partitions are being revoked; commits are still possible."""

    def lost(self, partitions: Sequence[TopicPartition]) -> None:
        """These partitions already belong to other members."""


class BatchConsumer:
    """A consumer of one task. For one thread, except `wake`.

    Args:
        settings: librdkafka's, from `client_settings`.
        topics: names, or a compiled pattern that whole names must match.
        listener: see `RebalanceListener`.
        rows: the maximum number of records of a batch.
        also: names of further topics.
        keys: see `ClientErrors`.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        topics: Sequence[str] | re.Pattern[str],
        listener: RebalanceListener,
        rows: int = ROWS_PER_BATCH,
        also: Sequence[str] = (),
        keys: Mapping[str, str] | None = None,
    ) -> None:
        self._group = str(settings["group.id"])
        self._topics = topics
        self._also = tuple(also)
        self._may_create = settings.get("allow.auto.create.topics") is True
        self._listener = listener
        self._rows = rows
        self._assignment: frozenset[TopicPartition] = frozenset()
        self._places: tuple[frozenset[TopicPartition], tuple[str | None, int | None]] = (frozenset(), (None, None))
        self._paused: set[TopicPartition] = set()
        self._sought: dict[TopicPartition, int] = {}  # seeks that the client does not take yet
        self._changed = False
        self._assigning = False
        self._closing = False
        self._leaving = False
        self._drained = False
        self._generation = 0  # of the client: what a former one says and hears is nobody's
        self._raised: list[BaseException] = []
        self._brokers = ClientErrors(settings, keys)
        self._incremental = (
            "cooperative" in str(settings.get("partition.assignment.strategy", ""))
            or settings.get("group.protocol") == "consumer"
        )
        self._instance = "" if settings.get("group.protocol") == "consumer" else str(settings.get(STATIC, ""))
        self._settings = dict(settings)
        self._open()

    def _open(self) -> None:
        """Make the client, and join the group."""
        from confluent_kafka import Consumer

        settings = self._settings
        heard = partial(self._on_error, self._generation)
        self._consumer = Consumer({**settings, "error_cb": heard, "logger": client_log})
        self._arrivals = arrivals(self._consumer, str(settings.get("client.id", "rdkafka")))
        from_end = str(settings.get("auto.offset.reset", "latest")) in {"latest", "end", "largest"}
        self._backlog = Backlog(self._consumer, from_end=from_end)
        self._standstill = Standstill(self._consumer, settings)
        self._offsets = GroupOffsets(self._consumer, self._standstill)
        self._subscription = Subscription(self._consumer, self._topics, self._also, may_create=self._may_create)
        self._subscribe()

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The currently assigned partitions."""
        return self._assignment

    @property
    def group(self) -> str:
        """The consumer group's name."""
        return self._group

    @property
    def member_id(self) -> str | None:
        """The id of this member of the consumer group, once it has joined."""
        member: str | None = self._consumer.memberid()
        return member or None

    @property
    def instance_id(self) -> str:
        """The name under which every process of the task is the same member; empty where it has none."""
        return self._instance

    @property
    def can_be_woken(self) -> bool:
        """Whether `wake` ends a waiting poll; else polls should be short."""
        return self._arrivals is not None

    def wake(self) -> None:
        """Have `poll` return soon, with or without records. Thread-safe."""
        if self._arrivals is not None:
            self._arrivals.wake()

    def poll(self, timeout: float) -> SinkBatch | None:
        """The next records, at most `rows`; waits this many seconds for the first. None when there are none.

        Calls the listener. Raises the listener's errors, and `ConnectError` for errors that do not pass by themselves:
        `NotLetInError` where the brokers refuse this client.
        """
        if self._subscription.due:
            self._subscribe()
        if self._drained:
            self._look_for_standstill()
        if self._sought:
            self._seek()
            timeout = min(timeout, _SEEK_AGAIN_S) if self._sought else timeout
        self._changed = False
        # `consume` waits for all rows or the whole time; a first message by itself keeps a quiet topic's latency low.
        first = self._first(timeout)
        if self._raised:
            raise self._raised.pop(0)
        if first is None:
            self._brokers.check(self._consumer)
            self._drained = True
            return None
        self._brokers.answered()
        messages = self._consumer.consume(self._rows - 1, 0)
        if self._raised:
            raise self._raised.pop(0)
        messages.insert(0, first)
        self._drained = len(messages) < self._rows
        messages = records_of(messages, self._brokers.say)
        if self._changed or self._sought:
            # Partitions moved while we polled: what came from those that left is for their next owner.
            ours = self._assignment - self._sought.keys()
            messages = [m for m in messages if (m.topic(), m.partition()) in ours]
        if not messages:
            return None
        if self._places[0] is not self._assignment:
            self._places = (self._assignment, _common(self._assignment))
        return batch_of(messages, self._places[1])

    def _look_for_standstill(self) -> None:
        if self._brokers.wait is not None:
            return
        if stuck := self._standstill.look(self._assignment - self._paused, self.positions):
            log.warning(
                "The client reads nothing more of %s, which has other records: it is replaced.", names_of(stuck)
            )
            self._replace(stuck)

    def _replace(self, stuck: frozenset[TopicPartition]) -> None:
        """Have another client join the group. What was read of partitions that are stuck is not committed any more."""
        from confluent_kafka import TopicPartition as ClientPartition

        former = self._consumer
        if others := self._assignment - stuck:
            self._revoke(former, [ClientPartition(*partition) for partition in others])
        self._give_up(former, [ClientPartition(*partition) for partition in stuck], self._listener.lost)
        if self._arrivals is not None:
            self._arrivals.close()
        self._generation += 1
        self._close_client(goodbye=False, failed=lambda error: log.debug("The former client: %s", error))
        self._drained = False
        self._open()

    def _first(self, timeout: float) -> Any:
        if self._arrivals is None:
            return self._consumer.poll(timeout)
        first = self._consumer.poll(0)
        if first is None and timeout > 0 and not self._raised:
            self._arrivals.wait(timeout)
            first = self._consumer.poll(0)
        return first

    def positions(self) -> dict[TopicPartition, int]:
        """For each assigned partition that had records, the offset of the next record."""
        from confluent_kafka import TopicPartition as ClientPartition

        asked = [ClientPartition(*partition) for partition in self._assignment]
        found = self._consumer.position(asked) if asked else []
        places = {TopicPartition(str(p.topic), int(p.partition)): int(p.offset) for p in found if p.offset >= 0}
        return places | self._sought

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit, and wait for the broker's answer, for some seconds at most.

        Raises:
            ConnectError: the broker refused it, or has not answered yet.
        """
        self._offsets.commit(offsets)

    def committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """What the group has committed of these partitions, if anything.

        Raises:
            ConnectError: the broker does not answer.
        """
        return self._offsets.committed(partitions)

    def offsets_at(self, timestamp: int, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """For each partition the first offset of this time (ms since 1970) or later; else its end.

        Raises:
            ConnectError: the broker does not answer.
        """
        return self._offsets.at(timestamp, partitions)

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Continue at these offsets, in assigned partitions. Not from within the listener's `assigned`."""
        self._sought |= {partition: offset for partition, offset in offsets.items() if partition in self._assignment}
        self._seek()

    def _seek(self) -> None:
        """Seek in the client, where it has begun to read: until then it still asks where its group has come to."""
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka import TopicPartition as ClientPartition

        for partition, offset in list(self._sought.items()):
            try:
                self._consumer.seek(ClientPartition(partition.topic, partition.partition, offset))
            except KafkaException as error:
                if error.args[0].code() == KafkaError._STATE:
                    continue
                raise
            del self._sought[partition]

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop delivering these partitions."""
        partitions = list(partitions)
        self._standstill.rest(partitions)
        self._switch(self._consumer.pause, self._paused.update, partitions)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Deliver these partitions again."""
        self._switch(self._consumer.resume, self._paused.difference_update, partitions)

    def lag(self, without: Iterable[TopicPartition] = ()) -> int:
        """Records that wait in the assigned partitions, except some; -1 while that is unknown. See `Backlog.count`."""
        return self._backlog.count(self._assignment.difference(without), self.positions())

    def close(self) -> bool:
        """Leave the group; the listener's `revoked` is called. Raises its errors.

        Returns:
            whether the member left. If not, it stays until its session ends or it is removed, and the client's threads
            until this process ends.
        """
        self._closing = True
        if self._arrivals is not None:
            self._arrivals.close()
        if self._assignment:
            from confluent_kafka import TopicPartition as ClientPartition

            self._revoke(self._consumer, [ClientPartition(*partition) for partition in self._assignment])
        left = self._leave()
        self._brokers.close()
        if self._raised:
            raise self._raised.pop(0)
        return left

    def _leave(self) -> bool:
        """Close the client, which may be joining, but wait for it no longer than a moment.

        While a join waits for other members, the broker answers nothing else on its connection, and librdkafka waits
        for the answer to its request to leave: for five seconds, which is all that a task has to stop.
        """
        self._leaving = True
        # With a name it is a member as soon as it has asked to join: the client cannot leave without the answer.
        unanswered = bool(self._instance and self._subscription.names and not self._consumer.memberid())
        return self._close_client(goodbye=bool(self._instance), failed=self._raised.append) and not unanswered

    def _close_client(self, *, goodbye: bool, failed: Callable[[Exception], None]) -> bool:
        """Close the client on a thread of its own. Returns whether it is closed after a moment."""
        consumer, offsets = self._consumer, self._offsets

        def close() -> None:
            try:
                offsets.under_way(None)  # it must not meet a client that is closed
                if goodbye:
                    self._say_goodbye()
                consumer.close()
            except Exception as error:
                failed(error)

        thread = threading.Thread(target=close, name="leave", daemon=True)
        thread.start()
        thread.join(_LEAVE_S)
        return not thread.is_alive()

    def _say_goodbye(self) -> None:
        """Leave the group explicitly: the group keeps a named member that only closes until its session ends."""
        from confluent_kafka import KafkaError, KafkaException

        try:
            self._consumer.unsubscribe()
        except KafkaException as error:
            if error.args[0].code() == KafkaError._FATAL:
                return  # its successor is the member
            raise
        while self._consumer.memberid():
            self._consumer.poll(_TICK_S)

    # The group.

    def _subscribe(self) -> None:
        if names := self._subscription.changed():
            told = {"on_assign": self._assign, "on_revoke": self._revoked, "on_lost": self._lost}
            now = self._generation
            self._consumer.subscribe(names, **{event: partial(callback, now) for event, callback in told.items()})

    def _assign(self, generation: int, consumer: Any, partitions: list[Any]) -> None:
        if self._closing or generation != self._generation:
            return  # given to us while we leave: they go with us
        with self._offsets.in_callback():
            self._take_over(consumer, partitions)

    def _take_over(self, consumer: Any, partitions: list[Any]) -> None:
        # The client swallows what a callback raises: it is kept for `poll`.
        try:
            added = [TopicPartition(p.topic, p.partition) for p in partitions]
            self._changed = True
            self._assignment |= frozenset(added)
            self._assigning = True  # what the listener pauses is paused below: the client does not have it yet
            try:
                begin = self._listener.assigned(added) or {}
            finally:
                self._assigning = False
            for partition in partitions:
                offset = begin.get(TopicPartition(partition.topic, partition.partition))
                if offset is not None:
                    partition.offset = offset
                    self._backlog.begins(TopicPartition(partition.topic, partition.partition), offset)
            (consumer.incremental_assign if self._incremental else consumer.assign)(partitions)
            still_paused = self._paused & set(added)
            if still_paused:
                self.pause(still_paused)
        except BaseException as error:
            self._raised.append(error)

    def _revoked(self, generation: int, consumer: Any, partitions: list[Any]) -> None:
        if generation != self._generation:
            self._let_go(consumer, [])
            return
        with self._offsets.in_callback():
            self._revoke(consumer, partitions)

    def _revoke(self, consumer: Any, partitions: list[Any]) -> None:
        self._give_up(consumer, partitions, self._listener.revoked)

    def _lost(self, generation: int, consumer: Any, partitions: list[Any]) -> None:
        if generation != self._generation:
            self._let_go(consumer, [])
            return
        self._give_up(consumer, partitions, self._listener.lost)

    def _give_up(self, consumer: Any, partitions: list[Any], tell: Callable[[Sequence[TopicPartition]], None]) -> None:
        gone = [TopicPartition(p.topic, p.partition) for p in partitions]
        self._changed = True
        try:
            if not self._leaving:  # else it was told, and this is another thread
                tell(gone)
        except BaseException as error:
            self._raised.append(error)
        finally:
            self._assignment -= frozenset(gone)
            self._paused -= set(gone)
            for partition in gone:
                self._sought.pop(partition, None)
            self._backlog.forget(gone)
            self._standstill.forget(gone)
            self._let_go(consumer, [] if self._leaving else partitions)  # given back already

    def _let_go(self, consumer: Any, partitions: list[Any]) -> None:
        if self._incremental:
            consumer.incremental_unassign(partitions)
        else:
            consumer.unassign()

    def _switch(
        self,
        switch: Callable[[list[Any]], None],
        note: Callable[[list[TopicPartition]], None],
        partitions: Iterable[TopicPartition],
    ) -> None:
        from confluent_kafka import TopicPartition as ClientPartition

        ours = [partition for partition in partitions if partition in self._assignment]
        if ours:
            note(ours)
        if ours and not self._assigning:
            switch([ClientPartition(p.topic, p.partition) for p in ours])

    def _on_error(self, generation: int, error: Any) -> None:
        if generation != self._generation:
            return  # a former client is told that it was replaced
        if error.fatal():
            self._raised.append(ConnectError(f"The consumer cannot go on: {error.str()} ({error.name()})."))
        else:
            self._brokers.hear(error)


def _common(assigned: frozenset[TopicPartition]) -> tuple[str | None, int | None]:
    """The topic, and the partition, that all of these share, if they do."""
    topics, partitions = {partition.topic for partition in assigned}, {partition.partition for partition in assigned}
    return topics.pop() if len(topics) == 1 else None, partitions.pop() if len(partitions) == 1 else None
