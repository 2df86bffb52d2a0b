"""What the API says of its limits in the headers of every answer, as metrics and as a pause before the next request."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from connect.api.metrics import PluginMetrics

#: No limit lasts longer: a clock that is wrong must not stop us for good.
_LONGEST_S: Final = 24 * 3600.0


class Limits:
    """The limits of each endpoint, as of its last answer."""

    def __init__(self, metrics: PluginMetrics) -> None:
        self._metrics = metrics
        self._until: dict[str, float] = {}

    def seen(self, endpoint: str, headers: Mapping[str, str]) -> float | None:
        """Take an answer's headers. Gives when the limit is reset, in seconds since 1970, if they tell."""
        limit, remaining, reset = (_number(headers.get(f"x-rate-limit-{name}")) for name in _HEADERS)
        if limit is not None:
            self._metrics.gauge("twitter_rate_limit", limit, endpoint=endpoint)
        if remaining is not None:
            self._metrics.gauge("twitter_rate_limit_remaining", remaining, endpoint=endpoint)
        if reset is not None:
            self._metrics.gauge("twitter_rate_limit_reset_timestamp_seconds", reset, endpoint=endpoint)
            if reset - time.time() > _LONGEST_S:
                reset = None
        if remaining == 0 and reset is not None:
            self._until[endpoint] = reset
        else:
            self._until.pop(endpoint, None)
        return reset

    def wait(self, endpoint: str) -> float:
        """Seconds until this endpoint may be asked again; 0 for now."""
        return max(0.0, self._until.get(endpoint, 0.0) - time.time())


_HEADERS: Final = ("limit", "remaining", "reset")


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 16 else None
