"""Which Kafka cluster this is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from connect.errors import ConnectError
from connect.kafka.client_errors import ClientErrors
from connect.kafka.client_log import log as client_log
from connect.kafka.client_settings import task_client_settings

_TIMEOUT_S = 10.0


def cluster_id(worker: Mapping[str, str]) -> str | None:
    """The id of the cluster that a worker's configuration leads to. Raises ConnectError where no broker answers."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    settings = task_client_settings("admin", worker, {}).librdkafka
    brokers = ClientErrors(settings)
    own: dict[str, Any] = {**settings, "error_cb": brokers.hear, "logger": client_log}
    admin = AdminClient(own)
    try:
        found: str | None = admin.list_topics(timeout=_TIMEOUT_S).cluster_id
    except KafkaException as error:
        admin.poll(0)  # what the client has to say of its connections
        if brokers.refusal is not None:
            raise brokers.refusal from error
        raise ConnectError(f"No broker answers: {error.args[0].str()}. Look at bootstrap.servers.") from error
    return found
