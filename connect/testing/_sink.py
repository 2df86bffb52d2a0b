"""SinkRun: a sink connector in a unit test, without Kafka and without processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from connect.api.connector import SinkConnector
from connect.api.sink import Offsets, SinkTask
from connect.data.batch import SinkBatch
from connect.data.record import SinkRecord, TopicPartition
from connect.data.schema import OPTIONAL_BYTES, Schema
from connect.delivery.context import SinkContext
from connect.delivery.retrying_consumer import SinkConsumer
from connect.delivery.sink import SinkDelivery
from connect.errors import ConnectError, RetriableError
from connect.kafka.reading.consume import RebalanceListener
from connect.pipeline.errant import PolicyReporter
from connect.pipeline.error_checks import takes_reports
from connect.settings.raw import comma_separated
from connect.storage.offsets import MemoryOffsetStore
from connect.telemetry.metrics import Registry
from connect.testing._broker import Message
from connect.testing._connector import ConnectorRun, PluginRun, RunningTask, decoding_chain
from connect.testing._consumer import MemoryConsumer, MemoryTopics
from connect.testing._control import MemoryControl
from connect.testing._turns import Turns
from connect.worker.control import Control
from connect.worker.progress import ProgressReport
from connect.worker.sink_loop import SinkLoop

_TRIES = 100
_NEVER = float("inf")


class SinkRun(PluginRun[SinkConnector, SinkTask, "_Task"]):
    """Runs a sink connector and its tasks in memory, through the loop that a worker uses.

        with SinkRun(FileStreamSinkConnector, {"file": "out.txt"}) as run:
            run.put("a", "b")
            run.commit()
        assert run.committed == {TopicPartition("test", 0): 2}

    A task runs only while one of its methods runs, so nothing happens in the background. Errors of a plug-in are raised
    by the method that called it. Nothing waits: a batch that `RetriableError` refused is put again at once, offsets are
    committed and empty batches put only when the test says so (and at the end).

    Args:
        connector: a class, or an instance.
        config: as a user writes it; `topics` is `test` by default. Transformations and `errors.*` work; with
            `key.converter` and `value.converter` what is put is bytes.
        partitions: of each topic. The tasks share them.
        batch_rows: the maximum number of records of a batch.
        timeout: of a call of the plug-in, in seconds.
    """

    def __init__(
        self,
        connector: SinkConnector | type[SinkConnector],
        config: Mapping[str, str],
        *,
        partitions: int = 1,
        batch_rows: int = 2000,
        timeout: float = 10.0,
    ) -> None:
        topics = {} if "topics" in config or "topics.regex" in config else {"topics": "test"}
        super().__init__(connector, {**topics, **config}, MemoryOffsetStore(), timeout)
        self._topics = MemoryTopics()
        self._batch_rows = batch_rows
        named = comma_separated(self._run.config.get("topics"))
        self._topic = named[0] if named else "test"
        self._partitions = [TopicPartition(name, number) for name in named for number in range(partitions)]
        #: Records that a task handed to the error policy, each with its error. Needs what a worker needs for it:
        #: a dead letter topic, retry topics or `errors.log.enable=true`.
        self.errant: list[tuple[SinkRecord, Exception]] = []
        #: How often a task refused a batch with `RetriableError`.
        self.retries = 0
        #: Whether the broker takes commits. When it does not, the task goes on, as with a broker that is away.
        self.broker_takes_commits = True
        #: What `pre_commit` was asked and what it answered.
        self.pre_commits: list[tuple[Offsets, Offsets]] = []

    # Writing.

    def put(
        self,
        *items: Any,
        topic: str | None = None,
        partition: int = 0,
        key: Any = None,
        schema: Schema | None = None,
        tries: int = _TRIES,
    ) -> list[SinkRecord]:
        """Put records into a topic and have the task accept them, as one batch if nothing else waits.

        Args:
            items: values, or a `SinkRecord` or `Message` each.
            topic, partition, key, schema: of the values.
            tries: how often a batch is put, while the task raises `RetriableError`. After fewer than a hundred the
                batch stays refused: see `deliver`.

        Returns:
            the records with their offsets.

        Raises:
            RetriableError: a hundred times in a row.
        """
        topic = topic or self._topic
        stored = [self._topics.append(_record(item, topic, partition, key, schema)) for item in items]
        new = dict.fromkeys(TopicPartition(record.topic, record.partition) for record in stored)
        if unknown := [each for each in new if each not in self._partitions]:
            self._partitions += unknown
            self._assign(unknown)
        self.deliver(tries)
        return stored

    def deliver(self, tries: int = _TRIES) -> None:
        """Have the tasks accept what waits. See `put`."""
        for running in self._tasks:
            running.settle(self._timeout, tries)

    def put_nothing(self) -> None:
        """Put an empty batch, as a worker does every one to five seconds without records."""
        for running in self._tasks:
            running.put_nothing(self._timeout)

    def commit(self) -> None:
        """Ask the tasks what is durable and commit that, as a worker does every `offset.flush.interval.ms`."""
        for running in self._tasks:
            running.delivery.request_commit()
            running.settle(self._timeout, _TRIES)

    # Partitions.

    def assign(self, *partitions: TopicPartition, task: int = 0) -> None:
        """Assign partitions to a task."""
        self._partitions += [partition for partition in partitions if partition not in self._partitions]
        self._tasks[task].move("assigned", list(partitions), self._timeout)

    def revoke(self, *partitions: TopicPartition) -> None:
        """Revoke partitions from their tasks, which may commit before."""
        self._take_away("revoked", partitions)

    def lose(self, *partitions: TopicPartition) -> None:
        """Take partitions away that another member already owns: nothing can be committed."""
        self._take_away("lost", partitions)

    # What there is to look at.

    @property
    def committed(self) -> dict[TopicPartition, int]:
        """For each partition the offset after the last committed record."""
        return dict(self._topics.committed)

    # Inside.

    def _make_task(self, plugin: SinkTask, number: int, config: Mapping[str, str]) -> _Task:
        return _Task(plugin, number, config, self._run, self._topics, self._registry, self, self._batch_rows)

    def _start_tasks(self) -> None:
        super()._start_tasks()
        self._assign(self._partitions)

    def _assign(self, partitions: Sequence[TopicPartition]) -> None:
        for number, running in enumerate(self._tasks):
            mine = [
                partition for partition in partitions if self._partitions.index(partition) % len(self._tasks) == number
            ]
            if mine:
                running.move("assigned", mine, self._timeout)

    def _take_away(self, how: str, partitions: Sequence[TopicPartition]) -> None:
        for running in self._tasks:
            mine = [partition for partition in partitions if partition in running.consumer.assignment]
            if mine:
                running.move(how, mine, self._timeout)


class _Task(RunningTask):
    """One task with its loop."""

    consumer: MemoryConsumer

    def __init__(
        self,
        plugin: SinkTask,
        number: int,
        config: Mapping[str, str],
        run: ConnectorRun[SinkConnector],
        topics: MemoryTopics,
        registry: Registry,
        seen: SinkRun,
        rows: int,
    ) -> None:
        self.turns = Turns(self._work, f"{run.name}-{number}")
        self.control = MemoryControl(run.name, MemoryOffsetStore(), self.turns.pause)
        control = cast("Control", self.control)
        self.chain = decoding_chain(run.config, self.control.sleep)
        reporter = _Reporter(self.chain.policy, plugin, seen.errant) if takes_reports(run.config) else None
        self.task = _Watched(plugin, self.control, seen)
        self.delivery = self.task.delivery = SinkDelivery(self.task, self.chain, control.await_lease, reporter=reporter)
        metrics = registry.labelled(connector=run.name, task=str(number))
        plugin.context = self.task.context = context = _Context(run.name, number, config, metrics, self.delivery)
        context.exit_stack.push(self._note_closing)
        self._topics = topics
        self._seen = seen
        self._rows = rows
        self._loop = SinkLoop(
            self.delivery, config, self._make_consumer, control, ProgressReport(control, registry), _NEVER
        )
        context.owner = self._loop.partitions

    def follow(self, timeout: float) -> None:
        self.settle(timeout, _TRIES)

    def settle(self, timeout: float, tries: int) -> None:
        """Let the loop run until there is nothing left to do. Raises RetriableError after a hundred tries."""
        self.task.tries = 0
        fresh = False  # the loop stands within a pass that knows nothing yet of what the test wants
        while True:
            self.consumer.quiet = False
            self.turns.take(timeout)
            if self.task.refused is not None:
                if self.task.tries >= _TRIES:
                    raise self.task.refused
                if self.task.tries >= tries:
                    return
            elif fresh and self.consumer.quiet:
                return
            fresh = True

    def put_nothing(self, timeout: float) -> None:
        """Have an empty batch put, unless the task is paused."""
        self.task.empty = True
        self.delivery.timeout(0)
        self.settle(timeout, _TRIES)
        self.task.empty = False

    def move(self, how: str, partitions: list[TopicPartition], timeout: float) -> None:
        """Assign or revoke partitions."""
        self.consumer.moves.append((how, partitions))
        self.settle(timeout, 1)

    def _commit(self, offsets: Offsets) -> None:
        if not self._seen.broker_takes_commits:
            raise ConnectError("Offsets were not committed: the test wants it so.")
        self._topics.committed.update(offsets)

    def _work(self) -> None:
        self._loop.run(lambda _: None)

    def _make_consumer(self, listener: RebalanceListener) -> SinkConsumer:
        self.consumer = MemoryConsumer(self._topics, listener, self.control.turn, self._commit, self._rows)
        return self.consumer


class _Context(SinkContext):
    """A run has no clock: the task's waits are ignored."""

    def timeout(self, milliseconds: int) -> None: ...


