"""The offset store of a source connector's tasks: the shared one, or one in a topic of the connector.

Under exactly-once a task writes its offsets with the producer of its records, so to that producer's brokers (KIP-618).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from connect.kafka.admin.topics import TopicShape
from connect.kafka.clients.override_rules import of_questions
from connect.kafka.clients.settings import Kind, task_java_settings
from connect.settings.definition import Config
from connect.settings.raw import comma_separated, prefixed
from connect.storage import OffsetStore
from connect.storage.topic_offsets import LayeredOffsetStore, TopicOffsetStore

#: The key of a connector that names its own topic, and the worker's that names the shared one.
OWN_TOPIC: Final = "offsets.storage.topic"
SHARED_TOPIC: Final = "offset.storage.topic"

_START_S: Final = 60.0
_AT_ALL_TIMES: Final = {"acks": "all", "enable.idempotence": "true"}
#: Keys under a topic's prefix that say how it is made, and are not settings of the topic.
_NO_SETTINGS: Final = ("topic", "partitions", "replication.factor")
#: A topic, and the settings of the clients that reach it.
_Place = tuple[str, tuple[tuple[str, str], ...]]


class OffsetsTopic(NamedTuple):
    """Where the tasks of a connector write their offsets.

    Attributes:
        topic: its name.
        own: whether it belongs to this connector alone.
    """

    topic: str
    own: bool


@dataclass(slots=True)
class _Own:
    """The store in a place: the connectors that have asked for it, and the store once it is read."""

    users: set[str] = field(default_factory=set)
    opening: threading.Lock = field(default_factory=threading.Lock)
    store: LayeredOffsetStore | None = None


class OffsetStores:
    """The offset stores of one worker. Safe to use from many threads.

    Args:
        raw: the worker's properties, brokers known.
        config: the same, parsed.
        shared: the worker's store, closed by its creator.
    """

    def __init__(self, raw: Mapping[str, str], config: Config, shared: OffsetStore) -> None:
        self._raw = raw
        self._config = config
        self._shared = shared
        self._own: dict[_Place, _Own] = {}
        self._lock = threading.Lock()  # for moments

    def topic(self, connector: Mapping[str, str]) -> OffsetsTopic | None:
        """Where the tasks of a connector write. None where the worker writes for them, into a file.

        Args:
            connector: its configuration with its name, secrets filled in.
        """
        if not isinstance(self._shared, TopicOffsetStore):
            return None
        shared: str = self._config[SHARED_TOPIC]
        named = (connector.get(OWN_TOPIC) or "").strip()
        elsewhere = self._elsewhere(connector) and bool(named or exactly_once(self._config))
        if elsewhere or (named and named != shared):
            return OffsetsTopic(named or shared, own=True)
        return OffsetsTopic(shared, own=False)

    def of(self, connector: Mapping[str, str]) -> OffsetStore:
        """The store of a connector's offsets. Reads it on first use.

        Raises:
            ConnectError: the connector's topic cannot be created or read.
        """
        where = self.topic(connector)
        if where is None or not where.own:
            return self._shared
        kinds: tuple[Kind, ...] = ("admin", "consumer", "producer")
        clients = {kind: self._java(kind, connector) for kind in kinds}
        marks = tuple(sorted((f"{kind} {key}", value) for kind in kinds for key, value in clients[kind].items()))
        place = (where.topic, marks)
        with self._lock:
            own = self._own.setdefault(place, _Own())
            own.users.add(connector["name"])
        with own.opening:  # its brokers may not answer, and nobody else is to wait for them
            if own.store is None:
                shape = topic_shape(self._raw, self._config, "offset.storage.")
                made = TopicOffsetStore(where.topic, clients.__getitem__, shape)
                made.start(_START_S)
                own.store = LayeredOffsetStore(made, self._shared)
            return own.store

    @property
    def shared(self) -> OffsetStore:
        """The worker's."""
        return self._shared

    def written_by_tasks(self, connector: Mapping[str, str]) -> TopicOffsetStore:
        """The store in whose topic a connector's tasks write. Raises as `of`, and when the worker writes for them."""
        store = self.of(connector)
        written = store.own if isinstance(store, LayeredOffsetStore) else store
        assert isinstance(written, TopicOffsetStore)
        return written

    def forget(self, connector: str) -> None:
        """A connector was deleted: close the stores that no other one has asked for."""
        with self._lock:
            for own in self._own.values():
                own.users.discard(connector)
            unused = [self._own.pop(place) for place, own in list(self._own.items()) if not own.users]
        for own in unused:
            with own.opening:
                if own.store is not None:
                    own.store.close()

    def close(self) -> None:
        """Close the connectors' own stores. One that is being opened ends with the process (P11)."""
        with self._lock:
            stores = [own.store for own in self._own.values() if own.store is not None]
            self._own.clear()
        for store in stores:
            store.close()

    def _java(self, kind: Kind, connector: Mapping[str, str]) -> dict[str, str]:
        java = task_java_settings(kind, self._raw, of_questions(connector))
        for key in ("transactional.id", "group.id"):
            java.pop(key, None)
        return java | _AT_ALL_TIMES if kind == "producer" else java

    def _elsewhere(self, connector: Mapping[str, str]) -> bool:
        theirs = task_java_settings("producer", self._raw, connector).get("bootstrap.servers")
        return _addresses(theirs) != _addresses(self._raw.get("bootstrap.servers"))


def exactly_once(config: Config) -> bool:
    """Whether a worker's source tasks deliver exactly once."""
    return "exactly.once.source.support" in config and config["exactly.once.source.support"].lower() == "enabled"


def transactional_leader(config: Config) -> bool:
    """Whether the leader writes the config topic in transactions: already while exactly-once is being prepared."""
    return "exactly.once.source.support" in config and config["exactly.once.source.support"].lower() != "disabled"


def topic_shape(
    raw: Mapping[str, str], config: Config, prefix: str, partitions: int | None = None, exact: int | None = None
) -> TopicShape:
    """The shape of a new topic by the worker's keys under a prefix; `partitions` where they do not set a number."""
    settings: dict[str, Any] = prefixed(raw, prefix)
    for name in _NO_SETTINGS:
        settings.pop(name, None)
    if partitions is None:
        partitions = config[f"{prefix}partitions"]
    return TopicShape(partitions, config[f"{prefix}replication.factor"], settings, exact)


def _addresses(servers: str | None) -> set[str]:
    return set(comma_separated(servers))
