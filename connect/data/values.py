"""The values (or keys) of a batch together with their schemas: the column of converters and transformations.

Four ways to hold them, converted at most once and on demand: `Values`, Python values; `Text`, strings kept as the UTF-8
bytes that were consumed; `StructColumns`, structs of a declared schema field by field; `MapColumns`, schemaless maps
with the same keys key by key.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from connect.data.column import Column, Constant, column
from connect.data.columns_text import texts
from connect.data.schema import OPTIONAL_BYTES, OPTIONAL_STRING, Schema
from connect.data.text import java_text, utf8_text

if TYPE_CHECKING:
    from connect.data.map_columns import MapColumns
    from connect.data.struct_columns import StructColumns


class Values(Column[Any]):
    """Python values with their schemas.

    Args:
        items: one value a row. The list is not copied: do not change it afterwards.
        schema: one schema for all rows (None: schemaless), or a column with one for each row.
    """

    __slots__ = ("_items", "schemas")

    def __init__(
        self, items: Column[Any] | Sequence[Any], schema: Schema | Column[Schema | None] | None = None
    ) -> None:
        self._items = column(items)
        self.schemas: Column[Schema | None] = schema if isinstance(schema, Column) else Constant(schema, len(items))

    @classmethod
    def nulls(cls, length: int, schema: Schema | None = None) -> Values:
        """As many nulls."""
        return cls(Constant(None, length), schema)

    @classmethod
    def raw(cls, items: Column[Any] | Sequence[Any]) -> Values:
        """Bytes as stored in Kafka, None among them."""
        return cls(items, OPTIONAL_BYTES)

    def __len__(self) -> int:
        return len(self._items)

    @property
    def constant(self) -> bool:
        return self._items.constant and self.schemas.constant

    @property
    def struct_columns(self) -> StructColumns | None:
        """These values by columns, if they are held so."""
        return None

    @property
    def arrow(self) -> StructColumns | None:
        """These values by columns that are available in Arrow, if they are held so and it is worth while."""
        return None

    @property
    def maps(self) -> MapColumns | None:
        """These values by columns, if they are schemaless maps with the same keys and it is worth while."""
        return None

    @property
    def json(self) -> list[bytes | None] | None:
        """The JSON of each of these schemaless values, None for null, if they were read from it and are unchanged."""
        return None

    @property
    def schema(self) -> Schema | None:
        """The one schema of all rows.

        Raises:
            ValueError: rows differ; see `by_schema`.
        """
        if not self.schemas.constant and len(set(map(id, self.schemas))) > 1 and len(set(self.schemas)) > 1:
            raise ValueError("The rows have different schemas.")
        return self.schemas[0] if len(self.schemas) else None

    def by_schema(self) -> list[tuple[Schema | None, list[int]]]:
        """Each distinct schema with the rows that have it, in the order of first appearance."""
        if self.schemas.constant:
            return [(self.schemas[0], list(range(len(self))))] if len(self) else []
        groups: dict[Schema | None, list[int]] = {}
        for row, schema in enumerate(self.schemas):
            groups.setdefault(schema, []).append(row)
        return list(groups.items())

    def groups(self) -> list[tuple[Sequence[int], Values]]:
        """The rows that share a schema, as a column of their own, for each schema.

        Every row is in exactly one group; rows ascend within it.
        """
        if self.schemas.constant:
            return [(range(len(self)), self)] if len(self) else []
        items = self.to_list()
        return [(rows, Values([items[row] for row in rows], schema)) for schema, rows in self.by_schema()]

    def each_schema(self, change: Callable[[Values], Values]) -> Values:
        """The column with each group of `groups` changed; `change` returns as many rows as it receives."""
        groups = self.groups()
        if len(groups) == 1:
            return change(groups[0][1])
        return GroupedValues(len(self), [(rows, change(values)) for rows, values in groups]) if groups else self

    def take(self, rows: Sequence[int]) -> Values:
        return Values(self._items.take(rows), self.schemas.take(rows))

    def between(self, start: int, stop: int) -> Values:
        return Values(self._items.between(start, stop), self.schemas.between(start, stop))

    def to_list(self) -> list[Any]:
        return self._items.to_list()

    def __iter__(self) -> Any:
        return iter(self._items)

    def map(self, change: Callable[[Any], Any], schema: Schema | None = None) -> Values:
        """The values changed one by one, with a new schema for all rows."""
        return Values(list(map(change, self)), schema)

    def texts(self) -> list[str]:
        """Each value as Java's `String.valueOf` writes it. See `connect.data.text`."""
        if not self.schemas.constant:
            return [java_text(schema, value) for schema, value in zip(self.schemas, self, strict=True)]
        items = self.to_list()
        schema = self.schemas[0] if items else None
        written = texts(schema, items)
        return written if isinstance(written, list) else list(written)

    def encoded_texts(self) -> list[bytes]:
        """The texts of the values in UTF-8."""
        return [text.encode("utf-8", "replace") for text in self.texts()]

    def encoded_lines(self) -> bytes:
        r"""The texts of the values in UTF-8, each followed by ``\n``."""
        return "\n".join([*self.texts(), ""]).encode("utf-8", "replace")


