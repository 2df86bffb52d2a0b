"""librdkafka's log, without lines that nobody acts on.

It logs every failed try to reach a broker, twenty a second, at ERROR; the error callbacks of the clients here say the
same once. The same holds for consequences of that. And it warns while a broker that has just started cannot yet number
producers, or has not announced all partitions, which passes by itself. Ten times a second it says that an offset cannot
be found, until it learns that a topic was deleted: a line that was just written is not repeated.
"""

from __future__ import annotations

import logging
import time
from typing import Final

from connect.telemetry.outages import current

log = logging.getLogger("connect.kafka.client")

#: A line is written again after so many seconds.
_AGAIN_S: Final = 60.0
_MANY: Final = 1000
#: Lines by when they were last written. A thread that loses a race writes a line once more.
_written: dict[str, float] = {}


def _worth_telling(record: logging.LogRecord) -> bool:
    text = record.getMessage()
    passing = (
        text.startswith(("FAIL ", "METADATAUPDATE "))
        or (text.startswith("GETPID ") and text.endswith("retrying"))
        or (text.startswith(("SESSTMOUT ", "REQTMOUT ")) and current().longest() is not None)
    )
    return log.isEnabledFor(logging.DEBUG) or not (passing or _was_just_written(text))


def _was_just_written(text: str) -> bool:
    now = time.monotonic()
    if now - _written.get(text, -_AGAIN_S) < _AGAIN_S:
        return True
    if len(_written) >= _MANY:
        _written.clear()
    _written[text] = now
    return False


log.addFilter(_worth_telling)
