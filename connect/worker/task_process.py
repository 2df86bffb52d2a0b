"""The process of one task: creates the task, its clients and its chain, runs the loop, reports how it ended.

Nothing of a plug-in is imported before this process has begun, and nothing of it runs anywhere else (P6).
"""

from __future__ import annotations

import logging
import math
import signal
import socket
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from connect.api.engine import JAVA_ENGINE, WORKER
from connect.api.sink import SinkTask
from connect.api.source import SourceTask
from connect.data.collector import freeze, tune_collector
from connect.delivery.context import SinkContext
from connect.delivery.error_outputs import ErrorOutputs, TaskConfigs
from connect.delivery.retrying_consumer import SinkConsumer
from connect.delivery.sink import SinkDelivery
from connect.delivery.traces import TaskTraces, WriteTraceparent
from connect.errors import ConnectError, one_line
from connect.kafka.clients.settings import task_client_settings
from connect.kafka.group.static_member import as_static_member
from connect.kafka.reading.consume import ROWS_PER_BATCH, BatchConsumer, RebalanceListener
from connect.pipeline import Chain, sink_chain, source_chain
from connect.pipeline.errant import PolicyReporter
from connect.pipeline.error_kinds import kind_of
from connect.pipeline.parked import RetrySettings
from connect.pipeline.put_halving import halves_puts
from connect.plugins import Plugins
from connect.plugins.clear_secrets import clear_secrets
from connect.plugins.engines import chosen_engine, load_engine
from connect.plugins.loading import load_class
from connect.settings.lineage_keys import lineage_options
from connect.settings.opentelemetry_keys import OpenTelemetryOptions
from connect.settings.subscription import subscription
from connect.settings.worker_keys import RunOptions, TapOptions
from connect.telemetry.metrics import Registry
from connect.telemetry.outages import outages
from connect.telemetry.redaction import redactor
from connect.worker import guard, messages
from connect.worker.channel import Channel, cut
from connect.worker.control import Control, SourceContext
from connect.worker.engine_loop import EngineContext, EngineLoop
from connect.worker.lease import Lease
from connect.worker.progress import ProgressReport
from connect.worker.remote_log import send_logs
from connect.worker.sink_loop import SinkLoop
from connect.worker.source_loop import SourceLoop
from connect.worker.source_output import OpenOutput
from connect.worker.task_tap import no_tap, tap_chain
from connect.worker.task_threads import cpu_of_this_thread, equal_share_of_cpu
from connect.worker.watchdog import Watchdog, Watched

log = logging.getLogger("connect.worker")


class NeedsOwnProcess(BaseException):
    """A task cannot share its process with others."""


def main(spec: bytes, end: socket.socket) -> None:
    """Run a task to its end.

    Args:
        spec: an encoded `TaskSpec`.
        end: this process's end of the control pipe.
    """
    prepare()
    import msgspec

    task = msgspec.msgpack.decode(spec, type=messages.TaskSpec)
    channel = Channel(end)
    redactor.remember(task.secrets)
    send_logs(channel, redactor, task.log_level, task.log_levels)
    outages.leave_telling()  # the worker tells them, whatever number of its tasks meets one
    run(task, control_of(task, channel))


def prepare() -> None:
    """What a process does before its first task."""
    guard.die_with_server()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is for the worker, which then stops us
    tune_collector()


def control_of(task: messages.TaskSpec, channel: Channel) -> Control:
    """The task's end of its control pipe, which is read from now on."""
    made = Control(channel, Lease(task.lease_until), paused=task.paused)
    made.start()
    return made


def run(task: messages.TaskSpec, control: Control, *, shared: bool = False) -> None:
    """Run a task to its end, on its own thread, and report how it ended.

    Args:
        task: which.
        control: see `control_of`.
        shared: whether other tasks have the same process.

    Raises:
        NeedsOwnProcess: nothing of the task has begun, because it cannot share a process.
    """
    try:
        _run(task, control, redactor.redact, shared=shared)
    except NeedsOwnProcess:
        raise
    except BaseException as error:
        summary = redactor.redact(one_line(error))
        if not isinstance(error, ConnectError):
            summary = f"{type(error).__name__}: {summary}"
        trace = redactor.redact("".join(traceback.format_exception(error)))
        control.send(messages.Failed(cut(summary), cut(trace), kind_of(error)))
    else:
        control.send(messages.Stopped())


def _datasets(connector: type[Any], task: messages.TaskSpec) -> list[tuple[str, str]]:
    """What the task reads or writes besides topics, where lineage is reported."""
    try:
        if not lineage_options(task.worker_config, task.connector_config).enabled:
            return []
        return [(str(namespace), str(name)) for namespace, name in connector.datasets(task.connector_config)]
    except Exception:
        log.debug("the datasets are unknown", exc_info=True)
        return []


