"""The states of connectors and tasks that this worker publishes to the pool, and those that others published."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Final

from connect.group import Work, can_be_told
from connect.group.wire import LONGEST_NAME
from connect.herder.connectors import StartedConnector
from connect.herder.errors import NobodyKnownError, NotFoundError
from connect.herder.pool import Pool
from connect.herder.views import plugin_version
from connect.storage import ConnectorStatus, RestartNote, State, TaskStatus

_NAMELESS: Final = (
    "No worker can get this connector: its name has {length:,} bytes, and an assignment has room for"
    f" {LONGEST_NAME:,}. Delete it, and create it under a shorter name. Java workers end when they lead a group with"
    " such a name in its config topic."
)


class PoolStates:
    """Publishes and reads states of a pool's connectors and tasks. Safe to use from many threads.

    Args:
        pool: see `Pool`.
        later: runs something soon, on another thread; raises RuntimeError when the worker is stopping.
    """

    def __init__(self, pool: Pool, later: Callable[[Callable[[], None]], object]) -> None:
        self._pool = pool
        self._worker = pool.worker
        self._statuses = pool.worker.statuses
        self._later = later
        #: What this worker last said of its connectors (task None) and tasks.
        self._said: dict[tuple[str, int | None], ConnectorStatus | TaskStatus] = {}
        #: The versions of plug-ins that were loaded here, by connector.class.
        self._versions: dict[str, str] = {}

    def put(self, name: str, state: State, trace: str | None = None, restart: RestartNote | None = None) -> None:
        """Publish a connector's state."""
        started = self._worker.connectors.get(name)
        written = self._pool.state.connectors.get(name, {})
        version = self._version(written, started)
        status = ConnectorStatus(name, state, self._worker.id, trace, self._generation(), version, restart)
        # That it ended here must not hide that it runs elsewhere by now.
        (self._statuses.put_safe if state is State.UNASSIGNED else self._statuses.put)(status)

    def _version(self, written: Mapping[str, str], started: StartedConnector | None) -> str | None:
        """The version of a connector's plug-in. A jar tells it only when it is loaded: then it is kept."""
        plugin = written.get("connector.class", "")
        if started is None:
            return plugin_version(self._worker.plugins, written) or self._versions.get(plugin)
        if started.version is not None:
            self._versions[plugin] = started.version
        return started.version

    def put_task(
        self, name: str, number: int, state: State, trace: str | None = None, restart: RestartNote | None = None
    ) -> None:
        """Publish the state of a task that has no process."""
        generation = self._generation()
        self._statuses.put(TaskStatus(name, number, state, self._worker.id, trace, generation, None, restart))

    def forget(self, name: str, number: int | None = None) -> None:
        """Remove the state of a task of this worker that no longer exists, or of a connector with all its tasks."""
        self._said.pop((name, number), None)
        self._statuses.forget(name, number)

    def given_up(self, work: Work) -> None:
        """This worker no longer owns this work, and no longer answers for its states."""
        for key in [*((name, None) for name in work.connectors), *work.tasks]:
            self._said.pop(key, None)

    def keep_last_word(self, status: ConnectorStatus | TaskStatus) -> None:
        """Publish a state of this worker again when another worker publishes UNASSIGNED after it.

        That worker was frozen or cut off, and does not know yet who owns its work. Called with every state that is
        read.
        """
        task = status.task if isinstance(status, TaskStatus) else None
        key = (status.connector, task)
        if status.worker_id == self._worker.id:
            self._said[key] = status
            return
        self._repeat(*key)

    def keep_what_is_removed(self, name: str, number: int | None) -> None:
        """Publish a state of this worker again when another worker removes it.

        That worker had it before, and was cut off while it told that this part no longer exists; or it leads, and the
        connector was created again meanwhile. Called with every removal that is read.
        """
        state = self._pool.state
        if name in state.connectors and (number is None or number in state.task_ids(name)):
            self._repeat(name, number)

    def keep(self, name: str, number: int) -> None:
        """Publish the state of a task again that goes on, where it was removed.

        For a while the task was not to exist, so its state was removed with good reason; and this worker, cut off or
        busy, has read of the end and of the new beginning at once.
        """
        if all(status.task != number for status in self._statuses.tasks(name)):
            self._repeat(name, number)

    def _repeat(self, name: str, number: int | None) -> None:
        """Publish again what this worker last said of what it owns."""
        mine = self._said.get((name, number))
        if mine is None or mine.state is State.UNASSIGNED or not self._pool.owns(name, number):
            return
        with contextlib.suppress(RuntimeError):  # the worker ends
            if self._pool.member.live():
                self._later(lambda: self._statuses.put(mine))

    def tidy(self) -> None:
        """Remove states of what no longer exists, and publish which connectors cannot be assigned: for the leader."""
        self._forget_deleted()
        self._fail_what_nobody_gets()

    def _forget_deleted(self) -> None:
        """Remove states of what is no longer configured: its worker may have died before it could."""
        state = self._pool.state
        for name in self._statuses.connectors():
            if name not in state.connectors:
                self._statuses.forget(name)
            elif name not in state.inconsistent:
                for task in self._statuses.tasks(name):
                    if task.task not in state.task_ids(name):
                        self._statuses.forget(name, task.task)

    def _fail_what_nobody_gets(self) -> None:
        """Publish a failure for connectors that no worker can run."""
        for name in self._pool.state.connectors:
            known = self._statuses.connector(name)
            if not can_be_told(name) and (known is None or known.state is not State.FAILED):
                self.put(name, State.FAILED, _NAMELESS.format(length=len(name.encode(errors="replace"))))

    def owner_url(self, name: str, number: int | None = None) -> str | None:
        """The URL of the worker of a connector or task, None where it is this one: its status has the address.

        Raises:
            NotFoundError: there is no such connector or task.
            NobodyKnownError: it has no status.
        """
        self._pool.config(name, "Unknown connector: {}")
        if number is not None and number not in self._pool.state.task_ids(name):
            raise NotFoundError(f"Unknown task: {name}-{number}")
        if self._pool.owns(name, number):
            return None
        status: ConnectorStatus | TaskStatus | None = self._statuses.connector(name)
        if number is not None:
            status = next((task for task in self._statuses.tasks(name) if task.task == number), None)
        if status is None:
            raise NobodyKnownError
        return f"{self._scheme()}://{status.worker_id}/"

    def stopped_workers(self) -> dict[str, Work]:
        """The URLs of workers of which every state is UNASSIGNED: they have stopped properly; with what they had."""
        states: dict[str, set[State]] = {}
        connectors: dict[str, set[str]] = {}
        tasks: dict[str, set[tuple[str, int]]] = {}
        for name in self._statuses.connectors():
            if (connector := self._statuses.connector(name)) is not None:
                states.setdefault(connector.worker_id, set()).add(connector.state)
                connectors.setdefault(connector.worker_id, set()).add(name)
            for task in self._statuses.tasks(name):
                states.setdefault(task.worker_id, set()).add(task.state)
                tasks.setdefault(task.worker_id, set()).add((name, task.task))
        return {
            f"{self._scheme()}://{worker}/": Work.of(connectors.get(worker, ()), tasks.get(worker, ()))
            for worker, known in states.items()
            if known == {State.UNASSIGNED}
        }

    def _scheme(self) -> str:
        """A pool speaks one."""
        return self._pool.member.role.leader_url.partition(":")[0] or "http"

    def _generation(self) -> int:
        return max(0, self._pool.member.role.generation)
