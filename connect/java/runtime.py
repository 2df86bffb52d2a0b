"""Kafka Connect's own worker: `org.apache.kafka.connect.runtime.Worker`, made in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from connect.java import jvm

RUNTIME: Final = "org.apache.kafka.connect.runtime."
#: Of a worker's settings: what its tasks have no use for, or what is done already.
_NOT_FOR_TASKS: Final = ("config.providers", "rest.", "listeners", "admin.listeners", "plugin.")
#: Of the worker and of its clients: classes that no plug-in brings.
_REPORTERS: Final = "metric.reporters"
_CONVERTERS: Final = ("key.converter", "value.converter", "header.converter")


def is_distributed(settings: Mapping[str, str]) -> bool:
    """Whether a worker's settings are those of a pool."""
    return "group.id" in settings


def worker_config(settings: Mapping[str, str], connector: Mapping[str, str], loaders: jvm.PluginLoaders) -> Any:
    """Java's WorkerConfig of a worker's settings, for tasks of a connector. Raises Java's ConfigException.

    The worker's converters may be plug-ins. Those that the connector replaces need not be there.
    """
    own = {key: value for key, value in settings.items() if not key.startswith(_NOT_FOR_TASKS)}
    own = {key: value for key, value in own.items() if not key.endswith(_REPORTERS)}
    own |= {key: connector[key] for key in _CONVERTERS if key in connector}
    kind = "distributed.DistributedConfig" if is_distributed(settings) else "standalone.StandaloneConfig"
    with loaders.all():
        return jvm.java(RUNTIME + kind)(jvm.to_map({**own, **loaders.properties}))


#: The ids of clusters that a worker of this process has asked, by its bootstrap.servers.
_clusters: Final[dict[str, str]] = {}


def new_worker(name: str, config: Any, store: Any, loaders: jvm.PluginLoaders) -> Any:
    """A worker, not started.

    Args:
        name: its id.
        config: see `worker_config`. Its cluster is asked for its id, once in a process: it takes a client of its own.
        store: an OffsetBackingStore.
        loaders: of the plug-ins that its tasks need.
    """
    policy = jvm.java("org.apache.kafka.connect.connector.policy.AllConnectorClientConfigOverridePolicy")()
    system = jvm.java("org.apache.kafka.common.utils.Time").SYSTEM
    cluster = str(config.getList("bootstrap.servers"))
    if cluster in _clusters:
        known = jvm.java(RUNTIME + "WorkerConfig").class_.getDeclaredField("kafkaClusterId")
        known.setAccessible(True)
        known.set(config, _clusters[cluster])
    made = jvm.java(RUNTIME + "Worker")(name, system, loaders.plugins, config, store, policy)
    if (found := config.kafkaClusterId()) is not None:
        _clusters[cluster] = str(found)
    return made
