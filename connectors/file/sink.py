"""FileStreamSink: each record's value as a line at the end of a file.

https://kafka.apache.org/documentation/#connect_running describes the original; its keys and output are the same.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from connect import (
    ConfigError,
    ConnectError,
    Offsets,
    SinkBatch,
    SinkConnector,
    SinkTask,
    TopicPartition,
    __version__,
    settings,
)
from connect.settings import ConfigValue
from connectors.file.ledger import Entry, Ledger
from connectors.file.target import AppendedFile, open_target

log = logging.getLogger(__name__)


class FileSinkOptions(settings.Options):
    """The keys of the sink."""

    path = settings.String(
        "file",
        default=None,
        importance="HIGH",
        group="Target",
        width="LONG",
        doc="The file to append to; the sink makes it if there is none. Unset: standard output.",
    )
    fsync = settings.Boolean(
        "fsync",
        default=True,
        importance="LOW",
        group="Delivery",
        doc="Added. Whether lines are synchronized to the disk before their offsets are committed. Otherwise the "
        "crash of a machine, not of a task, may lose the last lines.",
    )
    exactly_once = settings.Boolean(
        "exactly.once",
        default=False,
        importance="MEDIUM",
        group="Delivery",
        doc="Added. Whether offsets are kept beside the file, in <file>.offsets, so that a crash neither loses nor "
        "repeats a line. Needs file, fsync=true and tasks.max=1; no other connector may write the file.",
    )


class FileStreamSinkTask(SinkTask):
    """Appends lines to one file.

    With exactly.once the file is truncated at the start to what its ledger says, and the ledger's offsets say where to
    continue.
    """

    settings = FileSinkOptions.definition()
    single = True
    records_at_once: ClassVar[int | None] = 3_000

    def start(self, config: Mapping[str, str]) -> None:
        options = FileSinkOptions.parse(config)
        self._fsync = options.fsync
        self._ledger: Ledger | None = None
        self._entry: Entry
        self._taken: dict[TopicPartition, int] = {}
        self._target = open_target(options.path or None, alone=options.exactly_once)
        self.context.exit_stack.callback(self._target.close)
        if isinstance(self._target, AppendedFile):
            if options.exactly_once:
                assert options.path
                self._recover(options.path, self._target)
            else:
                self._target.end_last_line()
        elif options.exactly_once:
            raise ConfigError("exactly.once", "needs a regular file: what was written elsewhere cannot be taken back.")

    def open(self, partitions: Sequence[TopicPartition]) -> Offsets | None:
        if self._ledger is None:
            return None
        # Lines of partitions that were taken away and come back may be in the file but not in the ledger yet.
        self.flush({})
        known = self._entry.offsets
        return {partition: known[partition] for partition in partitions if partition in known}

    def put(self, batch: SinkBatch) -> None:
        if not len(batch):
            return
        self._target.append(batch.values.encoded_lines())
        if self._ledger is not None:
            self._taken.update(batch.next_offsets())

    def flush(self, offsets: Offsets) -> None:
        if self._fsync:
            self._target.sync()
        if self._ledger is None:
            return
        assert isinstance(self._target, AppendedFile)
        # Offsets that transformations dropped to the last were never put; they count as done all the same.
        done = {**self._entry.offsets, **self._taken}
        done.update({partition: max(offset, done.get(partition, 0)) for partition, offset in offsets.items()})
        if done != self._entry.offsets or self._target.size != self._entry.length:
            self._target.check_claim()
            entry = Entry(self._entry.connector, self._target.size, done)
            self._ledger.write(entry)
            self._entry = entry
        self._taken.clear()

    def _recover(self, path: str, file: AppendedFile) -> None:
        ledger = Ledger(path)
        entry = ledger.read()
        if entry is None:
            file.end_last_line()
            file.sync()
            entry = Entry(self.context.connector, file.size)
            ledger.write(entry)
        elif entry.connector != self.context.connector:
            raise ConnectError(
                f'"{path}" belongs to the connector {entry.connector}, says "{ledger.path}". '
                "Give this connector a file of its own, or remove that ledger to let it append here."
            )
        elif file.size < entry.length:
            raise ConnectError(
                f'"{path}" has {file.size} bytes where its ledger accounts for {entry.length}: it was cut short or '
                f'replaced. Restore it; or, to go on from the offsets committed in Kafka, remove "{ledger.path}".'
            )
        elif file.size > entry.length:
            log.info('Cutting "%s" back by %d bytes: they were not accounted for.', path, file.size - entry.length)
            file.truncate(entry.length)
        self._ledger, self._entry = ledger, entry


class FileStreamSinkConnector(SinkConnector):
    """Passes its configuration to the tasks, which all append to the same file."""

    settings = FileSinkOptions.definition()
    version = __version__
    task = FileStreamSinkTask

    @classmethod
    def datasets(cls, config: Mapping[str, str]) -> Sequence[tuple[str, str]]:
        path = FileSinkOptions.parse(config).path
        return [("file", str(Path(path).absolute()))] if path else []

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = super().validate(config)
        found = {value.name: value for value in values}
        if found["exactly.once"].value == "true":
            errors = found["exactly.once"].errors
            if not found["file"].value:
                errors.append("needs file: what was written to standard output cannot be taken back.")
            if found["fsync"].value == "false":
                errors.append("needs fsync=true: the ledger must not run ahead of the lines.")
            if str(config.get("tasks.max") or "1").strip() != "1":
                errors.append("needs tasks.max=1: one task has the file for itself.")
        return values

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        options = FileSinkOptions.parse(config)
        if not options.exactly_once or not options.path:
            return True  # the group's offsets are all there is
        target = open_target(options.path, alone=True)
        try:
            ledger = Ledger(options.path)
            if entry := ledger.read():
                changed = {**entry.offsets, **offsets}
                kept = {partition: offset for partition, offset in changed.items() if offset is not None}
                ledger.write(Entry(entry.connector, entry.length, kept))
        finally:
            target.close()
        return True
