"""Waiting for a consumer's next record in a way that another thread can end.

A consumer that waits inside the client cannot be woken, so the stop or pause of a task would be noticed only at the end
of a short wait: either stopping is slow, or an idle task wakes up five times a second. librdkafka can write to a file
descriptor when something arrives (rd_kafka_queue_io_event_enable); confluent-kafka does not offer that, so its
consumer's handle is taken from where the object stores it. That is done only for versions with which it was tried, and
only if the handle answers with the client's name; with any other the caller waits inside the client.
"""

from __future__ import annotations

import ctypes
import logging
import os
import select
import threading
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

log = logging.getLogger("connect.kafka")

#: The versions of confluent-kafka whose consumers keep the handle in their first field.
TRIED = ("2.16.",)
_ONE = (1).to_bytes(8, "little")


class Arrivals:
    """Arrivals at one consumer. `wake` is thread-safe, all else is for the consumer's own thread."""

    def __init__(self, library: ctypes.CDLL, handle: int) -> None:
        self._library = library
        self._ready = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._waking = threading.Lock()
        self._closed = False
        self._queue = library.rd_kafka_queue_get_consumer(handle)
        library.rd_kafka_queue_io_event_enable(self._queue, self._ready, _ONE, len(_ONE))
        self._poll = select.poll()
        self._poll.register(self._ready, select.POLLIN)

    def wait(self, seconds: float) -> None:
        """Return when something has arrived since the last wait, `wake` was called, or the time is up."""
        if self._poll.poll(max(0.0, seconds) * 1000):
            os.eventfd_read(self._ready)

    def poll(self, consumer: Any, seconds: float) -> Any:
        """The consumer's next message, or None: as its own `poll`, but `wake` ends the wait."""
        message = consumer.poll(0)
        if message is None and seconds > 0:
            self.wait(seconds)
            message = consumer.poll(0)
        return message

    def wake(self) -> None:
        """End a running wait, or else the next one. Does nothing after `close`."""
        with self._waking:
            if not self._closed:  # else the number of the descriptor may be that of another file by now
                os.eventfd_write(self._ready, 1)

    def close(self) -> None:
        """Release the consumer's queue; call it before the consumer is closed."""
        self._library.rd_kafka_queue_io_event_enable(self._queue, -1, None, 0)
        self._library.rd_kafka_queue_destroy(self._queue)
        with self._waking:
            self._closed = True
            os.close(self._ready)


def arrivals(consumer: Any, name: str) -> Arrivals | None:
    """The arrivals at a consumer, or None where they are not available.

    Args:
        consumer: a `confluent_kafka.Consumer`, not closed.
        name: its `client.id`.
    """
    library = _library()
    if library is None:
        return None
    handle = ctypes.c_void_p.from_address(id(consumer) + object.__basicsize__).value
    if handle is None or not library.rd_kafka_name(handle).startswith(name.encode()):
        return None
    return Arrivals(library, handle)


@cache
def _library() -> ctypes.CDLL | None:
    """The librdkafka that confluent-kafka has loaded."""
    import confluent_kafka

    if not version("confluent-kafka").startswith(TRIED):
        return None
    bundled = Path(confluent_kafka.__file__).parent.with_name("confluent_kafka.libs")
    found = sorted(bundled.glob("librdkafka-*"))
    if len(found) != 1:  # built against the system's, or not for Linux
        return None
    library = ctypes.CDLL(str(found[0]))
    library.rd_kafka_name.restype = ctypes.c_char_p
    library.rd_kafka_name.argtypes = [ctypes.c_void_p]
    library.rd_kafka_queue_get_consumer.restype = ctypes.c_void_p
    library.rd_kafka_queue_get_consumer.argtypes = [ctypes.c_void_p]
    library.rd_kafka_queue_io_event_enable.restype = None
    library.rd_kafka_queue_io_event_enable.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
    library.rd_kafka_queue_destroy.restype = None
    library.rd_kafka_queue_destroy.argtypes = [ctypes.c_void_p]
    return library
