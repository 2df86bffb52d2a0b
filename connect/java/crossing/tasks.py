"""Java's tasks in a loop of Python: polled and put a batch at a time, between converters and transformations of Python.

With `engine=worker` a Java connector keeps its own code, and the rest of the path is this project's: its chain, error
handling, transactions, metrics and commits. The contexts that Java's tasks receive lead to those of Python's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from functools import cached_property
from queue import SimpleQueue
from typing import Any, ClassVar, Final, TypeVar

from connect.api import RecordMetadata, SinkTask, SourceTask
from connect.api.sink import Offsets
from connect.data.batch import SinkBatch, SourceBatch
from connect.data.record import SinkRecord, SourceRecord, TopicPartition
from connect.java import jvm
from connect.java.crossing.classes import crossing
from connect.java.logs import logs_of
from connect.java.offsets import offset_reader
from connect.java.stand_in import loaders

T = TypeVar("T")
_API: Final = "org.apache.kafka.connect."
#: In place of the offset of a record that was not written. -1 is one that is not known.
_DROPPED: Final = -2
#: How long `poll` waits for Java's, which may take as long as it likes; and while Java's task is to hear of records, as
#: its poll may wait for that.
_POLL_S: Final = 0.5
_UNTOLD_POLL_S: Final = 0.02
#: How long a source that stops waits for a poll. Java's `stop` then comes from another thread, and may end that.
_LAST_POLL_S: Final = 1.0


class _JavaTask:
    """Java's task behind a task.

    Attributes:
        java_class: the task's class.
        connector: the full name of its connector's class, whose class loader it has.
        folder: of its plug-in.
    """

    java_class: ClassVar[Any]
    connector: ClassVar[str]
    folder: ClassVar[str | None]
    context: Any

    def _begin(self, config: Mapping[str, str], context: Any) -> None:
        jvm.attach()
        self.context.exit_stack.callback(jvm.detach)
        self.context.exit_stack.enter_context(logs_of(f"{self.context.connector}-{self.context.task_id}"))
        self._crossing = crossing()
        self._on_its_thread(lambda: self._create(config, context))

    def _create(self, config: Mapping[str, str], context: Any) -> None:
        plugins = loaders(self.folder).plugins
        self._task = self._call("<init>", lambda: plugins.newTask(self.java_class))
        self._call("initialize", lambda: self._task.initialize(context))
        self._call("start", lambda: self._task.start(jvm.to_map(config)))

    @cached_property
    def _measures(self) -> Any:
        """Java's PluginMetrics, for a task that asks for it."""
        made = jvm.plugin_metrics(connector=self.context.connector, task=str(self.context.task_id))
        self.context.exit_stack.callback(made.close)
        return made

    def stop(self) -> None:
        """See `SourceTask` and `SinkTask`."""
        self._call("stop", self._task.stop)

    def _on_its_thread(self, call: Callable[[], T]) -> T:
        """Run what Kafka Connect runs on the task's own thread."""
        return call()

    def _call(self, name: str, call: Callable[[], T]) -> T:
        with loaders(self.folder).of(self.connector):
            return jvm.translated(call, f"{self.java_class.getName()}.{name}")


