"""The versions of connectors' configurations, with their authors and times, in a compacted topic of their own.

Java's workers do not know the topic. The key of a version is its connector and the offset that it has in the config
topic, so that several workers may write it. Values are as users wrote them: variables of config providers in place.

    ["orders",1234]    {"config":{"connector.class":"..."},"at":1764255000000,"by":"user:alice"}
    ["orders",1260]    {"config":null,"at":1764256000000,"by":null}      the connector was deleted
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import msgspec

from connect.errors import ConnectError
from connect.kafka.admin.topics import TopicShape, make_or_check
from connect.kafka.reading.newest import NewestRecords
from connect.kafka.writing.topic_producer import TopicProducer

log = logging.getLogger("connect.storage")

_PATIENCE_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class ConfigVersion:
    """One version of a connector's configuration.

    Attributes:
        connector: its name.
        offset: of the configuration in the config topic; identifies the version.
        config: as written; None where the connector was deleted.
        at: when it was written, ms since the epoch; None for one that was written before there was a history.
        by: its author, such as user:alice; None without logins, and for one that a Java leader wrote.
    """

    connector: str
    offset: int
    config: Mapping[str, str] | None
    at: int | None = None
    by: str | None = None


class _Stored(msgspec.Struct):
    config: dict[str, str] | None
    at: int | None = None
    by: str | None = None


class ConfigHistory:
    """The history of a pool. `versions` and `open` are thread-safe, the rest is for one thread.

    Args:
        topic: of the history.
        clients: Java's client settings of the worker.
        shape: how the topic is created.
        keep: the maximum number of versions of a connector.
    """

    def __init__(self, topic: str, clients: Mapping[str, str], shape: TopicShape, keep: int) -> None:
        self.topic = topic
        self._clients = dict(clients)
        self._shape = shape
        self._keep = keep
        self._reader: NewestRecords | None = None
        self._producer = TopicProducer(topic, clients)
        self._ends: dict[int, int] = {}
        #: The offsets of all versions, by connector.
        self._known: dict[str, set[int]] = {}

    def versions(self, connector: str, timeout: float = _PATIENCE_S) -> list[ConfigVersion]:
        """A connector's versions, newest first. Raises ConnectError when the topic cannot be created or read."""
        self.open(timeout)
        with closing(NewestRecords(self.topic, self._clients)) as reader:
            found = reader.look(lambda key: _of(key, connector), timeout).values
        versions = [_version(key, value) for key, value in found.items() if value is not None]
        return sorted(versions, key=lambda version: version.offset, reverse=True)

    def open(self, timeout: float = _PATIENCE_S) -> None:
        """Create or check the topic. Raises ConnectError."""
        from connect.kafka.admin.client import Admin

        with closing(Admin(self._clients, f"connect-history-{self.topic}")) as admin:
            make_or_check(self.topic, admin, self._shape, timeout)

    def add(self, versions: Sequence[ConfigVersion], timeout: float = _PATIENCE_S) -> None:
        """Store versions, and delete the oldest ones of these connectors beyond the limit.

        A version without an author is stored only if nobody has stored it.

        Raises:
            ConnectError: the topic cannot be read or written; some may be stored.
        """
        self._catch_up(timeout)
        new = [
            version
            for version in versions
            if version.by is not None or version.offset not in self._known.get(version.connector, ())
        ]
        if not new:
            return
        self._producer.write([(_key(version.connector, version.offset), _value(version)) for version in new], timeout)
        for version in new:
            self._known.setdefault(version.connector, set()).add(version.offset)
        self._prune({version.connector for version in new}, timeout)

    def close(self) -> None:
        """Close the clients."""
        if self._reader is not None:
            self._reader.close()
        self._producer.close()

    def _prune(self, connectors: Collection[str], timeout: float) -> None:
        old = [
            (name, offset) for name in connectors for offset in sorted(self._known[name], reverse=True)[self._keep :]
        ]
        if not old:
            return
        self._producer.write([(_key(name, offset), None) for name, offset in old], timeout)
        for name, offset in old:
            self._known[name].discard(offset)

    def _catch_up(self, timeout: float) -> None:
        """Learn which versions exist."""
        if self._reader is None:
            self._reader = NewestRecords(self.topic, self._clients)
        found = self._reader.look(lambda _: True, timeout, since=self._ends)
        self._ends = {**self._ends, **found.ends}
        for key, value in found.values.items():
            if (parsed := _parsed(key)) is not None:
                offsets = self._known.setdefault(parsed[0], set())
                (offsets.discard if value is None else offsets.add)(parsed[1])


def _key(connector: str, offset: int) -> bytes:
    return msgspec.json.encode([connector, offset])


def _parsed(key: bytes) -> tuple[str, int] | None:
    try:
        return msgspec.json.decode(key, type=tuple[str, int])
    except msgspec.MsgspecError:
        return None


def _of(key: bytes, connector: str) -> bool:
    parsed = _parsed(key)
    return parsed is not None and parsed[0] == connector


def _value(version: ConfigVersion) -> bytes:
    config = None if version.config is None else dict(version.config)
    return msgspec.json.encode(_Stored(config, version.at, version.by))


def _version(key: bytes, value: bytes) -> ConfigVersion:
    connector, offset = msgspec.json.decode(key, type=tuple[str, int])
    try:
        stored = msgspec.json.decode(value, type=_Stored)
    except msgspec.MsgspecError as error:
        raise ConnectError(
            f"Version {offset} of connector {connector} in the history cannot be read: {error}"
        ) from None
    return ConfigVersion(connector, offset, stored.config, stored.at, stored.by)
