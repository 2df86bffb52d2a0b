"""What a herder is to those who ask it: the REST interface, the command line, tests.

Reads answer at once from memory. Changes answer with a future that ends when the change is accepted (written to the
config topic, in distributed mode), not when every task follows it: states are for that.

Its errors stand in `connect.herder.errors`, what it tells in `connect.herder.model`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Protocol, TypeVar

from connect.herder.dead_letters import DeadLetters
from connect.herder.lag import ConnectorLag
from connect.herder.model import Change, ConnectorInfo, ConnectorState, Health, OffsetEntry, TargetState
from connect.herder.worker_metrics import WorkerMetrics
from connect.pipeline.findings import KeyDefinition, Validation

T = TypeVar("T")


class Herder(Protocol):
    """Turns what users want into running connectors. Safe to use from many threads."""

    # Reads.

    def kafka_cluster_id(self) -> str | None:
        """The Kafka cluster's id; asked of the brokers once."""

    def health(self) -> Health:
        """Whether the worker works: its own parts do, whatever is away. It starts once."""

    def readiness(self) -> Health:
        """Whether it can do what it is asked to, with what it waits for: in a pool it is in its group."""

    def busy_with(self) -> str:
        """What takes longest at this moment, or was done last: a sentence for who waited in vain. May be empty."""

    def connectors(self) -> list[str]:
        """The names of all connectors, sorted."""

    def info(self, name: str) -> ConnectorInfo:
        """A connector. Raises NotFoundError."""

    def status(self, name: str) -> ConnectorState:
        """How it is. Raises NotFoundError, also while nothing is known yet."""

    def task_configs(self, name: str) -> list[dict[str, str]]:
        """The configurations of its tasks, by number. Raises NotFoundError."""

    def active_topics(self, name: str) -> list[str]:
        """The topics that it used (KIP-558), none for an unknown one. ForbiddenError where topics are not tracked."""

    def reset_active_topics(self, name: str) -> None:
        """Forget them. Raises as `active_topics` does."""

    # Where requests belong. What comes to the wrong worker all the same raises ElsewhereError.

    def leader_url(self) -> str | None:
        """Where the worker is that makes changes; None where it is this one. NobodyKnownError."""

    def owner_url(self, name: str, task: int | None = None) -> str | None:
        """Where the worker is that runs a connector, or a task of it; None where it is this one.

        NotFoundError, NobodyKnownError.
        """

    # Measurements.

    def metrics(self) -> WorkerMetrics:
        """What is measured on this worker, of itself and of the tasks that it runs."""

    def lag(self, name: str) -> Future[ConnectorLag]:
        """How far a sink is behind its topics, asked of the brokers. NotFoundError; BadRequestError for a source."""

    # Dead letters.

    def dead_letters(self, name: str, ask: Callable[[DeadLetters], T]) -> Future[T]:
        """Ask about a connector's dead letters, or replay them, on a thread of its own.

        NotFoundError; BadRequestError where it keeps none; what `ask` raises.
        """

    # Changes.

    def put_connector(
        self, name: str, config: Mapping[str, str], target: TargetState | None = None, *, replace: bool = True
    ) -> Future[Change]:
        """Create a connector, or give it another configuration.

        The future raises BadRequestError for a configuration with errors, AlreadyExistsError when it exists and is not
        to be replaced.
        """

    def patch_connector(self, name: str, patch: Mapping[str, str | None]) -> Future[ConnectorInfo]:
        """Change some keys; None removes one (KIP-477). NotFoundError, BadRequestError."""

    def delete_connector(self, name: str) -> Future[None]:
        """Stop and forget it. Its offsets stay. NotFoundError."""

    def pause(self, name: str) -> Future[None]:
        """Let its tasks move nothing, but keep them. NotFoundError."""

    def resume(self, name: str) -> Future[None]:
        """Let it go on. NotFoundError."""

    def stop_connector(self, name: str) -> Future[None]:
        """End its tasks, keep its configuration (KIP-875). NotFoundError."""

    def restart_connector(
        self, name: str, *, include_tasks: bool = False, only_failed: bool = False
    ) -> Future[ConnectorState]:
        """Restart it, and its tasks if asked, or only what FAILED (KIP-745). Answers with what is being restarted."""

    def restart_task(self, name: str, number: int) -> Future[None]:
        """Restart one task. NotFoundError."""

    # Offsets (KIP-875).

    def offsets(self, name: str) -> Future[list[OffsetEntry]]:
        """The offsets it has stored or committed. NotFoundError."""

    def alter_offsets(self, name: str, entries: Sequence[OffsetEntry]) -> Future[str]:
        """Change offsets of a stopped connector; what the answer says is for the user. BadRequestError."""

    def reset_offsets(self, name: str) -> Future[str]:
        """Forget all offsets of a stopped connector."""

    # Plug-ins.

    def validate(self, config: Mapping[str, str]) -> Future[Validation]:
        """Check a configuration. Never fails for its content."""

    def plugin_settings(self, name: str, version: str | None = None) -> Future[list[KeyDefinition]]:
        """The definitions of a plug-in's settings (KIP-769). NotFoundError."""

    # Loggers (KIP-495, KIP-976).

    def set_logger_level(self, namespace: str, level: str, *, cluster: bool = False) -> list[str]:
        """Set the level of a logger and those below it, here or on all workers. Returns those changed here."""
