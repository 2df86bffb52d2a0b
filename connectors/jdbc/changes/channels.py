"""Signals from beside the stream: from a topic, or a file. Whoever sends them needs no right to write to the database.

https://debezium.io/documentation/reference/stable/configuration/signalling.html
"""

from __future__ import annotations

import json
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from connect import ConfigError, RetriableError
from connect.kafka.reading.kept_position import KeptPosition
from connectors.jdbc.changes.keys import FILE, KAFKA, CaptureKeys

log = logging.getLogger(__name__)

#: The prefix of Java's settings of the consumer.
CONSUMER: Final = "signal.consumer."


@dataclass(frozen=True, slots=True)
class Received:
    """A signal: see `connectors.jdbc.changes.signals.signal`."""

    identifier: str
    kind: str
    data: str | None


class Channel(Protocol):
    """One way in. For the task's thread."""

    def read(self) -> Sequence[Received]:
        """What came since the last call, in order; waits for nothing. One that is not understood is said in the log.

        Raises:
            RetriableError: the channel cannot be read now.
        """

    def forget(self, count: int) -> None:
        """No later task needs the first `count` of those that were read and not forgotten."""

    def close(self) -> None:
        """Release what it holds."""


class Channels:
    """All channels of a task, read now and then.

    A signal is forgotten when an offset is stored that was handed out after it: what is left of the snapshots that it
    asked for is in that offset. So a signal may be followed twice, and is never lost.

    Args:
        channels: without that of the stream itself.
        interval: how often they are read, in seconds.
    """

    def __init__(self, channels: Sequence[Channel], interval: float) -> None:
        self._channels = channels
        self._interval = interval
        self._due = 0.0
        self._away: set[Channel] = set()
        self._read = [0] * len(channels)  # and not forgotten
        self._handed_out = [0] * len(channels)  # of these, before the last batch
        self._unsure: list[Received] = []

    def follow(self, tell: Callable[[str, str, str | None], None]) -> None:
        """Tell the signals that came, with those that a poll had followed which failed then.

        Args:
            tell: identifier, kind and data of one.
        """
        if self._channels and time.monotonic() >= self._due:
            self._due = time.monotonic() + self._interval
            for number, channel in enumerate(self._channels):
                found = self._of(channel)
                self._read[number] += len(found)
                self._unsure += found
        for each in self._unsure:
            tell(each.identifier, each.kind, each.data)

    def settled(self, *, handed_out: bool) -> None:
        """The poll has succeeded. `handed_out`: with records, whose offsets tell of what was followed."""
        self._unsure.clear()
        if handed_out:
            self._handed_out = list(self._read)

    def stored(self) -> None:
        """The offsets of all that was handed out are stored."""
        for number, channel in enumerate(self._channels):
            if count := self._handed_out[number]:
                channel.forget(count)
                self._read[number] -= count
                self._handed_out[number] = 0

    def close(self) -> None:
        """Close them all."""
        for channel in self._channels:
            channel.close()

    def _of(self, channel: Channel) -> Sequence[Received]:
        """The channel's signals. The stream goes on without them while it cannot be read."""
        try:
            found = channel.read()
        except RetriableError as error:
            if channel not in self._away:
                log.warning("Signals are not followed for now: %s", error)
            self._away.add(channel)
            return []
        if found:
            self._away.discard(channel)
        return found


def channels(options: CaptureKeys) -> Channels:
    """Those that a connector's keys name.

    Raises:
        ConfigError: a setting of the consumer is wrong.
    """
    found: list[Channel] = []
    if KAFKA in options.signal_channels:
        java = {
            key.removeprefix(CONSUMER): value for key, value in options.config.raw.items() if key.startswith(CONSUMER)
        }
        own = {"bootstrap.servers": options.signal_servers or "", "group.id": options.signal_group}
        found.append(KafkaChannel(own | java, options.signal_topic, options.prefix))
    if FILE in options.signal_channels:
        found.append(FileChannel(Path(options.signal_file)))
    return Channels(found, options.signal_interval)


class KafkaChannel:
    """Signals in a topic's first partition: the key is the connector's topic.prefix, the value JSON.

    The group of the consumer keeps the position, and begins at the topic's start.

    Args:
        java: Java's settings of the consumer, with bootstrap.servers and group.id.
        topic: which.
        prefix: the key of those that are for this connector.

    Raises:
        ConfigError: a setting is wrong.
    """

    def __init__(self, java: Mapping[str, str], topic: str, prefix: str) -> None:
        try:
            self._records = KeptPosition(java, topic)
        except ConfigError as error:
            raise ConfigError(f"{CONSUMER}{error.key}", error.message) from error
        self._topic = topic
        self._prefix = prefix.encode()
        self._behind: deque[int] = deque()  # of each signal that was read: the offset behind it

    def read(self) -> Sequence[Received]:
        found = []
        for offset, key, value in self._records.read():
            if key != self._prefix or not value:
                continue
            if (received := _signal(value, f"{self._topic} at offset {offset}")) is not None:
                found.append(received)
                self._behind.append(offset + 1)
        return found

    def forget(self, count: int) -> None:
        for _ in range(count):
            behind = self._behind.popleft()
        self._records.note(behind)

    def close(self) -> None:
        self._records.close()


class FileChannel:
    """Signals in a file's lines, each JSON. Those that were followed are removed from the file.

    Args:
        path: of the file, which need not exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = b""  # what was read of the file and is not removed from it
        self._behind: deque[int] = deque()  # of each signal in it: the position behind its line

    def read(self) -> Sequence[Received]:
        content = self._content()
        if not content.startswith(self._seen):  # another one
            self._seen = b""
            self._behind.clear()
        found = []
        for line in content[len(self._seen) :].splitlines(keepends=True):
            if not line.endswith((b"\n", b"\r")):
                break  # it is not complete
            self._seen += line
            if line.strip() and (received := _signal(line, str(self._path))) is not None:
                found.append(received)
                self._behind.append(len(self._seen))
        return found

    def forget(self, count: int) -> None:
        done = 0
        for _ in range(min(count, len(self._behind))):
            done = self._behind.popleft()
        try:
            content = self._content()
            if not done or not content.startswith(self._seen[:done]):
                return
            self._path.write_bytes(content[done:])
        except (OSError, RetriableError) as error:
            log.warning("%s keeps signals that were followed: %s", self._path, error)
            return
        self._seen = self._seen[done:]
        self._behind = deque(position - done for position in self._behind)

    def close(self) -> None:
        """Nothing is open."""

    def _content(self) -> bytes:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise RetriableError(f"{self._path} cannot be read: {error.strerror or error}.") from error


def _signal(written: bytes, where: str) -> Received | None:
    """A signal in JSON: id, type, and data, which is an object or JSON as text."""
    try:
        told = json.loads(written)
        kind = told["type"]
        data = told.get("data")
        text = data if data is None or isinstance(data, str) else json.dumps(data)
        return Received(str(told.get("id") or where), str(kind), text)
    except (ValueError, TypeError, KeyError, AttributeError):
        log.error(
            'The signal in %s is not followed: it is no JSON object with a type. Write {"id": "1", "type": '
            '"execute-snapshot", "data": {"data-collections": ["schema.table"]}}.',
            where,
        )
        return None
