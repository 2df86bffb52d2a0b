"""What sources on Spark have written: counted part by part, and shown as a query's progress."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from connect.api.metrics import PluginMetrics
from spark_sink.query.progress import QueryProgress
from spark_sink.source.writing import Written


class Tally:
    """What was written, in all batches of this process. Thread-safe.

    Attributes:
        read, written, errors: see `Written`.
        repeated: parts that were already in Kafka.
        topics: that were written to.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.read = self.written = self.errors = self.repeated = 0
        self.topics: frozenset[str] = frozenset()

    def add(self, parts: Sequence[Written]) -> None:
        """Add the results of parts."""
        with self._lock:
            self.read += sum(part.read for part in parts)
            self.written += sum(part.written for part in parts)
            self.errors += sum(part.errors for part in parts)
            self.repeated += sum(part.repeated for part in parts)
            self.topics |= {topic for part in parts for topic in part.topics}


class TallyProgress(QueryProgress):
    """The progress of a query whose tally counts what is written. Nobody knows what is still to come.

    Args:
        name, metrics: see `QueryProgress`.
        tally: what was written.
    """

    def __init__(self, name: str, metrics: PluginMetrics, tally: Tally) -> None:
        super().__init__(name, metrics)
        self._tally = tally

    @property
    def lag(self) -> int:
        return -1

    @property
    def written(self) -> int:
        return self._tally.written

    @property
    def errors(self) -> int:
        return self._tally.errors

    def take(self, query: Any) -> None:
        super().take(query)
        self.topics |= self._tally.topics