class _Reporter(PolicyReporter):
    def __init__(self, policy: Any, plugin: SinkTask, seen: list[tuple[SinkRecord, Exception]]) -> None:
        super().__init__(policy, type(plugin).__name__)
        self._seen = seen

    def report(self, record: SinkRecord, error: Exception) -> None:
        self._seen.append((record, error))
        super().report(record, error)


class _Watched(SinkTask):
    """The task, seen by the loop: records its calls, and gives the turn to the test before a batch is repeated.

    Attributes:
        refused: the RetriableError of the last `put`, None when it succeeded.
        tries: the number of puts since `settle` began.
        empty: whether the test wants an empty batch put.
        error: the first error that the task raised when it was already ending.
    """

    delivery: SinkDelivery

    def __init__(self, plugin: SinkTask, control: MemoryControl, seen: SinkRun) -> None:
        self.plugin = plugin
        self.refused: RetriableError | None = None
        self.tries = 0
        self.empty = False
        self.error: Exception | None = None
        self._control = control
        self._seen = seen

    def start(self, config: Mapping[str, str]) -> None:
        self.plugin.start(config)

    def open(self, partitions: Sequence[TopicPartition]) -> Offsets | None:
        return self.plugin.open(partitions)

    def put(self, batch: SinkBatch) -> None:
        if self.refused is not None:
            self._control.turn()
        elif not len(batch) and not self.empty:
            return
        self.empty = False
        self.tries += 1
        try:
            self.plugin.put(batch)
        except RetriableError as error:
            self.refused = error
            self._seen.retries += 1
            self.delivery.timeout(0)
            raise
        self.refused = None

    def pre_commit(self, offsets: Offsets) -> Offsets:
        try:
            answer = self.plugin.pre_commit(dict(offsets))
        except Exception as error:
            self._note(error)
            raise
        self._seen.pre_commits.append((dict(offsets), answer))
        return answer

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        try:
            self.plugin.close(partitions)
        except Exception as error:
            self._note(error)
            raise

    def stop(self) -> None:
        try:
            self.plugin.stop()
        except Exception as error:
            self._note(error)
            raise

    def _note(self, error: Exception) -> None:
        if self._control.stopping and self.error is None:
            self.error = error


def _record(item: Any, topic: str, partition: int, key: Any, schema: Schema | None) -> SinkRecord:
    if isinstance(item, SinkRecord):
        return item
    if isinstance(item, Message):
        headers: Any = item.headers
        return SinkRecord(
            item.topic,
            item.value,
            OPTIONAL_BYTES,
            item.key,
            OPTIONAL_BYTES,
            item.partition,
            0,
            item.timestamp,
            headers=headers,
        )
    return SinkRecord(topic, item, schema, key, None, partition)
