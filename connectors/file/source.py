"""FileStreamSource: the lines of files, each as a record with a string.

https://kafka.apache.org/documentation/#connect_running describes the original; its keys and offsets are accepted.
"""

from __future__ import annotations

import glob
import json
import logging
import os
import stat
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from connect import (
    ConnectError,
    ExactlyOnceSupport,
    SourceBatch,
    SourceConnector,
    SourceTask,
    Text,
    __version__,
    schema,
    settings,
)
from connect.data import Deferred
from connect.kit import Watch, shared_out
from connect.settings import Listed
from connectors.file.lines import encoding
from connectors.file.tail import Offset, Pipe, Read, Tail, open_for_reading

log = logging.getLogger(__name__)

STDIN: Final = 0
#: How long the first match of names may take.
_FIRST_SCAN_S: Final = 30.0


class FileSourceOptions(settings.Options):
    """The keys of the source."""

    file = settings.String(
        "file",
        default=None,
        importance="HIGH",
        group="Source",
        width="LONG",
        doc="The file to read. Unset: standard input. Several are separated by commas, and *, ? and [ ] match names "
        "(** folders below): added. The tasks share such files, and the connector notices new ones. The name of an "
        "existing file is used literally, whatever characters it has.",
    )
    topic = settings.String(
        "topic",
        importance="HIGH",
        group="Source",
        width="MEDIUM",
        validator=settings.topic_name,
        listed=Listed.TOPICS,
        doc="The topic that the lines go to.",
    )
    batch_size = settings.Int(
        "batch.size",
        default=2000,
        importance="LOW",
        group="Source",
        validator=settings.at_least(1),
        doc="The most lines at a time. Unset: a mebibyte at a time, which is faster.",
    )
    encoding = settings.String(
        "encoding",
        default="UTF-8",
        importance="LOW",
        group="Text",
        convert=encoding,
        doc="Added. The encoding of the files, by any name that Python knows: UTF-8, UTF-16, ISO-8859-1, cp1252, "
        "Shift_JIS. UTF-16 and UTF-32 take the byte order from the mark at the file's beginning, else big-endian. "
        "utf-8-sig is UTF-8 whose mark is not part of the first line.",
    )
    max_line_bytes = settings.Int(
        "max.line.bytes",
        default=16 * 1024 * 1024,
        importance="LOW",
        group="Text",
        validator=settings.at_least(1),
        doc="Added. The most bytes that a line may take, its end included, which is also the memory that an "
        "unfinished line may take. A longer one fails the task.",
    )
    task_files = settings.String(
        "task.files", default=None, internal=True, doc="A JSON list of the files that a task reads."
    )


class FileStreamSourceTask(SourceTask):
    """Reads some files, or standard input. Keys are null; the timestamp is left to the producer."""

    settings = FileSourceOptions.definition()

    #: How long a deleted file stays open, and takes space on its disk: who writes it may not have noticed.
    deleted_seconds: ClassVar[float] = 60.0

    def start(self, config: Mapping[str, str]) -> None:
        options = FileSourceOptions.parse(config)
        self._topic = options.topic
        self._most = options.batch_size if config.get("batch.size") is not None else 0
        self._encoding = options.encoding
        self._longest = options.max_line_bytes
        files: list[str | None] = json.loads(options.task_files or "null") or [options.file or None]
        self._open: dict[str | None, Tail | Pipe] = {}
        self._missing: set[str | None] = set()
        self._held: SourceBatch | None = None  # read, of which `_given` lines were returned
        self._given = 0
        # Dealt from the front, put back at the end: a file that grows fast does not keep the others waiting.
        self._turns = files
        self._stored = dict(zip(files, self.context.offsets(list(map(_partition, files))), strict=True))

    def poll(self) -> SourceBatch | None:
        if self._held is None:
            read = self._read()
            if read is None or not self._most:
                return read
            self._held, self._given = read, 0
        start, stop = self._given, self._given + self._most
        batch = self._held[start:stop]
        self._given = stop
        if stop >= len(self._held):
            self._held = None
        return batch

    def stop(self) -> None:
        for opened in self._open.values():
            opened.close()

    def _read(self) -> SourceBatch | None:
        for turn, file in enumerate(self._turns):
            followed = self._open.get(file) or self._begin(file)
            if followed is None:
                continue
            if isinstance(followed, Pipe) and len(self._turns) == 1:
                followed.wait(0.25)
            if read := followed.read() or self._finished(file, followed):
                self._turns = [*self._turns[turn + 1 :], *self._turns[: turn + 1]]
                return self._batch(file, read)
        return None

    def _finished(self, file: str | None, followed: Tail | Pipe) -> Read | None:
        """Close a file that was deleted a while ago. Returns its last line, if that has no end."""
        if isinstance(followed, Pipe) or (since := followed.deleted_for()) is None or since < self.deleted_seconds:
            return None
        log.info('"%s" was deleted: waiting for another file of this name.', file)
        del self._open[file]
        self._missing.add(file)
        self._stored[file] = None
        return followed.finish()

    def _begin(self, file: str | None) -> Tail | Pipe | None:
        if file is None:
            followed: Tail | Pipe = Pipe("standard input", STDIN, self._encoding, self._longest, ends=True)
        else:
            descriptor = open_for_reading(file)
            if descriptor is None:
                if file not in self._missing:
                    self._missing.add(file)
                    log.warning('"%s" does not exist yet: waiting for it.', file)
                return None
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                followed = Tail(file, descriptor, self._encoding, self._longest, self._stored[file])
            else:
                followed = Pipe(file, descriptor, self._encoding, self._longest, ends=False)
        self._open[file] = followed
        return followed

    def _batch(self, file: str | None, read: Read) -> SourceBatch:
        lines, offset = read
        texts: list[bytes | None] = lines.texts  # type: ignore[assignment]  # a list of bytes is one with no null in it
        last = len(texts) - 1
        ends: list[int] = []

        def offset_at(row: int) -> Offset:
            # What is acknowledged is mostly a whole batch, whose end needs no counting.
            if row == last:
                return offset(lines.end)
            if not ends:
                ends.extend(lines.ends())
            return offset(ends[row])

        return SourceBatch(
            self._topic,
            Text(texts, schema.STRING, valid=lines.encoding.codec != "utf-8"),
            source_partitions=_partition(file),
            source_offsets=Deferred(len(texts), lambda: list(map(offset, lines.ends())), offset_at),
        )


