"""What a sink connector's configuration cannot ask of Spark."""

from __future__ import annotations

from collections.abc import Mapping

from connect.settings.error_keys import RETRY_TOPICS_KEY


def check(config: Mapping[str, str]) -> list[tuple[str, str]]:
    """What is wrong with a sink connector's configuration with engine=spark: key and message."""
    if (config.get(RETRY_TOPICS_KEY) or "").strip():
        message = (
            "is not to be had with engine=spark: a micro-batch ends when all its records are written, and none can"
            " wait for later. Remove the key and name errors.deadletterqueue.topic.name, or set engine=worker."
        )
        return [(RETRY_TOPICS_KEY, message)]
    return []
