"""Validates a sink's keys for failed records: its dead letter queue and its retry topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connect.errors import ConfigError
from connect.pipeline.findings import Findings
from connect.pipeline.parked import RetrySettings
from connect.settings.connector_keys import DEAD_LETTER_TOPIC
from connect.settings.error_keys import RETRY_TOPICS_KEY
from connect.settings.raw import comma_separated
from connect.settings.validators import LEGAL_TOPIC

_PREFIX: Final = "errors.retry.topics.prefix"
_ORDER: Final = "errors.retry.topics.keep.order"
_STRATEGIES: Final = ("consumer.override.partition.assignment.strategy", "consumer.override.group.protocol")


def writes_aside(config: Mapping[str, str]) -> bool:
    """Whether a sink has a producer for failed records."""
    return any(config.get(key, "").strip() for key in (DEAD_LETTER_TOPIC, RETRY_TOPICS_KEY))


def takes_reports(config: Mapping[str, str]) -> bool:
    """Whether a sink's tasks have a reporter: where records are accepted or logged, as in Kafka Connect."""
    return writes_aside(config) or config.get("errors.log.enable", "").strip().lower() == "true"


def check_dead_letters(found: Findings, config: Mapping[str, str]) -> None:
    """Find errors of a connector's dead letter queue."""
    if config.get(DEAD_LETTER_TOPIC, "").strip() and config.get("errors.tolerance", "").strip() != "all":
        found.warn(
            DEAD_LETTER_TOPIC,
            "gets the first bad record, and then the task fails, which may repeat that at each restart. Set"
            " errors.tolerance=all to go on.",
        )


def check_errors(found: Findings, config: Mapping[str, str]) -> None:
    """Find errors of a sink's errors.* keys taken together."""
    check_dead_letters(found, config)
    tolerant = config.get("errors.tolerance", "").strip() == "all"
    dead = config.get(DEAD_LETTER_TOPIC, "").strip()
    try:
        retry = RetrySettings.of(config, config.get("name", ""))
    except ConfigError:
        return  # said of the key itself
    if retry is None:
        for key in config:
            if key.startswith(f"{RETRY_TOPICS_KEY}."):
                found.warn(key, f"has no effect without {RETRY_TOPICS_KEY}. Set how long records wait.")
        return
    if not tolerant:
        found.warn(
            RETRY_TOPICS_KEY,
            "ends with a FAILED task for a record that has failed in all of them, because errors.tolerance is none. "
            "Set errors.tolerance=all to go on.",
        )
    wrong = [name for name in retry.topics if not LEGAL_TOPIC.fullmatch(name)]
    if wrong and not config.get(_PREFIX):
        found.error(_PREFIX, f'is missing: "{wrong[0]}" cannot be the name of a topic. Choose another prefix.')
    topics = set(comma_separated(config.get("topics"))) | ({dead} if dead else set())
    for name in topics.intersection(retry.topics):
        found.error(_PREFIX, f'makes "{name}" a retry topic, which is named in another key too. Choose another prefix.')
    if retry.keep_order:
        _check_order(found, config)


def _check_order(found: Findings, config: Mapping[str, str]) -> None:
    for key in _STRATEGIES:
        value = config.get(key, "").strip()
        if value and value not in ("range", "classic", "org.apache.kafka.clients.consumer.RangeAssignor"):
            found.error(
                key,
                f"cannot be {value} together with {_ORDER}: only range brings a partition and the same one of each"
                " retry topic to one task. Remove one of them.",
            )
