"""Records that do not fit their table: to the error policy, or an error that names the record."""

from __future__ import annotations

from collections.abc import Sequence

from connect.api.sink import SinkTaskContext
from connect.data.batch import SinkBatch
from connect.data.evolution import Mismatch
from connect.errors import SchemaError


def report(
    context: SinkTaskContext, batch: SinkBatch, unfit: Sequence[Mismatch], *, fails: bool = False, hint: str = ""
) -> None:
    """Pass records to the error policy.

    Args:
        context: of the task.
        batch: with these records.
        unfit: which of them, and why.
        fails: whether the first of them is an error, whatever the policy says.
        hint: what to do, for the error.

    Raises:
        SchemaError: there is no policy that accepts records, or `fails`.
    """
    records, reporter = batch.records(), context.errant_records
    for mismatch in unfit:
        record = records[mismatch.row]
        error = SchemaError(f"The record does not fit the table: {mismatch.reason}")
        if fails or reporter is None:
            raise SchemaError(
                f"Topic {record.original_topic}, partition {record.original_partition}, offset "
                f"{record.original_offset}: {error} {hint}".rstrip()
            ) from error
        reporter.report(record, error)
