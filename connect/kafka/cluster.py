"""Which Kafka cluster this is."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from connect.errors import ConnectError
from connect.kafka.client_settings import task_client_settings

log = logging.getLogger("connect.kafka")

_TIMEOUT_S = 10.0


def cluster_id(worker: Mapping[str, str]) -> str | None:
    """The id of the cluster that a worker's configuration leads to. Raises ConnectError where no broker answers."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    settings: dict[str, Any] = {**task_client_settings("admin", worker, {}).librdkafka, "logger": log}
    try:
        found: str | None = AdminClient(settings).list_topics(timeout=_TIMEOUT_S).cluster_id
    except KafkaException as error:
        raise ConnectError(f"No broker answers: {error.args[0].str()}. Look at bootstrap.servers.") from error
    return found
