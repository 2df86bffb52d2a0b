"""The open files, and the thread that writes them: it compresses what the task took, and cuts it into parts.

All files share one memory budget. When it is nearly used up, the largest file is uploaded as a part if it is large
enough for one, else moved to disk.
"""

from __future__ import annotations

import logging
import queue
import shutil
import tempfile
import threading
import uuid
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from connect import ConnectError
from connect.kit import BackgroundWriter
from connectors.objects.formats.format import Format, Payload, Writer
from connectors.objects.sink.buffer import Buffer, Memory
from connectors.objects.sink.plan import SinkPlan
from connectors.objects.store import Conflict, Failure, Lost, Store, Upload

log = logging.getLogger(__name__)

#: Shares of the budget: where freeing memory starts, where it stops, from where it may enlarge files; and how much more
#: must be held before the next attempt.
_HIGH, _LOW, _URGENT, _STEP = 0.7, 0.5, 0.9, 0.03
#: A file that holds less is not worth freeing.
_SMALLEST: Final = 64 * 1024
#: What a file that waits for its upload takes beside its bytes: many small ones take more by this than by those.
_OF_A_FILE: Final = 3 * 1024
_STOP_S: Final = 1.0


@dataclass(slots=True, eq=False)
class File:
    """A file as the task's thread sees it.

    Attributes:
        lane: its pattern: files of one pattern become visible in order.
        topic: that its records were consumed from.
        of: the key of the object whose keys or headers it holds; "" for an object of its own.
        full: whether it should end soon, because it is as large as one upload may be, or memory is short.
        waiting: what is counted for it beside its bytes, from its end until it is durable.
        replaced: of a file named by a key, its last record so far.
        bytes: uploaded so far.
    """

    key: str
    lane: str
    format: Format
    schema: Any
    upload: Upload
    buffer: Buffer
    tags: dict[str, str] | None
    topic: str
    of: str = ""
    full: bool = False
    bytes: int = 0
    dropped: bool = False
    writer: Writer | None = None
    counted: int = 0
    in_parts: bool = False
    last: int = -1
    records: int = 0
    waiting: int = 0
    replaced: Payload | None = field(default=None)


class Job(NamedTuple):
    """A request, or several, for the upload threads; repeated if it raises.

    Attributes:
        file: the file; None for cleaning up after a dropped one.
        size: bytes of memory that it holds while it waits.
    """

    file: File | None
    send: Callable[[], None]
    size: int


class Done(NamedTuple):
    """A file is durable, unless an attribute says something else.

    Attributes:
        conflict: another object exists instead, up to this offset: continue after it.
        lost: the store has lost what was uploaded of it: its records are needed again.
    """

    file: File
    conflict: int | None = None
    lost: bool = False


