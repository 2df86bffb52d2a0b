"""Where records go that a connector's error policy takes, from within an executor: its dead letter topic."""

from __future__ import annotations

import logging
from collections.abc import Callable

from connect.data.record import SinkRecord
from connect.kafka.client_settings import task_client_settings
from connect.kafka.produce import BatchProducer, DeliveryError
from connect.pipeline import ErrorPolicy
from connect.pipeline.build import record_encoder
from connect.pipeline.dead_letter_queue import DeadLetterQueue
from connect.pipeline.dead_letters import DeadLetterSettings, EncodedRecord
from connect.pipeline.error_topics import ErrorTopics
from connect.plugins import Plugins
from spark_sink.any_sink.liveness import Alive
from spark_sink.any_sink.plan import WritePlan

log = logging.getLogger(__name__)


def dead_letters(
    plan: WritePlan, number: int, policy: ErrorPolicy, plugins: Plugins, alive: Alive
) -> ErrorTopics | None:
    """Give a policy the connector's dead letter topic, if it names one. Returns what writes there.

    Args:
        plan: see there.
        number: of the sink task, for the headers.
        policy: of the chain.
        plugins: for the converters of records that the task made itself.
        alive: ends waiting for brokers.

    Raises:
        ConfigError: a key is wrong.
    """
    settings = DeadLetterSettings.of(plan.connector_config)
    if settings is None:
        return None
    encoders: list[Callable[[SinkRecord], EncodedRecord]] = []

    def encode(record: SinkRecord) -> EncodedRecord:
        if not encoders:
            encoders.append(record_encoder(plugins, plan.worker_config, plan.connector_config))
        return encoders[0](record)

    def make_producer(refused: Callable[[DeliveryError, object], None]) -> BatchProducer:
        clients = task_client_settings("producer", plan.worker_config, plan.connector_config)
        for warning in clients.warnings:
            log.warning("%s", warning)
        return BatchProducer(clients.librdkafka, alive.check, refused)

    def count_refusal() -> None:
        policy.counts.dead_letters_failed += 1

    topics = ErrorTopics(make_producer, alive.check, count_refusal)
    policy.dead_letter = DeadLetterQueue(settings, plan.connector, number, topics, policy.counts, encode).write
    return topics
