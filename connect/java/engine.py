"""The engine of Java connectors' tasks: Kafka Connect's own worker, in a JVM within the task's process.

Records never cross into Python: `org.apache.kafka.connect.runtime.Worker` polls or puts, converts, transforms, handles
errors and keeps offsets as at home. The task is the herder of that worker: it starts the one task, pauses and stops it,
and receives its status. Tasks of one connector share a process and its JVM, unless `java.isolation` says otherwise;
each has a worker of its own there. A plug-in that calls System.exit or fills the heap harms its own connector.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar, Final

from connect.api.engine import JAVA_ENGINE, Engine, EngineProgress, EngineTask, EngineTaskContext
from connect.errors import ConnectError
from connect.java import jvm
from connect.java.logs import logs_of
from connect.java.offsets import offset_store
from connect.java.rehearsal import rehearse
from connect.java.runtime import RUNTIME, is_distributed, new_worker, worker_config
from connect.java.settings import definition_of
from connect.plugins import PluginKind, Plugins
from connect.plugins.clear_secrets import clear_secrets
from connect.settings import Definition
from connect.telemetry.catalogue import BY_JAVA, KAFKA
from connect.telemetry.redaction import redactor

_LOOK_S: Final = 0.2
_READ: Final = ("source-record-poll-total", "sink-record-read-total")
_WRITTEN: Final = ("source-record-write-total", "sink-record-send-total")
_ERRORS: Final = ("total-record-failures",)
#: Groups of Kafka Connect's metrics that are told as they are. How the task is, its own worker says.
_TOLD: Final = frozenset(
    (each.group, each.name)
    for each in KAFKA
    if each.group in {"connector-task-metrics", "source-task-metrics", "sink-task-metrics", "task-error-metrics"}
    and each.kind != "text"
)


class JavaEngine(Engine):
    """Runs Java connectors. Their tasks are those that the connector configures, as on the worker."""

    name = JAVA_ENGINE
    spreads: ClassVar[bool] = False
    keeps_position: ClassVar[bool] = False

    def prepare(self, worker_config: Mapping[str, str], folder: str | None) -> None:
        jvm.start()
        jvm.attach()
        try:
            if folder:
                jvm.PluginLoaders.keep([folder])
            rehearse(worker_config, self._run_for_a_moment)
        finally:
            jvm.detach()

    def _run_for_a_moment(self, connector: type[Any], context: Any) -> None:
        task = JavaTask(connector)
        task.context = context
        with context.exit_stack:
            task.start(paused=True)
            task.stop()

    def task(self, connector: type[Any]) -> EngineTask:
        return JavaTask(connector)


class JavaTask(EngineTask):
    """One task of a Java connector. See `EngineTask`.

    Args:
        connector: the stand-in of its class.
    """

    context: EngineTaskContext

    def __init__(self, connector: type[Any]) -> None:
        self._connector = connector
        self._events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._paused = self._held = False
        self._metrics: dict[tuple[str, str], Any] = {}

    def start(self, *, paused: bool) -> None:
        context = self.context
        jvm.start()
        named = f"{context.connector}-{self._number()}"
        jvm.attach(named)
        context.exit_stack.callback(jvm.detach)
        context.exit_stack.enter_context(logs_of(named))
        loaders = context.exit_stack.enter_context(jvm.PluginLoaders.shared(self._folders()))
        self._paused = paused
        self._states = jvm.java(RUNTIME + "TargetState")
        self._worker = jvm.translated(lambda: self._made(loaders), "Kafka Connect's worker does not start")
        context.exit_stack.callback(self._close)
        self._id = jvm.java("org.apache.kafka.connect.util.ConnectorTaskId")(context.connector, self._number())
        with loaders.of(self._connector.java_class):
            self._hide_secrets(loaders)
            started = jvm.translated(self._started, "the task does not start")
        if not started:
            raise self._failure() or ConnectError("Kafka Connect's worker did not start the task.")

    def watch(self, seconds: float) -> EngineProgress:
        until = time.monotonic() + seconds
        while True:
            self._follow_lease()
            try:
                failure = self._events.get(timeout=max(0.0, min(_LOOK_S, until - time.monotonic())))
            except queue.Empty:
                failure = None
            if failure is not None:
                raise jvm.as_error(failure, f"{self._connector.java_class} failed")
            if time.monotonic() >= until:
                return jvm.translated(self._progress, "the task's metrics cannot be read")

    def pause(self) -> None:
        self._paused = True
        self._aim()

    def resume(self) -> None:
        self._paused = False
        self._aim()

    def stop(self) -> None:
        jvm.translated(lambda: self._worker.stopAndAwaitTask(self._id), "the task does not stop")

    # The worker of Kafka Connect.

    def _made(self, loaders: jvm.PluginLoaders) -> Any:
        context = self.context
        config = worker_config(context.worker_config, context.connector_config, loaders)
        distributed = is_distributed(context.worker_config)
        store = offset_store(context, config, loaders.plugins, distributed=distributed)
        worker = new_worker(f"{context.connector}-{self._number()}", config, store, loaders)
        self._topics = jvm.java("org.apache.kafka.connect.storage.MemoryStatusBackingStore")()
        # It asks its herder for one thing only: where the topics that a connector uses are noted.
        herder = jvm.proxy(RUNTIME + "Herder", {"statusBackingStore": lambda: self._topics})
        field = jvm.java(RUNTIME + "Worker").class_.getDeclaredField("herder")
        field.setAccessible(True)
        field.set(worker, herder)
        worker.start()
        return worker

    def _started(self) -> bool:
        context = self.context
        number, connector = self._number(), context.connector
        connector_config = jvm.to_map({**context.connector_config, "connector.class": self._connector.java_class})
        task_config = jvm.to_map(context.configs)
        nothing = jvm.java("java.util.HashMap")
        nobody = jvm.java("java.util.HashSet")
        state = self._states.PAUSED if self._paused else self._states.STARTED
        by_task = nothing()
        by_task.put(self._id, task_config)
        by_connector = nothing()
        by_connector.put(connector, connector_config)
        counts = nothing()
        counts.put(connector, jvm.java("java.lang.Integer")(number + 1))
        states = nothing()
        states.put(connector, state)
        cluster = jvm.java("org.apache.kafka.connect.storage.ClusterConfigState")(
            0, None, counts, by_connector, states, by_task, nothing(), nothing(), nothing(), nobody(), nobody()
        )
        listener = jvm.proxy(
            RUNTIME + "TaskStatus$Listener",
            {
                "onStartup": lambda _: None,
                "onPause": lambda _: None,
                "onResume": lambda _: None,
                "onFailure": lambda _, error: self._events.put(error),
                "onShutdown": lambda _: None,
                "onDeletion": lambda _: None,
                "onRestart": lambda _: None,
            },
        )
        arguments = (self._id, cluster, connector_config, task_config, listener, state)
        if context.kind == "sink":
            return bool(self._worker.startSinkTask(*arguments))
        if context.transactional_id is None:
            return bool(self._worker.startSourceTask(*arguments))
        before = jvm.proxy("java.lang.Runnable", {"run": lambda: None})
        fenced = jvm.proxy("java.lang.Runnable", {"run": context.ask_to_begin})
        return bool(self._worker.startExactlyOnceSourceTask(*arguments, before, fenced))

    def _hide_secrets(self, loaders: jvm.PluginLoaders) -> None:
        name = self._connector.java_class
        declared = Definition()
        with suppress(ConnectError):  # what is wrong with the connector, its own start says
            found = jvm.translated(lambda: loaders.plugins.newConnector(name).config(), f"{name}.config")
            declared = declared if found is None else definition_of(found)
        redactor.remember(clear_secrets(declared, {**self.context.connector_config, **self.context.configs}))

    def _failure(self) -> ConnectError | None:
        try:
            return jvm.as_error(self._events.get_nowait(), f"{self._connector.java_class} failed")
        except queue.Empty:
            return None

    def _close(self) -> None:
        jvm.translated(self._worker.stop, "Kafka Connect's worker does not stop")

    def _number(self) -> int:
        return self.context.task_number

    def _folders(self) -> list[str]:
        """The folders of the connector's plug-in and of those in its chain."""
        context = self.context
        found = [self._connector.folder] if self._connector.folder else []
        plugins = Plugins.discover(context.plugin_path)
        names = {*context.connector_config.values(), *context.worker_config.values()}
        found += [
            ref.folder for ref in plugins.of_java() if ref.folder and ref.kind in _CHAIN
            and names & {ref.name, *ref.aliases}
        ]  # fmt: skip
        return found

    # While it runs.

    def _follow_lease(self) -> None:
        over = time.clock_gettime(time.CLOCK_BOOTTIME) >= self.context.lease_until()
        if over != self._held:
            self._held = over
            self._aim()

    def _aim(self) -> None:
        """Run it unless it is paused, or its lease has ended (P3)."""
        state = self._states.PAUSED if self._paused or self._held else self._states.STARTED
        callback = jvm.proxy("org.apache.kafka.connect.util.Callback", {"onCompletion": lambda *_: None})
        jvm.translated(
            lambda: self._worker.setTargetState(self.context.connector, state, callback), "the task cannot be paused"
        )

    def _progress(self) -> EngineProgress:
        figures = self._figures()
        for (group, name), value in figures.items():
            if value == value:  # NaN: nothing was measured lately
                self.context.metrics.gauge(BY_JAVA, value, group=group, figure=name)
        by_name = {name: value for (_, name), value in figures.items()}

        def total(names: tuple[str, ...]) -> int:
            value = sum(by_name.get(name, 0.0) for name in names)
            return 0 if value != value else int(value)

        topics = frozenset(str(each.topic()) for each in self._topics.getAllTopics(self.context.connector))
        return EngineProgress(read=total(_READ), written=total(_WRITTEN), errors=total(_ERRORS), topics=topics)

    def _figures(self) -> dict[tuple[str, str], float]:
        """Kafka Connect's metrics of the task, by group and name. Its worker has no other one."""
        if not self._metrics:
            found = self._worker.metrics().metrics().metrics()
            named = [((str(each.getKey().group()), str(each.getKey().name())), each) for each in found.entrySet()]
            self._metrics = {key: each.getValue() for key, each in named if key in _TOLD}
        return {key: float(metric.metricValue()) for key, metric in self._metrics.items()}


_CHAIN: Final = frozenset(
    {PluginKind.CONVERTER, PluginKind.HEADER_CONVERTER, PluginKind.TRANSFORMATION, PluginKind.PREDICATE}
)
