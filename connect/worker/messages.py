"""The messages between a worker and its task and connector processes, over their control pipes. Records never go there.

Each message is a msgspec struct, sent as msgpack with its name as tag.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from connect.pipeline.error_kinds import ErrorKind
from connect.telemetry.metrics import Sample
from connect.telemetry.spans import Span


class Message(msgspec.Struct, frozen=True, tag=True):
    """Base of all messages."""


class TaskSpec(Message, frozen=True):
    """All that a task process needs to start.

    Attributes:
        connector: its name.
        task: its number.
        kind: "source" or "sink".
        connector_class: "module:Class" of the connector, which knows the class of its tasks.
        folder: the plug-in's folder, None when it is installed as a package.
        config: the task's configuration, secrets filled in.
        connector_config: the connector's, secrets filled in: converters, transformations, client overrides.
        worker_config: the worker's.
        plugin_path: folders for converters and transformations.
        secrets: texts that must not appear in logs.
        paused: whether to start paused.
        lease_until: see `connect.worker.lease`.
        log_level: of the task's loggers.
        log_levels: of single loggers, set while the worker runs; in order.
        stalled_after: seconds without progress after which the task counts as stalled; 0 for never.
        restart_stalled: whether a stalled task is ended.
        offsets_topic: where a source task writes its offsets itself; None leaves it to the worker.
        own_offsets: whether that topic is the connector's own. The worker then writes to the shared one as well.
        transactional_id: of a source task that delivers exactly once.
        isolation: "process", "packed" or "auto", see `connect.settings.isolation_keys`.
        pack: with "packed": tasks share a process only with those of the same name here, and fail with it.
        spare: the engine whose spare process it may have; see `Spares`. Empty for none.
        commit: the generation of the connector's tasks that it belongs to; see `ConfigState.commits`.
    """

    connector: str
    task: int
    kind: Literal["source", "sink"]
    connector_class: str
    folder: str | None
    config: dict[str, str]
    connector_config: dict[str, str]
    worker_config: dict[str, str]
    plugin_path: list[str]
    secrets: list[str]
    paused: bool
    lease_until: float
    log_level: int
    log_levels: list[tuple[str, str]] = []
    stalled_after: float = 0.0
    restart_stalled: bool = False
    offsets_topic: str | None = None
    own_offsets: bool = False
    transactional_id: str | None = None
    isolation: str = "process"
    pack: str = ""
    spare: str = ""
    commit: int = -1

    @property
    def id(self) -> str:
        """The task's name in logs."""
        return f"{self.connector}-{self.task}"


class Spare(msgspec.Struct, frozen=True):
    """What a process loads that waits for a task.

    Attributes:
        engine: its tasks' engine.
        worker_config: the worker's.
        folder: see `Engine.prepare`.
    """

    engine: str
    worker_config: dict[str, str]
    folder: str | None


# From the worker to a task.


class Renew(Message, frozen=True):
    """The lease holds until this moment of the boot-time clock."""

    until: float


class Pause(Message, frozen=True):
    """Stop polling or delivering until `Resume`."""


class Resume(Message, frozen=True):
    """Continue after `Pause`."""


class SetLevel(Message, frozen=True):
    """Set the level of a logger and those below it. Goes to connectors' host processes too."""

    logger: str
    level: str


class OpenTap(Message, frozen=True):
    """Show so many records on their way through the task's chain, within so many seconds: see `Tapped`."""

    question: int
    records: int
    seconds: float


class Stop(Message, frozen=True):
    """Commit what is durable and end. The worker kills what is left after its graceful timeout."""


class Offsets(Message, frozen=True):
    """The answer to `AskOffsets`: one entry for each requested partition."""

    question: int
    offsets: list[dict[str, Any] | None]
    error: str | None = None


class OffsetKeys(Message, frozen=True):
    """The answer to `AskOffsetKeys`: for each partition its keys in the offsets topic."""

    question: int
    keys: list[list[bytes]]
    error: str | None = None


