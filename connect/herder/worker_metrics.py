"""All metrics of a worker, collected when they are read: for Prometheus, and for REST by connector."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol
from weakref import WeakKeyDictionary

from connect import __version__
from connect.errors import ConnectError
from connect.herder.last_hour import LastHour
from connect.herder.running_task import RunningTask
from connect.herder.task_figures import Figures
from connect.herder.views import connector_plugin
from connect.herder.worker import Worker
from connect.pipeline.build import SIMPLE_HEADERS, converter_config
from connect.plugins import CONVERTERS, PluginKind, Plugins
from connect.settings.metrics_keys import JMX_REPORTER, MetricsOptions
from connect.settings.raw import comma_separated
from connect.storage import ConnectorStatus, State
from connect.telemetry import processes
from connect.telemetry.catalogue import DOCS, FOR_KAFKA, GROUPS, KAFKA, Naming, prometheus_name
from connect.telemetry.exposition import Family, families, text
from connect.telemetry.metrics import Kind, Registry, Sample
from connect.telemetry.redaction import redactor
from connect.telemetry.spans import Tracer
from connect.worker.messages import TaskSpec
from connect.worker.supervisor import TaskProcess

log = logging.getLogger("connect.herder")

#: How long what /proc says of a process's memory is good for: it is not for nothing.
_MEMORY_S: Final = 10.0
_STATES: Final = ("running", "paused", "failed", "unassigned", "destroyed", "restarting")
_KINDS: Final = {(metric.group, metric.name): metric.kind for metric in KAFKA}


class MoreFigures(Protocol):
    """Further metrics of a worker: lag, and rebalances in a group."""

    def figures(self) -> Figures:
        """Figures of the worker in Kafka's groups."""

    def samples(self) -> Iterable[Sample]:
        """Series of this project's own."""


@dataclass(frozen=True, slots=True)
class ConnectorMetrics:
    """What one worker knows of a connector.

    Attributes:
        connector: figures by group, None when the connector itself runs elsewhere.
        tasks: the figures of each of its tasks that runs here, by number.
    """

    connector: Figures | None
    tasks: Mapping[int, Figures] = field(default_factory=dict)


