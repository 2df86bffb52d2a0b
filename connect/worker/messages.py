"""What a worker and its task and connector processes say to each other over their control pipes. Data never does.

Each message is a msgspec struct, sent as msgpack with its name as tag.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from connect.pipeline.error_kinds import ErrorKind
from connect.telemetry.metrics import Sample


class Message(msgspec.Struct, frozen=True, tag=True):
    """Base of all messages."""


class TaskSpec(Message, frozen=True):
    """All that a task process needs to begin.

    Attributes:
        connector: its name.
        task: its number.
        kind: "source" or "sink".
        connector_class: "module:Class" of the connector, which knows the class of its tasks.
        folder: the plug-in's folder, None when it is installed.
        config: the task's configuration, secrets filled in.
        connector_config: the connector's, secrets filled in: converters, transformations, client overrides.
        worker_config: the worker's.
        plugin_path: folders for converters and transformations.
        secrets: texts that no log may show.
        paused: whether to begin paused.
        lease_until: see `connect.worker.lease`.
        log_level: of the task's loggers.
        log_levels: of single loggers, set while the worker runs; in order.
        stalled_after: seconds without progress after which the task counts as stalled; 0 for never.
        restart_stalled: whether it is ended then.
        offsets_topic: where a source task writes its offsets itself; None leaves it to the worker.
        own_offsets: whether that topic is the connector's own. The worker keeps the shared one besides.
        transactional_id: of a source task that delivers exactly once.
        commit: which generation of the connector's tasks it belongs to; see `ConfigState.commits`.
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
    commit: int = -1

    @property
    def id(self) -> str:
        """The task as logs name it."""
        return f"{self.connector}-{self.task}"


# From the worker to a task.


class Renew(Message, frozen=True):
    """The lease holds until this moment of the boot-time clock."""

    until: float


class Pause(Message, frozen=True):
    """Stop polling or delivering until `Resume`."""


class Resume(Message, frozen=True):
    """Go on after `Pause`."""


class SetLevel(Message, frozen=True):
    """Log a logger, and those below it, at this level from now on. To connectors' host processes too."""

    logger: str
    level: str


class Stop(Message, frozen=True):
    """Commit what is durable and end. The worker kills what is left after its graceful timeout."""


class Offsets(Message, frozen=True):
    """The answer to `AskOffsets`: one entry for each partition asked for."""

    question: int
    offsets: list[dict[str, Any] | None]
    error: str | None = None


class OffsetKeys(Message, frozen=True):
    """The answer to `AskOffsetKeys`: for each partition the keys under which its offset is to be written."""

    question: int
    keys: list[list[bytes]]
    error: str | None = None


class Stored(Message, frozen=True):
    """The answer to `StoreOffsets`: durable, or why not. And to `AskToBegin`: None lets it."""

    question: int
    error: str | None = None


# From a task to its worker.


class Running(Message, frozen=True):
    """The task has started.

    Attributes:
        paused: whether it is.
        version: of its connector's class, as it was loaded: its file may have changed since the worker started.
    """

    paused: bool = False
    version: str | None = None


class Paused(Message, frozen=True):
    """The task honours a pause (True) or has gone on (False)."""

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
    """The task has ended as it should."""


class AskOffsets(Message, frozen=True):
    """Which offsets are stored for these source partitions? A connector's host names the connector."""

    question: int
    partitions: list[dict[str, Any]]
    connector: str = ""


class AskOffsetKeys(Message, frozen=True):
    """Under which keys are offsets of these source partitions to be written?"""

    question: int
    partitions: list[dict[str, Any]]


class AskToBegin(Message, frozen=True):
    """The task holds its transactional id. Is it still the one that is to run? (Whoever comes later holds it then.)"""

    question: int


class StoreOffsets(Message, frozen=True):
    """Make these source offsets durable: pairs of partition and offset."""

    question: int
    entries: list[tuple[dict[str, Any], dict[str, Any] | None]]


