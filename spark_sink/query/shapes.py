"""The shape of a table's records, from a sample of them."""

from __future__ import annotations

from typing import Final

from connect.data.schema import OPTIONAL_STRING, Schema
from spark_sink.reading.plan import NOTHING_KNOWN, RowShape
from spark_sink.reading.sample import Sample
from spark_sink.row_keys import UPSERT
from spark_sink.tables import TableSettings

#: The column of values that are not structs.
WRAP: Final = "value"


class TooEarly(Exception):
    """There are no records yet, so the columns are unknown."""


def shape_of(name: str, sample: Sample | None, settings: TableSettings) -> RowShape:
    """The shape of rows for a table.

    Args:
        name: of the query, for messages.
        sample: what is known of the records.
        settings: of the table.

    Raises:
        TooEarly: there are no records yet.
    """
    if sample is None or (sample.values is None and not sample.waiting):
        raise TooEarly(f"{name}: no record yet that says which columns there are")
    keys = sample.keys if settings.wants_keys else None
    if settings.wants_keys and keys is None:
        # Of records that have none, as in the worker; those are refused where rows are merged by their keys.
        keys = NOTHING_KNOWN if settings.mode == UPSERT else Schema.struct({settings.wrap_key: OPTIONAL_STRING})
    return RowShape(
        sample.values or NOTHING_KNOWN,
        keys,
        WRAP,
        settings.wrap_key,
        metadata=settings.wants_metadata,
        failures=settings.wants_failures,
        merged=settings.mode == UPSERT,
        partial=settings.mode == UPSERT and sample.partial,
        events=settings.events,
    )
