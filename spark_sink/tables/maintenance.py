"""Maintenance of tables: small files are joined, old ones deleted, at intervals, after a batch.

It runs on the thread of the batches, so that it conflicts with none of them. Errors are logged: the rows are safe, and
the next time may succeed.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from spark_sink.table_rules import Schedule
from spark_sink.tables.settings import TableSettings, retention
from spark_sink.tables.table import RETENTION, Table

log = logging.getLogger(__name__)

#: VACUUM lists folders by so many tasks, of which each costs; Spark's own 10,000 take half a minute on a small machine.
_LISTING = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
_LISTERS = 32


class Maintenance:
    """Maintains tables."""

    def __init__(self, settings: TableSettings) -> None:
        self._settings = settings
        self._schedule = Schedule({"compacted": settings.compaction_s, "vacuumed": settings.vacuum_s})

    def after_batch(self, spark: Any, table: Table) -> None:
        """Do what is due. Never raises."""
        due = self._schedule.due(table.name)
        self._schedule.done(table.name, due)
        for work in due:
            self._try(work, table, table.optimize if work == "compacted" else lambda: self._vacuum(spark, table))

    def _try(self, done: str, table: Table, work: Any) -> None:
        began = time.monotonic()
        try:
            work()
        except Exception as error:  # Spark raises anything
            said = (str(error).strip() or type(error).__name__).splitlines()[0]
            log.warning("The table %s could not be %s and is left as it is: %s", table.name, done, said)
        else:
            log.info("The table %s was %s in %.1f s.", table.name, done, time.monotonic() - began)

    def _vacuum(self, spark: Any, table: Table) -> None:
        hours = self._settings.vacuum_hours
        before = spark.conf.get(_LISTING)
        spark.conf.set(_LISTING, str(min(_LISTERS, int(before))))
        try:
            table.vacuum(hours, dict(self._settings.properties).get(RETENTION, retention(hours)))
        finally:
            spark.conf.set(_LISTING, before)
