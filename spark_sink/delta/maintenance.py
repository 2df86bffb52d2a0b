"""Compaction and vacuum on schedule, beside the writing of rows: in a thread of its own, with the table opened anew.

Neither changes what the table contains, so nothing depends on who does it. What comes into conflict with a writer is
given up, and done the next time.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping

from spark_sink.table_rules import Schedule

log = logging.getLogger(__name__)


class Maintenance:
    """Looks after tables.

    Args:
        storage: options of the tables' storage.
        compaction_s, vacuum_s: seconds between two times; 0 for never.
        retention_hours: how long vacuum keeps what older versions need.
    """

    def __init__(self, storage: Mapping[str, str], compaction_s: float, vacuum_s: float, retention_hours: int) -> None:
        self._storage = dict(storage)
        self._retention_hours = retention_hours
        self._works = {"compact": self._compact, "vacuum": self._vacuum}
        self._schedule = Schedule({"compact": compaction_s, "vacuum": vacuum_s})
        self._thread: threading.Thread | None = None

    def after_commit(self, uri: str) -> None:
        """Rows were written to a table: do what is due. Returns at once."""
        due = self._schedule.due(uri)
        if not due or (self._thread is not None and self._thread.is_alive()):
            return
        self._schedule.done(uri, due)
        self._thread = threading.Thread(target=self._work, args=(uri, due), name="table-care", daemon=True)
        self._thread.start()

    def join(self, seconds: float) -> None:
        """Wait so long for what is under way. What is not done then ends with the process, and does no harm."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _work(self, uri: str, due: list[str]) -> None:
        for work in due:
            try:
                self._works[work](uri)
            except Exception as error:  # deltalake raises anything
                log.warning("Table %s was not looked after this time: %s", uri, str(error).partition("\n")[0])

    def _compact(self, uri: str) -> None:
        from deltalake import DeltaTable

        began = time.monotonic()
        done = DeltaTable(uri, storage_options=self._storage or None).optimize.compact()
        if done["numFilesRemoved"]:
            log.info(
                "Table %s: %d files joined into %d in %.1f s.",
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
                "Table %s: %d files deleted that no version of the last %d hours needs.",
                uri,
                len(files),
                self._retention_hours,
            )