class Membership(Message, frozen=True):
    """A sink task's consumer joins its group: unless it says `LeftGroup` in the end, the worker removes this member.

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


class Stalled(Message, frozen=True):
    """The task moves nothing although there is work: why, and where its thread is. Empty when it goes on."""

    trace: str


class Waiting(Message, frozen=True):
    """The task waits for something that is away, or, without `why`, goes on.

    Attributes:
        since, why, what: see `connect.telemetry.outages.Wait`.
    """

    since: float = 0.0
    why: str = ""
    what: str = ""


class Alive(Message, frozen=True):
    """Said now and then by the thread that reads the pipe, whatever the task does.

    Attributes:
        cpu: seconds of CPU time that the process has used.
    """

    cpu: float


class UsedTopics(Message, frozen=True):
    """The task reads from, or writes to, topics that it did not use before (KIP-558)."""

    topics: list[str]


class Log(Message, frozen=True):
    """A log record of the task's process."""

    level: int
    logger: str
    text: str
    trace: str | None
    created: float


# Between the worker and a connector's host process.


class Validate(Message, frozen=True, tag="validate"):
    """Check a configuration, of which these keys have secrets of config providers: answered with a `Validation`."""

    worker: dict[str, str]
    config: dict[str, str]
    secret_keys: list[str]


class Match(Message, frozen=True, tag="matching"):
    """Which of these names match a pattern of Java's? Answered with them."""

    pattern: str
    names: list[str]


class StartConnector(Message, frozen=True, tag="start"):
    """Make a connector of the class `target` and start it: answered with a `ConnectorStarted`. No log shows secrets."""

    target: str
    folder: str | None
    config: dict[str, str]
    secrets: list[str]
    engine_default: str


class CutTasks(Message, frozen=True, tag="task_configs"):
    """Have it cut its work: answered with the configurations of its tasks."""

    max_tasks: int


class StopConnector(Message, frozen=True, tag="stop"):
    """Stop it and forget it. Harmless where it does not run."""


class AlterOffsets(Message, frozen=True, tag="alter_offsets"):
    """Ask a connector, made for this alone, about new offsets: answered with a `CheckedOffsets`.

    `offsets` are pairs: of a source partition, or topic and partition, and its offset.
    """

    target: str
    folder: str | None
    config: dict[str, str]
    offsets: list[tuple[Any, Any]]
    engine_default: str


class DescribeSettings(Message, frozen=True, tag="settings"):
    """What may be written into a plug-in's configuration? Answered with a `KeyDefinition` for each key."""

    target: str
    folder: str | None
    kind: str


Request = Validate | Match | StartConnector | CutTasks | StopConnector | AlterOffsets | DescribeSettings


class ConnectorStarted(msgspec.Struct, frozen=True):
    """The class of its tasks, "module:Class"; its own version; its engine, and whether that spreads the work itself."""

    task_class: str
    version: str | None
    engine: str
    spreads: bool


class CheckedOffsets(msgspec.Struct, frozen=True):
    """Whether the connector says that it can go on from there (True), or does not look.

    And whether its engine keeps the position of a sink elsewhere than in its group.
    """

    checked: bool
    elsewhere: bool


class Call(Message, frozen=True):
    """Do something with, or for, a connector."""

    question: int
    connector: str
    request: Request


class Answer(Message, frozen=True):
    """What a call returned, or how it failed."""

    question: int
    result: Any = None
    error: str | None = None
    trace: str | None = None
    kind: ErrorKind = ErrorKind.UNKNOWN


class Reconfigure(Message, frozen=True):
    """A connector asks for its task configurations to be recomputed."""

    connector: str


class ConnectorFailed(Message, frozen=True):
    """A connector raised an error from a thread of its own."""

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
    | Stalled
    | Waiting
    | Alive
    | UsedTopics
    | Log
    | Call
    | Answer
    | Reconfigure
    | ConnectorFailed
)
