"""librdkafka's log, without lines that nobody acts on.

It logs every failed try to reach a broker, twenty a second, at ERROR; the error callbacks of the clients here say the
same once. The same holds for consequences of that. And it warns while a broker that has just started cannot yet number
producers, or has not announced all partitions, which passes by itself.
"""

from __future__ import annotations

import logging

from connect.telemetry.outages import current

log = logging.getLogger("connect.kafka.client")


def _worth_telling(record: logging.LogRecord) -> bool:
    text = record.getMessage()
    passing = (
        text.startswith(("FAIL ", "METADATAUPDATE "))
        or (text.startswith("GETPID ") and text.endswith("retrying"))
        or (text.startswith(("SESSTMOUT ", "REQTMOUT ")) and current().longest() is not None)
    )
    return not passing or log.isEnabledFor(logging.DEBUG)


log.addFilter(_worth_telling)
