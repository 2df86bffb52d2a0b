"""Records each version of a connector's configuration in the pool's history.

The leader knows the author of a change and records it. Where a Java worker leads, and for a change that the leader
could not record, the connector's owner does, without an author.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final, Protocol

from connect.errors import ConnectError
from connect.herder.errors import ForbiddenError
from connect.herder.pool import Pool
from connect.storage.config_history import ConfigVersion
from connect.storage.config_state import ConnectorChanged, ConnectorRemoved, Event

log = logging.getLogger("connect.herder")

_FIRST_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 60.0
#: The author of what this worker has not written.
_OTHER: Final = "?"
#: The most versions that wait while the topic cannot be written. Older ones are dropped.
_MOST: Final = 1_000


class History(Protocol):
    """Stores versions: see `connect.storage.config_history.ConfigHistory`."""

    def versions(self, connector: str) -> list[ConfigVersion]: ...
    def open(self) -> None: ...
    def add(self, versions: list[ConfigVersion]) -> None: ...
    def close(self) -> None: ...


class NoRecorder:
    """Keeps no history. `ConfigRecorder` does."""

    def start(self) -> None:
        """Start recording."""

    def written_by(self, connector: str, author: str | None) -> AbstractContextManager[None]:
        """Inside, this worker changes a connector on behalf of this author; the change is read back inside as well."""
        return nullcontext()

    def followed(self, event: Event, pool: Pool) -> None:
        """Called with each change in the config topic, on the log's thread: does not block."""

    def owned(self, connectors: Collection[str], pool: Pool) -> None:
        """This worker has become the owner of these connectors, whose versions may have been recorded before."""

    def versions(self, connector: str) -> list[ConfigVersion]:
        """A connector's versions, newest first. Blocks. Raises ConnectError, or ForbiddenError without a history."""
        raise ForbiddenError(
            "This worker keeps no history of configurations: config.history.versions is 0, or it is standalone."
        )

    def close(self, within: float) -> None:
        """Record what waits, for at most this many seconds, and end."""


class ConfigRecorder(NoRecorder):
    """Records versions in the background. Safe to use from many threads; a failure only costs entries of the history.

    Args:
        history: stores versions.
        leader_first: seconds that an owner leaves the recording of a change to the leader.
    """

    def __init__(self, history: History, leader_first: float = 5.0) -> None:
        self._history = history
        self._leader_first = leader_first
        self._authors: dict[str, str | None] = {}
        self._waiting: dict[tuple[str, int], ConfigVersion] = {}
        self._due = float("inf")
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="config history", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @contextmanager
    def written_by(self, connector: str, author: str | None) -> Iterator[None]:
        self._authors[connector] = author
        try:
            yield
        finally:
            del self._authors[connector]

    def followed(self, event: Event, pool: Pool) -> None:
        if not isinstance(event, ConnectorChanged | ConnectorRemoved):
            return
        name = event.connector
        config = pool.state.connectors.get(name) if isinstance(event, ConnectorChanged) else None
        author = self._authors.get(name, _OTHER)
        if author is not _OTHER:
            self._record([ConfigVersion(name, event.offset, config, event.at, author)], 0)
        elif pool.owns(name):
            self._record([ConfigVersion(name, event.offset, config, event.at)], self._leader_first)

    def owned(self, connectors: Collection[str], pool: Pool) -> None:
        state = pool.state
        known = [name for name in connectors if name in state.connectors]
        found = [ConfigVersion(name, state.written[name], state.connectors[name]) for name in known]
        self._record(found, self._leader_first)

    def versions(self, connector: str) -> list[ConfigVersion]:
        return self._history.versions(connector)

    def close(self, within: float) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(within)

    def _record(self, versions: Collection[ConfigVersion], after: float) -> None:
        with self._changed:
            for version in versions:
                identity = (version.connector, version.offset)
                if identity not in self._waiting or self._waiting[identity].at is None:
                    self._waiting[identity] = version
            while len(self._waiting) > _MOST:
                del self._waiting[next(iter(self._waiting))]
            if versions:
                self._due = min(self._due, time.monotonic() + after)
                self._changed.notify()

    def _run(self) -> None:
        pause, opened = _FIRST_PAUSE_S, False
        while True:
            with self._changed:
                while not self._closing and time.monotonic() < self._due:
                    self._changed.wait(self._left())
                versions, self._waiting = self._waiting, {}
                self._due = float("inf")
                closing = self._closing
            try:
                if versions and not opened:
                    self._history.open()
                    opened = True
                if versions:
                    self._history.add(list(versions.values()))
                pause = _FIRST_PAUSE_S
            except ConnectError as error:
                if not closing:
                    if pause == _FIRST_PAUSE_S:
                        log.warning("The history of configurations is not recorded at the moment: %s", error)
                    self._again(versions, pause)
                    pause = min(2 * pause, _LONGEST_PAUSE_S)
            except Exception:  # whoever is behind it, the next versions are not to suffer
                log.exception("Not in the history of configurations: %s", _named(versions))
            if closing:
                self._history.close()
                return

    def _left(self) -> float | None:
        return None if self._due == float("inf") else max(0.0, self._due - time.monotonic())

    def _again(self, versions: dict[tuple[str, int], ConfigVersion], pause: float) -> None:
        with self._changed:
            self._waiting = {**versions, **self._waiting}
            self._due = time.monotonic() + pause


def _named(versions: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"version {offset} of {connector}" for connector, offset in versions) or "nothing"
