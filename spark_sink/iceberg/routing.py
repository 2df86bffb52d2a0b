"""Which tables a record goes to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from connect.data.batch import SinkBatch
from spark_sink.iceberg.keys import IcebergOptions
from spark_sink.rows.fields import MISSING, texts_at
from spark_sink.table_rules import PART_OF_A_NAME

_NAME: Final = re.compile(PART_OF_A_NAME)


class Routes:
    """The tables of records, as a configuration says."""

    def __init__(self, options: IcebergOptions) -> None:
        self._options = options
        self._path = (options.route_field or "").split(".")
        self._routes = [(table, options.plan(table).route) for table in options.tables]

    def by_table(self, batch: SinkBatch) -> tuple[list[tuple[str, Sequence[int]]], dict[int, str]]:
        """The rows of each table, and why others cannot have one. A row that no route matches is in neither."""
        options = self._options
        if options.route_field is None:
            return [(table, range(len(batch))) for table in options.tables], {}
        texts = texts_at(batch.values, self._path)
        found: dict[str, list[int]] = {}
        problems: dict[int, str] = {}
        known: dict[str, tuple[str, ...]] = {}
        for row, text in enumerate(texts):
            if text is None or text is MISSING:
                continue
            tables = known.get(text)
            if tables is None:
                tables = known[text] = tuple(self._tables(text))
            for table in tables:
                if options.dynamic and not _is_name(table):
                    problems[row] = (
                        f'its field "{options.route_field}" names no table: it needs a namespace, as in a.b.'
                    )
                else:
                    found.setdefault(table, []).append(row)
        return list(found.items()), problems

    def _tables(self, text: str) -> Iterable[str]:
        if self._options.dynamic:
            return [text.lower()]
        return [table for table, route in self._routes if route is not None and route.fullmatch(text)]


def _is_name(table: str) -> bool:
    """Whether a record may choose this table: a name with its namespace, which cannot lead out of the warehouse."""
    parts = table.split(".")
    return len(parts) > 1 and all(parts) and _NAME.fullmatch(table) is not None
