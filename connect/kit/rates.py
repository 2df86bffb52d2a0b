"""Rate limits of a REST API: those in its responses, and the user's.

Supported are Retry-After, in seconds or as a date (RFC 9110, 10.2.3), X-RateLimit-Remaining and X-RateLimit-Reset as
GitHub and others send them, and RateLimit-Remaining and RateLimit-Reset of the IETF's drafts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

#: A time above is seconds since 1970, one above the second milliseconds; below it is seconds from now.
_SINCE_1970: Final = 1e9
_MILLISECONDS: Final = 1e11
#: Whoever asks for more is asked again after an hour.
_LONGEST_S: Final = 3600.0


class RateLimit:
    """When the next request may be sent. Thread-safe.

    Args:
        per_second: the user's limit of requests; 0 for none.
    """

    def __init__(self, per_second: float = 0.0) -> None:
        self._apart = 1.0 / per_second if per_second > 0 else 0.0
        self._lock = threading.Lock()
        self._next = 0.0
        self._closed_until = 0.0

    def turn(self) -> float:
        """Take a slot: 0, or the seconds after which to try again."""
        with self._lock:
            now = time.monotonic()
            left = max(self._next, self._closed_until) - now
            if left > 0:
                return left
            self._next = now + self._apart
            return 0.0

    def seen(self, status: int, headers: Mapping[str, str]) -> float:
        """Process a response. Returns the seconds for which it asks for no more requests.

        Args:
            headers: by names in lower case.
        """
        pause = retry_after(headers) if status in (429, 503) or 300 <= status < 400 else 0.0
        if not pause and (status in (403, 429) or 200 <= status < 300):
            pause = _until_reset(headers)
        if pause:
            with self._lock:
                self._closed_until = max(self._closed_until, time.monotonic() + pause)
        return pause


def retry_after(headers: Mapping[str, str]) -> float:
    """The seconds of Retry-After, an hour at most; 0 where it is missing or invalid."""
    written = headers.get("retry-after", "").strip()
    if not written:
        return 0.0
    if written.isascii() and written.isdigit():
        return min(float(written[:9]), _LONGEST_S)
    try:
        when = parsedate_to_datetime(written)
    except (ValueError, OverflowError):  # of a year beyond all years
        return 0.0
    return _bounded(when.replace(tzinfo=when.tzinfo or UTC).timestamp() - _now(headers))


def _until_reset(headers: Mapping[str, str]) -> float:
    """The seconds until there are requests again, if none remain."""
    for prefix in ("x-ratelimit-", "ratelimit-", "x-rate-limit-"):
        try:
            if float(headers[f"{prefix}remaining"]) > 0:
                continue
            reset = float(headers[f"{prefix}reset"])
        except (KeyError, ValueError):
            continue
        if reset > _MILLISECONDS:
            reset /= 1000
        return _bounded(reset - _now(headers) if reset > _SINCE_1970 else reset)
    return 0.0


def _now(headers: Mapping[str, str]) -> float:
    """The server's time, in seconds since 1970: its clock may differ."""
    try:
        return parsedate_to_datetime(headers["date"]).timestamp()
    except (KeyError, ValueError, OverflowError):
        return datetime.now(UTC).timestamp()


def _bounded(seconds: float) -> float:
    # Times are whole seconds, and NaN is not a time.
    return min(seconds, _LONGEST_S) if seconds > 0 else 0.0
