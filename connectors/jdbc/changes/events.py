"""Change events in Debezium's envelope, collected into a batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from connect import Header, Headers, Schema, SourceBatch, Values, schema
from connect.data import Constant, Deferred, Plain
from connect.data.headers import NO_HEADERS
from connect.data.values import GroupedValues
from connectors.jdbc.changes.forms import Form, Struct

_HEARTBEAT_KEY: Final = Schema.struct(
    {"serverName": schema.STRING}, name="io.debezium.connector.common.ServerNameKey", version=1
)
_HEARTBEAT: Final = Schema.struct({"ts_ms": schema.INT64}, name="io.debezium.connector.common.Heartbeat", version=1)


class Events:
    """Collects rows until `take` makes a batch of them.

    Args:
        prefix: the name of the source.
        database: its database's.
        tombstones: whether a null follows a deletion.
        heartbeats: the topic of heartbeats.
    """

    def __init__(self, prefix: str, database: str, tombstones: bool, heartbeats: str) -> None:
        self.prefix = prefix
        self.database = database
        self._tombstones = tombstones
        self._heartbeats = heartbeats
        self._partition = {"server": prefix}
        self._clear()

    def __len__(self) -> int:
        return len(self._topics)

    def _clear(self) -> None:
        self._topics: list[str] = []
        self._marks: list[Any] = []
        self._keys: dict[int, tuple[Schema | None, list[int], list[Any]]] = {}
        self._values: dict[int, tuple[Schema | None, list[int], list[Any]]] = {}
        self._headers: dict[int, Headers] = {}

    def change(
        self,
        table: Form,
        op: str,
        key: Struct | None,
        before: Struct | None,
        after: Struct | None,
        source: Struct,
        mark: Any,
    ) -> None:
        """One event."""
        now = time.time_ns()
        value = {
            "before": before,
            "after": after,
            "source": source,
            "transaction": None,
            "op": op,
            "ts_ms": now // 1_000_000,
            "ts_us": now // 1000,
            "ts_ns": now,
        }
        self._add(table.topic, table.key_schema if key is not None else None, key, table.envelope, value, mark)

    def deletion(self, table: Form, key: Struct | None, before: Struct, source: Struct, undone: Any, mark: Any) -> None:
        """A deletion and its tombstone. It is complete only after the latter: `undone` is the mark before it."""
        tombstone = self._tombstones and key is not None
        self.change(table, "d", key, before, None, source, undone if tombstone else mark)
        if tombstone:
            self._add(table.topic, table.key_schema, key, None, None, mark)

    def update(
        self,
        table: Form,
        keys: tuple[Struct | None, Struct | None],
        before: Struct,
        after: Struct,
        source: Struct,
        undone: Any,
        mark: Any,
    ) -> None:
        """A row that was there before. Under another key it is another record: that of the old key goes.

        Args:
            keys: before and after.
            undone: the mark before the row.
        """
        old, new = keys
        if old == new or old is None or new is None:
            self.change(table, "u", new, before, after, source, mark)
            return
        self.deletion(table, old, before, source, undone, undone)
        self.change(table, "c", new, None, after, source, mark)
        # Each event names the other.
        assert table.key_schema is not None
        last = len(self._topics) - 1
        self._headers[last] = Headers([Header("__debezium.oldkey", old, table.key_schema)])
        self._headers[last - 1 - self._tombstones] = Headers([Header("__debezium.newkey", new, table.key_schema)])

    def heartbeat(self, mark: Any) -> None:
        """A heartbeat."""
        value = {"ts_ms": time.time_ns() // 1_000_000}
        self._add(self._heartbeats, _HEARTBEAT_KEY, {"serverName": self.prefix}, _HEARTBEAT, value, mark)

    def take(self, offset: Callable[[Any], Mapping[str, Any]]) -> SourceBatch | None:
        """The collected events, as a batch; None when there are none.

        Args:
            offset: makes the offset after a row of its mark, when it is requested.
        """
        topics = self._topics
        count = len(topics)
        if not count:
            return None
        marks, headers = self._marks, self._headers
        first = topics[0]
        batch = SourceBatch(
            Constant(first, count) if topics.count(first) == count else Plain(topics),
            _grouped(count, self._values),
            keys=_grouped(count, self._keys),
            headers=Plain([headers.get(row, NO_HEADERS) for row in range(count)]) if headers else None,
            source_partitions=self._partition,
            source_offsets=Deferred(count, lambda: list(map(offset, marks)), lambda row: offset(marks[row])),
        )
        self._clear()
        return batch

    def _add(
        self, topic: str, key_schema: Schema | None, key: Any, value_schema: Schema | None, value: Any, mark: Any
    ) -> None:
        row = len(self._topics)
        self._topics.append(topic)
        self._marks.append(mark)
        group = self._keys.get(id(key_schema)) or self._keys.setdefault(id(key_schema), (key_schema, [], []))
        group[1].append(row)
        group[2].append(key)
        group = self._values.get(id(value_schema)) or self._values.setdefault(id(value_schema), (value_schema, [], []))
        group[1].append(row)
        group[2].append(value)


def _grouped(count: int, groups: dict[int, tuple[Schema | None, list[int], list[Any]]]) -> Values:
    if len(groups) == 1:
        ((of, _, items),) = groups.values()
        return Values(items, of)
    return GroupedValues(count, [(rows, Values(items, of)) for of, rows, items in groups.values()])
