"""What the parts of a herder share: their worker, what is configured, and what of it the worker owns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from connect.group import TaskId
from connect.herder.current_operations import CurrentOperations
from connect.herder.errors import NotFoundError
from connect.herder.membership import Membership
from connect.herder.worker import Worker
from connect.storage.config_log import ConfigLog
from connect.storage.config_state import ConfigState


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool of workers, or of one, as this worker sees it.

    Attributes:
        worker: runs what it owns.
        log: what is configured.
        member: what this worker owns.
        operations: what is being done.
    """

    worker: Worker
    log: ConfigLog
    member: Membership
    operations: CurrentOperations

    @property
    def state(self) -> ConfigState:
        """What is configured now."""
        return self.log.state

    def config(self, name: str, unknown: str = "Connector {} not found") -> Mapping[str, str]:
        """A connector's configuration, as written. Raises NotFoundError with this message."""
        config = self.log.state.connectors.get(name)
        if config is None:
            raise NotFoundError(unknown.format(name))
        return config

    def owns(self, name: str, number: int | None = None) -> bool:
        """Whether this worker owns a connector, or one of its tasks."""
        owned = self.member.owned
        return name in owned.connectors if number is None else TaskId(name, number) in owned.tasks
