"""A Kafka broker of a test's own."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from connect.kafka.broker import Broker, ensure_running, stop


@contextmanager
def a_broker(data: Path, *, port: int = 0, settings: Mapping[str, str] | None = None) -> Iterator[Broker]:
    """The broker of this folder, which is stopped in the end: one that a test started once more, or that came up late.

    Raises:
        JavaNotFound: no Java 17 or newer.
        JarsUnavailable: Kafka's jars cannot be fetched.
    """
    try:
        yield ensure_running(data, port=port, settings=settings)
    finally:
        stop(data)
