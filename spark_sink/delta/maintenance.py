"""Compaction and vacuum on schedule, beside the writing: in a thread and with a table object of its own.

Neither changes what the table contains, so it does not matter who does it. Maintenance that conflicts with a writer is
given up until the next time.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping

from spark_sink.table_rules import Schedule

log = logging.getLogger(__name__)


class Maintenance:
    """Compacts and vacuums tables when they are due.

    Args:
        storage: options of the tables' storage.
        compaction_s, vacuum_s: the interval in seconds; 0 for never.
        retention_hours: vacuum keeps the files that versions of these last hours need.
    """

    def __init__(self, storage: Mapping[str, str], compaction_s: float, vacuum_s: float, retention_hours: int) -> None:
        self._storage = dict(storage)
        self._retention_hours = retention_hours
        self._works = {"compact": self._compact, "vacuum": self._vacuum}
        self._schedule = Schedule({"compact": compaction_s, "vacuum": vacuum_s})
        self._thread: threading.Thread | None = None

    def after_commit(self, uri: str) -> None:
        """Start what is due for a table, after rows were written to it. Returns at once."""
        due = self._schedule.due(uri)
        if not due or (self._thread is not None and self._thread.is_alive()):
            return
        self._schedule.done(uri, due)
        self._thread = threading.Thread(target=self._work, args=(uri, due), name="table-care", daemon=True)
        self._thread.start()

    def join(self, seconds: float) -> None:
        """Wait at most this long for running maintenance. What still runs then ends with the process, without harm."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _work(self, uri: str, due: list[str]) -> None:
        for work in due:
            try:
                self._works[work](uri)
            except Exception as error:  # deltalake raises anything
                log.warning("Maintenance of table %s failed this time: %s", uri, str(error).partition("\n")[0])

    def _compact(self, uri: str) -> None:
        from deltalake import DeltaTable

        began = time.monotonic()
        done = DeltaTable(uri, storage_options=self._storage or None).optimize.compact()
        if done["numFilesRemoved"]:
            log.info(
                "Table %s: compacted %d files into %d in %.1f s.",
                uri,
                done["numFilesRemoved"],
                done["numFilesAdded"],
                time.monotonic() - began,
            )

    def _vacuum(self, uri: str) -> None:
        from deltalake import DeltaTable

        table = DeltaTable(uri, storage_options=self._storage or None)
        files = table.vacuum(
            self._retention_hours, dry_run=False, enforce_retention_duration=self._retention_hours >= 168
        )
        if files:
            log.info(
                "Table %s: deleted %d files that no version of the last %d hours needs.",
                uri,
                len(files),
                self._retention_hours,
            )