class Stored(Message, frozen=True):
    """The answer to `StoreOffsets`: durable, or why not. And to `AskToBegin`: None means yes."""

    question: int
    error: str | None = None


# From a task to its worker.


class Running(Message, frozen=True):
    """The task has started.

    Attributes:
        paused: whether it is.
        version: of its connector's class as loaded: its file may have changed since the worker started.
        datasets: namespace and name of what it reads or writes besides topics, see `Connector.datasets`; only where
            lineage is reported.
    """

    paused: bool = False
    version: str | None = None
    datasets: list[tuple[str, str]] = []


class Paused(Message, frozen=True):
    """The task has paused (True) or resumed (False)."""

    paused: bool


class Failed(Message, frozen=True):
    """The task ends with an error.

    Attributes:
        summary: one line.
        trace: all of it, without secrets.
        kind: of the error.
    """

    summary: str
    trace: str
    kind: ErrorKind = ErrorKind.UNKNOWN


class Stopped(Message, frozen=True):
    """The task has ended as commanded."""


class AskOffsets(Message, frozen=True):
    """Request for the stored offsets of these source partitions. A connector's host names the connector."""

    question: int
    partitions: list[dict[str, Any]]
    connector: str = ""


class AskOffsetKeys(Message, frozen=True):
    """Request for the keys of these source partitions in the offsets topic."""

    question: int
    partitions: list[dict[str, Any]]


class AskToBegin(Message, frozen=True):
    """The task holds its transactional id. Is it still the current one? (A later one would hold the id.)"""

    question: int


class StoreOffsets(Message, frozen=True):
    """Make these source offsets durable: pairs of partition and offset."""

    question: int
    entries: list[tuple[dict[str, Any], dict[str, Any] | None]]


class Membership(Message, frozen=True):
    """A sink task's consumer joins its group: unless `LeftGroup` follows in the end, the worker removes this member.

    Attributes:
        member_id: its id; empty where it has a name, and no answer yet.
        instance_id: its name, by which it is removed then; see `connect.kafka.group.static_member`.
    """

    group: str
    member_id: str
    instance_id: str = ""


class LeftGroup(Message, frozen=True):
    """A sink task's consumer has left its group."""


class Progress(Message, frozen=True):
    """Once a second, unless nothing changed: what the task has done.

    Attributes:
        records: handed to the target or acknowledged by the broker, since the start.
        read: polled or consumed, since the start.
        lag: records that wait in the topics of a sink; -1 unknown.
        errors: records given up, since the start.
        metrics: the series of the task's registry that changed.
    """

    records: int
    read: int
    lag: int
    errors: int
    metrics: list[Sample]


class Spans(Message, frozen=True):
    """What was traced of the task's batches and commits since the last time."""

    spans: list[Span]


class Stalled(Message, frozen=True):
    """The task moves nothing although there is work: why, and where its thread is. Empty when it continues."""

    trace: str


class Waiting(Message, frozen=True):
    """The task waits for something that is unavailable, or, without `why`, continues.

    Attributes:
        since, why, what: see `connect.telemetry.outages.Wait`.
    """

    since: float = 0.0
    why: str = ""
    what: str = ""


class Page(Message, frozen=True):
    """The address of a page about the task's work, or "" for none any more."""

    url: str


class Alive(Message, frozen=True):
    """Sent regularly by the thread that reads the pipe, whatever the task does.

    Attributes:
        cpu: seconds of CPU time that the process has used.
    """

    cpu: float


class UsedTopics(Message, frozen=True):
    """The task reads from, or writes to, topics that it did not use before (KIP-558)."""

    topics: list[str]


class Tapped(Message, frozen=True):
    """An answer to `OpenTap`, or of a trial: a record as a `SeenOutcome` in JSON, masked; or why there will be none."""

    question: int
    record: bytes = b""
    error: str = ""


class Trying(Message, frozen=True):
    """What a trial does next, for when it does not return from it: "reading topic orders"."""

    what: str


