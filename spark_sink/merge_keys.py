"""The keys of merges: which of two records of a key is newer, and where its row is looked for."""

from __future__ import annotations

from typing import Final

from connect import settings

MERGING: Final = "Merging"


def _distinct(name: str, value: list[str]) -> None:
    if "" in value:
        raise ValueError("has an empty name between its commas.")
    if len({column.lower() for column in value}) < len(value):
        raise ValueError("names a column twice.")


class MergeOptions(settings.Options):
    """The keys of mode=upsert beside those of the key itself."""

    sequence = settings.List(
        "merge.sequence.by",
        default=[],
        group=MERGING,
        width="LONG",
        validator=_distinct,
        convert=tuple[str, ...],
        doc="Columns that say which record of a key is newer, the first one first: fields of the value, or columns of "
        "metadata.columns. A record with a smaller sequence than its key's row changes nothing, however late it comes; "
        "null is smaller than any value. Empty: the order in Kafka decides.",
    )
    merge_condition = settings.String(
        "merge.condition",
        default=None,
        importance="LOW",
        group=MERGING,
        width="LONG",
        convert=lambda written: written or None,
        doc="A condition in SQL on the table's row, t, and the record's, s, beside the equality of keys: t.day >= "
        "'2026-01-01', for example, so that older files are not read. It must be true for each key's row, or the "
        "record becomes a second row.",
    )
