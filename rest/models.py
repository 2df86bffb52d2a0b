"""What the REST interface says, field by field in the order in which Kafka Connect writes it.

https://kafka.apache.org/documentation/#connect_rest
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec.structs import asdict

from connect.herder.dead_letter_view import DeadLetterView
from connect.herder.dead_letters import LetterGroups, LetterPage
from connect.herder.lag import ConnectorLag
from connect.herder.lag_status import LagStatus
from connect.herder.model import ConnectorInfo, ConnectorState, OffsetEntry
from connect.herder.rebalance_history import Moved
from connect.herder.replay import MOST_REPLAYED, Replayed
from connect.pipeline.findings import KeyDefinition, Validation
from connect.pipeline.outcome import SeenOutcome
from connect.plugins import PluginRef
from connect.storage import ConnectorStatus, State, TaskStatus

#: The most records of one trial.
MOST_TRIED: Final = 20

#: A value of a configuration as it may be written. It is kept as text: 3, 1.50, true.
Written = str | int | float | bool


class ServerInfo(msgspec.Struct):
    """GET /."""

    version: str
    commit: str
    kafka_cluster_id: str | None


class HealthInfo(msgspec.Struct):
    """GET /health (KIP-1017)."""

    status: str
    message: str


class CallerRights(msgspec.Struct):
    """GET /rights: what the caller may do.

    Attributes:
        user: as roles name them; None without logins.
        role: the highest for the connector that was asked about, else for all connectors; None for no role.
        somewhere: the highest for any connector.
    """

    user: str | None
    role: str | None
    somewhere: str | None


class TaskId(msgspec.Struct):
    """A task by its connector and number."""

    connector: str
    task: int


class Connector(msgspec.Struct):
    """A connector as its user made it. `type` is "source", "sink" or "unknown"."""

    name: str
    config: dict[str, str]
    tasks: list[TaskId]
    type: str

    @classmethod
    def of(cls, info: ConnectorInfo, config: Mapping[str, str]) -> Connector:
        """`config` is what may be shown of it."""
        return cls(info.name, dict(config), [TaskId(info.name, number) for number in info.tasks], info.type)


class Task(msgspec.Struct):
    """A task and its configuration."""

    id: TaskId
    config: dict[str, str]


class ConnectorStateInfo(msgspec.Struct, omit_defaults=True):
    """How a connector is. `trace` is there when it FAILED."""

    state: str
    worker_id: str
    trace: str | None = None
    version: str | None = None

    @classmethod
    def of(cls, status: ConnectorStatus) -> ConnectorStateInfo:
        return cls(status.state.value, status.worker_id, status.trace, status.version)


class Waiting(msgspec.Struct):
    """What a task that is RUNNING waits for, and since when, in milliseconds since the epoch."""

    reason: str
    since_ms: int


class Stalled(msgspec.Struct):
    """Why a task that is RUNNING moves nothing although there is work."""

    trace: str


class TaskStateInfo(msgspec.Struct, omit_defaults=True):
    """How a task is.

    `waiting` is there while a database, brokers or a store is away, `stalled` while it stands still. Who asks for the
    state STALLED gets that, with its trace, in the place of RUNNING and `stalled`.
    """

    id: int
    state: str
    worker_id: str
    trace: str | None = None
    version: str | None = None
    waiting: Waiting | None = None
    stalled: Stalled | None = None

    @classmethod
    def of(cls, status: TaskStatus, *, stalled: bool) -> TaskStateInfo:
        """`stalled`: whether the client knows that state. Kafka has none such, and some clients take no other's."""
        state, trace, stands_still = status.state.value, status.trace, None
        if status.state is State.RUNNING and status.stalled is not None:
            if stalled:
                state, trace = "STALLED", status.stalled
            else:
                stands_still = Stalled(status.stalled)
        waiting = None if status.waiting is None else Waiting(status.waiting.why, status.waiting.since_ms)
        return cls(status.task, state, status.worker_id, trace, status.version, waiting, stands_still)


class ConnectorStatusInfo(msgspec.Struct):
    """How a connector and its tasks are."""

    name: str
    connector: ConnectorStateInfo
    tasks: list[TaskStateInfo]
    type: str

    @classmethod
    def of(cls, state: ConnectorState, *, stalled: bool = False) -> ConnectorStatusInfo:
        """`stalled`: see `TaskStateInfo.of`."""
        tasks = [TaskStateInfo.of(status, stalled=stalled) for status in state.tasks]
        return cls(state.name, ConnectorStateInfo.of(state.connector), tasks, state.type)


