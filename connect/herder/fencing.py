"""Fences tasks of the previous generation before a source connector's new tasks write exactly once (KIP-618).

Before tasks start, their worker asks the leader, who fences the transactional ids of the previous generation and
records in the config topic for how many tasks it did so. A task that has its id asks once more whether it is still
current: a late one has taken over the id of its successor, and leaves at once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from typing import Final, NamedTuple
from urllib.parse import quote

from connect.herder.errors import BadRequestError, HerderError, RebalanceError
from connect.herder.leader import CATCH_UP_S, Leader
from connect.herder.offset_stores import exactly_once
from connect.herder.pool import Pool
from connect.herder.views import connector_plugin, connector_type
from connect.kafka.clients.settings import task_java_settings
from connect.kafka.writing.fencing import fence
from connect.peers import PeerError
from connect.plugins import PluginKind
from connect.worker import messages
from connect.worker.background import Background

log = logging.getLogger("connect.herder")

_FENCE_S: Final = 60.0
_AT_ONCE: Final = 4
#: How long a worker goes on asking the leader, and how often.
_ASK_S: Final = 90.0
_ASK_AGAIN_S: Final = 0.5


class _Round(NamedTuple):
    """One fencing of a connector: the ids, the settings to reach their brokers, and the generation that needs it."""

    ids: list[str]
    java: Mapping[str, str]
    commit: int | None
    tasks: int


class Fencing:
    """Fences old tasks of source connectors, here or through the leader. Safe to use from many threads.

    Args:
        pool: see `Pool`.
        leader: writes the config topic where this worker leads, and asks the leader elsewhere.
    """

    def __init__(self, pool: Pool, leader: Leader) -> None:
        self._pool = pool
        self._worker = pool.worker
        self._config = pool.log
        self._member = pool.member
        self._leader = leader
        self._threads = Background("fencing", _AT_ONCE)
        self._rounds: dict[str, Future[None]] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Begin no fencing from now on."""
        self._threads.close(0, drop=True)

    # The leader's part.

    def fence(self, name: str) -> Future[None]:
        """Fence what must be fenced before a connector's tasks may start. Concurrent requests share one fencing.

        Raises, here or in the future:
            RebalanceError: nobody leads, another worker does, or the connector has other tasks by now.
            NotFoundError, BadRequestError: there is no such connector, or it is not a source.
            ConnectError: the brokers refuse.
        """
        with self._lock:
            running = self._rounds.get(name)
            if running is not None and not running.done():
                return running
            planned = self._leader.submit(name, f"fencing out the tasks of connector {name}", lambda: self._plan(name))
            carry_out = partial(copy_context().run, self._carry_out, name, planned)  # in the trace of who asks for it
            running = self._rounds[name] = self._threads.submit(carry_out)
            return running

    def _plan(self, name: str) -> _Round | None:
        """What to fence; None when there is nothing, and that is recorded."""
        state = self._pool.state
        resolved = {**self._worker.resolved(self._pool.config(name)).values, "name": name}
        if connector_plugin(self._worker.plugins, resolved).kind is not PluginKind.SOURCE:
            raise BadRequestError(f"Connector {name} is not a source connector")
        if name not in state.pending_fencing:
            return None
        before, tasks = state.fencing.get(name), state.task_counts.get(name, 0)
        if before is None or before == tasks == 1:
            # Nobody has held an id yet; or its new holder fences the old one by itself.
            self._config.put_fencing(name, tasks)
            return None
        java = task_java_settings("producer", self._worker.raw, resolved)
        ids = [self._worker.transactional_id(name, number) for number in range(before)]
        return _Round(ids, java, state.commits.get(name), tasks)

    def _carry_out(self, name: str, planned: Future[_Round | None]) -> None:
        wanted = planned.result()
        if wanted is None:
            return
        began = time.monotonic()
        about: dict[str, str | int] = {"connector": name, "connect.fencing.tasks": len(wanted.ids)}
        with self._worker.measures.tracer.span("fencing", attributes=about):
            fence(wanted.java, wanted.ids, _FENCE_S)
        log.info("fenced out %d tasks in %.3g s", len(wanted.ids), time.monotonic() - began, extra={"about": name})

        def note() -> None:
            if self._config.state.commits.get(name) != wanted.commit:
                raise RebalanceError(
                    "Failed to complete zombie fencing because a new set of task configs was generated"
                )
            self._config.put_fencing(name, wanted.tasks)

        self._leader.submit(name, f"noting the fencing of connector {name}", note).result()

    # The part of whoever starts tasks.

    def before_start(self, name: str) -> None:
        """Return when the connector's old tasks are fenced; at once without exactly-once, and for a sink.

        Raises:
            ConnectError: fencing failed.
        """
        if not exactly_once(self._worker.config) or not self._is_source(name):
            return
        deadline, refused = time.monotonic() + _ASK_S, 0
        while name in self._config.read_to_end(CATCH_UP_S).pending_fencing and self._has_tasks(name):
            try:
                self._ask(name)
            except (RebalanceError, PeerError) as error:
                status = error.status if isinstance(error, PeerError) else 409
                refused += status == 403  # while the session key is renewed, which the two read one after another
                passing = status in (None, 409, 500, 503) or (status == 403 and refused == 1)
                if not passing or time.monotonic() >= deadline:
                    raise
                log.info("the old tasks are not fenced yet: %s", error, extra={"about": name})
                time.sleep(_ASK_AGAIN_S)

    def _is_source(self, name: str) -> bool:
        config = self._config.state.connectors.get(name, {})
        return connector_type(self._worker.plugins, self._worker.resolved(config).values) == "source"

    def _has_tasks(self, name: str) -> bool:
        return any(task.connector == name for task in self._member.owned.tasks)

    def _ask(self, name: str) -> None:
        if self._member.role.leader:
            self.fence(name).result(_ASK_S)
        else:
            self._leader.ask("PUT", f"connectors/{quote(name, safe='')}/fence", b"")

    def confirm(self, task: messages.TaskSpec) -> None:
        """Decide whether a task that now holds its transactional id may begin to read and to write.

        Raises:
            ConnectError: it may not: a newer task exists.
        """
        state = self._config.read_to_end(CATCH_UP_S)
        if state.commits.get(task.connector) != task.commit or task.connector in state.pending_fencing:
            raise HerderError(f"connector {task.connector} has another set of tasks by now")
        if not self._pool.owns(task.connector, task.task) or not self._member.live():
            raise HerderError(f"task {task.id} is not this worker's any more")
        self._worker.stores.of(task.connector_config)
