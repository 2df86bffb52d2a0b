"""Which records of a batch a source task is told of, once what became of them is known."""

from __future__ import annotations

from connect.api.source import SourceTask
from connect.data.batch import SourceBatch
from connect.data.record import SourceRecord


def records_to_confirm(task: SourceTask, batch: SourceBatch) -> dict[int, SourceRecord]:
    """For each row of a batch of which `commit_record` is to be called, its record."""
    if not task.acknowledges_records:
        return {}
    rows = task.acknowledged_rows(batch)
    if rows is None:
        return dict(enumerate(batch.records()))
    return dict(zip(rows, batch.take(rows).records(), strict=True))