class WorkerMetrics:
    """All metrics of a worker. Safe to use from many threads; rendering the page takes some milliseconds.

    Args:
        worker: which.
        more: further metrics.
    """

    def __init__(self, worker: Worker, *more: MoreFigures) -> None:
        self._worker = worker
        self._more = more
        #: For charts.
        self.hour = LastHour(worker.tasks.totals)
        self._started_ms = int(time.time() * 1000)
        self._options = MetricsOptions.parse(worker.config)
        for name in self._options.reporters:
            if name != JMX_REPORTER:
                log.warning("metric.reporters: %s is not loaded. GET /metrics has all its metrics.", name)
        self._texts: WeakKeyDictionary[TaskProcess, dict[str, str]] = WeakKeyDictionary()
        self._memory: WeakKeyDictionary[TaskProcess, tuple[float, int | None]] = WeakKeyDictionary()

    @property
    def worker_id(self) -> str:
        """The worker's id."""
        return self._worker.id

    @property
    def registry(self) -> Registry:
        """The registry of the worker's own metrics."""
        return self._worker.measures.registry

    @property
    def tracer(self) -> Tracer:
        """The tracer of the worker."""
        return self._worker.measures.tracer

    def page(self) -> str:
        """The page for Prometheus."""
        return text(self.families())

    def families(self) -> list[Family]:
        """What is on it."""
        naming = self._options.prometheus_names
        ours = (_shown(one) for one in self.registry.snapshot() if not one.name.startswith(FOR_KAFKA))
        samples = [*self._kafka(naming), *ours, *self._derived()]
        for more in self._more:
            samples += more.samples()
        return families(samples, DOCS)

    def of(self, name: str) -> ConnectorMetrics:
        """What is known here of a connector."""
        tasks = self._worker.tasks.of(name)
        status = self._here(name)
        connector: Figures | None = None
        if status is not None:
            connector = {"connector-metrics": self._about_connector(name, status)}
        if tasks:
            connector = connector or {}
            connector["connect-worker-metrics"] = self._counts(name, tasks)
        return ConnectorMetrics(
            connector, {number: {**self._task(task), **self._ours(task)} for number, task in tasks.items()}
        )

    # Kafka's.

    def _kafka(self, naming: Naming) -> Iterator[Sample]:
        client = {"client_id": self._worker.id}
        app: dict[str, float | str] = {"version": __version__, "start-time-ms": float(self._started_ms)}
        yield from _samples("app-info", app, client, naming)
        yield from _samples("connect-worker-metrics", self._totals(), {}, naming)
        for more in self._more:
            for group, figures in more.figures().items():
                yield from _samples(group, figures, client if "client-id" in GROUPS[group] else {}, naming)
        for name in sorted({*self._worker.statuses.connectors(), *(task[0] for task in self._worker.tasks.all())}):
            status, tasks = self._here(name), self._worker.tasks.of(name)
            labels = {"connector": name}
            if status is not None:
                yield from _samples("connector-metrics", self._about_connector(name, status), labels, naming)
            if tasks:
                group = "connect-worker-metrics,connector"
                yield from _samples(group, self._counts(name, tasks), labels, naming)
            for number, task in tasks.items():
                yield from self._task_samples(task, {**labels, "task": str(number)}, naming)

    def _task_samples(self, task: RunningTask, labels: dict[str, str], naming: Naming) -> Iterator[Sample]:
        for group, figures in self._task(task).items():
            yield from _samples(group, figures, labels, naming)
        for what in ("transform", "predicate"):
            for alias, about in about_steps(self._worker.plugins, task.process.spec.connector_config, what).items():
                yield from _samples(f"connector-{what}-metrics", about, {**labels, what: alias}, naming)

    def _totals(self) -> Mapping[str, float]:
        measures = self._worker.measures
        connectors = [name for name in self._worker.statuses.connectors() if self._here(name) is not None]
        return {
            "connector-count": len(connectors),
            "task-count": len(self._worker.tasks.all()),
            **measures.connectors.figures("connector"),
            **measures.tasks.figures("task"),
        }

    def _here(self, name: str) -> ConnectorStatus | None:
        """The status of a connector that this worker owns."""
        status = self._worker.statuses.connector(name)
        ours = status is not None and status.worker_id == self._worker.id and status.state is not State.UNASSIGNED
        return status if ours else None

    def _about_connector(self, name: str, status: ConnectorStatus) -> dict[str, float | str]:
        shown: dict[str, float | str] = {"status": status.state.value.lower()}
        started = self._worker.connectors.get(name)
        if started is not None:
            about = about_connector(self._worker.plugins, started.config, started.ref.kind.value, started.version)
            shown.update(about)
        return shown

    def _counts(self, name: str, tasks: Mapping[int, RunningTask]) -> dict[str, float | str]:
        states = Counter(self._state(name, number, task) for number, task in tasks.items())
        counts: dict[str, float | str] = {f"connector-{state}-task-count": float(states[state]) for state in _STATES}
        return {"connector-total-task-count": float(len(tasks)), **counts}

    def _state(self, name: str, number: int, task: RunningTask) -> str:
        status = next((status for status in self._worker.statuses.tasks(name) if status.task == number), None)
        restarting = status is not None and status.state is State.RESTARTING and status.worker_id == self._worker.id
        return "restarting" if restarting else task.figures.state

    def _task(self, task: RunningTask) -> Figures:
        spec = task.process.spec
        texts = self._texts.get(task.process)
        if texts is None:
            texts = self._texts[task.process] = about_task(self._worker.plugins, spec, task.version)
        figures = task.figures.figures()
        state = self._state(spec.connector, spec.task, task)
        figures["connector-task-metrics"] = {**figures["connector-task-metrics"], **texts, "status": state}
        return figures

    # Ours.

    def _derived(self) -> Iterator[Sample]:
        """Series that are computed when they are read."""
        worker = self._worker
        context = {
            _label(key.removeprefix("metrics.context.")): value
            for key, value in worker.raw.items()
            if key.startswith("metrics.context.")
        }
        yield Sample("connect_worker_info", "gauge", {**context, "worker_id": worker.id, "version": __version__}, 1)
        states: Counter[str] = Counter()
        for name in sorted({name for name, _ in worker.tasks.all()}):
            for number, task in worker.tasks.of(name).items():
                labels = {"connector": name, "task": str(number)}
                state = self._state(name, number, task)
                states[state] += 1
                yield Sample("connect_task_state", "gauge", {**labels, "state": state}, 1)
                if task.figures.oldest == task.figures.oldest:
                    kind = task.process.spec.kind
                    yield Sample(f"connect_{kind}_age_max_seconds", "gauge", labels, task.figures.oldest)
                yield from self._process(task, labels)
        for name, number in worker.tasks.stalled():
            yield Sample("connect_task_stalled", "gauge", {"connector": name, "task": str(number)}, 1)
        for state in _STATES:
            yield Sample("connect_worker_tasks", "gauge", {"state": state}, states[state])

    def _process(self, task: RunningTask, labels: dict[str, str]) -> Iterator[Sample]:
        cpu, pss = self._use(task)
        if cpu is not None:
            yield Sample("connect_task_cpu_seconds_total", "counter", labels, cpu)
        if pss is not None:
            yield Sample("connect_task_pss_bytes", "gauge", labels, pss)

    def _use(self, task: RunningTask) -> tuple[float | None, int | None]:
        """Seconds of CPU and bytes of memory of a task; None when it is gone.

        Of a process that it shares: the CPU of its thread, or with Java its share of it, and its share of the memory.
        """
        process = task.process
        found = None if process.ended.is_set() else processes.look(process.pid)
        if found is None:
            return None, None
        now = time.monotonic()
        until, pss = self._memory.get(process, (0.0, None))
        if now >= until:
            pss = processes.pss(process.pid) or None
            self._memory[process] = (now + _MEMORY_S, pss)
        if (tasks := process.shares) > 1:
            cpu = found.cpu / tasks if process.spec.pack else task.cpu.total
            return cpu, None if pss is None else pss // tasks
        return found.cpu, pss

    def _ours(self, task: RunningTask) -> Figures:
        """What Kafka Connect does not have. On the page for Prometheus a sink's lag is that of its connector."""
        cpu, pss = self._use(task)
        lag = task.progress.lag
        shown: dict[str, float | str] = {} if lag < 0 else {"lag": float(lag)}
        shown["bytes-rate"] = task.figures.bytes_rate
        if cpu is not None:
            shown["cpu-seconds-total"] = cpu
        if pss is not None:
            shown["pss-bytes"] = float(pss)
        return {"connect-task-metrics": shown}


