"""Which tables are read, by the keys that select them, and the statements that read them."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from typing import Final

from connect import ConnectError
from connectors.jdbc.database import TableName
from connectors.jdbc.database.names import split
from connectors.jdbc.source.keys import JdbcSourceOptions


class Selection:
    """The tables that the keys select.

    Args:
        options: the connector's keys.
        catalog: the default of `catalog.pattern`; None for all catalogs.
    """

    def __init__(self, options: JdbcSourceOptions, catalog: str | None) -> None:
        self._types = {written.upper().replace(" ", "_") for written in options.table_types}
        pattern = options.catalog_pattern
        self._catalog = catalog if pattern is None else pattern
        self._schema = options.schema_pattern
        self._listed = _names(options.table_whitelist)
        self._unlisted = _names(options.table_blacklist)
        self._include = options.table_include_list
        self._exclude = options.table_exclude_list

    def of(self, found: Iterable[tuple[TableName, str]]) -> list[TableName]:
        """The selected ones of these tables, in order.

        Raises:
            ConnectError: two of them would go to one topic.
        """
        chosen = sorted((table for table, kind in found if self.takes(table, kind)), key=lambda table: table.parts)
        seen: dict[str, TableName] = {}
        for table in chosen:
            if table.name in seen:
                raise ConnectError(
                    f'The tables "{seen[table.name]}" and "{table}" would go to one topic. Choose one of them with '
                    "schema.pattern, catalog.pattern or table.include.list, and read the other by another connector."
                )
            seen[table.name] = table
        return chosen

    def takes(self, table: TableName, kind: str) -> bool:
        """Whether a table of this type is one of them."""
        if kind.upper().replace(" ", "_") not in self._types:
            return False
        if self._catalog is not None and (table.catalog or "") != self._catalog:
            return False
        if self._schema is not None and not _like(self._schema, table.schema or ""):
            return False
        names = [table.parts[at:] for at in range(len(table.parts))]
        if self._listed and not any(name in self._listed for name in names):
            return False
        if any(name in self._unlisted for name in names):
            return False
        written = [".".join(name) for name in names]
        if self._include and not any(regex.fullmatch(each) for regex in self._include for each in written):
            return False
        return not any(regex.fullmatch(each) for regex in self._exclude for each in written)


def _names(written: Iterable[str]) -> set[tuple[str, ...]]:
    return {tuple(split(each)) for each in written if each}


def _like(pattern: str, name: str) -> bool:
    """Whether a name matches a pattern of SQL's LIKE."""
    # Python's translation of file names takes linear time for each of its stars.
    as_files = "".join({"%": "*", "_": "?"}.get(char) or (f"[{char}]" if char in "*?[" else char) for char in pattern)
    return re.match(fnmatch.translate(as_files), name) is not None


_NAME: Final = "connect_query"


def bracketed(query: str) -> str:
    """A query in the form that a statement can select from.

    Conditions are put around it and not at its end: they refer to the columns of records, and the query may have
    clauses of its own.
    """
    return f"({query}\n) {_NAME}"


def statement(source: str, conditions: Sequence[str], order: Sequence[str], suffix: str, query: str = "") -> str:
    """One SELECT.

    Args:
        source: a table in the form of a statement; for a query, the query in brackets.
        conditions: all of them must hold.
        order: columns, ascending.
        suffix: put at the end.
        query: the query, which is used unchanged without conditions.
    """
    text = query if query and not conditions and not order else f"SELECT * FROM {source}"
    if conditions:
        text += f"\nWHERE {' AND '.join(conditions)}"
    if order:
        text += f"\nORDER BY {', '.join(f'{column} ASC' for column in order)}"
    # On a line of its own: the query may end with a comment.
    return f"{text}\n{suffix}" if suffix else text
