"""What a JVM does before it has a task: it loads the classes that tasks need, which is nearly all of a task's start.

A task of each of Kafka Connect's file connectors runs for a moment. The cluster is asked for its id; their consumer and
producer have the address of no broker, and leave no trace in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final

_FILE: Final = "org.apache.kafka.connect.file.FileStream"
_NOWHERE: Final = "127.0.0.1:1"
_CONVERTER: Final = "org.apache.kafka.connect.converters.ByteArrayConverter"


def rehearse(settings: Mapping[str, str], run: Callable[[type[Any], Any], None]) -> None:
    """Load what tasks of a worker need.

    Args:
        settings: the worker's.
        run: starts a task of a connector with a context, paused, and ends it.
    """
    run(_connector("Sink"), _Context("sink", settings, "consumer"))
    # Without a group a worker stores offsets for its tasks: a pool's topic of them need not be read.
    alone = {key: value for key, value in settings.items() if key != "group.id"}
    alone.setdefault("offset.storage.file.filename", "none")
    run(_connector("Source"), _Context("source", alone, "producer"))


def _connector(kind: str) -> type[Any]:
    return type(kind, (), {"java_class": f"{_FILE}{kind}Connector", "folder": None})


@dataclass
class _Context:
    """What the tasks see of an `EngineTaskContext`."""

    kind: str
    worker_config: Mapping[str, str]
    client: str
    connector: str = "rehearsal"
    task_number: int = 0
    plugin_path: Sequence[str] = ()
    transactional_id: str | None = None
    offsets_topic: str | None = None
    exit_stack: ExitStack = field(default_factory=ExitStack)

    @property
    def connector_config(self) -> dict[str, str]:
        nowhere = {f"{self.client}.override.bootstrap.servers": _NOWHERE}
        # The worker's own converters may be plug-ins, which are not looked for.
        converters = dict.fromkeys(("key.converter", "value.converter", "header.converter"), _CONVERTER)
        connector = {"name": self.connector, "connector.class": f"{_FILE}{self._kind}Connector"}
        return {**connector, **self._topic, **nowhere, **converters}

    @property
    def configs(self) -> dict[str, str]:
        return {"task.class": f"{_FILE}{self._kind}Task", **self._topic}

    @property
    def _kind(self) -> str:
        return self.kind.capitalize()

    @property
    def _topic(self) -> dict[str, str]:
        return {"topics" if self.kind == "sink" else "topic": "none"}

    def lease_until(self) -> float:
        return math.inf

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[None]:
        return [None for _ in partitions]

    def store_offsets(self, entries: Sequence[Any]) -> None:
        """There are none."""
