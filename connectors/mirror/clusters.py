"""The two clusters: the settings of their clients, and the metrics of requests to them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from connect.api.metrics import PluginMetrics
from connect.kafka.admin.cluster import ClusterAdmin
from connect.kafka.clients.settings import Kind, client_settings
from connectors.mirror.keys import (
    READ_COMMITTED,
    MirrorCheckpointOptions,
    MirrorHeartbeatOptions,
    MirrorOptions,
    MirrorSourceOptions,
)

log = logging.getLogger(__name__)

_OURS: Final = frozenset(
    setting.name
    for options in (MirrorSourceOptions, MirrorCheckpointOptions, MirrorHeartbeatOptions)
    for setting in options.definition()
) - {"source.cluster.bootstrap.servers", "target.cluster.bootstrap.servers"}


def java_settings(config: Mapping[str, str], side: str, kind: Kind) -> dict[str, str]:
    """Java's settings of one client, from the least specific keys to the most: in MirrorMaker 2's order.

    Args:
        config: of the connector.
        side: source or target.
        kind: of the client.
    """
    found: dict[str, str] = {}
    for prefix in (f"{side}.cluster.", f"{kind}.", f"{side}.{kind}."):
        found |= {
            key[len(prefix) :]: value
            for key, value in config.items()
            if key.startswith(prefix) and key not in _OURS and not key.startswith(f"{kind}.override.")
        }
    return found


def client(options: MirrorOptions, side: str, kind: Kind, name: str) -> dict[str, Any]:
    """Librdkafka's settings of one client. Raises `ConfigError` where one is wrong; those without effect are logged."""
    translated = client_settings(kind, _named(options, side, kind, name))
    for warning in translated.warnings:
        log.warning("%s cluster: %s", side, warning)
    return translated.librdkafka


def _named(options: MirrorOptions, side: str, kind: Kind, name: str) -> dict[str, str]:
    """The same under Java's keys, with default client names unless the configuration has others."""
    java = java_settings(options.config.raw, side, kind)
    if kind == "consumer":
        java.setdefault("group.id", f"mirror-{name}")
    java.setdefault("client.id", f"{name}-{side}-{kind}")
    return java


def called(options: MirrorOptions, side: str) -> str:
    """The name of a cluster in errors."""
    return f'{side.capitalize()} cluster "{options.alias(side)}"'


def reads_committed(config: Mapping[str, str]) -> bool:
    """Whether only what was committed is copied."""
    return java_settings(config, "source", "consumer").get("isolation.level", "").strip() == READ_COMMITTED


def admin(options: MirrorOptions, side: str, name: str, metrics: PluginMetrics | None) -> ClusterAdmin:
    """The administration of one of the two clusters, with metrics."""
    client(options, side, "admin", name)  # says what is wrong
    java = _named(options, side, "admin", name)
    return ClusterAdmin(java, called(options, side), options.admin_timeout, _told(metrics, options.alias(side)))


def _told(metrics: PluginMetrics | None, alias: str) -> Callable[[str, float, str | None], None]:
    def told(operation: str, seconds: float, error: str | None) -> None:
        if metrics is None:
            return
        metrics.observe("mirror_request_seconds", seconds, cluster=alias, operation=operation)
        if error is not None:
            metrics.count("mirror_errors_total", 1, cluster=alias, **{"class": error_class(error)})

    return told


def error_class(code: str) -> str:
    """The kind of an error of Kafka's, for metrics."""
    name = code.removeprefix("_")
    if "AUTH" in name or name == "SSL":
        return "credentials"
    if "UNKNOWN_TOPIC" in name or name in ("UNKNOWN_PARTITION", "GROUP_ID_NOT_FOUND"):
        return "missing"
    if name in ("NO_ANSWER", "TRANSPORT", "ALL_BROKERS_DOWN", "RESOLVE"):
        return "unreachable"
    if "TIMED_OUT" in name:
        return "timeout"
    if name in ("TOPIC_ALREADY_EXISTS", "UNKNOWN_MEMBER_ID", "NON_EMPTY_GROUP", "REBALANCE_IN_PROGRESS"):
        return "conflict"
    if "THROTTL" in name or "QUOTA" in name:
        return "throttled"
    if name.startswith(("INVALID", "POLICY", "UNSUPPORTED")) or "TOO_LARGE" in name:
        return "refused"
    return "other"


def make_internal_topic(cluster: ClusterAdmin, topic: str, replication: int) -> None:
    """Create a topic that keeps the newest of each key, if it does not exist."""
    # Brokers refuse whoever may not create, also for a topic that exists.
    if topic not in cluster.topics() and cluster.make_topic(topic, 1, replication, {"cleanup.policy": "compact"}):
        log.info("%s: made topic %s", cluster.name, topic)
