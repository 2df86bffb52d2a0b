"""What must hold at every moment: one owner writes, offsets follow acknowledgements, configurations are whole."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from connect.storage.config_state import CONNECTOR, TARGET_STATE, ConfigReader, ConfigState
from tests.simulation.broker import Record
from tests.simulation.scheduler import Violation, running

if TYPE_CHECKING:
    from tests.simulation.programs import SourceTask

TaskKey = tuple[str, int]


class Invariants:
    """Watches the topics and the tasks.

    Attributes:
        live: the processes of each task, in the order of their starts.
        wrote: when an instance of a task began its last write.
        states: the configuration after each record of the config topic, as one who has read all of it knows it.
        paused: connectors that were paused or stopped at any time.
        changed_by_user: connectors whose offsets a user changes at the moment, and how many do.
    """

    def __init__(self, *, exactly_once: bool) -> None:
        self._exactly_once = exactly_once
        self._instances = 0
        self.live: dict[TaskKey, list[SourceTask]] = defaultdict(list)
        self.wrote: dict[TaskKey, float] = {}
        self._writer: dict[TaskKey, int] = {}
        self._landed: dict[TaskKey, int] = {}
        self._stored: dict[TaskKey, int] = {}
        self._rewound: set[TaskKey] = set()  # a user changed their offsets
        self.changed_by_user: dict[str, int] = defaultdict(int)
        self._reader = ConfigReader()
        self.states: dict[int, ConfigState] = {0: self._reader.state}
        self._commits: dict[int, tuple[list[Mapping[str, str]], Mapping[str, str]]] = {}
        self.compacted = 0
        self.paused: set[str] = set()
        self.log: list[tuple[str, str]] = []

    # Tasks.

    def task_started(self, task: SourceTask) -> None:
        """A worker has started a process: with a committed configuration (P4)."""
        self._instances += 1
        task.incarnation = self._instances
        self.live[task.key].append(task)
        spec = task.spec
        if not running.world.workers[task.process.machine.host.name].reads_all:
            return  # which of several configurations a commit belongs to is not known after compaction
        committed = self._commits.get(spec.commit)
        if committed is None:
            raise Violation(f"P4: {spec.id} starts for a commit at {spec.commit}, which is none")
        tasks, applied = committed
        if spec.task >= len(tasks) or dict(spec.config) != dict(tasks[spec.task]):
            raise Violation(f"P4: {spec.id} starts with a configuration that was not committed: {spec.config}")
        if dict(spec.connector_config) != {**applied, "name": spec.connector}:
            raise Violation(
                f"P4: {spec.id} starts with another connector's configuration: {spec.connector_config}, not {applied}"
            )

    def task_ended(self, task: SourceTask) -> None:
        """A process ends by itself."""
        if task in self.live[task.key]:
            self.live[task.key].remove(task)

    def instances(self, key: TaskKey) -> list[SourceTask]:
        """The processes of a task that are not dead."""
        alive = self.live[key] = [each for each in self.live[key] if not each.process.machine.dead]
        return alive

    def write_begins(self, task: SourceTask) -> None:
        """A task that has found its lease valid begins to write (P3)."""
        key, now = task.key, running.scheduler.now
        if task.incarnation < self._writer.get(key, 0):
            raise Violation(f"P3: {task.process.machine.name} writes for {task.spec.id} after its successor has begun")
        for other in self.instances(key):
            if other is not task and other.lease.until > now + other.process.machine.skew[1]:
                names = f"{task.process.machine.name} and {other.process.machine.name}"
                raise Violation(f"P3: {names} hold a lease for {task.spec.id} at the same time")
        self._writer[key] = task.incarnation
        self.wrote[key] = now

    def task_read(self, task: SourceTask) -> None:
        """A task has read where to continue: what was stored before it started."""
        if self.changed_by_user[task.spec.connector]:
            return
        stored = self._stored.get(task.key, 0)
        if task.number > self._landed.get(task.key, 0):
            raise Violation(f"P1: {task.spec.id} continues at {task.number}, beyond what was written")
        if task.number < task.stored_at_start <= stored:
            raise Violation(f"{task.spec.id} continues at {task.number}, though {task.stored_at_start} was stored")

    def stored(self, key: TaskKey) -> int:
        """The offset of a task in the offsets topic."""
        return self._stored.get(key, 0)

    def store_begins(self, task: SourceTask, number: int) -> None:
        """A task begins to store an offset: never after its successor has begun, and never back."""
        key = task.key
        if task.transactional:
            return  # one that comes late is fenced
        if task.incarnation < self._writer.get(key, 0):
            raise Violation(f"P3: {task.process.machine.name} stores {task.spec.id} after its successor has begun")
        if number < task.stored:
            raise Violation(f"{task.spec.id} stores {number} after {task.stored}")

    # Topics.

    def data(self, connector: str, record: Record) -> None:
        """A record of a source, as a consumer of committed records sees it."""
        assert record.value is not None
        part, number = json.loads(record.value)
        key = (connector, part)
        landed = self._landed.get(key, 0)
        if number > landed:
            raise Violation(f"{key} lost records: {number} follows {landed}")
        if self._exactly_once and number < landed and key not in self._rewound:
            raise Violation(f"P10: {key} repeats {number}, though {landed - 1} was there")
        self._landed[key] = max(landed, number + 1)

    def offset(self, record: Record) -> None:
        """A record of the offsets topic."""
        assert record.key is not None
        connector, partition = json.loads(record.key)
        key = (connector, partition["part"])
        number = 0 if record.value is None else int(json.loads(record.value)["n"])
        if number > self._landed.get(key, 0):
            raise Violation(f"P1: the offset of {key} is {number}, beyond what was acknowledged")
        if self.changed_by_user[connector]:
            self._rewound.add(key)
        self._stored[key] = number

    def config(self, record: Record) -> None:
        """A record of the config topic."""
        self._reader.take(record.key, record.value, record.offset, record.timestamp)
        state = self.states[record.offset + 1] = self._reader.state
        name = (record.key or b"").decode()
        self.paused.update(connector for connector, target in state.targets.items() if target != "STARTED")
        for connector, commit in state.commits.items():
            if commit == record.offset:
                self._commits[commit] = state.task_configs(connector), state.applied[connector]
        if name.startswith((CONNECTOR, TARGET_STATE)):
            self.log.append((name, "" if record.value is None else record.value.decode()))

    @property
    def configured(self) -> ConfigState:
        """The configuration, as one who has read all of it knows it."""
        return self._reader.state

    def check_state(self, who: str, state: ConfigState) -> None:
        """What a worker that has read every record knows: the same as everybody who has read as far."""
        wanted = self.states.get(state.offset)
        if wanted is None:
            raise Violation(f"{who} has read the config topic up to {state.offset}, where no record ends")
        if state != wanted:
            raise Violation(f"{who} knows another configuration at {state.offset}: {_difference(state, wanted)}")

    # Connectors.

    def connector_started(self, process: Any, connector: str, config: Mapping[str, str]) -> None:
        """A connector's process has started it."""

    def connector_stopped(self, process: Any, connector: str) -> None:
        """A connector's process has stopped it."""


def _difference(one: ConfigState, other: ConfigState) -> str:
    names = [name for name in ConfigState.__slots__ if getattr(one, name) != getattr(other, name)]
    return "; ".join(f"{name}: {getattr(one, name)} instead of {getattr(other, name)}" for name in names)