class ChangedKeys(msgspec.Struct):
    """The keys of a configuration that a version added, changed and removed."""

    added: list[str] = []
    changed: list[str] = []
    removed: list[str] = []


class HistoryVersionInfo(msgspec.Struct):
    """One version of a configuration. `at` in ms since the epoch; `by` is null without logins, or if it is unknown."""

    version: int
    at: int | None
    by: str | None
    deleted: bool
    changes: ChangedKeys


class History(msgspec.Struct):
    """GET /connectors/{connector}/history."""

    versions: list[HistoryVersionInfo]


class ChangedKey(msgspec.Struct):
    """A key that differs between two versions. Secrets are masked, so both values may look the same."""

    key: str
    before: str | None
    after: str | None


class HistoryVersion(HistoryVersionInfo):
    """GET /connectors/{connector}/history/{version}. `config` is null where the connector was deleted.

    `since` is the version that it is compared with; null for the first one.
    """

    since: int | None
    config: dict[str, str] | None
    differences: list[ChangedKey]


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


class TappedRecordInfo(msgspec.Struct):
    """A record on its way through a task. `at` in ms since the epoch, when it had passed the chain."""

    task: int
    worker_id: str
    at: int
    record: SeenOutcome


class Untapped(msgspec.Struct):
    """A worker, or a task of it, that shows no records, and why."""

    worker_id: str
    reason: str
    task: int | None = None


class TapAnswer(msgspec.Struct):
    """GET /connectors/{connector}/tap: the records, oldest first, and whoever shows none."""

    records: list[TappedRecordInfo]
    untapped: list[Untapped]


class Restart(msgspec.Struct, omit_defaults=True):
    """A connector or task (with its number as id), and what becomes of it when it FAILED and restarts are automatic.

    `error` is the kind of the error, `restarts` how many automatic ones there were, `next_restart_ms` when the next one
    is, in milliseconds since the epoch, and `reason` which that is, or why there is none.
    """

    state: str
    worker_id: str
    id: int | None = None
    error: str | None = None
    restarts: int | None = None
    next_restart_ms: int | None = None
    reason: str | None = None

    @classmethod
    def of(cls, status: ConnectorStatus | TaskStatus) -> Restart:
        task = status.task if isinstance(status, TaskStatus) else None
        note = status.restart if status.state is State.FAILED else None
        if note is None:
            return cls(status.state.value, status.worker_id, task)
        return cls(status.state.value, status.worker_id, task, note.kind, note.restarts, note.at_ms, note.why)


class Restarts(msgspec.Struct):
    """The automatic restarts of a connector and its tasks."""

    name: str
    connector: Restart
    tasks: list[Restart]

    @classmethod
    def of(cls, state: ConnectorState) -> Restarts:
        return cls(state.name, Restart.of(state.connector), [Restart.of(task) for task in state.tasks])


#: Metrics by group and name, as JMX has them in Kafka Connect; null where nothing was measured lately.
Figures = dict[str, dict[str, float | str | None]]


class TaskMetricsInfo(msgspec.Struct):
    """What is measured of a task, told by the worker that runs it."""

    id: int
    worker_id: str
    metrics: Figures


class Unreachable(msgspec.Struct):
    """A worker that was to tell what it measures, and did not."""

    worker_id: str
    error: str


class ConnectorMetricsInfo(msgspec.Struct):
    """What is measured of a connector and its tasks."""

    worker_id: str | None
    metrics: Figures
    tasks: list[TaskMetricsInfo]
    unreachable: list[Unreachable]


class MovedInfo(msgspec.Struct):
    """Connectors and tasks that moved: how many, and the first names of both together, at most twenty."""

    connectors: int = 0
    tasks: int = 0
    first_connectors: list[str] = []
    first_tasks: list[TaskId] = []

    @classmethod
    def of(cls, moved: Moved | None) -> MovedInfo:
        """None: nothing."""
        if moved is None:
            return cls()
        tasks = [TaskId(*task) for task in moved.first_tasks]
        return cls(moved.connectors, moved.tasks, list(moved.first_connectors), tasks)


class RebalanceShare(msgspec.Struct):
    """One worker's part of a rebalance.

    `cause` is what the worker itself knows, "member" for another worker. Where only the leader tells of it, it is
    empty, and `began` and `ended` (ms) are null.
    """

    worker_id: str
    cause: str = ""
    reason: str = ""
    began: int | None = None
    ended: int | None = None
    assigned: MovedInfo = msgspec.field(default_factory=MovedInfo)
    revoked: MovedInfo = msgspec.field(default_factory=MovedInfo)