def _shown(sample: Sample) -> Sample:
    """A plug-in may write a secret into a label (P8)."""
    return sample._replace(labels={name: redactor.redact(value) for name, value in sample.labels.items()})


def _samples(
    group: str, figures: Mapping[str, float | str], labels: dict[str, str], naming: Naming
) -> Iterator[Sample]:
    for name, value in figures.items():
        shown = prometheus_name(group, name, naming)
        if not isinstance(value, str):
            kind: Kind = "counter" if _KINDS[group, name] == "counter" else "gauge"
            yield Sample(shown, kind, labels, value)
        elif value:
            yield Sample(shown, "gauge", {**labels, _label(name): value}, 1)


def _label(name: str) -> str:
    made = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    return f"_{made}" if made[:1].isdigit() or not made else made


def about_task(plugins: Plugins, spec: TaskSpec, version: str | None) -> dict[str, str]:
    """The texts of `connector-task-metrics`: classes and versions. A missing version is empty."""
    found = {**about_connector(plugins, spec.connector_config, spec.kind, version)}
    found["task-class"] = spec.config.get("task.class", "")
    found["task-version"] = version or ""
    for key, kind in CONVERTERS.items():
        default = SIMPLE_HEADERS if kind is PluginKind.HEADER_CONVERTER else None
        try:
            name, config = converter_config(spec.worker_config, spec.connector_config, key, default)
        except ConnectError:  # the task has failed of it
            continue
        shown = key.replace(".", "-")
        found[f"{shown}-class"], found[f"{shown}-version"] = _plugin(plugins, kind, name, config.get("plugin.version"))
    return found


def about_connector(plugins: Plugins, config: Mapping[str, str], kind: str, version: str | None) -> dict[str, str]:
    """The texts of `connector-metrics`, the status aside."""
    try:
        name = connector_plugin(plugins, config).name
    except (ConnectError, ValueError):
        name = config.get("connector.class", "")
    return {"connector-class": name, "connector-type": kind, "connector-version": version or ""}


def about_steps(plugins: Plugins, config: Mapping[str, str], what: str) -> dict[str, dict[str, str]]:
    """Class and version of each transformation (`what` is transform) or predicate (predicate) by its alias."""
    kind = PluginKind.TRANSFORMATION if what == "transform" else PluginKind.PREDICATE
    found = {}
    for alias in comma_separated(config.get(f"{what}s")):
        prefix = f"{what}s.{alias}."
        name = config.get(f"{prefix}type", "")
        written, version = _plugin(plugins, kind, name, config.get(f"{prefix}plugin.version"))
        found[alias] = {f"{what}-class": written, f"{what}-version": version}
    return found


def _plugin(plugins: Plugins, kind: PluginKind, name: str, wanted: str | None) -> tuple[str, str]:
    try:
        ref = plugins.find(kind, name, wanted)
    except (ConnectError, ValueError):
        return name, ""
    return ref.name, ref.version or ""
