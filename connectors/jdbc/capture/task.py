"""The task: a snapshot, then the stream, and confirmations to the server."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from typing import ClassVar, Final

import psycopg

from connect import ConnectError, RetriableError, SourceBatch, SourceTask, Waiter
from connectors.jdbc.capture import position
from connectors.jdbc.capture.chunks import TableChunks
from connectors.jdbc.capture.database import CapturedDatabase
from connectors.jdbc.capture.keys import CaptureOptions
from connectors.jdbc.capture.origin import Origin
from connectors.jdbc.capture.position import Resume, Visible
from connectors.jdbc.capture.replication import CreatedSlot, ReplicationConnection, lsn_text, parameters
from connectors.jdbc.capture.snapshot import Snapshot
from connectors.jdbc.capture.stream import Changes, offset
from connectors.jdbc.capture.tables import Tables
from connectors.jdbc.changes.channels import channels
from connectors.jdbc.changes.events import Events
from connectors.jdbc.changes.heartbeats import Heartbeats
from connectors.jdbc.changes.incremental import IncrementalSnapshot

log = logging.getLogger(__name__)

#: How many bytes of changes make a batch, however few they are.
_BATCH_BYTES: Final = 4 * 1024 * 1024
_WAIT_S: Final = 0.1


class PostgresCdcSourceTask(SourceTask):
    """Captures one database. There is one task.

    The task confirms to the server at most what `commit` allows: everything that was returned until then is stored, so
    that the server need not send it again. While nothing that was returned waits for that, the parts of the log that do
    not concern its tables are confirmed as well, and the slot stays small.
    """

    settings = CaptureOptions.definition()

    #: A server that shuts down waits until what it sent is confirmed. So after a while without a poll we leave it.
    away_seconds: ClassVar[float] = 60.0

    def start(self, config: Mapping[str, str]) -> None:
        self._chosen = options = CaptureOptions.parse(config)
        prefix = options.prefix
        self._partition = {"server": prefix}
        self._kind, self._resume = position.stored(self.context.offset(self._partition))
        self._most = options.max_batch_size
        self._most_of_snapshot = options.snapshot_fetch_size
        self._patience = min(1.0, options.poll_interval)
        self._status_every = options.status_update_interval
        self._heartbeats = Heartbeats(options.heartbeat_interval, options.heartbeat_action_query)
        self._channels = channels(options)
        self.context.exit_stack.callback(self._channels.close)
        self._database: CapturedDatabase | None = None
        self._stream: ReplicationConnection | None = None
        self._snapshot: Snapshot | None = None
        self._first = True  # until the stream begins
        self._own_slot = False  # whether the slot is one that we made in this run, for a snapshot that is not done
        self._finished = False
        self._waiting = False  # whether something that was returned is not known to be stored
        self._returned = 0  # the position before which everything was returned, or is none of ours
        self._confirmed = 0  # the same, and stored
        self._measure_due = 0.0
        self._waiter = Waiter()
        self._polled: float | None = None  # when the last poll ended; None during one
        self._stopped = threading.Event()
        threading.Thread(target=self._keep_alive, name="capture-keep-alive", daemon=True).start()

    def poll(self) -> SourceBatch | None:
        try:
            return self._poll()
        finally:
            self._polled = time.monotonic()

    def _poll(self) -> SourceBatch | None:
        self._polled = None
        if self._stream is not None and self._stream.closed:
            self._close()
        if self._finished:
            self._stopped.wait(self._patience)
            return None
        try:
            if self._stream is None and self._snapshot is None:
                self._open()
            return self._read_snapshot() if self._snapshot is not None else self._read_stream()
        except psycopg.Error as error:
            self._close()
            raise RetriableError(f"PostgreSQL: {' '.join(str(error).split())}") from error
        except BaseException:
            self._close()
            raise

    def commit(self) -> None:
        self._waiting = False
        self._confirm()
        self._channels.stored()

    def stop(self) -> None:
        self._stopped.set()
        if self._stream is not None:
            self._say(self._stream)
        self._close()
        if self._chosen.slot_drop_on_stop:
            self._drop_slot()

    # Opening: what there is, and what is to be done first.

    def _open(self) -> None:
        """Connect, and begin the snapshot or the stream.

        Raises:
            RetriableError: it may work later.
            ConnectError: it will not.
        """
        chosen = self._chosen
        told = parameters(self.context.configs)
        self._database = database = CapturedDatabase(told)
        self._events = Events(chosen.prefix, database.name, chosen.tombstones_on_delete, chosen.heartbeats)
        self._tables = Tables(chosen, database.query)
        mode = chosen.snapshot_mode
        if mode == "initial_only":
            if self._kind == "stream":
                log.info("The snapshot is done, and snapshot.mode is initial_only: there is nothing to do.")
                self._finished = True
                self._close()
                return
            self._begin_snapshot(database, None)
            return
        if problem := database.problem():
            raise ConnectError(problem)
        database.ensure_publication(chosen)
        if problem := database.problem_of_signals(chosen):
            raise ConnectError(problem)
        slot = database.slot(chosen.slot)
        if slot is not None and slot.active_pid is not None:
            raise RetriableError(
                f'The replication slot "{chosen.slot}" is in use by another connection (process {slot.active_pid} of '
                "the server). Give each connector a slot of its own (slot.name), or wait until that connection ends."
            )
        if slot is not None:
            self._confirmed = max(self._confirmed, slot.confirmed)  # it never goes back
        again = mode == "always" and self._first
        if self._kind == "stream" and not again:
            if slot is not None and not slot.lost:
                self._begin_stream(told)
                return
            what = "is lost" if slot is not None else "does not exist any more"
            if mode != "when_needed":
                raise ConnectError(
                    f'The replication slot "{chosen.slot}" {what}: changes since {lsn_text(self._last())} are not '
                    "there. Set snapshot.mode=when_needed to read everything again, or reset the connector's offsets."
                )
            log.warning('The replication slot "%s" %s: everything is read again.', chosen.slot, what)
        if slot is not None and (slot.lost or self._own_slot or (self._kind == "snapshot" and self._resume is None)):
            # Of a snapshot that was not finished, or of no use any more.
            database.drop_slot(chosen.slot)
            slot = None
        stream = ReplicationConnection(told)
        try:
            created = None
            if slot is None:
                created = self._make_slot(stream, database)
                self._own_slot = True
                log.info('Made the replication slot "%s" at %s.', chosen.slot, lsn_text(created.consistent_point))
            if mode == "no_data":
                lsn = created.consistent_point if created is not None else slot.confirmed if slot is not None else 0
                self._kind, self._resume = "stream", Resume(lsn)
                self._begin_stream(told)
            else:
                self._begin_snapshot(
                    database,
                    None if created is None else (created.consistent_point, created.snapshot),
                    None if slot is None else slot.confirmed,
                )
        finally:
            stream.close()

    def _make_slot(self, stream: ReplicationConnection, database: CapturedDatabase) -> CreatedSlot:
        chosen = self._chosen
        try:
            return stream.create_slot(
                chosen.slot, failover=chosen.slot_failover, waiting=lambda: self._wait_for_slot(database)
            )
        finally:
            self._waiter.goes_on()

    def _wait_for_slot(self, database: CapturedDatabase) -> None:
        """The server makes a slot when all transactions that have written are over. Says which are not."""
        if self.context.stopping():
            raise RetriableError("The task ends while its replication slot is being made.")
        found = database.open_transactions()
        which = ", ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
        self._waiter.waits(
            f'The replication slot "{self._chosen.slot}" can be made when open transactions are over: {which}.',
            what="open transactions of PostgreSQL",
        )

    def _begin_snapshot(
        self, database: CapturedDatabase, exported: tuple[int, str] | None, confirmed: int | None = None
    ) -> None:
        """Begin the transaction of the snapshot: that of a new slot, else one of its own.

        With an existing slot, transactions that the snapshot has seen are in the stream as well. They are recognised by
        their numbers, and skipped.
        """
        database.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self._visible: Visible | None = None
        if exported is not None:
            self._snapshot_lsn, name = exported
            database.query(f"SET TRANSACTION SNAPSHOT '{name}'")
            _, _, self._snapshot_at = database.now()
        else:
            snapshot, end, self._snapshot_at = database.now()
            self._snapshot_lsn = end
            if confirmed is not None:
                self._visible = Visible(snapshot, end)
                self._snapshot_lsn = confirmed
        tables = database.tables(self._chosen)
        if wanted := self._chosen.snapshot_tables:
            tables = [each for each in tables if wanted.match(each.full_name)]
        log.info("Reading %d tables, as they were at %s.", len(tables), lsn_text(self._snapshot_lsn))
        self._origin = Origin(self._snapshot_at, None, None)
        self._kind, self._resume = "snapshot", Resume(0, visible=self._visible) if self._visible else None
        self._snapshot = Snapshot(database.connection, tables, self._tables)
        self._snapshot_rows = 0

    def _read_snapshot(self) -> SourceBatch | None:
        assert self._snapshot is not None
        events, origin, lsn = self._events, self._origin, self._snapshot_lsn
        size = 0
        for found in self._snapshot.rows:
            if found is None:
                break
            table, row, mark = found
            size += sum(map(len, filter(None, row)))
            struct = table.read(row)
            source = origin.source(events, table, lsn, mark)
            self._snapshot_rows += 1
            events.change(table, "r", table.key(struct), None, struct, source, mark == "last")
            if len(events) >= self._most_of_snapshot or size >= _BATCH_BYTES:
                break
        else:
            return self._end_snapshot()
        if (what := self._snapshot.waits_for) is None:
            self._waiter.goes_on()
        else:
            self._waiter.waits(f"The snapshot waits for {what}, which another transaction holds.", what=what)
        batch = self._take_snapshot()
        self._waiting = self._waiting or batch is not None
        return batch

    def _take_snapshot(self) -> SourceBatch | None:
        lsn, at, visible = self._snapshot_lsn, self._snapshot_at, self._visible
        mode = "always" if self._chosen.snapshot_mode == "always" else "initial"
        return self._events.take(lambda last: position.snapshotting(lsn, at, mode, bool(last), visible))

    def _end_snapshot(self) -> SourceBatch | None:
        assert self._database is not None
        log.info("Read %d rows: the snapshot is done.", self._snapshot_rows)
        self._waiter.goes_on()
        self._snapshot = None
        self._own_slot = False
        self._database.query("COMMIT")
        self._kind, self._resume = "stream", Resume(self._snapshot_lsn, visible=self._visible)
        self._returned = max(self._returned, self._snapshot_lsn)
        self._first = False
        self._finished = self._chosen.snapshot_mode == "initial_only"
        batch = self._take_snapshot()
        self._waiting = self._waiting or batch is not None
        # From here on nothing may fail: the rows that are handed out now are not read again. The next poll connects.
        self._close()
        return batch

    # The stream.

    def _begin_stream(self, told: Mapping[str, str]) -> None:
        assert self._resume is not None
        resume = self._resume
        stream = ReplicationConnection(told)
        try:
            stream.start(self._chosen.slot, resume.lsn, self._chosen.publication)
        except BaseException:
            stream.close()
            raise
        assert self._database is not None
        chunks = TableChunks(self._database, self._chosen, self._tables)
        self._incremental = IncrementalSnapshot(chunks, self._chosen.chunk_size, resume.progress)
        self._changes = Changes(self._chosen, self._tables, self._events, self._incremental, resume, self._returned)
        self._stream = stream
        self._first = False
        log.info('Reading changes from %s on, with the slot "%s".', lsn_text(resume.lsn), self._chosen.slot)

    def _read_stream(self) -> SourceBatch | None:
        stream, events = self._stream, self._events
        if stream is None:
            return None
        changes = self._changes
        self._channels.follow(self._incremental.signal)
        deadline = time.monotonic() + self._patience
        size = 0
        while len(events) < self._most and size < _BATCH_BYTES:
            received = stream.receive()
            if received is not None:
                size += len(received.data)
                changes.take(received.lsn, received.data)
                if changes.transaction is None:
                    changes.snapshot_rows()
                continue
            changes.nothing_before(stream.server_position)
            if changes.transaction is None:
                changes.snapshot_rows()
                if self._incremental.waits_for(changes.done):
                    stream.say(self._confirmed, ask=True)
            if len(events) or time.monotonic() > deadline or self.context.stopping():
                break
            if stream.asked:
                self._settle(stream)
            stream.wait(_WAIT_S)
        assert self._database is not None
        self._heartbeats.beat(changes, self._database.query)
        self._measure(changes)
        # From here on nothing may fail: the rows that are handed out now are not read again.
        batch = events.take(offset)
        self._resume = changes.resume()
        self._returned = changes.done
        self._waiting = self._waiting or batch is not None
        self._channels.settled(handed_out=batch is not None)
        self._settle(stream)
        return batch

    def _measure(self, changes: Changes) -> None:
        if (now := time.monotonic()) >= self._measure_due:
            self._measure_due = now + 1
            caught_up = changes.transaction is None and not len(self._events)
            behind = 0.0 if caught_up else max(0.0, time.time() - changes.committed_at / 1e6)
            self.context.metrics.gauge("postgres_cdc_behind_seconds", behind)

    def _settle(self, stream: ReplicationConnection) -> None:
        """Confirm what needs no `commit`, and answer a server that asks. Never fails: rows may be on their way."""
        if not self._waiting:
            self._confirm()
        if stream.asked:
            self._say(stream)

    def _confirm(self) -> None:
        if self._returned > self._confirmed:
            self._confirmed = self._returned
            if self._stream is not None:
                self._say(self._stream)

    def _say(self, stream: ReplicationConnection) -> None:
        """Report the position to the server, if it can be reached."""
        try:
            stream.say(self._confirmed)
        except RetriableError as error:
            log.debug("%s", error)  # the next poll will find out

    # The connections.

    def _keep_alive(self) -> None:
        """Tell the server now and then that we are here; also in a pause, for a time."""
        while not self._stopped.wait(min(self._status_every, self.away_seconds / 4)):
            stream, polled = self._stream, self._polled
            if stream is None:
                continue
            if polled is not None and time.monotonic() > polled + self.away_seconds:
                stream.close()
            else:
                self._say(stream)

    def _last(self) -> int:
        return self._resume.lsn if self._resume is not None else 0

    def _close(self) -> None:
        stream, self._stream = self._stream, None
        database, self._database = self._database, None
        self._snapshot = None
        if stream is not None:
            stream.close()
        if database is not None:
            database.close()

    def _drop_slot(self) -> None:
        try:
            database = CapturedDatabase(parameters(self.context.configs))
            try:
                deadline = time.monotonic() + 5
                while (slot := database.slot(self._chosen.slot)) is not None:
                    if slot.active_pid is None:
                        database.drop_slot(self._chosen.slot)
                    elif time.monotonic() > deadline:
                        log.warning('The replication slot "%s" is still in use and stays.', self._chosen.slot)
                        return
                    else:
                        time.sleep(0.05)  # the server's process ends a moment after its connection
            finally:
                database.close()
        except ConnectError as error:
            log.warning('The replication slot "%s" could not be dropped: %s', self._chosen.slot, error)
