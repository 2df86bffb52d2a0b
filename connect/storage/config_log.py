"""The configurations of a worker or a pool: a state that follows a log, and changes that are written to it.

In a pool the log is a topic. A standalone worker keeps it in memory, and it ends with the worker.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from connect.kafka.admin.topics import TopicShape
from connect.kafka.compacted_log import CompactedLog, LogRecord
from connect.storage import config_state
from connect.storage.config_state import ConfigReader, ConfigState, Event, Record, RestartRequest, SessionKey, Target

log = logging.getLogger("connect.storage")

#: Called with each event once the state includes it, one after another; must not block.
Listener = Callable[[Event], None]

_WRITE_S = 30.0


class ConfigLog(ABC):
    """What users want, as it was written. Safe to use from many threads.

    Only the leader writes changes. They count once they have been read back: a worker acts on what it read, never on
    what it wrote.

    Attributes:
        writers: how many changes, of different connectors, may be written at the same time.
    """

    writers: int

    def __init__(self) -> None:
        self._reader = ConfigReader()

    @property
    def state(self) -> ConfigState:
        """The current state."""
        return self._reader.state

    @abstractmethod
    def start(self, listener: Listener) -> None:
        """Read everything, without calling the listener, and follow from there. Raises `ConnectError`."""

    @abstractmethod
    def read_to_end(self, timeout: float) -> ConfigState:
        """The state with everything that was written before the call. Raises `ConnectError` when it takes too long."""

    @abstractmethod
    def claim(self) -> None:
        """Become the only writer. Raises `ConnectError`; may be called again."""

    @property
    @abstractmethod
    def claimed(self) -> bool:
        """Whether this worker may write. A failed write can end it; a worker that still leads then claims again."""

    @abstractmethod
    def close(self, within: float = 2.0) -> None:
        """Stop following, within this many seconds."""

    # Changes. Each returns when it is durable (as far as the log is) and in `state`; raises ConnectError.

    def put_connector(self, name: str, config: Mapping[str, str], target: Target | None = None) -> None:
        """Create a connector or change its configuration, and optionally set its target state."""
        # The target first: no worker may start a connector that is created paused.
        records = [] if target is None else [config_state.target_record(name, target)]
        self._write([*records, config_state.connector_record(name, config)])

    def remove_connector(self, name: str) -> None:
        """Delete a connector."""
        self._write(config_state.removal_records(name))

    def put_tasks(self, name: str, configs: Sequence[Mapping[str, str]]) -> None:
        """Set the configurations of a connector's tasks, all of them at once (P4)."""
        *tasks, commit = config_state.task_records(name, list(configs))
        # Separately: there must be no commit record when Kafka has refused one of the configurations.
        self._write(tasks, awaited=False)
        self._write([commit])

    def put_target(self, name: str, target: Target) -> None:
        """Set a connector's target state."""
        self._write([config_state.target_record(name, target)])

    def put_stop(self, name: str) -> None:
        """Stop a connector: its target state, and that it has no tasks, in one write."""
        self._write([config_state.target_record(name, "STOPPED"), *config_state.task_records(name, [])])

    def put_restart(self, request: RestartRequest) -> None:
        """Request a restart."""
        self._write([config_state.restart_record(request)])

    def put_session_key(self, key: SessionKey) -> None:
        """Publish a new session key."""
        self._write([config_state.session_key_record(key)])

    def put_fencing(self, name: str, tasks: int) -> None:
        """Record that the producers of this many tasks are fenced."""
        self._write([config_state.fencing_record(name, tasks)])

    def put_logger_level(self, namespace: str, level: str) -> None:
        """Have all workers log a namespace at this level. Any worker may write this, not only the leader."""
        self._write([config_state.logger_record(namespace, level)], unclaimed=True)

    @abstractmethod
    def _write(self, records: Sequence[Record], *, unclaimed: bool = False, awaited: bool = True) -> None:
        """Write records; with `awaited`, return once they have been read back."""


class TopicConfigLog(ConfigLog):
    """The configurations of a pool.

    Args:
        topic: `config.storage.topic`.
        clients: Java's client settings of the worker.
        shape: how the topic is created, with one partition.
        transactional_id: with exactly-once sources only the leader may write; `claim` fences the others.
    """

    writers = 1  # a transaction holds one change

    def __init__(
        self, topic: str, clients: Mapping[str, str], shape: TopicShape, transactional_id: str | None = None
    ) -> None:
        super().__init__()
        self._listener: Listener | None = None
        self._log = CompactedLog(topic, clients, shape, self._take, transactional_id)

    def start(self, listener: Listener, timeout: float = 60) -> None:
        """See `ConfigLog.start` and `CompactedLog.start`. The listener is called by the log's thread."""
        self._log.start(timeout)
        self._listener = listener

    def read_to_end(self, timeout: float) -> ConfigState:
        self._log.read_to_end(timeout)
        return self.state

    def claim(self) -> None:
        self._log.claim()

    @property
    def claimed(self) -> bool:
        return self._log.claimed

    def close(self, within: float = 2.0) -> None:
        self._log.close(within)

    def _write(self, records: Sequence[Record], *, unclaimed: bool = False, awaited: bool = True) -> None:
        end = self._log.send(records, _WRITE_S, unclaimed=unclaimed)
        if awaited:
            self._log.read_to(end, _WRITE_S)

    def _take(self, record: LogRecord) -> None:
        event = self._reader.take(record.key, record.value, record.offset, record.timestamp)
        if event is not None and self._listener is not None:
            self._listener(event)


class MemoryConfigLog(ConfigLog):
    """The configurations of a standalone worker. They last as long as the worker; writes are immediate."""

    writers = 32
    claimed = True

    def __init__(self) -> None:
        super().__init__()
        self._listener: Listener = lambda _: None
        self._written = 0
        self._lock = threading.RLock()

    def start(self, listener: Listener) -> None:
        """See `ConfigLog.start`. The listener is called by the thread that writes."""
        self._listener = listener

    def read_to_end(self, timeout: float) -> ConfigState:
        return self.state

    def claim(self) -> None:
        """There is no other writer."""

    def close(self, within: float = 2.0) -> None:
        """There is nothing to release."""

    def _write(self, records: Sequence[Record], *, unclaimed: bool = False, awaited: bool = True) -> None:
        with self._lock:
            for key, value in records:
                event = self._reader.take(key, value, self._written)
                self._written += 1
                if event is not None:
                    self._listener(event)
