"""Connectors: they check a configuration and divide the work into task configurations; they move no data themselves."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, ClassVar, Protocol

from connect.api.engine import WORKER
from connect.api.metrics import PluginMetrics
from connect.api.plugin import Plugin
from connect.api.sink import SinkTask
from connect.api.source import SourceTask
from connect.data.record import TopicPartition
from connect.settings import ConfigValue, Definition


class ConnectorContext(Protocol):
    """The runtime's services for a connector."""

    @property
    def name(self) -> str:
        """The connector's name."""

    @property
    def metrics(self) -> PluginMetrics:
        """See `PluginMetrics`."""

    @property
    def exit_stack(self) -> ExitStack:
        """Closed at the end, whatever happens: `self.context.exit_stack.callback(watch.stop)`.

        The runtime closes it in the host process, on the thread that calls the connector, in reverse order: after
        `stop`; or as soon as `start` has raised, and then `stop` is not called. Its own errors are logged or reported
        as errors of `stop`; they hide no earlier error. A process that is killed closes nothing.
        """

    def request_task_reconfiguration(self) -> None:
        """Request another call of `task_configs`: tables were added or dropped, for example. Thread-safe."""

    def raise_error(self, error: Exception) -> None:
        """Fail the connector from a thread of its own. Its tasks continue."""

    def offset(self, partition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Source connectors: the last stored offset of a source partition, or None."""


class Connector(Plugin):
    """Base of `SourceConnector` and `SinkConnector`. Extend one of those.

    One instance exists for each running connector, in a host process that it may share with other connectors of the
    same plug-in, and is called from one thread, in this order:

        validate* ... start -> task_configs+ -> stop

    `validate` may be called on an instance that is never started, and `choices` on one in a process of its own. A hang
    is ended after a time and affects only the caller; an error makes the connector FAILED with its trace.

    Attributes:
        task: the class of the tasks. Set it, or override `task_class`.
        engines: on which engines it runs, see `connect.api.engine`; the first is the default.
        own_process: whether its tasks never share a process with others, whatever `task.isolation` says: because they
            change what all threads of a process have in common (signals, the working folder, the environment, ...).
        process_settings: the keys of `begin_process`, beside those of the connector.
        context: see `ConnectorContext`; set before `start`.

    Source: Kafka Connect's Connector (KIP-26).
    """

    task: ClassVar[type[Any] | None] = None
    engines: ClassVar[tuple[str, ...]] = (WORKER,)
    own_process: ClassVar[bool] = False
    process_settings: ClassVar[Definition] = Definition([])
    context: ConnectorContext

    @classmethod
    def begin_process(cls, config: Mapping[str, str]) -> None:
        """Called in the process of a task, before anything of the plug-in is made there: for what a process has once.

        Of tasks that share a process, each calls it. Receives the connector's configuration. Raising fails the task.
        """

    def start(self, config: Mapping[str, str]) -> None:
        """Receives the configuration, as the user wrote it with secrets filled in.

        `self.settings.parse(config)` types it. Raising fails the connector; what was opened by then is closed by
        `context.exit_stack`.
        """
        self.config = dict(config)

    @classmethod
    def datasets(cls, config: Mapping[str, str]) -> Sequence[tuple[str, str]]:  # noqa: ARG003 - for heirs
        """What the connector reads or writes besides topics, for OpenLineage: namespace and name of each.

        Called in the processes of tasks, with secrets filled in, of which nothing may be told. Raising tells nothing.

        Names: https://openlineage.io/docs/spec/naming
        """
        return ()

    def task_class(self) -> type[Any]:
        """The class of the tasks: `task`, unless the connector says otherwise.

        Called after `start` too, and before it where only the class is asked for: do not rely on what `start` sets.
        """
        if self.task is None:
            raise NotImplementedError(f"{type(self).__name__} sets no `task`.")
        return self.task

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """One configuration for each task, at most `max_tasks`. By default a single task with the connector's own.

        Called after `start` and after each `request_task_reconfiguration`. An empty list runs no task.
        """
        return [dict(self.config)]

    def stop(self) -> None:
        """Release what is not on `context.exit_stack`. Called once, if `start` returned."""

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        """Check a configuration beyond what `settings` can express, such as keys that exclude each other.

        Returns one entry for each setting; add to `errors` of those at fault, and to `warnings` of those that may not
        work as intended. Must not raise for a missing required key: forms call it while the user types. Only the
        plug-in's own keys: the runtime checks the others.
        """
        return self.settings.validate(config)

    def choices(self, key: str, config: Mapping[str, str]) -> Iterable[str] | None:
        """List the values of a key that exist outside now: the tables of a database, the buckets of a store.

        Called when a user who fills in a form asks for them, and only for keys that `settings` declares with
        `listed=Listed.BY_CONNECTOR`; on a new instance, which has no context and is never started, in a process that
        ends with the answer. So it may connect and wait, for as long as `connect.herder.choices.TIMEOUT_S` says; then
        the process is killed, and no connector notices.

        Args:
            config: what the user has written so far, secrets filled in. Required keys may be missing and others wrong:
                read those that lead to the system, and no more.

        Returns:
            the values as they are written under the key, in the order of the list; the first thousand are shown. None
            where they cannot be listed, with this configuration or at all.

        Raises:
            Exception: its message is shown to the user in place of values. `ConnectError` says what is wrong with the
                system, `ConfigError` with a key.
        """
        return None


class ExactlyOnceSupport(enum.Enum):
    """Whether a source connector can deliver exactly once with a configuration (KIP-618)."""

    SUPPORTED = "SUPPORTED"
    UNSUPPORTED = "UNSUPPORTED"


class SourceConnector(Connector):
    """Reads from a system into topics."""

    task: ClassVar[type[SourceTask] | None] = None

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport | None:
        """Whether the offsets of tasks are exact positions. None: the author did not decide."""
        return None

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> bool:
        """Whether tasks use `context.transaction` when `transaction.boundary=connector`."""
        return False

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[Any, Mapping[str, Any] | None]) -> bool:
        """A user changes stored offsets while the connector is stopped (KIP-875). Keys are frozen source partitions.

        Raise `ConnectError` for invalid partitions or offsets. None removes an offset: allow it for any partition, as
        users may clean up what an earlier configuration has left. True when they were checked.
        """
        return False


class SinkConnector(Connector):
    """Writes from topics into a system."""

    task: ClassVar[type[SinkTask] | None] = None
    engines: ClassVar[tuple[str, ...]] = (WORKER, "spark")

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """By default as many tasks as `tasks.max` allows, each with the connector's configuration.

        They share the partitions of the topics.
        """
        return [dict(self.config) for _ in range(max_tasks)]

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """A user changes consumed offsets while the connector is stopped (KIP-875).

        A connector that stores offsets in its target changes them there. Raise `ConnectError` to refuse.
        """
        return False
