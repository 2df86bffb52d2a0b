"""Incremental snapshots: tables are read again, part by part, while the stream goes on.

A part is read between two transactions of the stream, and the end of the log then is noted. Until the stream has come
there, each change of a row takes that row out of the part: its event says more, or as much. What is left is then put
into the stream. So every event of a row comes in the order of its changes, and nothing is written into the database:
the watermarks are positions of its log.

A. Andreakis, I. Papapanagiotou: DBLog, a watermark based change-data-capture framework (2020), with positions in place
of rows of a watermark table, as in Debezium's read-only mode.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, Protocol, TypeVar

from connect import ConnectError, RetriableError
from connectors.jdbc.changes.signals import Continue, Execute, Log, Mark, Pause, Stop, signal

log = logging.getLogger(__name__)

#: The name of what is stored in offsets while a snapshot is under way.
STORED: Final = "incremental_snapshot"
#: The same of Debezium, which keeps keys as serialized objects of Java.
_OF_DEBEZIUM: Final = "incremental_snapshot_collections"

Form = TypeVar("Form")
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Part:
    """What is left of a table.

    Attributes:
        table: its full name.
        condition: in SQL: only rows for which it holds; None for all.
        end: the highest key when its reading began, in text; None before.
        last: the key of the last row that was read; None before the first.
    """

    table: str
    condition: str | None = None
    end: tuple[str, ...] | None = None
    last: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """What is left of all snapshots that were asked for, in the order in which it is read."""

    parts: tuple[Part, ...]
    paused: bool = False

    def stored(self) -> dict[str, str]:
        """What an offset has of it."""
        parts = [[part.table, part.condition, part.end, part.last] for part in self.parts]
        return {STORED: json.dumps({"tables": parts, "paused": self.paused}, separators=(",", ":"))}


def of_offset(offset: Mapping[str, Any]) -> Progress | None:
    """What a stored offset says; None when no snapshot was under way.

    Raises:
        ConnectError: it is not understood.
    """
    if offset.get(_OF_DEBEZIUM):
        log.warning(
            "An incremental snapshot of Debezium was under way (%s). It is not continued: signal it again.",
            offset[_OF_DEBEZIUM],
        )
    if not (written := offset.get(STORED)):
        return None
    try:
        told = json.loads(written)
        parts = [
            Part(table, condition, None if end is None else tuple(end), None if last is None else tuple(last))
            for table, condition, end, last in told["tables"]
        ]
        return Progress(tuple(parts), bool(told["paused"])) if parts else None
    except (TypeError, ValueError, KeyError) as error:
        raise ConnectError(
            f'"{STORED}" of the stored offset is not understood ({error}). Remove it from the offset.'
        ) from None


@dataclass(slots=True)
class Chunk(Generic[Form, Row]):
    """Rows that were read, and wait until the stream is where the log ended then.

    Attributes:
        part: with its end.
        form: what makes records of the rows.
        rows: by their keys, in the keys' order.
        last: the highest of the keys, in text; None when there was no row.
        complete: whether there are no more behind.
        position: the end of the log after they were read.
    """

    part: Part
    form: Form
    rows: dict[Any, tuple[tuple[str, ...], Row]]
    last: tuple[str, ...] | None
    complete: bool
    position: Any


class Chunks(Protocol[Form, Row]):
    """Reads parts of a database's tables: one for each kind of database. For the task's thread."""

    def tables(self) -> Sequence[str]:
        """The full names of the captured tables."""

    def read(self, part: Part, size: int) -> Chunk[Form, Row]:
        """The next rows of a table by its key, behind `part.last` and up to `part.end`, which it finds out first.

        Raises:
            RetriableError: the database does not answer.
            ConnectError: the table cannot be read so.
        """


class IncrementalSnapshot(Generic[Form, Row]):
    """The snapshots of one stream, one part after another.

    Args:
        chunks: reads.
        size: the most rows of a part.
        progress: where an earlier stream left off.

    Attributes:
        progress: what is left, without what was handed out; None for nothing. Belongs to each offset.
    """

    def __init__(self, chunks: Chunks[Form, Row], size: int, progress: Progress | None) -> None:
        self.progress = progress
        self._chunks = chunks
        self._size = size
        self._chunk: Chunk[Form, Row] | None = None
        self._rows = 0  # handed out of the current table

    @property
    def table(self) -> str | None:
        """The table whose rows wait, and whose changes are to be told to `changed`; None for none."""
        return None if self._chunk is None else self._chunk.part.table

    @property
    def idle(self) -> bool:
        """Whether nothing was asked for."""
        return self.progress is None

    def signal(self, identifier: str, kind: str, data: str | None) -> None:
        """Do what a signal asks for. One that is not understood is said in the log: the stream goes on."""
        try:
            asked = signal(kind, data)
        except ValueError as error:
            log.error("The signal %s is not followed: %s", identifier, error)
            return
        match asked:
            case Execute():
                self._add(identifier, asked)
            case Stop(tables):
                self._stop(identifier, tables)
            case Pause():
                self._pause(paused=True)
            case Continue():
                self._pause(paused=False)
            case Log(message):
                log.info("Signal %s: %s", identifier, message)
            case Mark():
                pass

    def changed(self, key: Any) -> None:
        """A row of `table` has changed. None: nobody knows which; all that waits is read again."""
        assert self._chunk is not None
        if key is None:
            self._chunk = None
        else:
            self._chunk.rows.pop(key, None)

    def emptied(self) -> None:
        """All rows of `table` are gone."""
        assert self._chunk is not None
        self._chunk.rows.clear()

    def waits_for(self, position: Any) -> bool:
        """Whether rows wait for the stream to come further than this."""
        return self._chunk is not None and position < self._chunk.position

    def ready(self, position: Any) -> Iterator[tuple[Form, Row, Progress | None]]:
        """Rows whose time has come, and what is left after each. Reads the next part when none waits.

        Args:
            position: the stream has everything before it, and is between two transactions.

        Raises:
            RetriableError: the database does not answer.
        """
        if self._chunk is None and self.progress is not None and not self.progress.paused:
            self._chunk = self._next(self.progress)
        if (chunk := self._chunk) is None or position < chunk.position:
            return
        self._chunk = None
        before = self.progress
        assert before is not None
        rest = before.parts[1:]
        if chunk.complete:
            after = Progress(rest) if rest else None
        else:
            after = Progress((replace(chunk.part, last=chunk.last), *rest))
        self.progress = after
        self._rows += len(chunk.rows)
        behind = len(chunk.rows)
        for key, row in chunk.rows.values():
            behind -= 1
            left = after if not behind else Progress((replace(chunk.part, last=key), *rest))
            yield chunk.form, row, left
        if chunk.complete:
            log.info("Incremental snapshot of %s: done, %d rows.", chunk.part.table, self._rows)
            self._rows = 0

    def _next(self, progress: Progress) -> Chunk[Form, Row] | None:
        part = progress.parts[0]
        try:
            return self._chunks.read(part, self._size)
        except RetriableError:
            raise
        except ConnectError as error:
            log.error("Incremental snapshot of %s: given up after %d rows. %s", part.table, self._rows, error)
            self._rows = 0
            self.progress = Progress(progress.parts[1:]) if progress.parts[1:] else None
            return None

    def _add(self, identifier: str, asked: Execute) -> None:
        under_way = self.progress.parts if self.progress else ()
        known = {part.table for part in under_way}
        found = [table for table in self._chunks.tables() if asked.tables.match(table)]
        new = [Part(table, asked.condition(table)) for table in found if table not in known]
        if not found:
            log.error("The signal %s is not followed: none of the captured tables has such a name.", identifier)
        elif not new:
            log.warning("The signal %s asks for what is under way: %s", identifier, ", ".join(found))
        else:
            log.info("Incremental snapshot by signal %s: %s", identifier, ", ".join(part.table for part in new))
            paused = self.progress is not None and self.progress.paused
            self.progress = Progress((*under_way, *new), paused)

    def _stop(self, identifier: str, tables: Any) -> None:
        if self.progress is None:
            return
        kept = tuple(part for part in self.progress.parts if tables is not None and not tables.match(part.table))
        gone = [part.table for part in self.progress.parts if part not in kept]
        log.info("Incremental snapshot stopped by signal %s: %s", identifier, ", ".join(gone) or "nothing")
        if self.table in gone:
            self._chunk = None
            self._rows = 0
        self.progress = replace(self.progress, parts=kept) if kept else None

    def _pause(self, *, paused: bool) -> None:
        if self.progress is not None:
            self.progress = replace(self.progress, paused=paused)
            self._chunk = None
            log.info("Incremental snapshot %s.", "paused" if paused else "resumed")
