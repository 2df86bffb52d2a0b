"""Engines: they run a connector's tasks outside of the worker's own loops, such as on Spark.

`engine` of a connector, or `engine.default` of the worker, chooses one by its name. An engine consumes, converts,
transforms and writes by itself; it may have one task for a connector and distribute the work. The worker supervises it
as any task: leases, states, pausing, restarts, offsets and metrics are those of any other connector.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from connect.api.metrics import EngineMetrics
from connect.api.plugin import Plugin

#: The engine that needs no other: the worker's loops.
WORKER = "worker"
#: The one that runs connectors of Java, and nothing else.
JAVA_ENGINE = "java"


@dataclass(frozen=True, slots=True)
class EngineProgress:
    """The progress of an engine's task.

    Attributes:
        read, written: records, since `start`.
        lag: records that wait; -1 unknown.
        errors: records given up, since `start`.
        topics: that were read or written.
        busy: whether something is being written at this moment; a paused task reports the pause when nothing is.
        failing: why nothing moves although the engine tries, one line; empty when all is well.
        page: the address of a page about its work, Spark's for example; empty for none. The status shows it.
    """

    read: int = 0
    written: int = 0
    lag: int = -1
    errors: int = 0
    topics: frozenset[str] = frozenset()
    busy: bool = False
    failing: str = ""
    page: str = ""


class EngineTaskContext(Protocol):
    """The runtime's services for an engine's task. Methods are thread-safe; the exit stack is for the task's thread."""

    @property
    def connector(self) -> str:
        """The connector's name."""

    @property
    def task_number(self) -> int:
        """The task's number, from 0."""

    @property
    def kind(self) -> str:
        """What the connector is: "source" or "sink"."""

    @property
    def configs(self) -> Mapping[str, str]:
        """The task's configuration from the connector, with secrets filled in."""

    @property
    def connector_config(self) -> Mapping[str, str]:
        """The connector's configuration, with secrets filled in: converters, transformations, client overrides."""

    @property
    def worker_config(self) -> Mapping[str, str]:
        """The worker's, likewise."""

    @property
    def plugin_path(self) -> Sequence[str]:
        """Folders of plug-ins."""

    @property
    def task_target(self) -> tuple[str, str | None]:
        """The connector's task class: "module:Class", and its plug-in's folder, None if installed as a package."""

    @property
    def metrics(self) -> EngineMetrics:
        """Metrics of the connector; also for what its plug-ins measure elsewhere."""

    @property
    def exit_stack(self) -> ExitStack:
        """Closed after `stop`, or as soon as `start` has raised: see `SinkTaskContext`."""

    @property
    def transactional_id(self) -> str | None:
        """Sources: the id of the task's exactly-once writes; further producers append to it. None: at least once."""

    @property
    def offsets_topic(self) -> str | None:
        """Sources: the topic for offsets that tasks write themselves; None leaves all of them to `store_offsets`."""

    def lease_until(self) -> float:
        """The moment until which work may begin (P3), on the clock CLOCK_BOOTTIME; it advances while all is well."""

    def ask_to_begin(self) -> None:
        """Sources that deliver exactly once: return when the task, which holds its transactional id, may write.

        Raises:
            ConnectError: the connector's work was divided again meanwhile, or the task has to end.
        """

    def stopping(self) -> bool:
        """Whether the task has to end: long waits should check it."""

    def redact(self, text: str) -> str:
        """The text without secrets (P8): for output of another process."""

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        """Sources: the stored offsets of source partitions."""

    def store_offsets(self, entries: Sequence[tuple[dict[str, Any], dict[str, Any] | None]]) -> None:
        """Sources: make offsets durable; returns when they are. Raises ConnectError."""


class EngineTask(Plugin):
    """Runs one connector by an engine of its own.

    One instance lives in one process of its own and is called from one thread, in this order:

        start -> (watch | pause | resume)* -> stop

    No work may begin after the lease (P3), nor while paused. What the engine runs elsewhere must end by itself when
    this process is killed.

    Attributes:
        context: see `EngineTaskContext`; set before `start`.
    """

    context: EngineTaskContext

    @abstractmethod
    def start(self, *, paused: bool) -> None:
        """Start the engine and continue where the last task ended.

        Raising fails the task; what was opened by then is closed by `context.exit_stack`.
        """

    @abstractmethod
    def watch(self, seconds: float) -> EngineProgress:
        """Wait for at most this long, and report the progress. Raises the error that ended the engine's work."""

    @abstractmethod
    def pause(self) -> None:
        """Begin no new work; returns at once."""

    @abstractmethod
    def resume(self) -> None:
        """Continue."""

    def stop(self) -> None:
        """End within the time that the worker gives, a few seconds.

        Called once, if `start` returned, also after a later error.
        """


class Engine(Plugin):
    """One way to run connectors. Each process that uses it creates one.

    Attributes:
        name: the value of `engine` that chooses it.
        settings: the keys of a connector besides its own when it runs on this engine.
        spreads: it has one task for a connector and distributes the work itself; else the tasks are the connector's.
        keeps_position: it stores its position outside of the sink's consumer group.
    """

    name: ClassVar[str]
    spreads: ClassVar[bool] = True
    keeps_position: ClassVar[bool] = True

    def prepare(self, worker_config: Mapping[str, str], folder: str | None) -> None:
        """Load what every task needs, in a process that waits for one.

        It is called on a thread of its own; a task may start meanwhile. Raising does no harm: that task meets the same
        error.

        Args:
            worker_config: the worker's configuration, with secrets filled in.
            folder: of the plug-in whose task was the last to get a process, if it has one: the next task is likely to
                be of the same.
        """

    @abstractmethod
    def task(self, connector: type[Any]) -> EngineTask:
        """The task that runs a connector of this class. Raises ConfigError when the engine cannot run it."""

    def check(self, connector: type[Any], config: Mapping[str, str]) -> list[tuple[str, str]]:
        """Errors of a connector's configuration on this engine: key and message."""
        return []

    def knows(self, key: str) -> bool:
        """Whether a key beyond `settings` is the engine's, so that it causes no warning."""
        return False
