"""JdbcSinkTask: records as rows, each batch in one transaction."""

from __future__ import annotations

import importlib.util
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from connect import ConnectError, Offsets, SinkBatch, SinkTask, TopicPartition
from connect.kit import BackgroundWriter, RetryBudget
from connectors.jdbc.sink.keys import JdbcSinkOptions

if TYPE_CHECKING:
    from connectors.jdbc.database import Database
    from connectors.jdbc.sink.ledger import Ledger
    from connectors.jdbc.sink.writer import Writer, Written

log = logging.getLogger(__name__)

#: From how many records on a batch is one of many, so that it is written as the next one is consumed.
_MANY: Final = 500
#: How many batches may wait, beside those that are being written (P7).
_MOST_WAITING: Final = 8
_END_S: Final = 1.0


class JdbcSinkTask(SinkTask):
    """Writes records to tables.

    A batch is written before `put` returns; when many records arrive at a time, a thread writes while the next ones are
    consumed, and `pre_commit` waits for it. Its error is raised by the next call, which first writes the rest on its
    own thread. A batch that `put` refused is not among that: it is put again.
    """

    settings = JdbcSinkOptions.definition()
    atomic: ClassVar[bool] = True

    def start(self, config: Mapping[str, str]) -> None:
        for package in ("sqlalchemy", "pyarrow"):
            if importlib.util.find_spec(package) is None:
                raise ConnectError(f"The JDBC sink needs the package {package}. Install connect-runtime[jdbc].")
        from connectors.jdbc.database import Database
        from connectors.jdbc.sink.ledger import Ledger
        from connectors.jdbc.sink.writer import Writer

        self._options = options = JdbcSinkOptions.parse(config)
        self._database: Database = Database(options, config)
        self.context.exit_stack.callback(self._database.close)
        self._ledger: Ledger | None = None
        if options.exactly_once:
            self._ledger = Ledger(self._database, options.offsets_table, self.context.connector)
        self._writer: Writer = Writer(options, self._database, self._ledger)
        self._written: deque[Written] = deque()  # by the thread, and not counted yet
        # What waits when a transaction is done goes into the next one together: the slower commits are, the fewer.
        self._background: BackgroundWriter[SinkBatch] = BackgroundWriter(
            "jdbc-writer", self._write_behind, together=_MOST_WAITING, limit=_MOST_WAITING
        )
        self._left: list[SinkBatch] = []  # what the thread could not write
        self._retries = RetryBudget(
            options.max_retries,
            options.retry_backoff,
            waits_for=str(self._database),
            timeout=self.context.timeout,
        )

    def open(self, partitions: Sequence[TopicPartition]) -> Offsets | None:
        if self._ledger is None or not partitions:
            return None
        self._left += self._take_back()
        found = self._ledger.claim(partitions)
        # The group is ahead where it was moved on purpose, or where the last records are none that is written.
        group = self.context.committed(*found)
        return {origin: max(offset, group.get(origin, 0)) for origin, offset in found.items()}

    def put(self, batch: SinkBatch) -> None:
        if not len(batch) and self._background.error is None and not self._left:
            self._tell()
            return
        if self._options.behind and len(batch) >= _MANY and not self._left and self._background.room():
            self._background.add(batch)
            self._tell()
            return
        self._settle()
        if len(batch):
            self._write([batch])

    def pre_commit(self, offsets: Offsets) -> Offsets:
        self._settle()
        return offsets

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        gone = set(partitions)
        self._left = [kept for each in (*self._left, *self._take_back()) if len(kept := each.without(gone))]
        if self._ledger is not None:
            self._ledger.forget(partitions)

    def stop(self) -> None:
        self._take_back()
        self._background.end(_END_S)
        self._tell()

    # Writing.

    def _settle(self) -> None:
        """Wait until everything accepted is written."""
        self._background.settle()
        self._tell()
        error = self._background.error
        self._left += self._background.withdraw()
        if error is not None:
            log.debug("what was taken before is written again: %s", error)
        if self._left:
            self._write(self._left)
            self._left = []

    def _take_back(self) -> list[SinkBatch]:
        """Wait for the running transaction, and take back what waits, or has failed."""
        waiting = self._background.withdraw()
        self._background.settle()
        return [*self._background.withdraw(), *waiting]

    def _write_behind(self, batches: list[SinkBatch]) -> None:
        """On the thread, whose first error stops it: the task's thread then writes the rest."""
        self._written.append(self._writer.write(batches))

    def _write(self, batches: Sequence[SinkBatch]) -> None:
        from connectors.jdbc.sink.errors import is_about_rows, is_passing

        try:
            try:
                written = self._writer.write(batches)
            except Exception as error:  # sorted out below
                if is_passing(error) or not is_about_rows(error):
                    raise
                reporter = self.context.errant_records
                written = self._writer.write_what_fits(batches, None if reporter is None else reporter.report)
        except Exception as error:  # drivers raise anything
            raise self._refused(error) from error.__cause__
        self._retries.worked()
        self._count(written)

    def _refused(self, error: Exception) -> Exception:
        """The error to raise for an error of a write."""
        from connectors.jdbc.sink.errors import is_passing, plain

        table = self._writer.at
        self.context.metrics.count("jdbc_write_errors_total", table=str(table or ""))
        said = plain(error, self._database, table, self._options.trimmed)
        if not is_passing(error):
            return said
        self._database.discard()
        return self._retries.failed(str(said))

    def _tell(self) -> None:
        while self._written:
            self._retries.worked()
            self._count(self._written.popleft())

    def _count(self, written: Written) -> None:
        metrics = self.context.metrics
        for table, rows in written.rows.items():
            metrics.count("jdbc_rows_written_total", rows, table=table)
        for table, rows in written.deleted.items():
            metrics.count("jdbc_rows_deleted_total", rows, table=table)
        metrics.observe("jdbc_write_seconds", written.seconds)
        log.debug(
            "wrote %d rows and deleted %d in %.3f s", written.rows.total(), written.deleted.total(), written.seconds
        )
