"""The interface of a herder for its users: the REST interface, the command line, tests.

Reads return at once from memory. Changes return a future that is done when the change is accepted (written to the
config topic, in distributed mode), not when every task follows it: states show that.

Its errors are in `connect.herder.errors`, what it returns in `connect.herder.model`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Protocol, TypeVar

from connect.herder.choices import Choices
from connect.herder.dead_letters import DeadLetters
from connect.herder.lag import ConnectorLag
from connect.herder.model import Change, ConnectorInfo, ConnectorState, Health, OffsetEntry, TargetState
from connect.herder.rebalance_history import Rebalance
from connect.herder.taps import Tapping
from connect.herder.trials import TrialRequest
from connect.herder.worker_metrics import WorkerMetrics
from connect.pipeline.findings import KeyDefinition, Validation
from connect.storage.config_history import ConfigVersion
from connect.worker.trials import TrialResult

T = TypeVar("T")


class Herder(Protocol):
    """Turns what users want into running connectors. Safe to use from many threads."""

    # Reads.

    def kafka_cluster_id(self) -> str | None:
        """The Kafka cluster's id; the brokers are asked once."""

    def health(self) -> Health:
        """Whether the worker's own parts work, whatever is unavailable outside. It starts once."""

    def readiness(self) -> Health:
        """Whether it can serve requests, with what it waits for: in a pool it is in its group."""

    def busy_with(self) -> str:
        """What has run longest, or ran last, as a sentence for a request that timed out. May be empty."""

    def connectors(self) -> list[str]:
        """The names of all connectors, sorted."""

    def info(self, name: str) -> ConnectorInfo:
        """A connector. Raises NotFoundError."""

    def status(self, name: str) -> ConnectorState:
        """Its status. Raises NotFoundError, also while nothing is known yet."""

    def task_configs(self, name: str) -> list[dict[str, str]]:
        """The configurations of its tasks, by number. Raises NotFoundError."""

    def active_topics(self, name: str) -> list[str]:
        """The topics that it used (KIP-558), none for an unknown one. ForbiddenError where topics are not tracked."""

    def tap(self, name: str, task: int | None, records: int, seconds: float) -> Tapping:
        """Look at records of its tasks on this worker, of one or all. Close it. ForbiddenError if that is off;
        BusyError while as many look as may.
        """

    def close_tap(self, tapping: Tapping) -> None:
        """Nobody looks at them any longer."""

    def history(self, name: str) -> Future[list[ConfigVersion]]:
        """The versions of its configuration, newest first; also of a deleted one. ForbiddenError without a history."""

    def reset_active_topics(self, name: str) -> None:
        """Forget them. Raises as `active_topics` does."""

    # Where requests belong. What comes to the wrong worker all the same raises ElsewhereError.

    def leader_url(self) -> str | None:
        """The URL of the worker that makes changes; None where it is this one. NobodyKnownError."""

    def owner_url(self, name: str, task: int | None = None) -> str | None:
        """The URL of the worker that runs a connector, or a task of it; None where it is this one.

        NotFoundError, NobodyKnownError.
        """

    # Measurements.

    def metrics(self) -> WorkerMetrics:
        """Metrics of this worker and of the tasks that it runs."""

    def rebalances(self) -> list[Rebalance]:
        """The last rebalances of its group, newest first, as this worker saw them. None where it has no group."""

    def lag(self, name: str) -> Future[ConnectorLag]:
        """A sink's lag, asked of the brokers. NotFoundError; BadRequestError for a source."""

    # Dead letters.

    def dead_letters(self, name: str, ask: Callable[[DeadLetters], T]) -> Future[T]:
        """Read a connector's dead letters, or replay them, on a thread of its own.

        NotFoundError; BadRequestError where it has no error topic; what `ask` raises.
        """

    # Changes. `by` is their author, for the history; None if unknown.

    def put_connector(
        self,
        name: str,
        config: Mapping[str, str],
        target: TargetState | None = None,
        *,
        replace: bool = True,
        by: str | None = None,
    ) -> Future[Change]:
        """Create a connector, or replace its configuration.

        The future raises BadRequestError for a configuration with errors, AlreadyExistsError when it exists and must
        not be replaced.
        """

    def patch_connector(
        self, name: str, patch: Mapping[str, str | None], *, by: str | None = None
    ) -> Future[ConnectorInfo]:
        """Change some keys; None removes one (KIP-477). NotFoundError, BadRequestError."""

    def delete_connector(self, name: str, *, by: str | None = None) -> Future[None]:
        """Stop and remove it. Its offsets stay. NotFoundError."""

    def pause(self, name: str) -> Future[None]:
        """Stop its tasks from moving records, but keep them. NotFoundError."""

    def resume(self, name: str) -> Future[None]:
        """Let it continue. NotFoundError."""

    def stop_connector(self, name: str) -> Future[None]:
        """End its tasks, keep its configuration (KIP-875). NotFoundError."""

    def restart_connector(
        self, name: str, *, include_tasks: bool = False, only_failed: bool = False
    ) -> Future[ConnectorState]:
        """Restart it, its tasks if asked, or only what FAILED (KIP-745). The result says what is being restarted.

        HerderError, in the future, where it alone is restarted and does not start.
        """

    def restart_task(self, name: str, number: int) -> Future[None]:
        """Restart one task. NotFoundError; HerderError, in the future, where it FAILED before its process began."""

    # Offsets (KIP-875).

    def offsets(self, name: str) -> Future[list[OffsetEntry]]:
        """Its stored or committed offsets. NotFoundError."""

    def alter_offsets(self, name: str, entries: Sequence[OffsetEntry]) -> Future[str]:
        """Change offsets of a stopped connector; the result is a message for the user. BadRequestError."""

    def reset_offsets(self, name: str) -> Future[str]:
        """Forget all offsets of a stopped connector."""

    # Plug-ins.

    def validate(self, config: Mapping[str, str]) -> Future[Validation]:
        """Validate a configuration. Never raises for its content."""

    def choices(self, key: str, config: Mapping[str, str]) -> Future[Choices]:
        """List the values that a key of a configuration could have now. Never raises for its content."""

    def try_records(self, request: TrialRequest) -> Future[TrialResult]:
        """Run sample records through a configuration that is not created, in a process of its own.

        Only what cannot be tried raises: BadRequestError, in the future. A plug-in that hangs or crashes is a reason in
        the result. ForbiddenError if that is off; BusyError while as many run as may.
        """

    def plugin_settings(self, name: str, version: str | None = None) -> Future[list[KeyDefinition]]:
        """The definitions of a plug-in's settings (KIP-769). NotFoundError."""

    # Loggers (KIP-495, KIP-976).

    def set_logger_level(self, namespace: str, level: str, *, cluster: bool = False) -> list[str]:
        """Set the level of a logger and those below it, here or on all workers. Returns the loggers changed here.

        For all workers it waits for the brokers, so call it on a thread. ValueError: there is no such level.
        """
