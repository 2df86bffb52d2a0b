"""The topics that each connector has used since it was made or since they were last reset (KIP-558)."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from connect.herder.herder import ForbiddenError
from connect.settings.definition import Config


class ActiveTopics:
    """Topics by connector. Safe to use from many threads.

    Args:
        worker: its configuration: topic.tracking.enable and topic.tracking.allow.reset.
    """

    def __init__(self, worker: Config) -> None:
        self._tracked: bool = worker["topic.tracking.enable"]
        self._may_reset: bool = worker["topic.tracking.allow.reset"]
        self._topics: dict[str, dict[str, None]] = {}
        self._lock = threading.Lock()

    def add(self, connector: str, topics: Iterable[str]) -> list[str]:
        """A task used these. Returns those that were not known."""
        if not self._tracked:
            return []
        with self._lock:
            known = self._topics.setdefault(connector, {})
            new = [topic for topic in topics if topic not in known]
            known.update(dict.fromkeys(new))
        return new

    def of(self, connector: str) -> list[str]:
        """The topics of a connector, none where nothing is known of it. ForbiddenError where they are not tracked."""
        if not self._tracked:
            raise ForbiddenError("Topic tracking is disabled.")
        with self._lock:
            return sorted(self._topics.get(connector, {}))

    def reset(self, connector: str) -> None:
        """Forget them. ForbiddenError where they are not tracked, or may not be reset."""
        if not self._tracked:
            raise ForbiddenError("Topic tracking is disabled.")
        if not self._may_reset:
            raise ForbiddenError("Topic tracking reset is disabled.")
        self.forget(connector)

    def forget(self, connector: str) -> None:
        """The connector is gone."""
        with self._lock:
            self._topics.pop(connector, None)
