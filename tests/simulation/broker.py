"""Brokers, as far as the control plane sees them: compacted topics, transactions, and who may write in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tests.simulation.network import BROKERS, Network
from tests.simulation.scheduler import Scheduler
from tests.simulation.threads import EPOCH

#: `transaction.timeout.ms`: then the broker aborts a transaction, and its producer is fenced.
_TRANSACTION_S: Final = 20.0


class Record(NamedTuple):
    """A record of a topic. A control record has no key and no value, and ends a transaction.

    Attributes:
        by: the transactional id and its epoch, None outside of transactions.
        control: whether consumers never see it.
    """

    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int
    by: tuple[str, int] | None = None
    control: bool = False


class Topic:
    """One partition.

    Attributes:
        records: by offset; None where compaction took one.
        aborted: transactions, by id and epoch, with the offsets of records that do not count.
        open: by transactional id the offset of the first record of its open transaction.
        followers: called with the topic when there is more to read.
        on_append: called with each record that counts.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.records: list[Record | None] = []
        self.aborted: set[int] = set()
        self.open: dict[str, int] = {}
        self.followers: list[Callable[[], None]] = []
        self.on_append: list[Callable[[Record], None]] = []

    @property
    def end(self) -> int:
        """After the last record."""
        return len(self.records)

    @property
    def stable_end(self) -> int:
        """Before the first open transaction."""
        return min(self.open.values(), default=len(self.records))

    def counts(self, offset: int) -> Record | None:
        """The record at an offset, if a reader of committed records sees it."""
        record = self.records[offset]
        return None if record is None or record.control or offset in self.aborted else record

    def compact(self, before: int) -> int:
        """Remove the records before an offset that have a successor. Returns how many."""
        last: dict[bytes | None, int] = {}
        for offset in range(min(before, self.stable_end)):
            record = self.counts(offset)
            if record is not None:
                last[record.key] = offset
        removed = 0
        for offset in range(min(before, self.stable_end)):
            record = self.records[offset]
            if record is not None and not record.control and last.get(record.key, -1) != offset:
                self.records[offset] = None
                removed += 1
        return removed


class Broker:
    """All brokers.

    Attributes:
        topics: by name; made when they are first asked for.
        epochs: of transactional ids.
    """

    def __init__(self, scheduler: Scheduler, network: Network) -> None:
        self._scheduler = scheduler
        self.network = network
        self.topics: dict[str, Topic] = {}
        self.epochs: dict[str, int] = {}
        self.last: set[str] = set()  # topics of which records count after those of others in the same transaction
        self._sequences: dict[tuple[int, int], Any] = {}

    def topic(self, name: str) -> Topic:
        """A topic, made if there is none."""
        found = self.topics.get(name)
        if found is None:
            found = self.topics[name] = Topic(name)
        return found

    def append(self, name: str, key: bytes | None, value: bytes | None, by: tuple[str, int] | None = None) -> int:
        """Append a record. Returns its offset."""
        topic = self.topic(name)
        record = Record(topic.end, key, value, int((self._scheduler.now + EPOCH) * 1000), by)
        topic.records.append(record)
        if by is not None:
            if by[0] not in topic.open:
                topic.open[by[0]] = record.offset
                self._scheduler.after(_TRANSACTION_S, self._expires, topic, by, record.offset)
        else:
            for call in topic.on_append:
                call(record)
        self._more(topic)
        return record.offset

    def produce(
        self,
        sent: tuple[int, int],
        name: str,
        records: list[tuple[bytes | None, bytes | None]],
        by: tuple[str, int] | None,
    ) -> Any:
        """Handle a request of an idempotent producer: one that was handled before has the same answer.

        Args:
            sent: the producer and the number of its request.
            by: its transactional id and epoch.

        Returns:
            the offsets, or the name of an error.
        """
        known = self._sequences.get(sent)
        if known is not None:
            return known
        if by is not None and self.epochs.get(by[0]) != by[1]:
            return "_FENCED"
        offsets = [self.append(name, key, value, by) for key, value in records]
        self._sequences[sent] = offsets
        return offsets

    def _expires(self, topic: Topic, by: tuple[str, int], first: int) -> None:
        if topic.open.get(by[0]) == first and self.epochs.get(by[0]) == by[1]:
            self.init(by[0])

    # Transactions.

    def init(self, transactional_id: str) -> int:
        """Take over a transactional id: its open transaction is aborted. Returns the new epoch."""
        epoch = self.epochs.get(transactional_id, -1)
        if epoch >= 0:
            self._end((transactional_id, epoch), commit=False)
        self.epochs[transactional_id] = epoch + 1
        return epoch + 1

    def end(self, by: tuple[str, int], *, commit: bool) -> str:
        """End a transaction. Returns the name of an error, or nothing."""
        if self.epochs.get(by[0]) != by[1]:
            return "_FENCED"
        self._end(by, commit=commit)
        return ""

    def _end(self, by: tuple[str, int], *, commit: bool) -> None:
        for topic in sorted(self.topics.values(), key=lambda topic: topic.name in self.last):
            first = topic.open.pop(by[0], None)
            if first is None:
                continue
            for record in topic.records[first:]:
                if record is None or record.by != by or record.control:
                    continue
                if not commit:
                    topic.aborted.add(record.offset)
                else:
                    for call in topic.on_append:
                        call(record)
            topic.records.append(Record(topic.end, None, None, 0, by, control=True))
            self._more(topic)

    def _more(self, topic: Topic) -> None:
        for follower in topic.followers:
            follower()


__all__ = ["BROKERS", "Broker", "Record", "Topic"]
