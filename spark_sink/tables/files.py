"""Batches as files of Parquet or JSON, exactly once, for any reader.

Each batch has a folder of its own, named for the query and the batch's number. A repeated batch replaces its folder,
with the same rows. Spark's own file sink instead keeps a list of the valid files in `_spark_metadata`, which readers
other than Spark ignore, and which a second query on the folder destroys. Readers see the folder's name as one more
column, `batch`.
"""

from __future__ import annotations

import hashlib
from typing import Any

from connect.data.evolution_policy import EvolutionPolicy
from spark_sink.tables.fitting import fit, new_columns
from spark_sink.tables.rows import Rows
from spark_sink.tables.settings import TableSettings


def write_files(frame: Any, rows: Rows, folder: str, settings: TableSettings, app_id: str, batch: int) -> None:
    """Write a batch's rows into its folder."""
    incoming = rows.incoming()
    columns = [{"name": name, "type": kind} for name, kind in new_columns(incoming)]
    writer = frame.selectExpr(*fit(columns, incoming, EvolutionPolicy()).select).write.format(settings.format)
    if settings.partition_by:
        writer = writer.partitionBy(*settings.partition_by)
    writer.mode("overwrite").option("partitionOverwriteMode", "static").save(f"{folder}/{batch_folder(app_id, batch)}")


def batch_folder(app_id: str, batch: int) -> str:
    """`batch=q2b1c9f3e-000000000042`."""
    return f"batch=q{hashlib.sha256(app_id.encode()).hexdigest()[:8]}-{batch:012d}"