def _run(task: messages.TaskSpec, control: Control, redact: Callable[[str], str], *, shared: bool) -> None:
    worker = RunOptions.parse(task.worker_config)
    plugins = Plugins.discover([Path(folder) for folder in task.plugin_path])
    registry = Registry()
    metrics = registry.labelled(**_labels(task))
    connector = load_class(task.connector_class, task.folder)

    def started(paused: bool) -> None:
        if not shared:  # what ends here is not the process, and its objects must be collected then
            freeze()
        control.send(messages.Running(paused, connector.version, _datasets(connector, task)))

    engine = chosen_engine(connector, task.connector_config, task.worker_config)
    if shared and (engine not in {WORKER, JAVA_ENGINE} or connector.own_process):
        raise NeedsOwnProcess
    connector.begin_process(task.connector_config)
    if engine != JAVA_ENGINE:  # which has its own loaders for the class that declares them
        redactor.remember(clear_secrets(connector.settings, {**task.connector_config, **task.config}))
    if engine != WORKER:
        no_tap(control, engine)
        loop = _engine_loop(task, connector, engine, control, registry, redact)
        _watch(task, loop, control, redact, equal_share_of_cpu if shared else None)
        loop.run(started)
        return
    cpu = cpu_of_this_thread() if shared else None
    task_class = connector().task_class()
    plugin = task_class()
    if task.kind == "source":
        if not isinstance(plugin, SourceTask):
            raise ConnectError(
                f"{task_class.__qualname__} is not a SourceTask. A source connector's task class extends it."
            )
        open_output = OpenOutput(task, control, worker)
        plugin.context = SourceContext(
            task.connector, task.task, task.config, metrics, control, open_output.transaction
        )
        chain = source_chain(plugins, task.worker_config, task.connector_config, control.sleep)
        tap_chain(chain, control, TapOptions.parse(task.worker_config))
        source = _source_loop(task, plugin, chain, control, registry, worker, open_output)
        _watch(task, source, control, redact, cpu)
        source.run(started)
    else:
        if not isinstance(plugin, SinkTask):
            raise ConnectError(
                f"{task_class.__qualname__} is not a SinkTask. A sink connector's task class extends it."
            )
        chain = sink_chain(plugins, task.worker_config, task.connector_config, control.sleep)
        tap_chain(chain, control, TapOptions.parse(task.worker_config))
        sink = _sink_loop(task, plugin, chain, plugins, control, registry, worker)
        _watch(task, sink, control, redact, cpu)
        sink.run(started)


def _watch(
    task: messages.TaskSpec,
    loop: Watched,
    control: Control,
    redact: Callable[[str], str],
    shared_cpu: Callable[[], float] | None,
) -> None:
    control.renewed = Watchdog(loop, control, task.stalled_after or math.inf, redact, shared_cpu=shared_cpu).look


def _engine_loop(
    task: messages.TaskSpec,
    connector: type[Any],
    name: str,
    control: Control,
    registry: Registry,
    redact: Callable[[str], str],
) -> EngineLoop:
    runner = load_engine(name).task(connector)
    metrics = registry.labelled(**_labels(task))

    def target() -> tuple[str, str | None]:
        task_class = connector().task_class()
        return f"{task_class.__module__}:{task_class.__qualname__}", task.folder

    runner.context = EngineContext(task, target, metrics, control, redact)
    return EngineLoop(runner, control, ProgressReport(control, registry, _labels(task)))


def _source_loop(
    task: messages.TaskSpec,
    plugin: SourceTask,
    chain: Chain,
    control: Control,
    registry: Registry,
    worker: RunOptions,
    open_output: OpenOutput,
) -> SourceLoop:
    traces = _traces(task)
    if traces is not None and OpenTelemetryOptions.parse(task.worker_config).writes_traceparent:
        chain.steps.append(WriteTraceparent(traces))
    return SourceLoop(
        plugin,
        task.config,
        chain,
        lambda meter: open_output(plugin, chain, meter),
        control,
        ProgressReport(control, registry, _labels(task), traces),
        worker.graceful,
    )


def _traces(task: messages.TaskSpec) -> TaskTraces | None:
    """The traces of a task; None where the worker sends none."""
    options = OpenTelemetryOptions.parse(task.worker_config)
    return TaskTraces(_labels(task), options.batches) if options.traces else None


def _labels(task: messages.TaskSpec) -> dict[str, str]:
    """The labels that identify the task in metrics."""
    return {"connector": task.connector, "task": str(task.task)}


def _configs(task: messages.TaskSpec) -> TaskConfigs:
    return TaskConfigs(task.connector, task.task, task.worker_config, task.connector_config)


def _sink_loop(
    task: messages.TaskSpec,
    plugin: SinkTask,
    chain: Chain,
    plugins: Plugins,
    control: Control,
    registry: Registry,
    worker: RunOptions,
) -> SinkLoop:
    retry = RetrySettings.of(task.connector_config, task.connector)
    errors = ErrorOutputs(_configs(task), chain.policy, plugins, control.await_lease, retry)
    delivery = SinkDelivery(
        plugin,
        chain,
        control.await_lease,
        errors,
        PolicyReporter.of(task.connector_config, chain.policy, type(plugin).__name__),
        halve=halves_puts(task.connector_config, plugin),
    )
    metrics = registry.labelled(**_labels(task))
    plugin.context = context = SinkContext(task.connector, task.task, task.config, metrics, delivery)
    clients = task_client_settings("consumer", task.worker_config, task.connector_config)
    for warning in clients.warnings:
        log.warning("%s", warning)
    topics = subscription(task.connector_config)
    rows = clients.runtime.get("max.poll.records", plugin.records_at_once or ROWS_PER_BATCH)

    def read(listener: RebalanceListener) -> BatchConsumer:
        named = as_static_member(clients.librdkafka, task.worker_config, task.connector, task.task)
        settings = errors.consumer_settings(named)
        return BatchConsumer(settings, topics, listener, rows, errors.also, clients.keys)

    def make_consumer(listener: RebalanceListener) -> SinkConsumer:
        errors.make_topics(topics, control.pause_for)
        return errors.consumer(read, listener)

    report = ProgressReport(control, registry, _labels(task), _traces(task))
    loop = SinkLoop(delivery, task.config, make_consumer, control, report, worker.flush_interval)
    context.owner = loop.partitions
    return loop
