"""The offset store of Kafka Connect's own worker: the pool's topic, or this project's worker."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from connect.api.engine import EngineTaskContext
from connect.java import jvm
from connect.storage.offsets import to_json

_STORE: Final = "org.apache.kafka.connect.storage."


def offset_store(context: EngineTaskContext, config: Any, plugins: Any, *, distributed: bool) -> Any:
    """An OffsetBackingStore for a worker.

    Args:
        context: of the task.
        config: a WorkerConfig.
        plugins: Kafka Connect's.
        distributed: whether the pool has a topic for offsets. Else the worker stores them in its file.
    """
    if context.kind == "sink" or not distributed:  # a sink has none
        return _by_worker(context)
    bare = jvm.to_map({"schemas.enable": "false"})
    converter = plugins.newInternalConverter(True, "org.apache.kafka.connect.json.JsonConverter", bare)
    servers = jvm.java("java.util.HashMap")(config.originals())
    admin = jvm.java("org.apache.kafka.connect.util.SharedTopicAdmin")(servers)
    context.exit_stack.callback(admin.close)
    name = f"{context.connector}-{context.task_number}-"
    client = jvm.proxy("java.util.function.Supplier", {"get": lambda: name})
    return _configured(jvm.java(f"{_STORE}KafkaOffsetBackingStore")(admin, client, converter), config)


def offset_reader(ask: Callable[[list[dict[str, Any]]], Sequence[Mapping[str, Any] | None]]) -> Any:
    """An OffsetStorageReader.

    Args:
        ask: for the offsets of source partitions.
    """

    def offsets(partitions: Any) -> Any:
        wanted = list(partitions)
        made = jvm.java("java.util.HashMap")()
        for partition, found in zip(wanted, ask([jvm.from_java(each) for each in wanted]), strict=True):
            made.put(partition, None if found is None else jvm.to_map(found))
        return made

    methods = {"offset": lambda partition: offsets([partition]).get(partition), "offsets": offsets}
    return jvm.proxy(f"{_STORE}OffsetStorageReader", methods)


def _configured(store: Any, config: Any) -> Any:
    store.configure(config)
    return store


def _by_worker(context: EngineTaskContext) -> Any:
    """A store that asks the worker: keys and values are the JSON that Kafka Connect writes."""
    buffer = jvm.java("java.nio.ByteBuffer")

    def get(keys: Any) -> Any:
        wanted = list(keys)
        partitions = [_partition(key) for key in wanted]
        found = jvm.java("java.util.HashMap")()
        for key, offset in zip(wanted, context.offsets(partitions), strict=True):
            if offset is not None:
                found.put(key, buffer.wrap(to_json(dict(offset)).encode()))
        return jvm.java("java.util.concurrent.CompletableFuture").completedFuture(found)

    def put(values: Any, callback: Any) -> Any:
        entries = [(_partition(entry.getKey()), _offset(entry.getValue())) for entry in values.entrySet()]
        context.store_offsets(entries)
        if callback is not None:
            callback.onCompletion(None, None)
        return jvm.java("java.util.concurrent.CompletableFuture").completedFuture(None)

    nothing = jvm.java("java.util.HashSet")
    return no_offsets({"get": get, "set": put, "connectorPartitions": lambda _: nothing()})


def no_offsets(methods: Mapping[str, Callable[..., Any]] | None = None) -> Any:
    """A store that can be started and ended, and has these methods besides."""
    idle: dict[str, Callable[..., Any]] = {"start": lambda: None, "stop": lambda: None, "configure": lambda _: None}
    return jvm.proxy(f"{_STORE}OffsetBackingStore", {**idle, **(methods or {})})


def _partition(key: Any) -> dict[str, Any]:
    _, partition = json.loads(_bytes(key))
    return dict(partition or {})  # null, of a source without offsets


def _offset(value: Any) -> dict[str, Any] | None:
    found: dict[str, Any] | None = None if value is None else json.loads(_bytes(value))
    return found


def _bytes(held: Any) -> bytes:
    copy = held.duplicate()
    return bytes(bytearray(copy.get() & 0xFF for _ in range(copy.remaining())))
