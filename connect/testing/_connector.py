"""A connector in a test: validated, started, asked for its tasks' configurations and ended, as by a worker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from connect.api.connector import Connector
from connect.api.metrics import PluginMetrics
from connect.data.batch import Batch
from connect.errors import ConfigError, ConnectError
from connect.pipeline import Chain, ErrorPolicy, Stage, Step
from connect.pipeline.build import converter, header_converter, transformations
from connect.pipeline.steps import Decode, DecodeHeaders, Encode, EncodeHeaders
from connect.plugins import Plugins
from connect.plugins.lifetime import Lifetime
from connect.storage.offsets import MemoryOffsetStore
from connect.telemetry.metrics import Registry
from connect.testing._control import MemoryControl
from connect.testing._turns import Turns

B = TypeVar("B", bound=Batch[Any])
C = TypeVar("C", bound=Connector)
T = TypeVar("T")
R = TypeVar("R", bound="RunningTask")

_CONVERTERS = ("key.converter", "value.converter", "header.converter")


class Context:
    """See `connect.api.connector.ConnectorContext`.

    Attributes:
        reconfigure: whether the connector requested new task configurations.
        error: that it raised on a thread of its own.
    """

    def __init__(self, name: str, metrics: PluginMetrics, offsets: MemoryOffsetStore) -> None:
        self.name = name
        self.metrics = metrics
        self.exit_stack = ExitStack()
        self.reconfigure = False
        self.error: Exception | None = None
        self._offsets = offsets

    def request_task_reconfiguration(self) -> None:
        self.reconfigure = True

    def raise_error(self, error: Exception) -> None:
        self.error = error

    def offset(self, partition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return self._offsets.get(self.name, [partition])[0]


class ConnectorRun(Generic[C]):
    """One connector through its life.

    Args:
        connector: a class, or an instance that is used again after each `stop`.
        config: as a user writes it; `name`, `connector.class` and `tasks.max` are filled in.
        offsets: of its source partitions.
        registry: for its metrics.
    """

    def __init__(
        self, connector: C | type[C], config: Mapping[str, str], offsets: MemoryOffsetStore, registry: Registry
    ) -> None:
        self._given = connector
        cls = connector if isinstance(connector, type) else type(connector)
        defaults = {"name": "test", "connector.class": f"{cls.__module__}.{cls.__qualname__}", "tasks.max": "1"}
        self.config = {**defaults, **config}
        self.name = self.config["name"]
        self.connector: C = self._make()
        self._life = Lifetime(self.connector)
        self.context = Context(self.name, registry.labelled(connector=self.name), offsets)

    def _make(self) -> C:
        return self._given() if isinstance(self._given, type) else self._given

    def start(self, *, check: bool = True) -> None:
        """Validate, unless disabled, and start.

        Raises:
            ConfigError: for the first setting that is wrong; the others are in its notes.
        """
        self.connector = self._make()
        self.connector.context = self.context
        self._life = Lifetime(self.connector)
        wrong = [
            ConfigError(value.name, text) for value in self.connector.validate(self.config) for text in value.errors
        ]
        if wrong and check:
            for other in wrong[1:]:
                wrong[0].add_note(str(other))
            raise wrong[0]
        self._life.start(self.config)

    def stop(self) -> None:
        """Stop, if it was started."""
        self._life.end()

    def task_configs(self) -> list[dict[str, str]]:
        """One for each task, checked.

        Raises:
            ConnectError: there are more than `tasks.max`.
        """
        self.context.reconfigure = False
        most = int(self.config["tasks.max"])
        configs = self.connector.task_configs(most)
        if len(configs) > most:
            raise ConnectError(
                f"task_configs({most}) gives {len(configs)} configurations. It may give fewer, not more."
            )
        task = self.connector.task_class()
        return [{**config, "task.class": f"{task.__module__}.{task.__qualname__}"} for config in configs]


class RunningTask(ABC):
    """One task with its loop, which runs only while the test waits for it.

    Attributes:
        task: the plug-in's task as the loop sees it: `plugin` is the plug-in's own, `error` what it raised at its end.
    """

    task: Any
    chain: Chain
    turns: Turns
    control: MemoryControl

    @abstractmethod
    def follow(self, timeout: float) -> None:
        """Let the loop follow the test: a pause, for example."""

    def end(self, timeout: float) -> None:
        """Stop the task. Raises what it raised at the end."""
        self.control.stopping = True
        while not self.turns.ended:
            self.turns.take(timeout)
        if self.task.error is not None:
            raise self.task.error

    def _note_closing(self, kind: object, error: BaseException | None, trace: object) -> None:
        """At the bottom of the task's exit stack: receives errors of closing it, which the loop only logs."""
        if error is not None and self.control.stopping and self.task.error is None:
            self.task.error = error