class WaitingWork(msgspec.Struct):
    """Work of a worker that left, held back for it until a moment (ms)."""

    worker_id: str
    until: int
    work: MovedInfo


class RebalanceInfo(msgspec.Struct):
    """A rebalance of the group.

    `generation` and `leader_member`, the leader's id in the group, tell it from all others. `began` and `ended` (ms)
    are the leader's where it answers. `cause`: a worker's start, its loss of the group ("lost"), "configuration", work
    that was "given_back", the end of a "delay", "catching_up" with the config topic, a worker that "joined" or "left",
    or another "member". `members` is null, and `left` empty, where the leader of that time does not answer. A worker
    that was restarted is in `joined` and in `left`.
    """

    generation: int
    leader: str
    leader_member: str
    began: int
    ended: int
    cause: str
    reason: str
    members: list[str] | None = None
    joined: list[str] | None = None
    left: list[str] = []
    waiting: list[WaitingWork] = []
    shares: list[RebalanceShare] = []


class RebalanceList(msgspec.Struct):
    """GET /cluster/rebalances."""

    rebalances: list[RebalanceInfo]
    unreachable: list[Unreachable]


class AuditEntry(msgspec.Struct, omit_defaults=True):
    """A line of a worker's audit log. See docs/security.md for its fields.

    `left_out`: a line for so many that were not written, from so many `addresses`.
    """

    time: str
    worker_id: str = ""
    user: str | None = None
    method: str | None = None
    address: str | None = None
    http: str | None = None
    path: str | None = None
    connector: str | None = None
    status: int | None = None
    changed: dict[str, Any] = {}
    reason: str | None = None
    request: str | None = None
    forwarded_by: str | None = None
    left_out: int | None = None
    addresses: int | None = None


class AuditEntries(msgspec.Struct):
    """GET /cluster/audit."""

    lines: list[AuditEntry]
    unreachable: list[Unreachable]


class ExpandedConnector(msgspec.Struct):
    """What GET /connectors?expand= was asked to say of one."""

    info: Connector | msgspec.UnsetType = msgspec.UNSET
    status: ConnectorStatusInfo | msgspec.UnsetType = msgspec.UNSET
    metrics: ConnectorMetricsInfo | msgspec.UnsetType = msgspec.UNSET
    timeseries: Sparkline | msgspec.UnsetType = msgspec.UNSET


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


class DeadLetterPage(LetterPage):
    """GET /connectors/{connector}/dlq."""


class DeadLetterGroups(LetterGroups):
    """GET /connectors/{connector}/dlq/groups."""


class DeadLetter(DeadLetterView):
    """GET /connectors/{connector}/dlq/{partition}/{offset}."""


class ReplayOutcome(Replayed):
    """What became of a replay."""


#: An offset, a partition, a moment.
Whole = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Place(msgspec.Struct, forbid_unknown_fields=True):
    """Where a dead letter lies."""

    partition: Whole
    offset: Whole


class NewValue(msgspec.Struct, forbid_unknown_fields=True):
    """The value that takes the place of a dead letter's: as text or in base64; with neither null."""

    partition: Whole
    offset: Whole
    text: str | None = None
    base64: str | None = None

    def data(self) -> bytes | None:
        """The bytes. Raises ValueError."""
        if self.text is not None:
            return self.text.encode()
        return None if self.base64 is None else b64decode(self.base64, validate=True)


class Replay(msgspec.Struct, forbid_unknown_fields=True):
    """POST /connectors/{connector}/dlq/replay: which dead letters, and how. Without any, all.

    Which: `since`, `until` (ms), `stage`, `error` (a part of class or message), `fingerprint`, `key`, `places`; those
    that were replayed before only with `again`; the oldest first, at most `limit`.
    How: `to` the topic they came from or the connector, `into` another topic, with JSON fields `set` (by path) and
    `unset`, or with other `values`.
    """

    since: Whole | None = None
    until: Whole | None = None
    stage: str | None = None
    error: str | None = None
    fingerprint: str | None = None
    key: str | None = None
    places: list[Place] | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_REPLAYED)] | None = None
    to: Literal["topic", "connector"] = "topic"
    into: str | None = None
    put: dict[str, Any] = msgspec.field(default_factory=dict, name="set")
    drop: list[str] = msgspec.field(default_factory=list, name="unset")
    values: list[NewValue] = []
    dry_run: bool = False
    again: bool = False


