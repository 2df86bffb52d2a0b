"""The keys of maintenance: small files are joined, old ones deleted."""

from __future__ import annotations

from typing import Final

from connect import settings
from spark_sink.column_names import distinct

_CARE: Final = "Maintenance"


class MaintenanceOptions(settings.Options):
    """What is done to tables beside writing, and how often."""

    compaction_s = settings.Long(
        "compaction.interval.ms",
        default=0,
        group=_CARE,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="How often small files are joined into larger ones (OPTIMIZE), in milliseconds, after a batch; 0 never. "
        "An hour, 3600000, suits a table that nothing else maintains.",
    )
    zorder = settings.List(
        "optimize.zorder.by",
        default=[],
        group=_CARE,
        width="LONG",
        validator=distinct,
        convert=tuple[str, ...],
        doc="Columns by whose values rows are put near each other (ZORDER BY) when files are joined, so that queries "
        "on them read fewer files. Each time all files are written anew, of the whole table or of optimize.where.",
    )
    optimized = settings.String(
        "optimize.where",
        default=None,
        group=_CARE,
        width="LONG",
        convert=lambda written: written or None,
        doc="A condition in SQL on columns that the table is partitioned by: only files of these partitions are "
        "joined. day >= current_date() - INTERVAL 2 DAY, for example.",
    )
    vacuum_s = settings.Long(
        "vacuum.interval.ms",
        default=0,
        group=_CARE,
        validator=settings.at_least(0),
        convert=settings.seconds,
        doc="How often files that the table no longer needs are deleted (VACUUM), in milliseconds, after a batch; "
        "0 never. A day is 86400000.",
    )
    retention_hours = settings.Int(
        "vacuum.retention.hours",
        default=168,
        importance="LOW",
        group=_CARE,
        validator=settings.at_least(0),
        doc="How long VACUUM keeps these files, for running queries and for reading older versions.",
    )
