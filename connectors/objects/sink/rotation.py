"""When files begin and end: each partition of a topic decides it by its records, one after another.

A stretch lies between two ends of all files: when there are enough records, or the interval is over. The records of a
stretch are committed as a whole. Within it a single file may end (it is large enough, its schema changes, too many are
open), and another begins. All of this follows from the records and their order (except by the wall clock, if that is
configured), so the same records from the same beginning make the same files again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from connect import DataError
from connect.data.column import Column
from connectors.objects.sink.bad_rows import BadRows


@dataclass(frozen=True, slots=True)
class Rules:
    """When files end. 0 means never.

    Attributes:
        records: how many of a partition, in all its files together, end a stretch (flush.size).
        file_records: how many end a file.
        file_bytes: how many, of records as they came from Kafka, end a file.
        interval_ms: a record this much later than the first of the stretch begins another stretch.
        on_change: with interval_ms, so does a record of another pattern than the one before.
        open_files: how many may be open; before one more, the oldest ends.
        by_schema: whether a file takes only one schema.
    """

    records: int = 0
    file_records: int = 0
    file_bytes: int = 0
    interval_ms: int = 0
    on_change: bool = False
    open_files: int = 0
    by_schema: bool = False

    @property
    def simple(self) -> bool:
        """Whether only record counts end anything."""
        return not (self.file_bytes or self.interval_ms or self.open_files or self.file_records)


@dataclass(slots=True)
class Part:
    """A file as rotation sees it.

    Attributes:
        pattern: of its key, see `connectors.objects.sink.object_names`.
        schema: the one that it was opened for.
        first, last: offsets of its records.
        row: of its first record, in the batch in which it began.
    """

    number: int
    pattern: str
    schema: Any
    first: int
    last: int
    row: int
    records: int = 0
    bytes: int = 0
    rows: list[int] = field(default_factory=list)


class Append(NamedTuple):
    """Rows of the batch go into a file."""

    part: Part
    rows: Sequence[int]


class Close(NamedTuple):
    """A file is complete."""

    part: Part


class End(NamedTuple):
    """All files of the stretch are complete: it can be committed when they are durable.

    Attributes:
        first: offset of its first record.
    """

    first: int


Step = Append | Close | End

#: The schema that files need for a record: given that of the stretch's files (None at first) and the
#: record's. Raises DataError if there is none.
Adopt = Callable[[Any, Any], Any]


class Rows(NamedTuple):
    """Some rows of a batch, all of one partition, with the columns that decide about them."""

    rows: Sequence[int]
    offsets: Column[int]
    patterns: Column[str]
    schemas: Column[Any]
    times: Sequence[int | None] | None
    sizes: Sequence[int] | None


class Rotation:
    """One partition of a topic.

    Args:
        rules: when files end.
        adopt: see `Adopt`.

    `take` says what to do with rows and changes this object; so give a batch that may be refused to a `copy`.
    """

    def __init__(self, rules: Rules, adopt: Adopt | None = None) -> None:
        self.rules = rules
        self._adopt = adopt
        self._schema: Any = None
        self.open: dict[str, Part] = {}
        self.first: int | None = None
        self._records = 0
        self._base: int | None = None
        self._pattern = ""
        self._slots: dict[str, None] = {}
        self._number = 0

    def copy(self) -> Rotation:
        """An independent copy."""
        other = Rotation(self.rules, self._adopt)
        other._schema = self._schema
        other.open = {pattern: replace(part, rows=[]) for pattern, part in self.open.items()}
        other.first, other._records, other._base = self.first, self._records, self._base
        other._pattern, other._slots, other._number = self._pattern, dict(self._slots), self._number
        return other

    def take(self, rows: Rows) -> list[Step]:
        """The steps for these rows, in order."""
        if not len(rows.rows):
            return []
        if self.rules.simple and rows.patterns.constant and (rows.schemas.constant or not self.rules.by_schema):
            return self._take_alike(rows)
        return self._take_each(rows)

    def close(self, part: Part) -> list[Step]:
        """End one file; with the last open one also its stretch."""
        del self.open[part.pattern]
        return [Close(part)] if self.open else [Close(part), *self.end()]

    def end(self) -> list[Step]:
        """End all files, if they have records."""
        if self.first is None:
            return []
        steps: list[Step] = [Close(part) for part in self.open.values()]
        steps.append(End(self.first))
        self.open = {}
        self.first, self._records, self._base, self._pattern = None, 0, None, ""
        self._slots = {}
        self._schema = None
        return steps

    def is_over(self, time: int) -> bool:
        """Whether `Rules.interval_ms` has ended the stretch at this time."""
        return self._base is not None and time - self._base >= self.rules.interval_ms

    def _adopted(self, schema: Any, rows: Sequence[int]) -> Any:
        if self._adopt is None or not self.rules.by_schema:
            return schema
        try:
            self._schema = self._adopt(self._schema, schema)
        except DataError as error:
            raise BadRows(dict.fromkeys(rows, error)) from None
        return self._schema

    def _take_alike(self, rows: Rows) -> list[Step]:
        """For rows of one pattern, when only record counts end files."""
        steps: list[Step] = []
        at, rest = 0, len(rows.rows)
        pattern = rows.patterns[rows.rows[0]]
        while rest:
            first = rows.rows[at]
            schema = self._adopted(rows.schemas[first], rows.rows[at:])
            part = self.open.get(pattern)
            if part is not None and self.rules.by_schema and not _same(part.schema, schema):
                steps += self.close(part)
                part, schema = None, self._adopted(rows.schemas[first], rows.rows[at:])
            if part is None:
                part = self._begin(pattern, schema, rows.offsets[first], first)
            number = min(rest, self.rules.records - self._records) if self.rules.records else rest
            chosen = rows.rows[at : at + number]
            part.last = rows.offsets[chosen[-1]]
            part.records += number
            self._records += number
            steps.append(Append(part, chosen))
            at, rest = at + number, rest - number
            if self.rules.records and self._records >= self.rules.records:
                steps += self.end()
        return steps

    def _take_each(self, rows: Rows) -> list[Step]:
        rules, steps = self.rules, list[Step]()
        offsets, patterns = rows.offsets.to_list(), rows.patterns.to_list()
        every = rows.schemas.to_list()
        schemas = every if rules.by_schema else None
        times, sizes = rows.times, rows.sizes
        touched: dict[int, Part] = {}
        for row in rows.rows:
            pattern = patterns[row]
            time = times[row] if times is not None else None  # none, too, of one without a value: it ends nothing
            if rules.interval_ms and time is not None and self._is_over(time, pattern):
                _settle(steps, touched)
                steps += self.end()
            schema = self._adopted(schemas[row], (row,)) if schemas is not None else every[row]
            part = self.open.get(pattern)
            if part is not None and schemas is not None and not _same(part.schema, schema):
                _settle(steps, touched)
                steps += self.close(part)
                part, schema = None, self._adopted(schemas[row], (row,))
            if part is None:
                if rules.open_files and pattern not in self._slots:
                    if len(self._slots) >= rules.open_files:
                        oldest = next(iter(self._slots))
                        del self._slots[oldest]
                        if oldest in self.open:
                            _settle(steps, touched)
                            steps += self.close(self.open[oldest])
                    self._slots[pattern] = None
                part = self._begin(pattern, schema, offsets[row], row)
            if time is not None:
                self._base = time if self._base is None else self._base
                self._pattern = pattern
            part.rows.append(row)
            touched[part.number] = part
            part.last = offsets[row]
            part.records += 1
            self._records += 1
            if sizes is not None:
                part.bytes += sizes[row]
            if (rules.file_bytes and part.bytes >= rules.file_bytes) or part.records == rules.file_records:
                _settle(steps, touched)
                steps += self.close(part)
            if self._records == rules.records:
                _settle(steps, touched)
                steps += self.end()
        _settle(steps, touched)
        return steps

    def _is_over(self, time: int, pattern: str) -> bool:
        if self._base is None:
            return False
        return self.is_over(time) or (self.rules.on_change and pattern != self._pattern)

    def _begin(self, pattern: str, schema: Any, offset: int, row: int) -> Part:
        self._number += 1
        if self.first is None:
            self.first = offset
        part = self.open[pattern] = Part(self._number, pattern, schema, offset, offset, row)
        return part


def _settle(steps: list[Step], touched: dict[int, Part]) -> None:
    """Add the steps for the rows taken so far, one per file."""
    for part in touched.values():
        steps.append(Append(part, part.rows))
        part.rows = []
    touched.clear()


def _same(one: Any, other: Any) -> bool:
    return one is other or one == other
