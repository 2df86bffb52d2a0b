"""What librdkafka logs, without what nobody acts on.

It tells of every failed try to reach a broker, twenty a second, at ERROR; the error callbacks of our clients say the
same once. And it warns while a broker that has just started is not ready to number producers, which passes by itself.
"""

from __future__ import annotations

import logging

log = logging.getLogger("connect.kafka.client")


def _worth_telling(record: logging.LogRecord) -> bool:
    text = record.getMessage()
    passing = text.startswith("FAIL ") or (text.startswith("GETPID ") and text.endswith("retrying"))
    return not passing or log.isEnabledFor(logging.DEBUG)


log.addFilter(_worth_telling)
