"""Mistakes that the product does not make: each changes one thing of it, and the simulation has to see it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from connect.group import Work, assignor
from connect.herder import (
    assigned,
    automatic_restarts,
    config_changes,
    group_member,
    leader,
    pool_states,
    tasks,
)
from connect.kafka import compacted_log
from connect.kafka.group import session
from connect.storage import config_log, config_state, topic_offsets, topic_status
from connect.storage.config_state import ConfigReader
from connect.worker import lease, supervisor

#: An object, a name of it, and what stands there instead: made from what stood there.
_Change = tuple[Any, str, Callable[[Any], Any]]


def _always(value: Any) -> Callable[[Any], Any]:
    return lambda _: lambda *__, **___: value


def _commit_first(self: Any, name: str, configs: Any) -> None:
    *records, commit = config_state.task_records(name, list(configs))
    self._write([commit])
    self._write(records)


def _uncommitted(before: Any) -> Any:
    """Task configurations count when they are read, and not from their commit record on."""

    def task(self: ConfigReader, name: str, content: dict[str, Any] | None) -> None:
        before(self, name, content)
        connector, _, number = name.rpartition("-")
        known = self._draft.tasks.get(connector, [])
        if content is not None and int(number) < len(known):
            known[int(number)] = self._draft.deferred[connector][int(number)]

    return task


def _after_a_stop(self: Any, name: str, configs: Any, cut_for: Any) -> None:
    """Tasks that were cut before a stop are written after it."""
    if cut_for == self._config.state.written.get(name):
        self._config.put_tasks(name, configs)


def _forgetful(before: Any) -> Any:
    """The metadata of a member says nothing of what it owns."""

    def metadata(self: Any) -> Any:
        owned, self._owned = self._owned, Work()
        try:
            return before(self)
        finally:
            self._owned = owned

    return metadata


def _keeps_all(self: Any, work: Work) -> None:
    """What is revoked goes on."""
    self._owned -= work


def _not_stopped_first(before: Any) -> Any:
    """New work is dealt out while its owner still has it: the first round of a rebalance is left out."""

    def lead(members: Any, connectors: Any, tasks_: Any, memory: Any, now: float, **rest: Any) -> Any:
        outcome = before(members, connectors, tasks_, memory, now, **rest)
        revoked = [share.revoked for share in outcome.shares.values() if share.revoked]
        for each in revoked:
            taker = min(outcome.shares, key=lambda member: (len(outcome.shares[member].revoked), member))
            share = outcome.shares[taker]
            outcome.shares[taker] = replace(share, new=share.new | (each & Work.of(connectors, tasks_)))
        return outcome

    return lead


def _mutation_of_mismatch(before: Any) -> Any:
    """A leader that has read less than others deals out what it knows."""

    def assign(protocol: str, leader_id: str, members: Any, configured: Any, *rest: Any, **more: Any) -> Any:
        return before(protocol, leader_id, members, replace(configured, offset=2**40), *rest, **more)

    return assign


def _no_catching_up(before: Any) -> Any:
    def read(self: Any, timeout: float, *, open_too: bool = False) -> None:
        """What was written before is not waited for."""

    return read


def _older_wins(before: Any) -> Any:
    """A status that was read hides a newer one that this worker wrote."""

    def take(self: Any, record: Any) -> None:
        with self._writes_lock:
            self._writes.pop(record.key or b"", None)
        self._apply((record.key or b"").decode(), record.value)

    return take


def _immortal(before: Any) -> Any:
    """A tombstone of a connector is passed over."""

    def connector(self: ConfigReader, name: str, content: Any) -> Any:
        return None if content is None else before(self, name, content)

    return connector


def _twice(before: Any) -> Any:
    """A task is started again without waiting for the end of the one before."""

    def stop(self: Any, which: Any, graceful: float) -> None:
        with self._lock:
            for key in which:
                if (running := self._running.pop(key, None)) is not None:
                    self._supervisor.stop_task(running.process, graceful)

    return stop


#: By their names: what is changed.
MUTATIONS: Final[dict[str, list[_Change]]] = {
    "a task does not check its lease": [(lease.Lease, "valid", _always(True))],
    "leases outlast the membership": [(supervisor.Supervisor, "lease_until", lambda _: lambda self: lease.now() + 60)],
    "a session lasts from the answer, and twice as long": [
        (
            session.Session,
            "until",
            lambda _: lambda self: self._heard + 2 * self._timeout if self._held else -math.inf,
        )
    ],
    "a lost session is not noticed": [
        (session.Session, "live", _always(True)),
        (session.Session, "lose", lambda _: lambda self: False),
        (session.Session, "until", _always(math.inf)),
    ],
    "the commit record comes before the tasks": [(config_log.ConfigLog, "put_tasks", lambda _: _commit_first)],
    "tasks count before their commit record": [(ConfigReader, "_task", _uncommitted)],
    "a stopped connector gets tasks": [
        (leader.Leader, "put_tasks", lambda _: _after_a_stop),
        (assigned.AssignedWork, "_task_ids", lambda _: lambda self, name: self._pool.state.task_ids(name)),
        (leader.Leader, "withdraw_tasks", lambda _: lambda self, name: None),
    ],
    "members do not tell what they own": [(group_member.GroupMember, "metadata", _forgetful)],
    "revoked work is not stopped": [(group_member.GroupMember, "_give_up", lambda _: _keeps_all)],
    "moved work starts before it has stopped": [(assignor, "rebalance", _not_stopped_first)],
    "a leader deals out what it has not read": [(group_member, "assign", _mutation_of_mismatch)],
    "offsets are not read to their end": [
        (topic_offsets.TopicOffsetStore, "_catch_up", lambda _: lambda self, **__: None)
    ],
    "a log is not read to its end": [(compacted_log.CompactedLog, "read_to_end", _no_catching_up)],
    "statuses that are read hide newer ones": [(topic_status.TopicStatusStore, "_take", _older_wins)],
    "the status of an old generation counts": [
        (topic_status.TopicStatusStore, "put_safe", lambda _: lambda self, status: self.put(status)),
        (pool_states.PoolStates, "keep_last_word", lambda _: lambda self, status: None),
    ],
    "a deleted connector stays": [(ConfigReader, "_connector", _immortal)],
    "a task starts before the one before has ended": [(tasks.Tasks, "stop", _twice)],
    "what failed is not restarted": [(automatic_restarts.AutomaticRestarts, "_now", lambda _: lambda self, due: None)],
    "a user is answered before it is written": [
        (config_changes.ConfigChanges, "remove", lambda _: lambda self, name, by=None: assigned.finished(None))
    ],
}


@contextmanager
def mutated(name: str) -> Iterator[None]:
    """Within it, the product makes this mistake; none for an empty name."""
    undo = []
    for where, what, change in MUTATIONS.get(name, []):
        before = where.__dict__[what]
        undo.append((where, what, before))
        setattr(where, what, change(before))
    try:
        yield
    finally:
        for where, what, before in reversed(undo):
            setattr(where, what, before)