class JsonValues(Values):
    """Schemaless values with the JSON that they were read from: writers of JSON need not encode them again.

    Args:
        items: the values. The list is not copied.
        texts: the JSON of each, well-formed; None for null. The list is not copied.
    """

    __slots__ = ("_texts",)

    def __init__(self, items: list[Any], texts: list[bytes | None]) -> None:
        super().__init__(items)
        self._texts = texts

    @property
    def json(self) -> list[bytes | None]:
        return self._texts

    def take(self, rows: Sequence[int]) -> JsonValues:
        items, texts = self.to_list(), self._texts
        return JsonValues([items[row] for row in rows], [texts[row] for row in rows])

    def between(self, start: int, stop: int) -> JsonValues:
        return JsonValues(self.to_list()[start:stop], self._texts[start:stop])


class Text(Values):
    """Strings that are held as UTF-8 and decoded on demand.

    Malformed bytes become U+FFFD, as they do in Java.

    Args:
        encoded: one entry a row, None for null. The list is not copied.
        schema: STRING or OPTIONAL_STRING (None: schemaless strings).
        valid: whether the bytes are known to be well-formed, and need no check.
    """

    __slots__ = ("_decoded", "_encoded", "_valid")

    def __init__(
        self, encoded: list[bytes | None], schema: Schema | None = OPTIONAL_STRING, *, valid: bool = False
    ) -> None:
        self._encoded = encoded
        self._decoded: list[str | None] | None = None
        self._valid = valid
        self.schemas = Constant(schema, len(encoded))

    def __len__(self) -> int:
        return len(self._encoded)

    @property
    def constant(self) -> bool:
        return False

    def take(self, rows: Sequence[int]) -> Text:
        encoded = self._encoded
        return Text([encoded[row] for row in rows], self.schemas[0] if self._encoded else None, valid=self._valid)

    def between(self, start: int, stop: int) -> Text:
        return Text(self._encoded[start:stop], self.schemas[0] if self._encoded else None, valid=self._valid)

    def to_list(self) -> list[Any]:
        if self._decoded is None:
            try:
                self._decoded = [None if e is None else e.decode() for e in self._encoded]
            except UnicodeDecodeError:
                self._decoded = [None if e is None else utf8_text(e) for e in self._encoded]
        return self._decoded

    def __iter__(self) -> Any:
        return iter(self.to_list())

    def encoded(self) -> list[bytes | None]:
        """The strings as well-formed UTF-8, None for null. Do not change the list."""
        if not self._valid:
            self._encoded = _well_formed(self._encoded)
            self._valid = True
        return self._encoded

    def encoded_texts(self) -> list[bytes]:
        encoded = self.encoded()
        if None in encoded:
            return [b"null" if e is None else e for e in encoded]
        return encoded  # type: ignore[return-value]

    def encoded_lines(self) -> bytes:
        return b"\n".join([*self.encoded_texts(), b""])


def _well_formed(encoded: list[bytes | None]) -> list[bytes | None]:
    try:
        joined = b"\n".join(encoded)  # type: ignore[arg-type]  # None raises TypeError: the slow way below
        if joined.isascii():
            return encoded
        joined.decode()
    except (TypeError, UnicodeDecodeError):
        return [None if e is None else utf8_text(e).encode() for e in encoded]
    return encoded