class Log(Message, frozen=True):
    """A log record of the task's process."""

    level: int
    logger: str
    text: str
    trace: str | None
    created: float


# Between the worker and a connector's host process.


class Validate(Message, frozen=True, tag="validate"):
    """Validate a configuration, of which these keys have secrets of config providers: answered with a `Validation`."""

    worker: dict[str, str]
    config: dict[str, str]
    secret_keys: list[str]


class Match(Message, frozen=True, tag="matching"):
    """Which of these names match a Java pattern? Answered with them."""

    pattern: str
    names: list[str]


class StartConnector(Message, frozen=True, tag="start"):
    """Create a connector of the class `target` and start it: answered with a `ConnectorStarted`."""

    target: str
    folder: str | None
    config: dict[str, str]
    secrets: list[str]
    engine_default: str


class CutTasks(Message, frozen=True, tag="task_configs"):
    """Request its task configurations: answered with them."""

    max_tasks: int


class StopConnector(Message, frozen=True, tag="stop"):
    """Stop it and forget it. Does nothing where it does not run."""


class AlterOffsets(Message, frozen=True, tag="alter_offsets"):
    """Ask a connector, created only for this, about new offsets: answered with a `CheckedOffsets`.

    `offsets` are pairs: of a source partition, or topic and partition, and its offset.
    """

    target: str
    folder: str | None
    config: dict[str, str]
    offsets: list[tuple[Any, Any]]
    engine_default: str


class DescribeSettings(Message, frozen=True, tag="settings"):
    """Request for the definitions of a plug-in's settings: answered with a `KeyDefinition` for each key."""

    target: str
    folder: str | None
    kind: str


class ListChoices(Message, frozen=True, tag="choices"):
    """Ask a connector, created only for this, for the values of a key: answered with a `Listed`.

    Attributes:
        secrets: texts that must not appear in errors.
        most: the number of values that is enough.
    """

    target: str
    folder: str | None
    key: str
    config: dict[str, str]
    secrets: list[str]
    most: int


Request = Validate | Match | StartConnector | CutTasks | StopConnector | AlterOffsets | DescribeSettings | ListChoices


class ConnectorStarted(msgspec.Struct, frozen=True):
    """The class of its tasks, "module:Class"; its version; its engine, and whether that distributes the work itself."""

    task_class: str
    version: str | None
    engine: str
    spreads: bool


class CheckedOffsets(msgspec.Struct, frozen=True):
    """Whether the connector confirms that it can continue from there (True), or does not check.

    And whether its engine keeps the position of a sink outside of its group.
    """

    checked: bool
    elsewhere: bool


class Listed(msgspec.Struct, frozen=True):
    """Values of a key, None where they cannot be listed; and whether there are more."""

    values: list[str] | None
    truncated: bool = False


class Call(Message, frozen=True):
    """A call on a connector, or on its behalf."""

    question: int
    connector: str
    request: Request


class Answer(Message, frozen=True):
    """The result of a call, or its error."""

    question: int
    result: Any = None
    error: str | None = None
    trace: str | None = None
    kind: ErrorKind = ErrorKind.UNKNOWN


class Reconfigure(Message, frozen=True):
    """A connector requests that its task configurations are recomputed."""

    connector: str


class ConnectorFailed(Message, frozen=True):
    """A connector raised an error on a thread of its own."""

    connector: str
    summary: str
    trace: str
    kind: ErrorKind = ErrorKind.UNKNOWN


AnyMessage = (
    Renew
    | Pause
    | Resume
    | Stop
    | SetLevel
    | OpenTap
    | Tapped
    | Offsets
    | OffsetKeys
    | Stored
    | Running
    | Paused
    | Failed
    | Stopped
    | AskOffsets
    | AskOffsetKeys
    | AskToBegin
    | StoreOffsets
    | Membership
    | LeftGroup
    | Progress
    | Spans
    | Stalled
    | Waiting
    | Page
    | Alive
    | UsedTopics
    | Trying
    | Log
    | Call
    | Answer
    | Reconfigure
    | ConnectorFailed
)
