"""SourceRun: a source connector in a unit test, without Kafka and without processes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from connect.api.connector import SourceConnector
from connect.api.source import RecordMetadata, SourceTask
from connect.data.batch import SourceBatch
from connect.data.record import SourceRecord
from connect.delivery.acknowledged import AcknowledgedOutput
from connect.delivery.meter import SourceMeter
from connect.delivery.source import Source
from connect.delivery.source_errors import SourceErrors
from connect.errors import ConnectError, RetriableError
from connect.kafka.writing.produce import BatchProducer
from connect.storage.offsets import MemoryOffsetStore
from connect.telemetry.metrics import Registry
from connect.testing._broker import MemoryBroker, MemoryProducer, Message, Refusal
from connect.testing._connector import ConnectorRun, PluginRun, RunningTask, Tap, converts, encoding_chain
from connect.testing._control import MemoryControl
from connect.testing._turns import Blocked, Turns
from connect.worker.control import Control, SourceContext
from connect.worker.progress import ProgressReport
from connect.worker.source_loop import SourceLoop

#: How often in a row a poll may raise RetriableError before a run gives up.
_TRIES = 100
_IDLE_S = 0.002

Offset = tuple[Mapping[str, Any], Mapping[str, Any]]


class SourceRun(PluginRun[SourceConnector, SourceTask, "_Task"]):
    """Runs a source connector and its tasks in memory, through the loop that a worker uses.

        with SourceRun(LinesConnector, {"file": "in.txt", "topic": "lines"}) as run:
            run.poll_until(2)
            assert [record.value for record in run.records] == ["a", "b"]

    A task runs only while one of its methods runs, so nothing happens in the background. Errors of a plug-in are raised
    by the method that called it. Records are acknowledged at once unless `hold` says otherwise, and offsets are stored
    as soon as that is allowed.

    Args:
        connector: a class, or an instance.
        config: as a user writes it: transformations and `errors.*` work; with `key.converter` and `value.converter`
            records are also encoded, see `messages`.
        offsets: pairs of source partition and offset that are already stored.
        timeout: of a call of the plug-in, or `poll_until`, in seconds.
    """

    def __init__(
        self,
        connector: SourceConnector | type[SourceConnector],
        config: Mapping[str, str],
        *,
        offsets: Iterable[Offset] = (),
        timeout: float = 10.0,
    ) -> None:
        self._offsets = MemoryOffsetStore()
        self._broker = MemoryBroker()
        super().__init__(connector, config, self._offsets, timeout)
        self._offsets.set(self._run.name, list(offsets))

    def reconfigure(self) -> None:
        """Request task configurations from the connector again, and run those. See `reconfiguration_requested`."""
        self._stop_tasks()
        self._start_tasks()

    # Reading.

    def poll_until(self, count: int) -> list[SourceRecord]:
        """Poll until there are this many `records`, and return them.

        Raises:
            AssertionError: they did not arrive in time.
        """
        deadline = time.monotonic() + self._timeout
        while len(self._broker.sent) < count:
            if time.monotonic() > deadline:
                refused = next((f" The last poll raised: {t.task.refused}" for t in self._tasks if t.task.refused), "")
                raise AssertionError(
                    f"{count} records were wanted, {len(self._broker.sent)} came in {self._timeout:g} s.{refused}"
                )
            if not self._poll_each():
                time.sleep(_IDLE_S)  # whatever feeds the source runs in another thread
        return self.records

    def poll_all(self) -> list[SourceRecord]:
        """Poll until no task has more for now, and return all `records`.

        Raises:
            RetriableError: a task raised it a hundred times in a row.
        """
        while self._poll_each():
            for running in self._tasks:
                if running.task.refused and running.task.refusals >= _TRIES:
                    raise running.task.refused
        return self.records

    def poll(self) -> list[SourceRecord]:
        """Poll each task once. Returns the new records."""
        before = len(self._broker.sent)
        self._poll_each()
        return self.records[before:]

    def begin_poll(self) -> None:
        """Have each task enter its poll and wait there, for a test of its end: `stop`, for example."""
        for running in self._tasks:
            running.begin_poll(self._timeout)

    # The broker's side.

    @property
    def records(self) -> list[SourceRecord]:
        """Every record that the broker accepted, in order, as transformations left it."""
        return [record for record, _ in self._broker.sent]

    @property
    def messages(self) -> list[Message]:
        """The same as stored in Kafka, in bytes.

        Raises:
            ConnectError: the configuration names no converters.
        """
        if not converts(self._run.config):
            raise ConnectError("There are no bytes: name key.converter and value.converter in the configuration.")
        return [message for _, message in self._broker.sent]

    @property
    def offsets(self) -> list[Offset]:
        """Pairs of source partition and offset, as they are stored."""
        return list(self._offsets.all(self._run.name))

    def hold(self) -> None:
        """From now on the broker accepts records but does not acknowledge them before `acknowledge`."""
        self._broker.holding = True

    def acknowledge(self, count: int | None = None) -> None:
        """Acknowledge held records, the oldest first, and store the offsets that this allows.

        Args:
            count: how many; None all of them, and later ones at once.
        """
        self._broker.holding = count is not None
        self._broker.allowed = count or 0
        for running in self._tasks:
            running.follow(self._timeout)
        self._broker.allowed = 0

    def refuse(self, count: int = 1, code: str = "MSG_SIZE_TOO_LARGE", text: str = "Message size too large") -> None:
        """The next records that are sent are refused for good.

        Args:
            count: how many.
            code, text: as Kafka says it.
        """
        self._broker.refusals.extend([Refusal(code, text)] * count)

    # What there is to look at.

    @property
    def reconfiguration_requested(self) -> bool:
        """Whether the connector requested new task configurations."""
        return self._run.context.reconfigure

    @property
    def polled(self) -> list[SourceBatch]:
        """The results of each poll of the running tasks, before transformations; empty ones left out."""
        return [batch for running in self._tasks for batch in running.task.batches]

    # Inside.

    def _make_task(self, plugin: SourceTask, number: int, config: Mapping[str, str]) -> _Task:
        return _Task(plugin, number, config, self._run, self._offsets, self._broker, self._registry)

    def _poll_each(self) -> bool:
        """One turn of each task. Whether any of them is to be polled again at once."""
        if self._run.context.error is not None:
            error, self._run.context.error = self._run.context.error, None
            raise error
        for running in self._tasks:
            running.poll(self._timeout)
        return any(running.task.more for running in self._tasks)


class _Task(RunningTask):
    """One task with its loop."""

    def __init__(
        self,
        plugin: SourceTask,
        number: int,
        config: Mapping[str, str],
        run: ConnectorRun[SourceConnector],
        offsets: MemoryOffsetStore,
        broker: MemoryBroker,
        registry: Registry,
    ) -> None:
        self.turns = Turns(self._work, f"{run.name}-{number}")
        self.control = MemoryControl(run.name, offsets, self.turns.pause)
        control = cast("Control", self.control)
        plugin.context = SourceContext(
            run.name, number, config, registry.labelled(connector=run.name, task=str(number)), control
        )
        # The loop treats a task that tells its upstream in another way.
        tells_upstream = type(plugin).commit is not SourceTask.commit
        self.task = (_WatchedTeller if tells_upstream else _Watched)(plugin, self.control)
        self.task.context = plugin.context
        plugin.context.exit_stack.push(self._note_closing)
        self._tap = Tap()
        self.chain = encoding_chain(run.config, self._tap, self.control.sleep)
        self._loop = SourceLoop(
            self.task,
            config,
            self.chain,
            lambda meter: self._output(broker, meter),
            control,
            ProgressReport(control, registry),
            graceful=0,
        )

    def poll(self, timeout: float) -> None:
        """Let the task poll once, send the records, and store what is acknowledged."""
        self._want_poll()
        self.turns.take(timeout)

    def begin_poll(self, timeout: float) -> None:
        """Let the task enter a poll, and come back at once."""
        self._want_poll()
        self.turns.begin()
        if not self.task.entered.wait(timeout):
            raise Blocked("The task is not polled now: it is paused, or waits for acknowledgements.")

    def follow(self, timeout: float) -> None:
        """Let the loop follow a pause and store what is acknowledged, without a poll."""
        self.task.polls = 0
        self.turns.take(timeout)

    def _want_poll(self) -> None:
        self.task.polls, self.task.more = 1, False
        self.task.entered.clear()

    def _work(self) -> None:
        self._loop.run(lambda _: None)

    def _output(self, broker: MemoryBroker, meter: SourceMeter) -> AcknowledgedOutput:
        errors = SourceErrors(self.chain.policy)
        producer = cast("BatchProducer", MemoryProducer(broker, self._records, errors.refuse))
        source = Source(self.task, self.chain, errors, self.control, meter)
        return AcknowledgedOutput(source, producer, self.control.store_offsets, interval=0)

    def _records(self, encoded: SourceBatch) -> Sequence[SourceRecord]:
        """The records of an encoded batch: the output of transformations, without what encoding dropped."""
        if not len(encoded):
            return []
        kept = set(encoded.rows)
        batch: SourceBatch = self._tap.batch
        return [record for record, row in zip(batch.records(), batch.rows, strict=True) if row in kept]


class _Watched(SourceTask):
    """The task, seen by the loop: gives the turn to the test before each poll, and records its calls.

    Attributes:
        polls: the number of polls that the test wants; otherwise the loop gets no records.
        entered: set during and after the plug-in's `poll`.
        more: whether the last poll had records, or should be repeated.
        refused, refusals: the RetriableError of the last poll, and their number in a row.
        batches: of all polls.
        error: of `stop`.
    """

    def __init__(self, plugin: SourceTask, control: MemoryControl) -> None:
        self.plugin = plugin
        self.polls = 0
        self.entered = threading.Event()
        self.more = False
        self.refused: RetriableError | None = None
        self.refusals = 0
        self.batches: list[SourceBatch] = []
        self.error: Exception | None = None
        self.acknowledges_records = plugin.acknowledges_records  # type: ignore[misc]  # as the task's class has it
        self._control = control

    def start(self, config: Mapping[str, str]) -> None:
        self.plugin.start(config)

    def poll(self) -> SourceBatch | None:
        self._control.turn()
        self._control.polled = True
        self.more = False
        if not self.polls:
            return None
        self.polls -= 1
        self.entered.set()
        try:
            polled = self.plugin.poll()
        except RetriableError as error:
            self.refused, self.refusals, self.more = error, self.refusals + 1, True
            raise
        self.refused, self.refusals = None, 0
        if polled is None:
            return None
        batch = polled if isinstance(polled, SourceBatch) else SourceBatch.of(polled)
        if len(batch):
            self.more = True
            self.batches.append(batch)
        return batch

    def acknowledged_rows(self, batch: SourceBatch) -> Sequence[int] | None:
        return self.plugin.acknowledged_rows(batch)

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        self.plugin.commit_record(record, metadata)

    def stop(self) -> None:
        try:
            self.plugin.stop()
        except Exception as error:
            self.error = error
            raise


class _WatchedTeller(_Watched):
    """A task with `commit` or `commit_record`."""

    def commit(self) -> None:
        self.plugin.commit()