class GroupedValues(Values):
    """Values whose rows are held in groups, each in its own way: a column for each schema, tombstones apart.

    Args:
        length: the number of rows.
        groups: ascending rows and their values. Every row is in exactly one group.
    """

    __slots__ = ("_groups", "_list", "_schemas")

    def __init__(self, length: int, groups: list[tuple[Sequence[int], Values]]) -> None:
        self._items = Constant(None, length)  # its length
        self._groups = groups
        self._list: list[Any] | None = None
        self._schemas: Column[Schema | None] | None = None

    @property
    def constant(self) -> bool:
        return False

    @property
    def schemas(self) -> Column[Schema | None]:  # type: ignore[override]
        """See `Values`."""
        if self._schemas is None:
            parts = [(rows, values.schemas) for rows, values in self._groups]
            first = parts[0][1][0] if parts else None
            if all(schemas.constant and schemas[0] is first for _, schemas in parts):
                self._schemas = Constant(first, len(self))
            else:
                self._schemas = column(self._in_order(parts))
        return self._schemas

    def groups(self) -> list[tuple[Sequence[int], Values]]:
        if all(values.schemas.constant for _, values in self._groups):
            return self._groups
        return super().groups()

    def take(self, rows: Sequence[int]) -> Values:
        place = {row: (at, i) for at, (members, _) in enumerate(self._groups) for i, row in enumerate(members)}
        chosen: list[tuple[list[int], list[int]]] = [([], []) for _ in self._groups]
        for new, row in enumerate(rows):
            at, i = place[row]
            chosen[at][0].append(new)
            chosen[at][1].append(i)
        groups: list[tuple[Sequence[int], Values]] = [
            (new, self._groups[at][1].take(members)) for at, (new, members) in enumerate(chosen) if new
        ]
        return GroupedValues(len(rows), groups)

    def between(self, start: int, stop: int) -> Values:
        # Single rows are cut out one after another where records fail: each must not look at all the others.
        groups: list[tuple[Sequence[int], Values]] = []
        for members, values in self._groups:
            first = bisect_left(members, start)
            last = bisect_left(members, stop, lo=first)
            if first < last:
                groups.append(([row - start for row in members[first:last]], values.between(first, last)))
        return GroupedValues(stop - start, groups)

    def to_list(self) -> list[Any]:
        if self._list is None:
            self._list = self._in_order([(rows, values.to_list()) for rows, values in self._groups])
        return self._list

    def __iter__(self) -> Any:
        return iter(self.to_list())

    def texts(self) -> list[str]:
        return self._in_order([(rows, values.texts()) for rows, values in self._groups])

    def _in_order(self, parts: Iterable[tuple[Sequence[int], Iterable[Any]]]) -> list[Any]:
        ordered: list[Any] = [None] * len(self)
        for rows, items in parts:
            for row, item in zip(rows, items, strict=True):
                ordered[row] = item
        return ordered


class DeferredValues(Values):
    """Values that are made on demand: keys that no transformation and no task uses.

    Args:
        length: the number of rows.
        make: returns all; called at most once, and must not fail.
    """

    __slots__ = ("_length", "_made", "_make")

    def __init__(self, length: int, make: Callable[[], Values]) -> None:
        self._length = length
        self._make = make
        self._made: Values | None = None

    def _values(self) -> Values:
        if self._made is None:
            self._made = self._make()
        return self._made

    @property
    def schemas(self) -> Column[Schema | None]:  # type: ignore[override]
        """See `Values`."""
        return self._values().schemas

    def __len__(self) -> int:
        return self._length

    @property
    def constant(self) -> bool:
        return self._values().constant

    def take(self, rows: Sequence[int]) -> Values:
        return DeferredValues(len(rows), lambda: self._values().take(rows))

    def between(self, start: int, stop: int) -> Values:
        return DeferredValues(stop - start, lambda: self._values().between(start, stop))

    def groups(self) -> list[tuple[Sequence[int], Values]]:
        return self._values().groups()

    def to_list(self) -> list[Any]:
        return self._values().to_list()

    def __iter__(self) -> Any:
        return iter(self._values())

    def texts(self) -> list[str]:
        return self._values().texts()

    def encoded_texts(self) -> list[bytes]:
        return self._values().encoded_texts()

    def encoded_lines(self) -> bytes:
        return self._values().encoded_lines()
