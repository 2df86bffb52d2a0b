"""What a JVM does before it has a task: it loads the classes that tasks need, which is nearly all of a task's start.

A worker is made and ended, and so are a consumer and a producer. They ask the cluster for its id and change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connect.java import jvm
from connect.java.offsets import no_offsets
from connect.java.runtime import new_worker, worker_config
from connect.kafka.clients.settings import Kind, task_java_settings

_CLIENTS: Final[tuple[tuple[Kind, str, str, str], ...]] = (
    ("consumer", "clients.consumer.KafkaConsumer", "deserializer", "ByteArrayDeserializer"),
    ("producer", "clients.producer.KafkaProducer", "serializer", "ByteArraySerializer"),
)


def rehearse(settings: Mapping[str, str]) -> None:
    """Load what tasks of a worker need.

    Args:
        settings: the worker's.
    """
    loaders = jvm.PluginLoaders([])
    try:
        worker = new_worker("rehearsal", worker_config(settings, loaders), no_offsets(), loaders)
        worker.start()
        worker.stop()
    finally:
        loaders.close()
    for kind, client, codec, of_bytes in _CLIENTS:
        codecs = {f"{side}.{codec}": f"org.apache.kafka.common.serialization.{of_bytes}" for side in ("key", "value")}
        made = jvm.java(f"org.apache.kafka.{client}")(jvm.to_map(task_java_settings(kind, settings, {}) | codecs))
        made.close()
