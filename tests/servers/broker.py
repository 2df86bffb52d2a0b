"""A Kafka broker of a test's own."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from connect.kafka.broker.embedded import Broker, ensure_running, stop

#: Tests write records of any time; a broker that keeps a week's would delete them while they are read.
KEEPS = {"log.retention.ms": "-1"}
#: One that is alone writes no record of its own twice a second: that is a third of what it computes when it is idle.
_RESTS = {"metadata.max.idle.interval.ms": "0"}


@contextmanager
def a_broker(data: Path, *, port: int = 0, settings: Mapping[str, str] | None = None) -> Iterator[Broker]:
    """The broker of this folder, which is stopped in the end: one that a test started once more, or that came up late.

    Raises:
        JavaNotFound: no Java 17 or newer.
        JarsUnavailable: Kafka's jars cannot be fetched.
    """
    try:
        yield ensure_running(data, port=port, settings={**KEEPS, **_RESTS, **(settings or {})})
    finally:
        stop(data)
