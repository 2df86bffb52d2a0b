"""A query that is ours and not a stream of Spark: it is polled on a thread of its own, and supervised as the others."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any, Final

log = logging.getLogger("connect.spark")

_LOOK_AGAIN_S: Final = 0.2
_STOP_S: Final = 3.0


class PolledQuery:
    """Runs polls on a thread of its own, with the interface of a StreamingQuery: it is supervised like one.

    Args:
        poll: one poll; its errors end the query. Returns whether there may be more to read at this moment.
        interval: seconds from the start of one poll to that of the next; with `once` there is no wait.
        may_begin: whether a poll may begin now.
        spark: the session of the polls; a running one is interrupted there when the query is stopped.
        once: end as soon as there is no more to read.
        closing: called at the end, on the same thread.
    """

    recentProgress: tuple[Any, ...] = ()  # noqa: N815 - Spark's name, here and below

    def __init__(
        self,
        poll: Callable[[], bool],
        interval: float,
        may_begin: Callable[[], bool],
        spark: Any,
        *,
        once: bool = False,
        closing: Callable[[], object] = lambda: None,
    ) -> None:
        self._poll = poll
        self._interval = interval
        self._may_begin = may_begin
        self._spark = spark
        self._once = once
        self._closing = closing
        self._tag = f"poll-{uuid.uuid4().hex}"
        self._over = threading.Event()
        self._ended = threading.Event()
        self._busy = False
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="polls", daemon=True)
        self._thread.start()

    @property
    def isActive(self) -> bool:  # noqa: N802
        """Whether it runs."""
        return not self._ended.is_set()

    @property
    def status(self) -> dict[str, Any]:
        """Whether a poll is running at this moment."""
        return {"isTriggerActive": self._busy}

    def exception(self) -> Exception | None:
        """The error that ended it, if any."""
        return self._error

    def awaitTermination(self, seconds: float) -> bool:  # noqa: N802
        """Wait this long for its end, and return whether it has ended."""
        return self._ended.wait(seconds)

    def stop(self) -> None:
        """End it, and a running poll."""
        self._over.set()
        if self._busy:
            try:
                self._spark.interruptTag(self._tag)
            except Exception as error:  # the session goes in any case
                log.debug("A poll could not be interrupted: %s", error)
        self._ended.wait(_STOP_S)

    def _run(self) -> None:
        due = time.monotonic()
        try:
            while not self._over.is_set():
                if time.monotonic() < due or not self._may_begin():
                    self._over.wait(min(_LOOK_AGAIN_S, max(0.01, due - time.monotonic())))
                    continue
                due = time.monotonic() + self._interval
                more = self._do()
                if self._once:
                    if not more:
                        return
                    due = time.monotonic()
        except Exception as error:  # Spark and plug-ins raise anything
            if not self._over.is_set():
                self._error = error
        finally:
            self._close()
            self._ended.set()

    def _close(self) -> None:
        try:
            self._closing()
        except Exception as error:  # plug-ins raise anything
            log.error("While stopping: %s: %s", type(error).__name__, error, exc_info=error)

    def _do(self) -> bool:
        self._busy = True
        self._spark.addTag(self._tag)
        try:
            return self._poll()
        finally:
            self._busy = False
            self._spark.removeTag(self._tag)
