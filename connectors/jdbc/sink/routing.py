"""Which table a record goes to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, Final

from connect import ConfigError, SinkBatch, Values
from connect.settings.variables import enclosed, replaced
from connectors.jdbc.database.names import TableName
from connectors.jdbc.sink.keys import JdbcSinkOptions

_KINDS: Final = ("value", "key", "header", "source")
#: What may stand in a table's name because a record says so: it must not lead into another schema.
_SAFE: Final = re.compile(r"[^\s.\"'`\[\];\0]+")


class Routing:
    """Finds the tables of batches.

    Raises:
        ConfigError: `table.name.format` has an unknown variable.
    """

    def __init__(self, options: JdbcSinkOptions) -> None:
        self._options = options
        self._names: dict[str, TableName] = {}
        self._variables = [found.inside for found in enclosed(options.table)]
        for name in self._variables:
            kind, _, path = name.partition(".")
            if name != "topic" and not (kind in _KINDS and path):
                raise ConfigError(
                    "table.name.format",
                    f"there is no variable ${{{name}}}. There are ${{topic}}, ${{value.NAME}}, ${{key.NAME}}, "
                    "${header.NAME} and ${source.NAME}.",
                )
        self._by_record = [name for name in self._variables if name != "topic"]

    def tables(self, batch: SinkBatch) -> tuple[list[tuple[TableName, Sequence[int]]], dict[int, str]]:
        """The rows of each table, tables in the order of their names, and the rows without one with the reason.

        The order is the same for all tasks, so that no two deadlock.
        """
        if not len(batch):
            return [], {}
        if batch.topics.constant and (not self._by_record or batch.topics[0] in self._options.tables):
            return [(self._of_topic(batch.topics[0]), range(len(batch)))], {}
        found: dict[TableName, list[int]] = {}
        problems: dict[int, str] = {}
        columns = [_texts(batch, *name.split(".")) for name in self._by_record]
        for row, topic in enumerate(batch.topics):
            if topic in self._options.tables or not self._by_record:
                found.setdefault(self._of_topic(topic), []).append(row)
                continue
            said = [column(row) for column in columns]
            if any(text is None or not _SAFE.fullmatch(text) for text in said):
                if said == [None] * len(said) and self._is_only_a_tombstone(batch, row):
                    continue
                problems[row] = f"table.name.format={self._options.table}: the record does not say its table."
                continue
            written = self._filled(topic, dict(zip(self._by_record, map(str, said), strict=True)))
            found.setdefault(self._parsed(written), []).append(row)
        return sorted(found.items(), key=lambda item: str(item[0])), problems

    def _is_only_a_tombstone(self, batch: SinkBatch, row: int) -> bool:
        """Whether the event before it was the deletion: Debezium's tombstones are for the compaction of a topic."""
        by_event = all(name.startswith("source.") for name in self._by_record)
        return self._options.debezium and by_event and batch.values[row] is None

    def _of_topic(self, topic: str) -> TableName:
        known = self._names.get(topic)
        if known is None:
            chosen = self._options.tables.get(topic)
            known = self._names[topic] = self._parsed(self._filled(topic, {}) if chosen is None else chosen)
        return known

    def _filled(self, topic: str, said: dict[str, str]) -> str:
        if self._options.normalize:
            topic = re.sub(r"[^A-Za-z0-9_]", "_", topic)
        elif self._options.debezium and not self._options.tables:
            topic = topic.replace(".", "_")  # as Debezium's own naming does
        return replaced(self._options.table, lambda inside: topic if inside == "topic" else said[inside])

    def _parsed(self, written: str) -> TableName:
        return TableName.parse(written)


def _texts(batch: SinkBatch, kind: str, *path: str) -> Callable[[int], str | None]:
    """The field of each record, as text; None where it is missing or has no usable value."""
    if kind == "header":
        name = ".".join(path)
        headers = batch.headers.to_list()

        def header(row: int) -> str | None:
            found = headers[row].last(name)
            return None if found is None else _text(found.value)

        return header
    values = _at(batch.keys if kind == "key" else batch.values, ("source", *path) if kind == "source" else path)
    return lambda row: _text(values[row])


def _at(values: Values, path: Iterable[str]) -> list[Any]:
    first, *rest = path
    found: list[Any] = [None] * len(values)
    for rows, group in values.groups():
        held = group.struct_columns
        if held is not None and held.struct.field(first) is not None:
            items = held.field(first).items
        else:
            items = [item.get(first) if isinstance(item, dict) else None for item in group.to_list()]
        for row, item in zip(rows, items, strict=True):
            found[row] = reduce(_inside, rest, item)
    return found


def _inside(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, dict) else None


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int) else None
