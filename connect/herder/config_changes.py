"""Changes of configurations by users: validated, then written by the leader."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager
from functools import partial

from connect.herder.config_recorder import NoRecorder
from connect.herder.errors import AlreadyExistsError
from connect.herder.leader import Leader
from connect.herder.model import TargetState
from connect.herder.pool import Pool
from connect.herder.worker_queries import WorkerQueries
from connect.worker.background import KeyedQueues


class ConfigChanges:
    """Changes configurations, on behalf of an author. Safe to use from many threads.

    Each method returns a future that is done when the change is written; see `connect.herder.herder.Herder` for its
    errors. On a worker that does not lead they raise as `Leader.submit` does.

    Args:
        pool: see `Pool`.
        leader: writes.
        queries: validates.
        checks: has a queue for each connector. Never the leader's thread: a connector that hangs in its validation
            would delay everybody's changes (P6).
        recorder: records versions with their authors.
    """

    def __init__(
        self,
        pool: Pool,
        leader: Leader,
        queries: WorkerQueries,
        checks: KeyedQueues,
        recorder: NoRecorder,
    ) -> None:
        self._pool = pool
        self._leader = leader
        self._queries = queries
        self._checks = checks
        self._recorder = recorder

    def put(
        self,
        name: str,
        config: Mapping[str, str],
        target: TargetState | None = None,
        *,
        replace: bool = True,
        by: str | None = None,
    ) -> Future[bool]:
        """Create a connector, or replace its configuration. The result says whether it is new."""

        def checked() -> bool:
            self._refuse_if_wrong(name, config)
            return self.put_checked(name, config, target, replace=replace, by=by).result()

        self._leader.refuse_unless_leader()
        return self._checks.submit(name, checked)

    def put_checked(
        self,
        name: str,
        config: Mapping[str, str],
        target: TargetState | None = None,
        *,
        replace: bool = True,
        by: str | None = None,
    ) -> Future[bool]:
        """The same for a configuration that was already validated."""

        def put() -> bool:
            known = name in self._pool.state.connectors
            if known and not replace:
                raise AlreadyExistsError(f"Connector {name} already exists")
            with self._written_by(name, by):
                self._pool.log.put_connector(name, config, None if target is None else target.value)
            return not known

        return self._leader.submit(name, f"putting connector {name}", put)

    def patch(self, name: str, patch: Mapping[str, str | None], *, by: str | None = None) -> Future[None]:
        """Change some keys of a connector; None removes one."""
        what = f"patching connector {name}"

        def read() -> tuple[int, dict[str, str]]:
            merged = {**self._pool.config(name), **patch}
            return self._pool.state.written[name], {key: value for key, value in merged.items() if value is not None}

        def put(of: int, config: Mapping[str, str]) -> bool:
            """False where the configuration changed while the patched one was validated."""
            if self._pool.state.written.get(name) != of:
                return False
            with self._written_by(name, by):
                self._pool.log.put_connector(name, config)
            return True

        def change() -> None:
            done = False
            while not done:
                of, config = self._leader.submit(name, what, read).result()
                self._refuse_if_wrong(name, config)
                done = self._leader.submit(name, what, partial(put, of, config)).result()

        self._leader.refuse_unless_leader()
        return self._checks.submit(name, change)

    def remove(self, name: str, *, by: str | None = None) -> Future[None]:
        """Delete a connector."""

        def remove() -> None:
            self._pool.config(name)
            with self._written_by(name, by):
                self._pool.log.remove_connector(name)

        return self._leader.submit(name, f"deleting connector {name}", remove)

    def aim(self, name: str, target: TargetState) -> Future[None]:
        """Set a connector's target state."""

        def aim() -> None:
            self._pool.config(name, "Unknown connector {}")
            if target is TargetState.STOPPED:
                self._pool.log.put_stop(name)
            else:
                self._pool.log.put_target(name, target.value)

        return self._leader.submit(name, f"making connector {name} {target.value}", aim)

    def _written_by(self, name: str, author: str | None) -> AbstractContextManager[None]:
        return self._recorder.written_by(name, author)

    def _refuse_if_wrong(self, name: str, config: Mapping[str, str]) -> None:
        with self._pool.operations.enter(f"validating the configuration of connector {name}", name):
            self._queries.refuse_if_wrong(name, config)
