"""The topics that each connector has used since it was created or they were last reset (KIP-558).

They are stored with the states of connectors and tasks.
"""

from __future__ import annotations

from collections.abc import Iterable

from connect.herder.errors import ForbiddenError
from connect.settings.definition import Config
from connect.settings.worker_keys import RunOptions
from connect.storage import MemoryStatusStore


class ActiveTopics:
    """Topics by connector, as the worker's configuration allows. Safe to use from many threads.

    Args:
        worker: its configuration: topic.tracking.enable and topic.tracking.allow.reset.
        statuses: where they are stored.
    """

    def __init__(self, worker: Config, statuses: MemoryStatusStore) -> None:
        options = RunOptions.parse(worker)
        self._tracked = options.tracks_topics
        self._may_reset = options.forgets_topics
        self._statuses = statuses

    def add(self, connector: str, task: int, topics: Iterable[str]) -> None:
        """A task used these."""
        if self._tracked:
            for topic in topics:
                self._statuses.put_topic(connector, topic, task)

    def of(self, connector: str) -> list[str]:
        """The topics of a connector, none where nothing is known. ForbiddenError where they are not tracked."""
        if not self._tracked:
            raise ForbiddenError("Topic tracking is disabled.")
        return self._statuses.topics(connector)

    def reset(self, connector: str) -> None:
        """Forget them. ForbiddenError where they are not tracked, or may not be reset."""
        if not self._tracked:
            raise ForbiddenError("Topic tracking is disabled.")
        if not self._may_reset:
            raise ForbiddenError("Topic tracking reset is disabled.")
        self._statuses.forget_topics(connector)