class _Thread:
    """A thread on which Java's task begins, is polled and ends, while others tell it what was written.

    Args:
        name: in Java, by which it is known whose log lines are its.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._asked: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def begin(self, call: Callable[[], T]) -> Future[T]:
        answer: Future[T] = Future()
        self._asked.put((answer, call))
        return answer

    def end(self) -> None:
        """After what it does."""
        self._asked.put(None)

    def _run(self) -> None:
        jvm.attach(self._name)
        try:
            while (asked := self._asked.get()) is not None:
                answer, call = asked
                try:
                    answer.set_result(call())
                except BaseException as error:
                    answer.set_exception(error)
                del asked, answer, call  # the records of a poll
        finally:
            jvm.detach()


class JavaSourceTask(_JavaTask, SourceTask):
    """A source task of Java. See `SourceTask`.

    Java's `poll` may wait as long as it likes: for data, and for `commitRecord` and `commit`, which Kafka Connect calls
    from other threads. So it has a thread of its own.
    """

    acknowledges_records = True

    def start(self, config: Mapping[str, str]) -> None:
        self._boundaries: list[tuple[str, Any]] = []
        self._acknowledged: list[tuple[int, RecordMetadata | None]] = []
        self._untold = 0  # records, of which Java's task is to hear
        self._polling: Future[Any] | None = None
        self._thread = _Thread(f"task-thread-{self.context.connector}-{self.context.task_id}")
        self.context.exit_stack.callback(self._thread.end)
        self._begin(config, self._java_context())
        self._source = self._crossing.Source(self._task)
        self._tells = bool(self._source.tells())

    def poll(self) -> SourceBatch | None:
        from connect.java.crossing.batches import polled

        self._tell()
        if self._polling is None:
            self._polling = self._thread.begin(lambda: self._call("poll", self._source.poll))
        if not wait((self._polling,), _UNTOLD_POLL_S if self._untold else _POLL_S).done:
            return None
        polling, self._polling = self._polling, None
        block = polling.result()
        batch = None if block is None else polled(block)
        if self._tells and batch is not None:
            self._untold += len(batch)
        self._end_transactions(batch)
        return batch

    def acknowledged_rows(self, batch: SourceBatch) -> Sequence[int] | None:
        return None if self._tells else ()

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        number: int = record.source_offset.number  # type: ignore[attr-defined]  # a NumberedOffset
        self._acknowledged.append((number, metadata))

    def commit(self) -> None:
        self._tell()
        self._call("commit", self._task.commit)

    def stop(self) -> None:
        try:
            self._tell()
        finally:
            if self._polling is None or wait((self._polling,), _LAST_POLL_S).done:
                self._on_its_thread(super().stop)
            else:
                super().stop()

    def _on_its_thread(self, call: Callable[[], T]) -> T:
        return self._thread.begin(call).result()

    def _tell(self) -> None:
        """Java's task hears of the records that were written, in one call."""
        told, self._acknowledged = self._acknowledged, []
        if not told:
            return
        self._untold -= len(told)
        topics = list(dict.fromkeys(each.topic for _, each in told if each is not None))
        index = {topic: number for number, topic in enumerate(topics)}
        numbers = [number for number, _ in told]
        of_topic = [0 if each is None else index[each.topic] for _, each in told]
        partitions = [0 if each is None else each.partition for _, each in told]
        offsets = [_DROPPED if each is None else each.offset for _, each in told]
        self._call("commitRecord", lambda: self._source.written(numbers, topics, of_topic, partitions, offsets))

    def _end_transactions(self, batch: SourceBatch | None) -> None:
        """What the task asked of its transaction while it polled. A record may be in a later batch."""
        asked, self._boundaries = self._boundaries, []
        for name, record in asked:
            end = getattr(self.context.transaction, name)
            row = -1 if record is None or batch is None else int(self._source.row(record))
            if record is None:
                end()
            elif batch is None or row < 0:
                self._boundaries.append((name, record))
            else:
                end(batch.records()[row])

    def _java_context(self) -> Any:
        reader = offset_reader(self.context.offsets)
        transaction = None
        if self.context.transaction is not None:
            asks = self._boundaries_asked
            transaction = jvm.proxy(
                f"{_API}source.TransactionContext",
                {"commitTransaction": asks("commit"), "abortTransaction": asks("abort")},
            )
        return jvm.proxy(
            f"{_API}source.SourceTaskContext",
            {
                "configs": lambda: jvm.to_map(self.context.configs),
                "offsetStorageReader": lambda: reader,
                "transactionContext": lambda: transaction,
                "pluginMetrics": lambda: self._measures,
            },
        )

    def _boundaries_asked(self, name: str) -> Callable[..., None]:
        def ask(record: Any = None) -> None:
            self._boundaries.append((name, record))

        return ask


