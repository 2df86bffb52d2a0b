"""What stands around the loop of a source task in its tests: the task, its chain and what becomes of its offsets."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from connect.api.source import RecordMetadata, SourceTask
from connect.data.batch import SourceBatch
from connect.data.record import SourceRecord
from connect.delivery import acknowledged
from connect.delivery.acknowledged import AcknowledgedOutput
from connect.delivery.meter import SourceMeter
from connect.delivery.source import Source
from connect.delivery.source_errors import SourceDeadLetters, SourceErrors
from connect.errors import ConnectError
from connect.pipeline import Chain, ErrorPolicy
from connect.pipeline.dead_letters import DeadLetterSettings
from connect.telemetry.metrics import Registry
from connect.worker import source_loop
from connect.worker.control import SourceContext
from connect.worker.progress import ProgressReport
from connect.worker.source_loop import SourceLoop

from .fakes import Clock, FakeControl, FakeProducer, NotesCalls

Polled = SourceBatch | Iterable[SourceRecord] | None


class Task(NotesCalls, SourceTask):
    """Notes its calls; its polls do what the script says, and after the last the task is to stop."""

    def __init__(self, calls: list[Any], control: FakeControl) -> None:
        super().__init__(calls)
        self.control = control
        self.script: deque[Callable[[], Polled]] = deque()
        self.done: list[tuple[Any, RecordMetadata | None]] = []
        self.on_start: Callable[[], None] = lambda: None

    def start(self, config: Mapping[str, str]) -> None:
        self.calls.append("start")
        self.on_start()
        self.fail("start")

    def poll(self) -> Polled:
        self.calls.append("poll")
        if not self.script:
            self.control.stopping = True
            return None
        return self.script.popleft()()

    def commit(self) -> None:
        self.calls.append("commit")
        self.fail("commit")

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        self.done.append((record.value, metadata))


class Setting:
    """A source task, its loop and the fakes around it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, task: type[Task] = Task) -> None:
        self.calls: list[Any] = []
        self.clock = Clock()
        monkeypatch.setattr(source_loop, "time", self.clock)
        monkeypatch.setattr(acknowledged, "time", self.clock)
        self.control = FakeControl(self.clock, self.calls)
        self.task = task(self.calls, self.control)
        self.task.context = SourceContext("test", 0, {}, Registry().labelled(), self.control)
        self.chain = Chain([], ErrorPolicy())
        self.stored: list[dict[str, Any]] = []
        self.refuse_stores = 0
        self.producer: FakeProducer
        self.at_once = True
        self.dead_letters = False
        self.report = ProgressReport(self.control, Registry())
        self.loop = SourceLoop(self.task, {}, self.chain, self._output, self.control, self.report, 5.0)

    def _output(self, meter: SourceMeter) -> AcknowledgedOutput:
        self.calls.append("producer")
        errors = SourceErrors(self.chain.policy)
        if self.dead_letters:
            settings = DeadLetterSettings("dead", 1, 1, context=False)
            errors = SourceDeadLetters(self.chain.policy, settings, "test", 0, transactions=False)
        self.producer = FakeProducer(errors.refuse, self.calls)
        self.producer.at_once = self.at_once
        source = Source(self.task, self.chain, errors, self.control, meter)
        return AcknowledgedOutput(source, self.producer, self.store, 60.0)

    def store(self, entries: list[tuple[dict[str, Any], dict[str, Any] | None]]) -> None:
        if self.refuse_stores:
            self.refuse_stores -= 1
            raise ConnectError("the disk is full")
        self.calls.append("store")
        self.stored.append({partition["file"]: offset and offset["position"] for partition, offset in entries})

    def run(self, *polls: Callable[[], Polled]) -> None:
        self.task.script.extend(polls)
        self.loop.run(lambda _: self.calls.append("started"))

    def lets(self, seconds: float) -> Callable[[], None]:
        return lambda: setattr(self.clock, "now", self.clock.now + seconds)

    def acknowledges(self, count: int) -> Callable[[], None]:
        return lambda: self.producer.acknowledge(count)

    def moved(self, *which: str) -> list[Any]:
        return [call for call in self.calls if call in which]


def record(value: int, file: str = "a") -> SourceRecord:
    return SourceRecord("t", value, source_partition={"file": file}, source_offset={"position": value + 1})


def gives(*values: int, file: str = "a") -> Callable[[], list[SourceRecord]]:
    return lambda: [record(value, file) for value in values]


def nothing() -> None:
    return None
