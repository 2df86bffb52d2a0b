"""The config topic as a worker uses it: a state that follows the topic, and changes that are written to it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence

from connect.kafka.compacted_log import CompactedLog, LogRecord
from connect.kafka.topics import TopicShape
from connect.storage import config_state
from connect.storage.config_state import ConfigReader, ConfigState, Event, Record, RestartRequest, SessionKey, Target

log = logging.getLogger("connect.storage")

_WRITE_S = 30.0


class ConfigLog:
    """The configurations of a cluster.

    Changes are written by whoever is the leader, and count when they come back: what a worker does follows from what
    it read, never from what it wrote.

    Args:
        topic: `config.storage.topic`.
        clients: Java's client settings of the worker.
        shape: of the topic, with one partition.
        listener: told of each event after the state holds it, by the log's thread; must not block. Not told of what
            was in the topic before `start`.
        transactional_id: with exactly-once sources only the leader may write, which is what `claim` makes us.
    """

    def __init__(
        self,
        topic: str,
        clients: Mapping[str, str],
        shape: TopicShape,
        listener: Callable[[Event], None],
        transactional_id: str | None = None,
    ) -> None:
        self._reader = ConfigReader()
        self._listener = listener
        self._started = threading.Event()
        self._log = CompactedLog(topic, clients, shape, self._take, transactional_id)

    @property
    def state(self) -> ConfigState:
        """What holds now."""
        return self._reader.state

    def start(self, timeout: float = 60) -> None:
        """Read everything. Raises `ConnectError`, see `CompactedLog.start`."""
        self._log.start(timeout)
        self._started.set()

    def read_to_end(self, timeout: float) -> ConfigState:
        """The state with everything that was written before the call. Raises `ConnectError` when it takes too long."""
        self._log.read_to_end(timeout)
        return self.state

    def claim(self) -> None:
        """Become the only one who may write. Raises `ConnectError`; may be called again."""
        self._log.claim()

    @property
    def claimed(self) -> bool:
        """Whether we may write. A failed write can end it: then whoever still leads claims once more."""
        return self._log.claimed

    def close(self, within: float = 2.0) -> None:
        """Stop following, in so many seconds at most."""
        self._log.close(within)

    # Changes. Each returns when it is durable and our own state has it; raises ConnectError.

    def put_connector(self, name: str, config: Mapping[str, str], target: Target | None = None) -> None:
        """Create a connector, or give it another configuration; and say what it is to do."""
        # The target first: nobody may start a connector that is to be created paused.
        records = [] if target is None else [config_state.target_record(name, target)]
        self._write([*records, config_state.connector_record(name, config)])

    def remove_connector(self, name: str) -> None:
        """Delete a connector."""
        self._write(config_state.removal_records(name))

    def put_tasks(self, name: str, configs: Sequence[Mapping[str, str]]) -> None:
        """Say what a connector's tasks are: all of them at once (P4)."""
        *tasks, commit = config_state.task_records(name, list(configs))
        # One by one: no commit record may stand where a configuration is missing because Kafka did not take it.
        self._log.send(tasks, _WRITE_S)
        self._write([commit])

    def put_target(self, name: str, target: Target) -> None:
        """Say what a connector is to do."""
        self._write([config_state.target_record(name, target)])

    def put_restart(self, request: RestartRequest) -> None:
        """Ask for a restart."""
        self._write([config_state.restart_record(request)])

    def put_session_key(self, key: SessionKey) -> None:
        """Hand out a new session key."""
        self._write([config_state.session_key_record(key)])

    def put_fencing(self, name: str, tasks: int) -> None:
        """Say that the producers of so many tasks are fenced."""
        self._write([config_state.fencing_record(name, tasks)])

    def put_logger_level(self, namespace: str, level: str) -> None:
        """Have all workers log a namespace at this level. Anybody may ask for that, also who does not lead."""
        records = [config_state.logger_record(namespace, level)]
        self._log.read_to(self._log.send(records, _WRITE_S, unclaimed=True), _WRITE_S)

    def _write(self, records: Sequence[Record]) -> None:
        self._log.read_to(self._log.send(records, _WRITE_S), _WRITE_S)

    def _take(self, record: LogRecord) -> None:
        event = self._reader.take(record.key, record.value, record.offset)
        if event is not None and self._started.is_set():
            self._listener(event)