class JavaSinkTask(_JavaTask, SinkTask):
    """A sink task of Java. See `SinkTask`."""

    def start(self, config: Mapping[str, str]) -> None:
        self._thread = threading.get_ident()
        self._put: dict[int, SinkBatch] = {}  # by their numbers, those of which a record may be reported
        self._last = -1
        self._reported: list[tuple[Any, Any]] = []
        self._begin(config, self._java_context())
        self._sink = self._crossing.Sink(self._task)

    def open(self, partitions: Sequence[TopicPartition]) -> Offsets | None:
        self._call("open", lambda: self._task.open(_to_java(partitions)))
        return None

    def put(self, batch: SinkBatch) -> None:
        from connect.java.crossing.batches import of_records

        number = -1
        if len(batch) and self.context.errant_records is not None:
            if self._put.get(self._last) is not batch:  # otherwise it comes again
                self._last += 1
                self._put[self._last] = batch
            number = self._last
        block = of_records(batch)
        self._call("put", lambda: self._sink.put(number, block))
        self._report()

    def pre_commit(self, offsets: Offsets) -> Offsets:
        metadata = jvm.java("org.apache.kafka.clients.consumer.OffsetAndMetadata")
        asked = jvm.java("java.util.HashMap")()
        for partition, offset in offsets.items():
            asked.put(_partition(partition), metadata(offset))
        self._report()
        found = self._call("preCommit", lambda: self._task.preCommit(asked))
        self._report()
        entries = [] if found is None else found.entrySet()
        durable = {_from_java(each.getKey()): int(each.getValue().offset()) for each in entries}
        # A task that keeps its own offsets says nothing of what is durable; what it has let go it cannot report.
        kept = set(map(int, self._sink.kept()))
        self._put = {n: batch for n, batch in self._put.items() if n in kept and self._waits(batch, durable)}
        return {partition: offset for partition, offset in durable.items() if partition in offsets}

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self._call("close", lambda: self._task.close(_to_java(partitions)))

    def _waits(self, batch: SinkBatch, durable: Offsets) -> bool:
        """Whether records of a batch, of partitions that this task still has, are not durable yet."""
        following = batch.next_offsets().items()
        mine = self.context.assignment
        return any(offset > durable.get(partition, -1) for partition, offset in following if partition in mine)

    # What Java's task asks for.

    def _java_context(self) -> Any:
        context = self.context

        def offset(one: Any, place: Any = None) -> None:
            if place is None:
                context.rewind({_from_java(each.getKey()): int(each.getValue()) for each in one.entrySet()})
            else:
                context.rewind({_from_java(one): int(place)})

        reporter = jvm.proxy(f"{_API}sink.ErrantRecordReporter", {"report": self._asked_to_report})
        accepts = context.errant_records is not None
        return jvm.proxy(
            f"{_API}sink.SinkTaskContext",
            {
                "configs": lambda: jvm.to_map(context.configs),
                "offset": offset,
                "timeout": lambda milliseconds: context.timeout(int(milliseconds)),
                "assignment": lambda: jvm.java("java.util.HashSet")(_to_java(context.assignment)),
                "pause": lambda partitions: context.pause(*map(_from_java, partitions)),
                "resume": lambda partitions: context.resume(*map(_from_java, partitions)),
                "requestCommit": context.request_commit,
                "errantRecordReporter": lambda: reporter if accepts else None,
                "pluginMetrics": lambda: self._measures,
            },
        )

    def _asked_to_report(self, record: Any, error: Any) -> Any:
        """A record is reported, perhaps by a thread of the connector's: the task's own thread does the rest.

        It does so before offsets are committed, so that nobody has to wait, and `put` may wait for that thread.
        """
        self._reported.append((record, error))
        if threading.get_ident() == self._thread:
            self._report()
        return jvm.java("java.util.concurrent.CompletableFuture").completedFuture(None)

    def _report(self) -> None:
        while self._reported:
            record, error = self._reported.pop(0)
            failure = jvm.as_error(error, f"{self.java_class.getName()} cannot write the record")
            self.context.errant_records.report(self._record(record), failure)

    def _record(self, record: Any) -> SinkRecord:
        """The record of Python's that Java's was made of."""
        origin = str(record.originalTopic()), int(record.originalKafkaPartition())
        offset = int(record.originalKafkaOffset())
        for batch in reversed(self._put.values()):
            rows = zip(batch.original_topics, batch.original_partitions, batch.offsets, strict=True)
            for row, (topic, partition, at) in enumerate(rows):
                if at == offset and (topic, partition) == origin:
                    return batch.records()[row]
        raise LookupError(f"{origin[0]}-{origin[1]} at offset {offset} is no record that was put and not committed.")


def _partition(partition: TopicPartition) -> Any:
    return jvm.java("org.apache.kafka.common.TopicPartition")(partition.topic, partition.partition)


def _to_java(partitions: Sequence[TopicPartition] | frozenset[TopicPartition]) -> Any:
    made = jvm.java("java.util.ArrayList")()
    for partition in partitions:
        made.add(_partition(partition))
    return made


def _from_java(partition: Any) -> TopicPartition:
    return TopicPartition(str(partition.topic()), int(partition.partition()))