class Files:
    """What the task does with files. Only its thread calls the public methods.

    Args:
        options: the keys.
        store: where to.
    """

    def __init__(self, options: SinkPlan, store: Store) -> None:
        self._options = options
        self._store = store
        self._folder = Path(options.spill_folder or tempfile.gettempdir(), f"connect-objects-{uuid.uuid4().hex}")
        self.memory = Memory(options.memory)
        self._held = 0  # by open files
        self._enough = 0.0  # from this much on it is worth freeing some
        # A lane is a pattern. Its objects become visible in the order of their records, so that they never have
        # a gap; `connectors.objects.store` says why.
        self._uploads: BackgroundWriter[Job] = BackgroundWriter(
            "object-upload", lambda jobs: jobs[0].send(), threads=options.threads, failed=self._job_failed
        )
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._open: dict[File, None] = {}
        self._lock = threading.Lock()
        self._done: deque[Done] = deque()
        self._failure: Failure | None = None
        self._error: Exception | None = None
        self._numbers = 0
        self.spilled = 0
        self._thread = threading.Thread(target=self._run, name="object-writer", daemon=True)
        self._thread.start()

    def new(self, key: str, lane: str, form: Format, schema: Any, first: int, topic: str, of: str) -> File:
        """Begin a file. See `File`."""
        options = self._options
        self._numbers += 1
        rules = options.fingerprint if options.repeats else ""
        conditional = options.conditional and not of
        upload = self._store.upload(key, form.content_type, first, rules, topic=topic, conditional=conditional)
        tags = dict(options.tags) if options.tags is not None else None
        if tags is not None:
            tags["startOffset"] = str(first)
        buffer = Buffer(self._folder / str(self._numbers))
        return File(key, lane, form, schema, upload, buffer, tags, topic, of)

    def append(self, file: File, payload: Payload) -> None:
        """Write rows to a file. With {{key}} in the pattern they replace what it has."""
        self.memory.take(payload.size)
        self._work.put(lambda: self._append(file, payload))

    def close(self, file: File, last: int, records: int) -> None:
        """Finish and upload a file; `done` says when it is durable."""
        file.waiting = _OF_A_FILE
        self.memory.take(file.waiting)
        self._work.put(lambda: self._close(file, last, records))

    def drop(self, files: Iterable[File]) -> None:
        """Give up files: nothing more of them becomes visible, except what is being sent now."""
        dropped = set(files)
        for file in dropped:
            file.dropped = True
            self._waits_no_more(file)
        self.memory.release(sum(job.size for job in self._uploads.drop(lambda job: job.file in dropped)))
        self._work.put(lambda: self._drop(dropped))

    def done(self) -> list[Done]:
        """What became durable since the last call."""
        return [self._done.popleft() for _ in range(len(self._done))]

    @property
    def failure(self) -> Failure | None:
        """Why uploads are stopped."""
        return self._failure

    @property
    def error(self) -> Exception | None:
        """A failure that was not a request's."""
        return self._error

    def retry(self) -> None:
        """Repeat what failed."""
        self._failure = None
        self._uploads.retry()

    def stop(self) -> None:
        """Give everything up. Aborts begun uploads as far as that is quick."""
        self._work.put(None)
        self._thread.join(_STOP_S)
        self._uploads.end(_STOP_S)
        shutil.rmtree(self._folder, ignore_errors=True)

    # In the writer's thread.

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            if self._error is not None:
                continue  # a file may lack records: no more of it may become an object
            try:
                work()
                self._relieve()
            except Exception as error:  # the task's thread raises it
                log.debug("writing failed", exc_info=True)
                self._error = error
                self.memory.wake()

    def _append(self, file: File, payload: Payload) -> None:
        try:
            if file.dropped:
                return
            self._open[file] = None
            if self._options.names.replaces:
                file.replaced = payload
                return
            self._writer(file).write(payload)
        finally:
            self._account(file, -payload.size)
        self._cut(file)

    def _writer(self, file: File) -> Writer:
        if file.writer is None:
            file.writer = file.format.writer(file.schema, file.buffer.add)
        return file.writer

    def _cut(self, file: File) -> None:
        """Upload the full parts."""
        size = self._options.part_size
        if not self._options.repeats:
            # Its metadata must name its records, which are known when it ends: it is uploaded in one request.
            file.full = file.full or file.buffer.size >= size
            if file.full:
                self.memory.wake()
            return
        while file.buffer.size >= size:
            self._send_part(file, size)

    def _send_part(self, file: File, size: int) -> None:
        body = file.buffer.take(size)
        self.memory.take(len(body))
        file.in_parts = True

        def send() -> None:
            try:
                file.upload.part(body)
            except Exception:
                if file.dropped:
                    self.memory.release(len(body))
                raise
            file.bytes += len(body)
            self.memory.release(len(body))

        self._uploads.add(Job(file, send, len(body)), lane=file.lane)
        self._account(file)

    def _close(self, file: File, last: int, records: int) -> None:
        if file.dropped:
            return
        file.last, file.records = last, records
        writer = self._writer(file)
        if file.replaced is not None:
            writer.write(file.replaced)
            file.replaced = None
        writer.finish()
        file.writer = None
        self._leave(file)
        self._account(file)

        self._uploads.add(Job(file, lambda: self._send_rest(file), 0), lane=file.lane)

    def _send_rest(self, file: File) -> None:
        """Make a complete file visible; in an upload thread, repeated after a failure."""
        with self._lock:
            if file.dropped:
                return
            body = file.buffer.take(file.buffer.size)
            self.memory.take(len(body) - file.counted)
            file.counted = 0
        try:
            self._check_owner(file)
            if file.in_parts:
                if body:
                    file.upload.part(body)
                    file.bytes += len(body)
                    self.memory.release(len(body))
                    body = b""
                file.upload.complete(file.last, file.records)
            else:
                file.upload.put(body, file.last, file.records)
            if file.tags is not None:
                self._tag(file)
        except Conflict as conflict:
            self.memory.release(len(body))
            file.dropped = True
            self._finished(Done(file, conflict.last))
            raise
        except Exception:
            with self._lock:
                if not file.dropped:
                    file.buffer.add(body)
                    self._spill(file)  # many files may wait for the same store
            self.memory.release(len(body))
            raise
        file.bytes += len(body)
        self.memory.release(len(body))
        self._finished(Done(file))

    def _check_owner(self, file: File) -> None:
        """Leave the keys and headers of an object alone that another task has written meanwhile.

        The store refuses the object itself, but not what is written before it.

        Raises:
            Conflict: it holds other records.
        """
        if file.of and self._options.conditional and not self._options.repeats:
            last = self._store.last_offset(file.of, file.topic)
            if last is not None and last != file.last:
                raise Conflict(last)

    def _tag(self, file: File) -> None:
        assert file.tags is not None
        try:
            file.upload.tag({**file.tags, "endOffset": str(file.last), "recordCount": str(file.records)})
        except Exception as error:  # the object exists: only its tags are missing
            if self._options.tags_must:
                raise
            log.warning("%s It has no tags.", self._store.failure(error, f"tagging {file.key}").sentence)

    def _drop(self, files: set[File]) -> None:
        for file in files:
            self._leave(file)
            with self._lock:
                file.writer = file.replaced = None
                file.buffer.clear()
                self._account(file)
            if file.in_parts:
                self._uploads.add(Job(None, file.upload.abort, 0), lane=file.lane)

    def _leave(self, file: File) -> None:
        """It is no longer open: its memory cannot be freed early any more."""
        if file in self._open:
            del self._open[file]
            self._held -= file.counted
            self._enough = min(self._enough, self._held + self.memory.limit * _STEP)

    def _account(self, file: File, more: int = 0) -> None:
        """Count the memory that a file takes, plus `more`."""
        held = file.buffer.held + (file.writer.held if file.writer is not None else 0)
        held += file.replaced.size if file.replaced is not None else 0
        self.memory.take(held - file.counted + more)
        if file in self._open:
            self._held += held - file.counted
        file.counted = held

    def _relieve(self) -> None:
        """Free memory, starting with the largest files, when little is left."""
        memory = self.memory
        if memory.used < memory.limit * _HIGH or self._held < self._enough:
            return
        self._let_out(_SMALLEST, hard=False)
        if memory.used > memory.limit * _URGENT:
            self._let_out(1, hard=True)
        # Checking all files again is useless before they hold more than what they could not free now.
        self._enough = self._held + memory.limit * _STEP

    def _let_out(self, smallest: int, *, hard: bool) -> None:
        memory = self.memory
        low = memory.limit * _LOW
        ending = 0
        for file in sorted(self._open, key=lambda each: each.counted, reverse=True):
            if memory.used - ending <= low or file.counted < smallest:
                return
            if file.replaced is not None:  # it ends; the key's next record has a file that replaces its object
                file.full = True
                ending += file.counted
                memory.wake()
                continue
            if file.writer is not None:
                file.writer.release(hard=hard)
            if file.buffer.held >= smallest:
                if self._options.repeats and file.buffer.size >= self._store.smallest_part:
                    self._send_part(file, file.buffer.size)
                else:
                    self.spilled += self._spill(file)
            self._account(file)

    def _spill(self, file: File) -> int:
        try:
            return file.buffer.spill()
        except OSError as error:
            keys = type(self._options)
            raise ConnectError(
                f"{file.key} does not fit into memory ({keys.memory.name}) and cannot wait in {self._folder.parent}: "
                f"{error.strerror or error}. Make room there, or choose another folder with {keys.spill_folder.name}."
            ) from error

    # In the task's thread and in those of uploads.

    def _waits_no_more(self, file: File) -> None:
        with self._lock:
            counted, file.waiting = file.waiting, 0
        self.memory.release(counted)

    # In the threads of uploads.

    def _finished(self, done: Done) -> None:
        self._waits_no_more(done.file)
        self._done.append(done)
        self.memory.wake()

    def _job_failed(self, lane: Hashable, jobs: list[Job], error: Exception) -> None:
        if isinstance(error, Conflict):
            return  # the task's thread rewinds to the end of that object, and drops what waits in this lane
        file = jobs[0].file
        doing = f"writing {file.key}" if file is not None else f"aborting an upload of {lane}"
        if file is None:
            self._uploads.drop(lambda job: job.file is None)
            log.info("%s", self._store.failure(error, doing).sentence)
            return
        if isinstance(error, Lost):  # the task's thread rewinds to its first record, and drops what waits
            self._done.append(Done(file, lost=True))
            error = error.error
        if isinstance(error, ConnectError):
            self._error = self._error or error
        else:
            self._failure = self._store.failure(error, doing)
        self.memory.wake()
