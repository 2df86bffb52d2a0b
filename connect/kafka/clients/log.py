"""What librdkafka logs, without what nobody acts on.

It tells of every failed try to reach a broker, twenty a second, at ERROR; the error callbacks of our clients say the
same once. So it is with what follows from that. And it warns while a broker that has just started is not ready to
number producers, or has not told of all partitions, which passes by itself.
"""

from __future__ import annotations

import logging

from connect.telemetry.outages import outages

log = logging.getLogger("connect.kafka.client")


def _worth_telling(record: logging.LogRecord) -> bool:
    text = record.getMessage()
    passing = (
        text.startswith(("FAIL ", "METADATAUPDATE "))
        or (text.startswith("GETPID ") and text.endswith("retrying"))
        or (text.startswith(("SESSTMOUT ", "REQTMOUT ")) and outages.longest() is not None)
    )
    return not passing or log.isEnabledFor(logging.DEBUG)


log.addFilter(_worth_telling)