class FileStreamSourceConnector(SourceConnector):
    """Distributes files among its tasks, and looks for new ones where names are patterns."""

    settings = FileSourceOptions.definition()
    version = __version__
    task = FileStreamSourceTask

    scan_seconds: ClassVar[float] = 5.0
    #: A file that is being rotated is missing for a moment, and its task is still to read the rest of it.
    forget_seconds: ClassVar[float] = 60.0

    @classmethod
    def datasets(cls, config: Mapping[str, str]) -> Sequence[tuple[str, str]]:
        return [("file", str(Path(each).absolute())) for each in patterns(FileSourceOptions.parse(config).file)]

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        self._patterns = patterns(FileSourceOptions.parse(config).file)
        self._seen: dict[str, float] = {}
        self._watch: Watch[dict[str, float]] | None = None
        if any(map(_matches_names, self._patterns)):
            self._watch = Watch(
                f"files {self.config['file']}",
                self._scan,
                self.scan_seconds,
                self.context,
                changed=lambda before, now: not now.keys() <= before.keys(),
            )
            self._watch.start()
            self.context.exit_stack.callback(self._watch.stop)
            self._watch.found(_FIRST_SCAN_S)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        if not self._patterns or (len(self._patterns) == 1 and not _matches_names(self._patterns[0])):
            return [dict(self.config)]
        found = self._watch.found(0) if self._watch is not None else {}
        files = sorted({*found, *(pattern for pattern in self._patterns if not _matches_names(pattern))})
        return [{**self.config, "task.files": json.dumps(share)} for share in shared_out(files, max_tasks)]

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        files = patterns(config.get("file"))
        pipes = any(os.path.exists(file) and not os.path.isfile(file) for file in files)  # noqa: PTH110, PTH113
        return ExactlyOnceSupport.SUPPORTED if files and not pipes else ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[Any, Mapping[str, Any] | None]) -> bool:
        if not patterns(config.get("file")):
            raise ConnectError("Standard input has no offsets to change. Set file first.")
        for partition, offset in offsets.items():
            if offset is None:
                continue
            if "filename" not in dict(partition):
                raise ConnectError('A source partition of files reads {"filename": "<the file as configured>"}.')
            position = offset.get("position")
            if not isinstance(position, int) or isinstance(position, bool) or position < 0:
                raise ConnectError('An offset of files is null or reads {"position": <bytes from the beginning>}.')
        return True

    def _scan(self) -> dict[str, float]:
        """Match names: the files that exist, or did a moment ago, and when each was seen last."""
        now = time.monotonic()
        found = {
            file
            for pattern in self._patterns
            if _matches_names(pattern)
            for file in glob.iglob(pattern, recursive=True)  # noqa: PTH207 - the names stay text, as configured
            if os.path.isfile(file)  # noqa: PTH113
        }
        kept = {file: seen for file, seen in self._seen.items() if now - seen < self.forget_seconds}
        self._seen = kept | dict.fromkeys(found, now)
        return self._seen


def _partition(file: str | None) -> dict[str, str | None]:
    r"""The source partition of a file. Bytes of its name that are no UTF-8 stand as \xff: offsets hold text."""
    text = None if file is None else file.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return {"filename": text}


def patterns(file: str | None) -> list[str]:
    """The names and patterns in the key `file`; none for standard input."""
    if not file or not file.strip():
        return []
    file = file.strip()
    if os.path.lexists(file):
        return [file]
    return list(dict.fromkeys(settings.comma_separated(file)))


def _matches_names(pattern: str) -> bool:
    return glob.has_magic(pattern) and not os.path.lexists(pattern)
