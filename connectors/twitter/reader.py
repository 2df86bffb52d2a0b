"""The thread that holds the connection to the stream: connects, reads, and reconnects by X's rules."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from typing import Final

from connect.api.metrics import PluginMetrics
from connectors.twitter.api import Api
from connectors.twitter.connection import Connection
from connectors.twitter.failures import ApiError, Backoff, Kind, count_error
from connectors.twitter.inbox import Closed, Inbox, Opened
from connectors.twitter.keys import TwitterOptions

log = logging.getLogger(__name__)

_STOP_S: Final = 2.0
#: More than connecting takes.
_SLACK_S: Final = 15.0
#: A connection that held so long was a good one.
_GOOD_S: Final = 5.0


class StreamReader(threading.Thread):
    """Keeps a connection, and puts lines into the inbox, with an item for every connection and disconnection.

    A connection that ends is reopened at once; further tries wait, see `Backoff`, until one has held for some seconds.
    While the inbox is full nothing is read: X then disconnects eventually.

    Args:
        options: the task's keys.
        api: for this thread alone.
        fields: of every post.
        inbox: receives the lines. Closed by `stop`.
        metrics: of the task.
        silent_s: seconds since the last post before this reader began; None if there was none.
    """

    def __init__(
        self,
        options: TwitterOptions,
        api: Api,
        fields: Mapping[str, list[str]],
        inbox: Inbox,
        metrics: PluginMetrics,
        silent_s: float | None,
    ) -> None:
        super().__init__(name="twitter-stream", daemon=True)
        self._api = api
        self._fields = fields
        self._inbox = inbox
        self._metrics = metrics
        self._backoff = Backoff(options)
        self._minutes = options.backfill_minutes
        self._last_byte = None if silent_s is None else time.monotonic() - silent_s
        self._at_once = True  # whether the next end of a connection is followed by a new one without a pause
        self._stopped = threading.Event()
        self._connection: Connection | None = None
        self._lock = threading.Lock()

    def run(self) -> None:
        """Read until the task stops or an error is not transient."""
        try:
            self._metrics.gauge("twitter_stream_connected", 0)
            while not self._stopped.is_set():
                closed = self._once()
                if self._stopped.is_set() or not self._inbox.put(closed) or closed.fatal:
                    return
                self._stopped.wait(closed.pause)
        except Exception as error:
            self._inbox.put(Closed(error, opened=False, fatal=True))  # the task raises it
        finally:
            self._api.close()

    def stop(self) -> None:
        """Let the thread end, whatever it waits for."""
        self._stopped.set()
        self._inbox.close()
        with self._lock:
            if self._connection is not None:
                self._connection.wake()
        if self.is_alive():
            self.join(_STOP_S)

    def _once(self) -> Closed:
        """One connection, from its opening to its end."""
        try:
            connection, minutes = self._connect()
        except ApiError as error:
            return self._failed(error, opened=False)
        with self._lock:
            self._connection = connection
        began = time.monotonic()
        try:
            if self._stopped.is_set() or not self._inbox.put(Opened(connection.opened_at, minutes)):
                return Closed(None, opened=True)
            self._metrics.gauge("twitter_stream_connected", 1)
            for line in connection.lines():
                self._last_byte = time.monotonic()
                if line and not self._inbox.put(line):
                    return Closed(None, opened=True)
            ended = ApiError("X ended the stream's connection.", Kind.NETWORK, "ended")
        except ApiError as broke:
            ended = broke
        finally:
            self._metrics.gauge("twitter_stream_connected", 0)
            with self._lock:
                self._connection = None
            connection.close()
        self._metrics.count("twitter_stream_disconnects_total", reason=ended.cause_class)
        if time.monotonic() - began >= _GOOD_S:
            self._backoff.reset()
            self._at_once = True
        if self._at_once:
            self._at_once = False
            return Closed(ended, opened=True)
        return self._failed(ended, opened=True)

    def _connect(self) -> tuple[Connection, int]:
        minutes = self._backfill()
        try:
            return self._api.stream(minutes, self._fields), minutes
        except ApiError as error:
            if not minutes or error.status not in (400, 403):
                raise
            # Either this is what the access level has not, or the next answer says what is wrong.
            connection = self._api.stream(0, self._fields)
            log.warning("X does not send again what was missed (twitter.backfill.minutes=%d): %s", self._minutes, error)
            self._minutes = 0
            return connection, 0

    def _backfill(self) -> int:
        """The minutes of backfill to request: as few as cover the silence; 0 where none do."""
        if not self._minutes or self._last_byte is None:
            return 0
        needed = int((time.monotonic() - self._last_byte + _SLACK_S) // 60) + 1
        return needed if needed <= self._minutes else 0

    def _failed(self, error: ApiError, *, opened: bool) -> Closed:
        count_error(self._metrics, error.cause_class)
        try:
            pause = self._backoff.after(error)
        except Exception as final:
            return Closed(final, opened=opened, fatal=True)
        return Closed(error, opened=opened, pause=pause)
