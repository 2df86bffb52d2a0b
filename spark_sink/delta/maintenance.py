"""Compaction and vacuum on schedule, beside the writing: in a thread and with a table object of its own.

Neither changes what the table contains, so it does not matter who does it. Maintenance that conflicts with a writer is
given up until the next time.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from spark_sink.delta.partitions import chosen
from spark_sink.maintenance_keys import MaintenanceOptions
from spark_sink.table_rules import SAFE_HOURS, Schedule

if TYPE_CHECKING:
    from deltalake import DeltaTable

log = logging.getLogger(__name__)


class Maintenance:
    """Compacts and vacuums tables when they are due.

    Args:
        storage: options of the tables' storage.
        options: what is done, and how often.
    """

    def __init__(self, storage: Mapping[str, str], options: MaintenanceOptions) -> None:
        self._storage = dict(storage)
        self._options = options
        self._works = {"compact": self._compact, "vacuum": self._vacuum}
        self._schedule = Schedule({"compact": options.compaction_s, "vacuum": options.vacuum_s})
        self._thread: threading.Thread | None = None

    def after_commit(self, uri: str, is_mine: Callable[[], bool] = lambda: True) -> None:
        """Start what is due for a table, after rows were written to it. Returns at once, but with an unsafe vacuum.

        Args:
            uri: of the table.
            is_mine: whether it is this task that looks after it: asked when something is due.
        """
        due = self._schedule.due(uri)
        if not due or (self._thread is not None and self._thread.is_alive()):
            return
        self._schedule.done(uri, due)
        if not is_mine():
            return
        if "vacuum" in due and self._options.retention_hours < SAFE_HOURS:
            # It could delete files that the next commit is about to name.
            self._work(uri, due)
            return
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
        began = time.monotonic()
        table = self._opened(uri)
        if (where := self._options.optimized) is None:
            parts: Sequence[list[tuple[str, str, Any]] | None] = [None]
        else:
            parts = chosen(table, where)
        zorder = _spelled(self._options.zorder, table)
        removed = added = 0
        for part in parts:
            optimize = table.optimize
            done = optimize.z_order(zorder, partition_filters=part) if zorder else optimize.compact(part)
            removed, added = removed + done["numFilesRemoved"], added + done["numFilesAdded"]
        if removed:
            seconds = time.monotonic() - began
            log.info("Table %s: compacted %d files into %d in %.1f s.", uri, removed, added, seconds)

    def _vacuum(self, uri: str) -> None:
        hours = self._options.retention_hours
        files = self._opened(uri).vacuum(hours, dry_run=False, enforce_retention_duration=hours >= SAFE_HOURS)
        if files:
            log.info("Table %s: deleted %d files that no version of the last %d hours needs.", uri, len(files), hours)

    def _opened(self, uri: str) -> DeltaTable:
        from deltalake import DeltaTable

        return DeltaTable(uri, storage_options=self._storage or None)


def _spelled(names: Sequence[str], table: DeltaTable) -> list[str]:
    """Names of columns as the table spells them."""
    known = {field.name.casefold(): field.name for field in table.schema().fields}
    return [known.get(name.casefold(), name) for name in names]
