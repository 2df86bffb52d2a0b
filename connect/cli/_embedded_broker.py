"""The broker of this machine, for workers whose bootstrap.servers says so."""

from __future__ import annotations

import logging

from connect.settings.definition import Config

log = logging.getLogger("connect.cli")


def embedded_broker(worker: Config) -> dict[str, str]:
    """Start the broker of bootstrap.servers=embedded where none runs.

    Returns:
        the keys of the worker that say where it is; none where the worker names other brokers.
    """
    if worker["bootstrap.servers"] != ["embedded"]:
        return {}
    from connect.kafka.broker import ensure_running

    broker = ensure_running(say=log.info)
    log.info("Kafka runs on this machine at %s", broker.bootstrap_servers)
    return {"bootstrap.servers": broker.bootstrap_servers}
