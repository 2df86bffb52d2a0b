"""Maintenance of tables: small files are joined, old ones deleted, at intervals, after a batch.

It runs in a thread and a session of its own, so that no batch waits for it. A batch that merges into files that are
being joined conflicts with that: the one that commits later is done again, a compaction at its next time. Errors are
logged: the rows are safe.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from spark_sink.table_rules import SAFE_HOURS, Schedule
from spark_sink.tables.sessions import cloned
from spark_sink.tables.settings import TableSettings, retention
from spark_sink.tables.table import RETENTION, Table

log = logging.getLogger(__name__)

#: VACUUM lists folders by so many tasks, of which each costs; Spark's own 10,000 take half a minute on a small machine.
_LISTING: Final = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
_LISTERS: Final = 32
#: One table of a process at a time: a thousand tables are due at the same moment.
_ONE_AT_A_TIME: Final = threading.Lock()


class Maintenance:
    """Maintains tables. Can be pickled as long as nothing runs."""

    def __init__(self, settings: TableSettings) -> None:
        self._settings = settings
        self._schedule = Schedule({"compacted": settings.compaction_s, "vacuumed": settings.vacuum_s})
        self._thread: threading.Thread | None = None

    def after_batch(self, spark: Any, table: str) -> None:
        """Begin what is due for a table, if nothing else is being done. Never raises."""
        due = self._schedule.due(table)
        if not due or not _ONE_AT_A_TIME.acquire(blocking=False):
            return
        self._schedule.done(table, due)
        if "vacuumed" in due and self._settings.vacuum_hours < SAFE_HOURS:
            # Such a VACUUM could delete files that the next batch is writing.
            self._work(spark, table, due)
            return
        self._thread = threading.Thread(target=self._work, args=(spark, table, due), name="table-care", daemon=True)
        self._thread.start()

    def join(self, seconds: float) -> None:
        """Wait at most this long for what is being done."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _work(self, spark: Any, name: str, due: Sequence[str]) -> None:
        """Do what is due. The caller holds the lock, which this releases."""
        try:
            with cloned(spark) as own:
                table = Table(own, name)
                works: dict[str, Callable[[], None]] = {
                    "compacted": lambda: table.optimize(self._settings.optimized, self._settings.zorder),
                    "vacuumed": lambda: self._vacuum(own, table),
                }
                for work in due:
                    _try(work, name, works[work])
        except Exception as error:  # Spark raises anything: the session may have ended
            log.warning("The table %s is not looked after this time: %s", name, _line(error))
        finally:
            _ONE_AT_A_TIME.release()

    def _vacuum(self, spark: Any, table: Table) -> None:
        hours = self._settings.vacuum_hours
        spark.conf.set(_LISTING, str(min(_LISTERS, int(spark.conf.get(_LISTING)))))
        table.vacuum(hours, dict(self._settings.properties).get(RETENTION, retention(hours)))


def _try(done: str, table: str, work: Callable[[], None]) -> None:
    began = time.monotonic()
    try:
        work()
    except Exception as error:  # Spark raises anything
        log.warning("The table %s could not be %s and is left as it is: %s", table, done, _line(error))
    else:
        log.info("The table %s was %s in %.1f s.", table, done, time.monotonic() - began)


def _line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
