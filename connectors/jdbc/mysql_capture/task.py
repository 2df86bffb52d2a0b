"""The task: a snapshot, then the stream."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final

from connect import ConnectError, SourceBatch, SourceTask
from connectors.jdbc.changes.channels import channels
from connectors.jdbc.changes.events import Events
from connectors.jdbc.changes.heartbeats import Heartbeats
from connectors.jdbc.changes.incremental import IncrementalSnapshot
from connectors.jdbc.mysql_capture import origin, position, snapshot
from connectors.jdbc.mysql_capture.catalog import Tables
from connectors.jdbc.mysql_capture.chunks import TableChunks
from connectors.jdbc.mysql_capture.database import CapturedServer, Place
from connectors.jdbc.mysql_capture.keys import CaptureOptions
from connectors.jdbc.mysql_capture.login import connection_options
from connectors.jdbc.mysql_capture.origin import SnapshotOrigin, Source
from connectors.jdbc.mysql_capture.position import MariaGtids, Resume
from connectors.jdbc.mysql_capture.replication import PositionLost, ReplicationConnection
from connectors.jdbc.mysql_capture.snapshot import Snapshot
from connectors.jdbc.mysql_capture.stream import Changes
from connectors.jdbc.mysql_capture.tables import Table

log = logging.getLogger(__name__)

#: How many bytes of changes make a batch, however few they are.
_BATCH_BYTES: Final = 4 * 1024 * 1024
_WAIT_S: Final = 0.1


class MySqlCdcSourceTask(SourceTask):
    """Captures one server. There is one task.

    Nothing is told upstream: a server keeps its log for as long as it is set to, whoever reads it.
    """

    settings = CaptureOptions.definition()
    #: What blocks `source` call the connector.
    flavor: ClassVar[str] = "mysql"

    def start(self, config: Mapping[str, str]) -> None:
        self._chosen = chosen = CaptureOptions.parse(config)
        self._partition = {"server": chosen.prefix}
        self._kind, self._resume = position.stored(self.context.offset(self._partition))
        self._patience = min(1.0, chosen.poll_interval)
        self._heartbeats = Heartbeats(chosen.heartbeat_interval, chosen.heartbeat_action_query)
        self._channels = channels(chosen)
        self.context.exit_stack.callback(self._channels.close)
        self._source = Source(self.flavor, chosen.prefix)
        self._tables = Tables(chosen, self.flavor)
        self._server: CapturedServer | None = None
        self._stream: ReplicationConnection | None = None
        self._snapshot: Snapshot | None = None
        self._first = True  # until the stream begins
        self._finished = False
        self._measure_due = 0.0
        self._stopped = threading.Event()

    def poll(self) -> SourceBatch | None:
        if self._finished:
            self._stopped.wait(self._patience)
            return None
        try:
            if self._stream is None and self._snapshot is None:
                self._open()
            return self._read_snapshot() if self._snapshot is not None else self._read_stream()
        except PositionLost as error:
            self._close()
            self._lost(error)
            return None
        except BaseException:
            self._close()
            raise

    def commit(self) -> None:
        self._channels.stored()

    def stop(self) -> None:
        self._stopped.set()
        self._close()

    # Opening: what there is, and what is to be done first.

    def _open(self) -> None:
        """Connect, and begin the snapshot or the stream.

        Raises:
            RetriableError: it may work later.
            ConnectError: it will not.
        """
        chosen, mode = self._chosen, self._chosen.snapshot_mode
        if mode == "initial_only" and self._kind == "stream":
            log.info("The snapshot is done, and snapshot.mode is initial_only: there is nothing to do.")
            self._finished = True
            return
        # What was read before a connection broke, and not handed out, is read again.
        self._tables.undo()
        self._events = Events(chosen.prefix, "", chosen.tombstones_on_delete, chosen.heartbeats)
        options = connection_options(self.context.configs)
        self._server = server = CapturedServer(options)
        self._tables.use(server)
        if problem := server.problem(chosen.server_id) or server.problem_of_signals(chosen.signal_table):
            raise ConnectError(problem)
        if self._first and (doubt := server.doubt()):
            log.warning(doubt)
        if self._kind == "stream" and not (mode == "always" and self._first):
            self._begin_stream(server, options)
        elif mode == "no_data":
            place = server.place()
            self._kind, self._resume = "stream", Resume(place.file, place.position, gtids=place.gtids)
            self._define(server, place)
            self._begin_stream(server, options)
        else:
            self._begin_snapshot(server)

    def _define(self, server: CapturedServer, place: Place) -> None:
        """Note how tables are defined where the stream begins: the log may not say it."""
        for database, name in server.tables():
            if self._chosen.selection.table(database, name) and (facts := server.facts(database, name)) is not None:
                self._tables.take(facts, place)
        self._tables.settle()

    def _begin_snapshot(self, server: CapturedServer) -> None:
        place, found = snapshot.begin(server, self._chosen, self._tables)
        if wanted := self._chosen.snapshot_tables:
            found = [each for each in found if wanted.match(each.full_name)]
        log.info("Reading %d tables, as they were at %s:%d.", len(found), place.file, place.position)
        self._after = Resume(place.file, place.position, gtids=place.gtids)
        mode = "always" if self._chosen.snapshot_mode == "always" else "initial"
        self._origin = SnapshotOrigin(self._after, int(time.time()), mode)
        self._kind, self._resume = "snapshot", None
        self._snapshot = Snapshot(server, found, self._tables)
        self._snapshot_rows = 0
        self._block_of: Table | None = None  # the table of the block `source` that was made last

    def _read_snapshot(self) -> SourceBatch | None:
        assert self._snapshot is not None
        events, told = self._events, self._origin
        size = 0
        for found in self._snapshot.rows:
            if found is None:
                continue
            table, (struct, length), mark = found
            size += length
            self._snapshot_rows += 1
            if table is not self._block_of:
                self._block_of, self._block = table, told.block(self._source, table)
            block = self._block.copy()
            block["snapshot"] = mark
            events.change(table, "r", table.key(struct), None, struct, block, (told, int(mark == "last")))
            if len(events) >= self._chosen.snapshot_fetch_size or size >= _BATCH_BYTES:
                return events.take(origin.offset)
        return self._end_snapshot()

    def _end_snapshot(self) -> SourceBatch | None:
        assert self._server is not None
        log.info("Read %d rows: the snapshot is done.", self._snapshot_rows)
        self._snapshot = None
        self._server.query("COMMIT")
        self._kind, self._resume = "stream", self._after
        self._tables.settle()
        self._first = False
        self._finished = self._chosen.snapshot_mode == "initial_only"
        batch = self._events.take(origin.offset)
        # From here on nothing may fail: the rows that are handed out now are not read again. The next poll connects.
        self._close()
        return batch

    # The stream.

    def _begin_stream(self, server: CapturedServer, options: dict[str, Any]) -> None:
        resume = self._resume
        assert resume is not None
        gtids = self._where(server, resume)
        if gtids is not None and resume.events:
            # Another server may have put the same rows into other events, and have left out some.
            log.warning("The transaction behind %s is read from its beginning: its first rows may come again.", gtids)
            self._resume = resume = replace(resume, events=0, rows=0)
        stream = ReplicationConnection(options, self._chosen.server_id)
        try:
            stream.register()
            stream.start(resume.file, resume.position, gtids)
        except BaseException:
            stream.close()
            raise
        chunks = TableChunks(server, self._tables)
        self._incremental = incremental = IncrementalSnapshot(chunks, self._chosen.chunk_size, resume.progress)
        self._changes = Changes(
            self._chosen, self._tables, self._events, incremental, resume, self._source, server.mariadb
        )
        self._stream = stream
        self._first = False
        log.info("Reading changes from %s on%s.", resume, f", behind {gtids}" if gtids else "")

    @staticmethod
    def _where(server: CapturedServer, resume: Resume) -> str | None:
        """None where the server has the position; else the transactions behind which the stream begins.

        The same file and number may mean something else on another server. MariaDB tells which transactions are before
        a position, and they are stored with it.

        Raises:
            PositionLost: the server does not have it.
        """
        if server.mariadb and resume.gtids:
            there = server.gtids(resume.file, resume.position)
            if there is not None and str(MariaGtids(there)) == str(MariaGtids(resume.gtids)):
                return None
            return resume.gtids
        if resume.file not in (files := server.files()):
            oldest = files[0] if files else "nothing"
            raise PositionLost(f"{resume.file} is not in the server's log, which begins with {oldest}.")
        return None

    def _lost(self, error: PositionLost) -> None:
        """The server does not have the changes that come next: an error, or another snapshot."""
        if self._chosen.snapshot_mode != "when_needed":
            raise ConnectError(
                f"The changes since {self._resume} are not in the server's binary log: {error} Set "
                "snapshot.mode=when_needed to read everything again, or reset the connector's offsets. So that it does "
                "not happen again, keep the log for longer (binlog_expire_logs_seconds), and set heartbeat.interval.ms "
                "if the captured tables change seldom."
            ) from error
        log.warning("The server's binary log has lost the next changes: everything is read again. (%s)", error)
        self._kind, self._resume = "nothing", None

    def _read_stream(self) -> SourceBatch | None:
        stream = self._stream
        if stream is None:
            return None
        events, changes = self._events, self._changes
        self._channels.follow(self._incremental.signal)
        deadline = time.monotonic() + self._patience
        most, size = self._chosen.max_batch_size, 0
        while len(events) < most and size < _BATCH_BYTES:
            received = stream.receive(0.0 if len(events) else _WAIT_S)
            if received is not None:
                size += len(received)
                changes.take(received)
            changes.snapshot_rows()
            if received is not None and (time.monotonic() < deadline or len(events)):
                continue
            if len(events) or time.monotonic() > deadline or self.context.stopping():
                break
        assert self._server is not None
        self._heartbeats.beat(changes, self._server.query)
        self._measure(changes)
        # From here on nothing may fail: the rows that are handed out now are not read again.
        self._resume = changes.resume()
        self._tables.settle()
        batch = events.take(origin.offset)
        self._channels.settled(handed_out=batch is not None)
        return batch

    def _measure(self, changes: Changes) -> None:
        if (now := time.monotonic()) >= self._measure_due:
            self._measure_due = now + 1
            caught_up = changes.transaction is None and not len(self._events)
            behind = 0.0 if caught_up else max(0.0, time.time() - changes.written_at)
            self.context.metrics.gauge("mysql_cdc_behind_seconds", behind)

    def _close(self) -> None:
        stream, self._stream = self._stream, None
        server, self._server = self._server, None
        self._snapshot = None
        if stream is not None:
            stream.close()
        if server is not None:
            server.close()


class MariaDbCdcSourceTask(MySqlCdcSourceTask):
    """The same under MariaDB's name."""

    flavor = "mariadb"