class PluginRun(ABC, Generic[C, T, R]):
    """A connector and its tasks: what runs of sources and of sinks share."""

    def __init__(
        self, connector: C | type[C], config: Mapping[str, str], offsets: MemoryOffsetStore, timeout: float
    ) -> None:
        self._registry = Registry()
        self._run = ConnectorRun(connector, config, offsets, self._registry)
        self._timeout = timeout
        self._tasks: list[R] = []

    def start(self) -> Self:
        """Validate, start the connector and its tasks, and assign a sink its partitions. `with` does it.

        Raises the errors of a start; then all that has started is ended.

        Raises:
            ConfigError: a setting is wrong.
        """
        self._run.start()
        try:
            self._start_tasks()
        except BaseException:
            with suppress(Exception):
                self.stop()
            raise
        return self

    def stop(self) -> None:
        """End tasks and connector as a worker does: what is durable is committed.

        Raises errors of `stop`, of closing `context.exit_stack`, and of a sink's `pre_commit` and `close`, which a
        worker only logs.
        """
        try:
            self._stop_tasks()
        finally:
            self._run.stop()

    def crash(self) -> None:
        """End the tasks as if their lease were lost: nothing is stored or committed any more."""
        for running in self._tasks:
            running.control.alive = False
        self._stop_tasks()

    def restart(self, config: Mapping[str, str] | None = None) -> None:
        """Stop, if not done, and start again from the stored offsets, or from those that a sink's `open` returns.

        Args:
            config: keys to change.
        """
        if self._tasks:
            self._stop_tasks()
        self._run.stop()
        self._run.config.update(config or {})
        self.start()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop()
        except Exception:
            if error is None:
                raise

    def pause(self) -> None:
        """Pause the tasks: nothing is polled or put until `resume`."""
        self._set_paused(True)

    def resume(self) -> None:
        """Continue after `pause`."""
        self._set_paused(False)

    @property
    def connector(self) -> C:
        """The connector."""
        return self._run.connector

    @property
    def tasks(self) -> list[T]:
        """The running tasks, by their numbers."""
        return [running.task.plugin for running in self._tasks]

    @property
    def task(self) -> T:
        """The only running task."""
        (task,) = self.tasks
        return task

    @property
    def skipped(self) -> int:
        """The number of records that the error policy of the running tasks has skipped."""
        return sum(running.chain.policy.counts.skipped for running in self._tasks)

    def metric(self, name: str) -> float:
        """The value of a counter or gauge of the plug-in, over all labels."""
        return sum(s.value for s in self._registry.snapshot() if s.name == name and isinstance(s.value, int | float))

    @abstractmethod
    def _make_task(self, plugin: Any, number: int, config: Mapping[str, str]) -> R:
        """One task, ready for its first turn."""

    def _start_tasks(self) -> None:
        for number, config in enumerate(self._run.task_configs()):
            running = self._make_task(self._run.connector.task_class()(), number, config)
            running.turns.take(self._timeout)
            self._tasks.append(running)

    def _stop_tasks(self) -> None:
        tasks, self._tasks = self._tasks, []
        errors: list[Exception] = []
        for running in tasks:
            try:
                running.end(self._timeout)
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def _set_paused(self, paused: bool) -> None:
        for running in self._tasks:
            running.control.paused = paused
            running.follow(self._timeout)


def converts(config: Mapping[str, str]) -> bool:
    """Whether a configuration names converters: then records of a run are bytes on Kafka's side."""
    return any(config.get(key) for key in _CONVERTERS)


def decoding_chain(config: Mapping[str, str], pause: Callable[[float], None]) -> Chain:
    """The chain between topics and a sink task."""
    plugins = Plugins.discover()
    steps: list[Step] = []
    if converts(config):
        steps += [
            Decode(converter(plugins, {}, config, "key.converter"), is_key=True),
            Decode(converter(plugins, {}, config, "value.converter"), is_key=False),
            DecodeHeaders(header_converter(plugins, {}, config)),
        ]
    return Chain([*steps, *transformations(plugins, config)], ErrorPolicy.from_config(config, pause))


def encoding_chain(config: Mapping[str, str], tap: Tap, pause: Callable[[float], None]) -> Chain:
    """The chain between a source task and topics. The tap receives the output of the transformations."""
    plugins = Plugins.discover()
    steps: list[Step] = [*transformations(plugins, config), tap]
    if converts(config):
        steps += [
            EncodeHeaders(header_converter(plugins, {}, config)),
            Encode(converter(plugins, {}, config, "key.converter"), is_key=True),
            Encode(converter(plugins, {}, config, "value.converter"), is_key=False),
        ]
    return Chain(steps, ErrorPolicy.from_config(config, pause))


class Tap:
    """A step that changes nothing and keeps the last batch."""

    stage = Stage.TRANSFORMATION
    operation = "Tap"
    apply_one = None

    def __init__(self) -> None:
        self.batch: Any = None

    def run(self, batch: B) -> B:
        self.batch = batch
        return batch

    def close(self) -> None:
        """Nothing to release."""
