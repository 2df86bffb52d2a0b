"""How objects are named: a pattern for every record, and the key made from it and the offset of the first record.

Records of one pattern go to one file. A pattern is the key with MARK in place of the first record's offset. What comes
from a record may have the same character.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol
from zoneinfo import ZoneInfo

from connect import DataError, Schema, SinkBatch
from connect.data import java_text
from connect.data.column import Column, Constant, Plain
from connectors.objects.sink.bad_rows import BadRows
from connectors.objects.sink.partitioners import Partitioner, formatted
from connectors.objects.sink.time_pattern import TimePattern

MARK: Final = "\x00"


class ObjectNames(Protocol):
    """Names the objects that records go to.

    Attributes:
        replaces: whether a record replaces the one before it in its file, as in files named by keys.
        top: the folders that the configuration gives to all objects, with the slash behind them.
        made_from: what of a record its name is made from beside its topic, and how to make another; for messages.
    """

    replaces: bool
    top: str
    made_from: str

    def of(self, batch: SinkBatch, times: Sequence[int] | None) -> Column[str]:
        """The pattern of each row. Raises `BadRows`."""

    def key(self, pattern: str, offset: int) -> str:
        """The key of a file, without its extension."""

    def folder(self, topic: str) -> str:
        """The prefix of the keys of all objects of a topic."""

    def belongs(self, key: str, topic: str, partition: int) -> bool:
        """Whether an object with this key may belong to this partition of a topic."""


class Folders:
    """Confluent's names: ``topics/TOPIC/FOLDER/TOPIC+PARTITION+OFFSET``.

    Args:
        partitioner: names the folder.
        top: what comes first (topics.dir).
        delimiter: between folders.
        file_delimiter: between the parts of a file's name.
        width: of the offset, padded with zeros.
    """

    replaces = False

    def __init__(self, partitioner: Partitioner, top: str, delimiter: str, file_delimiter: str, width: int) -> None:
        self._partitioner = partitioner
        self._top = f"{top}{delimiter}" if top else ""
        self.top = _folders_of(self._top)
        self.made_from = partitioner.made_from
        self._delimiter = delimiter
        self._file = file_delimiter
        self._width = width

    def of(self, batch: SinkBatch, times: Sequence[int] | None) -> Column[str]:
        folders = self._partitioner.folders(batch, times)
        if folders.constant and batch.topics.constant and batch.original_partitions.constant:
            return Constant(self._pattern(batch.topics[0], folders[0], batch.original_partitions[0]), len(batch))
        known: dict[tuple[str, str, int], str] = {}
        found = []
        for parts in zip(batch.topics, folders, batch.original_partitions, strict=True):
            pattern = known.get(parts)
            if pattern is None:
                pattern = known[parts] = self._pattern(*parts)
            found.append(pattern)
        return Plain(found)

    def in_folder(self, batch: SinkBatch, folder: str) -> Column[str]:
        """The patterns of records that all go into one folder."""
        origins = zip(batch.topics, batch.original_partitions, strict=True)
        return Plain([self._pattern(topic, folder, partition) for topic, partition in origins])

    def key(self, pattern: str, offset: int) -> str:
        return f"{pattern.removesuffix(MARK)}{offset:0{self._width}d}"

    def folder(self, topic: str) -> str:
        return f"{self._top}{topic}{self._delimiter}"

    def belongs(self, key: str, topic: str, partition: int) -> bool:
        return key.rpartition(self._delimiter)[2].startswith(f"{topic}{self._file}{partition}{self._file}")

    def _pattern(self, topic: str, folder: str, partition: int) -> str:
        below = f"{folder}{self._delimiter}" if folder else ""
        return f"{self.folder(topic)}{below}{topic}{self._file}{partition}{self._file}{MARK}"


_VARIABLE: Final = re.compile(r"\{\{\s*([a-z_]+)\s*(?::\s*([a-z]+)\s*=\s*([^}\s]+)\s*)?\}\}")
_UNITS: Final = {"yyyy": "yyyy", "MM": "MM", "dd": "dd", "HH": "HH"}
_PADDED: Final = {"start_offset": 20, "partition": 10}

#: A part of a template: the texts of all rows.
_Part = Callable[[SinkBatch, Sequence[int]], Sequence[str]]


class Templates:
    """Aiven's names, such as ``{{topic}}-{{partition}}-{{start_offset}}``.

    Variables are topic, partition, start_offset (the two with ``:padding=true``), key, and timestamp with
    ``:unit=yyyy``, MM, dd or HH.

    Args:
        template: of the names.
        prefix: of all keys; may contain variables as well.
        zone: of timestamps.
        now: whether timestamps are the current time, else the records'.

    Raises:
        ValueError: the template is wrong.
    """

    def __init__(self, template: str, prefix: str, zone: ZoneInfo, *, now: bool) -> None:
        self._whole = prefix + template
        self.top = _folders_of(_VARIABLE.split(self._whole, maxsplit=1)[0])
        names = {match[1] for match in _VARIABLE.finditer(self._whole)}
        self.replaces = "key" in names and "start_offset" not in names
        self.made_from = (
            " and from its key ({{key}}). Change the key by a transformation, or the template" if "key" in names else ""
        )
        if not self.replaces and not {"topic", "partition", "start_offset"} <= names:
            raise ValueError("needs topic, partition and start_offset, or key: else files would replace each other.")
        self._zone = zone
        self._now = now
        self._width = 0
        self._parts = [self._part(piece) for piece in _pieces(self._whole)]

    def of(self, batch: SinkBatch, times: Sequence[int] | None) -> Column[str]:
        moments = self._moments(batch)
        columns = [part(batch, moments) for part in self._parts]
        return Plain(list(map("".join, zip(*columns, strict=True))))

    def key(self, pattern: str, offset: int) -> str:
        if self.replaces:  # it has no offset
            return pattern
        return pattern.replace(MARK, f"{offset:0{self._width}d}" if self._width else str(offset))

    def folder(self, topic: str) -> str:
        return _VARIABLE.split(self._whole.replace("{{topic}}", topic), maxsplit=1)[0]

    def belongs(self, key: str, topic: str, partition: int) -> bool:
        pattern = ""
        for piece in _pieces(self._whole):
            if isinstance(piece, str):
                pattern += re.escape(piece)
            elif piece[1] == "topic":
                pattern += re.escape(topic)
            elif piece[1] == "partition":
                pattern += f"0*{partition}"
            else:
                pattern += r"\d+" if piece[1] in ("start_offset", "timestamp") else ".+"
        return re.fullmatch(pattern, key) is not None

    def _moments(self, batch: SinkBatch) -> Sequence[int]:
        if "timestamp" not in self._whole:
            return ()
        if self._now:
            return [int(time.time() * 1000)] * len(batch)
        times = batch.timestamps.to_list()
        if None in times:
            missing = DataError("the record has no timestamp, which file.name.timestamp.source=event requires.")
            raise BadRows({row: missing for row, each in enumerate(times) if each is None})
        return times  # type: ignore[return-value]

    def _part(self, piece: str | re.Match[str]) -> _Part:
        if isinstance(piece, str):
            return lambda batch, _: [piece] * len(batch)
        name, parameter, value = piece.groups()
        match name, parameter:
            case "topic", None:
                return lambda batch, _: batch.topics
            case (("partition" | "start_offset"), (None | "padding")):
                width = _PADDED[name] if value == "true" else 0
                if name == "start_offset":
                    self._width = width
                    return lambda batch, _: [MARK] * len(batch)
                return lambda batch, _: [
                    f"{number:0{width}d}" if width else str(number) for number in batch.original_partitions
                ]
            case "key", None:
                # With an offset in the name a MARK is its place.
                mark = MARK if self.replaces else "\ufffd"
                return lambda batch, _: [text.replace(MARK, mark) for text in _keys(batch)]
            case "timestamp", "unit" if value in _UNITS:
                pattern = TimePattern(value, self._zone, 3_600_000)
                return lambda _, moments: formatted(pattern, moments)
        raise ValueError(
            f"{piece[0]} is not a variable. Write topic, partition, start_offset, key, or timestamp:unit=yyyy, MM, "
            "dd or HH."
        )


def _folders_of(beginning: str) -> str:
    return beginning[: beginning.rfind("/") + 1]


def _pieces(template: str) -> list[str | re.Match[str]]:
    found: list[str | re.Match[str]] = []
    at = 0
    for match in _VARIABLE.finditer(template):
        found += [template[at : match.start()], match]
        at = match.end()
    return [piece for piece in (*found, template[at:]) if piece != ""]


def _keys(batch: SinkBatch) -> list[str]:
    return [_key(schema, key) for schema, key in zip(batch.keys.schemas, batch.keys, strict=True)]


def _key(schema: Schema | None, key: Any) -> str:
    """The text of a key: Java's, except that bytes are text."""
    return key.decode("utf-8", "replace") if isinstance(key, bytes) else java_text(schema, key)
