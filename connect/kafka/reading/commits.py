"""Commits of a consumer, each waited for at most some seconds.

librdkafka waits as long as there is no coordinator, even if the task has to end meanwhile: a commit runs on a thread of
its own. There is one at a time, so that an old one is never the last.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Final

#: More than a broker needs that has much to do; less than a task has for its end.
_PATIENCE_S: Final = 3.0


class Commits:
    """Commits of one consumer. For one thread.

    Args:
        consumer: the client.
    """

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer
        self._thread = threading.Thread()
        self._called_back = False

    @contextmanager
    def in_callback(self) -> Iterator[None]:
        """Inside, the client is in a callback: it accepts a commit from this thread only."""
        self._called_back = True
        try:
            yield
        finally:
            self._called_back = False

    def commit(self, offsets: Sequence[Any]) -> Sequence[Any]:
        """The broker's answer for each partition.

        Raises:
            TimeoutError: there is none yet; perhaps not even for the commit before.
            KafkaException: the broker refuses.
        """
        if self._called_back:
            return self._consumer.commit(offsets=offsets, asynchronous=False) or ()
        answer: Future[Any] = Future()

        def run() -> None:
            try:
                answer.set_result(self._consumer.commit(offsets=offsets, asynchronous=False))
            except Exception as error:
                answer.set_exception(error)

        if self.under_way(_PATIENCE_S):
            raise TimeoutError
        self._thread = threading.Thread(target=run, name="commit", daemon=True)
        self._thread.start()
        return answer.result(_PATIENCE_S) or ()

    def under_way(self, patience: float | None = 0) -> bool:
        """Whether a commit still runs after this many seconds; None waits for its end."""
        if self._thread.is_alive():
            self._thread.join(patience)
        return self._thread.is_alive()