class Try(msgspec.Struct, forbid_unknown_fields=True):
    """PUT /connector-plugins/{plugin}/config/try: a configuration that is not created, and the records to try.

    They are of `topic`, by default the first of the configuration: `limit` of them, the first or with `from_end` the
    last; or they are `samples`, with `value`, `key`, `headers`, `timestamp`, `topic`, `partition`, all optional.
    """

    config: dict[str, Written | None]
    topic: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_TRIED)] = 5
    from_end: bool = False
    samples: Annotated[list[dict[str, Any]], msgspec.Meta(max_length=MOST_TRIED)] = []


class CreateConnector(msgspec.Struct, forbid_unknown_fields=True):
    """POST /connectors. Without a name the configuration holds it; a number is taken for text."""

    config: dict[str, Written]
    name: str | int | float | None = None
    initial_state: Literal["RUNNING", "PAUSED", "STOPPED"] | None = None


class Offset(msgspec.Struct, forbid_unknown_fields=True):
    """One offset. Null forgets it; a sink's is of the form of KIP-875."""

    partition: dict[str, Any]
    offset: dict[str, Any] | None = None

    @classmethod
    def of(cls, entry: OffsetEntry) -> Offset:
        return cls(dict(entry.partition), None if entry.offset is None else dict(entry.offset))


class Offsets(msgspec.Struct):
    """The offsets of a connector."""

    offsets: list[Offset]


class AlterOffsets(msgspec.Struct, forbid_unknown_fields=True):
    """PATCH /connectors/{connector}/offsets."""

    offsets: Annotated[list[Offset], msgspec.Meta(min_length=1)]


class Said(msgspec.Struct):
    """What became of a request, in words."""

    message: str


class Plugin(msgspec.Struct, rename={"class_": "class"}, omit_defaults=True):
    """A plug-in."""

    class_: str
    type: str
    version: str | None = None

    @classmethod
    def of(cls, ref: PluginRef) -> Plugin:
        return cls(ref.name, ref.kind.value, ref.version)


class ConfigKey(msgspec.Struct):
    """What may be written under a key."""

    name: str
    type: str
    required: bool
    default_value: str | None
    importance: str
    documentation: str
    group: str | None
    order_in_group: int
    width: str
    display_name: str
    dependents: list[str]

    @classmethod
    def of(cls, found: KeyDefinition) -> ConfigKey:
        values = {name: value for name, value in asdict(found).items() if name not in {"order", "listed"}}
        return cls(**values, order_in_group=found.order)


class ConfigValue(msgspec.Struct):
    """What is written under a key, and what is wrong with it."""

    name: str
    value: str | None
    recommended_values: list[str]
    errors: list[str]
    visible: bool


class ConfigInfo(msgspec.Struct):
    """One key. There is no definition of a key that only an error speaks of."""

    definition: ConfigKey | None
    value: ConfigValue


class ConfigWarning(msgspec.Struct):
    """A key that has no effect, or another one than its author may think."""

    name: str
    message: str


class ConfigInfos(msgspec.Struct, omit_defaults=True):
    """All about one configuration. Kafka Connect knows no warnings; the field is there where there are any."""

    name: str
    error_count: int
    groups: list[str]
    configs: list[ConfigInfo]
    warnings: list[ConfigWarning] = []

    @classmethod
    def of(cls, found: Validation) -> ConfigInfos:
        """The worker's errors go to its keys."""
        configs = {
            entry.value.name: ConfigInfo(
                None if entry.definition is None else ConfigKey.of(entry.definition),
                ConfigValue(**asdict(entry.value)),
            )
            for entry in found.entries
        }
        for key, message in found.worker_errors:
            info = configs.setdefault(key, ConfigInfo(None, ConfigValue(key, None, [], [], True)))
            info.value.errors.append(f"In the worker's configuration: {message}")
        groups = (info.definition.group for info in configs.values() if info.definition and info.definition.group)
        errors = sum(len(info.value.errors) for info in configs.values())
        warnings = [ConfigWarning(key, message) for key, message in found.warnings]
        return cls(found.connector_class, errors, list(dict.fromkeys(groups)), list(configs.values()), warnings)


class ListedKeys(msgspec.Struct):
    """The keys of a plug-in of which values can be listed."""

    keys: list[str]


class KeyChoices(msgspec.Struct):
    """The values that a key could have now: the first thousand. The message says why there are none."""

    key: str
    values: list[str]
    truncated: bool
    message: str | None


class Logger(msgspec.Struct):
    """The level of a logger, and when it was changed: milliseconds since the epoch."""

    level: str
    last_modified: int | None


class Level(msgspec.Struct):
    """PUT /admin/loggers/{logger}."""

    level: str


class Topics(msgspec.Struct):
    """The topics that a connector used (KIP-558)."""

    topics: list[str]


class Error(msgspec.Struct):
    """Every answer that is not success."""

    error_code: int
    message: str
