"""What it says in numbers: metrics, lag, the last hour."""

from __future__ import annotations

from typing import Literal

import msgspec

from connect.herder.lag import ConnectorLag
from connect.herder.lag_status import LagStatus
from rest.models.worker import Unreachable


class Series(msgspec.Struct):
    """A connector's tasks on one worker, oldest point first; null where nothing is known.

    Attributes:
        worker_id: null for all workers together.
        at: the ends of the points, in ms since the epoch.
        tasks: how many ran.
        records_per_second: handed to the target, or acknowledged by the brokers.
        errors_per_second: records given up.
        lag: records that wait for a sink.
        put_ms: the average duration of a put, of the slowest task.
        age_ms: the age of the oldest record when it was put or acknowledged.
    """

    worker_id: str | None
    at: list[int]
    tasks: list[int]
    records_per_second: list[float | None]
    errors_per_second: list[float | None]
    lag: list[float | None]
    put_ms: list[float | None]
    age_ms: list[float | None]


class TimeSeries(msgspec.Struct):
    """GET /connectors/{connector}/timeseries: by worker, and the workers that do not answer.

    `longest_hours` is 1, or more where a Prometheus is asked for what workers do not keep.
    """

    every_ms: int
    series: list[Series]
    unreachable: list[Unreachable]
    longest_hours: int = 1


class Sparkline(msgspec.Struct, omit_defaults=True):
    """A connector's last hour on all workers in 30 points, oldest first; null where nothing is known.

    Attributes:
        every_ms: from one point to the next.
        until: the end of the last interval, in ms since the epoch. It is not over yet.
        records_per_second: the average of an interval; left out if all of it is zero or unknown.
        lag: the highest of an interval; left out likewise.
        unreachable: workers that do not answer.
    """

    every_ms: int
    until: int
    records_per_second: list[float | None] = []
    lag: list[float | None] = []
    unreachable: list[Unreachable] = []


#: Metrics by group and name, as JMX has them in Kafka Connect; null where nothing was measured lately.
Figures = dict[str, dict[str, float | str | None]]


class TaskMetricsInfo(msgspec.Struct):
    """What is measured of a task, told by the worker that runs it."""

    id: int
    worker_id: str
    metrics: Figures


class ConnectorMetricsInfo(msgspec.Struct):
    """What is measured of a connector and its tasks."""

    worker_id: str | None
    metrics: Figures
    tasks: list[TaskMetricsInfo]
    unreachable: list[Unreachable]


LagWord = Literal["OK", "WARN", "STALLED"]

_STATUSES: dict[LagStatus, LagWord] = {
    LagStatus.OK: "OK",
    LagStatus.WARN: "WARN",
    LagStatus.STALLED: "STALLED",
}


class PartitionLagInfo(msgspec.Struct):
    """How far a sink is in a partition. `waiting_ms`: for how long the first record has waited, by its timestamp.

    `looks`: by how many looks the status was judged.
    """

    topic: str
    partition: int
    current_offset: int | None
    end_offset: int
    lag: int
    waiting_ms: int | None
    status: LagWord
    looks: int


class ConnectorLagInfo(msgspec.Struct):
    """How far a sink is behind its topics: the lag of all partitions, and the worst of their statuses."""

    name: str
    group: str
    status: LagWord
    lag: int
    waiting_ms: int | None
    partitions: list[PartitionLagInfo]

    @classmethod
    def of(cls, lag: ConnectorLag) -> ConnectorLagInfo:
        partitions = [
            PartitionLagInfo(
                one.topic,
                one.partition,
                one.committed,
                one.end,
                one.lag,
                one.waiting_ms,
                _STATUSES[one.status],
                one.looks,
            )
            for one in lag.partitions
        ]
        return cls(lag.name, lag.group, _STATUSES[lag.status], lag.lag, lag.waiting_ms, partitions)
