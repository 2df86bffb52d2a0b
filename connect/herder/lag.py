"""The lag of sink connectors: measured at an interval by the worker that runs the connector, and on request."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.herder.errors import BadRequestError
from connect.herder.lag_status import LagStatus, Look, judge
from connect.herder.task_figures import Figures
from connect.herder.topic_patterns import TopicPatterns
from connect.herder.views import connector_plugin
from connect.herder.worker import Worker
from connect.kafka.reading.group_lag import GroupLag, Reach
from connect.kafka.reading.topic_ends import Topics
from connect.plugins import PluginKind
from connect.settings.metrics_keys import MetricsOptions
from connect.settings.subscription import topics_or_pattern
from connect.storage import State
from connect.telemetry.metrics import Sample

log = logging.getLogger("connect.herder")

#: How long a look may take to find out since when records wait.
_PROBE_S: Final = 2.0
#: In so many partitions at most.
_PROBED: Final = 200
_FORGET_S: Final = 600.0


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """One partition of a sink.

    Attributes:
        committed: the offset at which the sink continues; None when it has committed none.
        end: the offset after the last record.
        lag: offsets between the two, or from where it will begin.
        waiting_ms: how long the first record has waited, by its timestamp; None when none waits, or that is unknown.
        status: see `connect.herder.lag_status`.
        looks: the number of measurements that the status is based on.
    """

    topic: str
    partition: int
    committed: int | None
    end: int
    lag: int
    waiting_ms: int | None
    status: LagStatus
    looks: int


@dataclass(frozen=True, slots=True)
class ConnectorLag:
    """A sink: its partitions, the sum of their lags, the worst of their statuses, the longest wait."""

    name: str
    group: str
    partitions: Sequence[PartitionLag]

    @property
    def lag(self) -> int:
        """The sum over all partitions."""
        return sum(one.lag for one in self.partitions)

    @property
    def status(self) -> LagStatus:
        """The worst."""
        return max((one.status for one in self.partitions), default=LagStatus.OK)

    @property
    def waiting_ms(self) -> int | None:
        """The longest."""
        return max((one.waiting_ms for one in self.partitions if one.waiting_ms is not None), default=None)


class _Watched:
    """The state of one sink. Its lock is held while the brokers are asked: one request at a time."""

    def __init__(self, config: Mapping[str, str], ask: GroupLag) -> None:
        self.config = dict(config)
        self.ask = ask
        self.lock = threading.Lock()
        self.looks: dict[TopicPartition, deque[Look]] = {}
        self.last: ConnectorLag | None = None
        self.used_at = time.monotonic()


class LagWatch:
    """Measures the lag of sinks. Safe to use from many threads.

    Args:
        worker: its connectors are measured every `metrics.lag.interval.ms`.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        options = MetricsOptions.parse(worker.config)
        self._every = options.lag_interval
        self._samples = options.lag_samples
        # Between two commits nothing moves.
        self._patience = 2 * worker.options.flush_interval
        self._patterns = TopicPatterns()
        self._watched: dict[str, _Watched] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lag", daemon=True)

    def start(self) -> None:
        """Start measuring at the interval, where one is set."""
        if self._every:
            self._thread.start()

    def stop(self) -> None:
        """Stop measuring. A measurement that runs is not waited for."""
        self._ended.set()
        self._patterns.close()

    def of(self, name: str, config: Mapping[str, str]) -> ConnectorLag:
        """Measure now. Blocks until the brokers have answered.

        Args:
            config: the connector's, secrets filled in.

        Raises:
            BadRequestError: it is a source.
            ConnectError: the brokers refuse, or do not answer.
        """
        if connector_plugin(self._worker.plugins, config).kind is PluginKind.SOURCE:
            raise BadRequestError(f"Connector {name} is a source connector, and only sinks have a lag.")
        if not self._every:  # nobody else does
            self._forget()
        watched = self._watch(name, config)
        with watched.lock:
            return self._look(name, watched, probe=True)

    # What a worker measures besides: see `connect.herder.worker_metrics.MoreFigures`.

    def figures(self) -> Figures:
        """None: Kafka Connect has no such figures."""
        return {}

    def samples(self) -> Iterator[Sample]:
        """Series of the sinks that this worker measures."""
        here = self._here()
        with self._lock:
            known = [watched.last for name, watched in self._watched.items() if name in here]
        for lag in known:
            if lag is None:
                continue
            labels = {"connector": lag.name}
            yield Sample("connect_sink_lag_total_records", "gauge", labels, lag.lag)
            yield Sample("connect_sink_lag_worst_status", "gauge", labels, int(lag.status))
            for one in lag.partitions:
                partition = {**labels, "topic": one.topic, "partition": str(one.partition)}
                yield Sample("connect_sink_lag_records", "gauge", partition, one.lag)
                yield Sample("connect_sink_lag_status", "gauge", partition, int(one.status))

    # The thread.

    def _run(self) -> None:
        while not self._ended.wait(self._every):
            for name, config in self._here().items():
                if self._ended.is_set():
                    return
                try:
                    watched = self._watch(name, config)
                    with watched.lock:
                        self._look(name, watched, probe=False)
                except Exception as error:
                    log.debug("%s", error, extra={"about": name})
            self._forget()

    def _here(self) -> dict[str, Mapping[str, str]]:
        """The sinks whose connectors run here, with their configurations."""
        found: dict[str, Mapping[str, str]] = {}
        for name in self._worker.connectors.names():
            started = self._worker.connectors.get(name)
            if started is not None and started.ref.kind is PluginKind.SINK:
                found[name] = {**started.config, "name": name}
        return found

    def _watch(self, name: str, config: Mapping[str, str]) -> _Watched:
        with self._lock:
            found = self._watched.get(name)
        if found is None or found.config != dict(config):
            found = _Watched(config, GroupLag(self._worker.raw, config, self._topics(name, config)))
            with self._lock:
                self._watched[name] = found
        found.used_at = time.monotonic()
        return found

    def _topics(self, name: str, config: Mapping[str, str]) -> Topics:
        found = topics_or_pattern(config)
        return self._patterns.chooser(name, found) if isinstance(found, str) else found

    def _forget(self) -> None:
        """Close the clients of connectors that are no longer measured."""
        here, oldest = self._here(), time.monotonic() - _FORGET_S
        with self._lock:
            gone = [name for name, one in self._watched.items() if name not in here and one.used_at < oldest]
            for name in gone:
                del self._watched[name]

    # Looking, with the lock of what is watched.

    def _look(self, name: str, watched: _Watched, *, probe: bool) -> ConnectorLag:
        now, reached = time.monotonic(), watched.ask.read()
        status = self._worker.statuses.connector(name)
        working = status is None or status.state not in (State.PAUSED, State.STOPPED)
        windows = {partition: self._window(watched, partition, reach, now) for partition, reach in reached.items()}
        judged = {
            partition: judge(window, self._patience) if working else LagStatus.OK
            for partition, window in windows.items()
        }
        behind = {partition: reach for partition, reach in reached.items() if reach.end > reach.begin}
        doubtful = (
            behind
            if probe
            else {partition: r for partition, r in behind.items() if judged[partition] is LagStatus.STALLED}
        )
        since = self._waiting_since(watched.ask, doubtful)
        partitions = []
        for partition, reach in sorted(reached.items()):
            # Behind what is committed there may be no record: marks of transactions, for example.
            empty = partition in since and since[partition] is None
            at = since.get(partition)
            partitions.append(
                PartitionLag(
                    *partition,
                    reach.committed,
                    reach.end,
                    0 if empty else max(0, reach.end - reach.begin),
                    None if at is None else max(0, int(time.time() * 1000) - at),
                    LagStatus.OK if empty else judged[partition],
                    len(windows[partition]),
                )
            )
        watched.last = ConnectorLag(name, watched.ask.group, partitions)
        return watched.last

    def _window(self, watched: _Watched, partition: TopicPartition, reach: Reach, now: float) -> list[Look]:
        """The last measurements and this one. This one is stored if the interval has passed."""
        kept = watched.looks.setdefault(partition, deque(maxlen=self._samples))
        look = Look(now, reach.begin, reach.end)
        # Who asks all the time must not make the window short.
        if not kept or now - kept[-1].at >= 0.9 * self._every:
            kept.append(look)
            return list(kept)
        return [*kept, look][-self._samples :]

    def _waiting_since(self, ask: GroupLag, behind: Mapping[TopicPartition, Reach]) -> dict[TopicPartition, int | None]:
        first = {partition: reach.begin for partition, reach in list(behind.items())[:_PROBED]}
        try:
            return ask.waiting_since(first, _PROBE_S) if first else {}
        except ConnectError as error:
            log.debug("%s", error)
            return {}
