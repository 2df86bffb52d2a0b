"""Failures of the API: whether they are transient, when to retry, and their messages."""

from __future__ import annotations

import enum
import random
import time
from collections.abc import Mapping
from typing import Any, Final

from connect import ConnectError
from connect.api.metrics import PluginMetrics
from connectors.twitter.keys import TwitterOptions

_MOST_LIMITED_S: Final = 900.0


class Kind(enum.Enum):
    """How to continue after a failure."""

    NETWORK = "network"
    HTTP = "http"
    LIMIT = "limit"
    FATAL = "fatal"


class Interrupted(Exception):
    """The task has to end, and a response is no longer waited for."""


class ApiError(ConnectError):
    """A request failed.

    Attributes:
        kind: how to continue.
        cause_class: in metrics: credentials, missing, unreachable, throttled, timeout, conflict, refused.
        status: of HTTP; 0 without a response.
        problem: the response's JSON, empty where it has none.
        reset: when a limit ends, in seconds since 1970, if known.
    """

    def __init__(
        self,
        message: str,
        kind: Kind,
        cause_class: str,
        *,
        status: int = 0,
        problem: Mapping[str, Any] | None = None,
        reset: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.cause_class = cause_class
        self.status = status
        self.problem: Mapping[str, Any] = problem or {}
        self.reset = reset

    @property
    def is_about_query(self) -> bool:
        """Whether X says that the query is at fault."""
        nested = self.problem.get("errors")
        parameters = [each.get("parameters") for each in nested if isinstance(each, Mapping)] if nested else []
        return self.status == 400 and any(isinstance(each, Mapping) and "query" in each for each in parameters)


def of_answer(what: str, status: int, problem: Mapping[str, Any], reset: float | None) -> ApiError:
    """The error of an unsuccessful response.

    Args:
        what: was requested, as in "recent search".
        status: of the response.
        problem: its JSON.
        reset: when the limit of this endpoint ends.
    """
    said = details(problem)

    def error(message: str, kind: Kind, cause: str) -> ApiError:
        made = ApiError(message, kind, cause, status=status, problem=problem, reset=reset)
        if status in (401, 402, 403):
            # By its cause the restart policy knows that this is fixed elsewhere, and tries it slowly.
            made.__cause__ = PermissionError(message)
        return made

    if status == 401:
        return error(
            f"X does not accept our credentials for {what} (401{said}). Look whether the key twitter.bearer.token, or "
            "the four keys twitter.oauth.*, are those of the app, and were not regenerated since.",
            Kind.FATAL,
            "credentials",
        )
    if status == 402:
        return error(f"X wants to be paid for {what} (402{said}). Buy credits for the app.", Kind.FATAL, "refused")
    if status == 403:
        return error(
            f"X does not let this app use {what} (403{said}). Its access level in the developer portal must allow it.",
            Kind.FATAL,
            "refused",
        )
    if status == 404:
        return error(f"X has no {what} for this (404{said}).", Kind.FATAL, "missing")
    if status == 409:
        return error(f"X refuses {what} for now (409{said}).", Kind.HTTP, "conflict")
    if status == 429:
        if problem.get("connection_issue") == "TooManyConnections":
            message = f"X allows no further connection to {what} (429{said}). Another reader uses the same app."
            return ApiError(message, Kind.LIMIT, "throttled", status=status, problem=problem)
        if "usage-capped" in str(problem.get("type", "")):
            return error(f"The app has used up its posts (429{said}).", Kind.LIMIT, "throttled")
        return error(f"X limits how often {what} may be asked for (429{said}).", Kind.LIMIT, "throttled")
    if status == 408 or status >= 500:
        return error(f"X cannot answer for {what} now ({status}{said}).", Kind.HTTP, "unreachable")
    return error(f"X refuses {what} ({status}{said}).", Kind.FATAL, "refused")


def details(problem: Mapping[str, Any]) -> str:
    """The API's own message, to be appended; empty where it has none."""
    said: list[str] = []
    nested = problem.get("errors")
    for each in nested if isinstance(nested, list) else []:
        if isinstance(each, Mapping):
            more = each.get("details")
            said += map(str, more if isinstance(more, list) else [each.get("message") or each.get("detail") or ""])
    if not any(said):
        said = [str(problem.get("detail") or problem.get("title") or "")]
    text = " ".join("; ".join(filter(None, said)).split())
    return f": {text[:500].rstrip('.')}" if text else ""


def count_error(metrics: PluginMetrics, cause_class: str) -> None:
    """Count an error by its class."""
    labels = {"class": cause_class}
    metrics.count("twitter_errors_total", 1, **labels)


class Backoff:
    """How long to wait between tries, by X's rules; with some jitter, so that not all return at once.

    Network errors: longer by a step each time. HTTP errors: twice as long each time. Limits: until they end, where that
    is known, else twice as long each time.
    """

    def __init__(self, options: TwitterOptions) -> None:
        self._network, self._network_most = options.backoff_network, options.backoff_network_max
        self._http, self._http_most = options.backoff_http, options.backoff_http_max
        self._limit = options.backoff_rate_limit
        self._most_tries = options.retry_attempts
        self.tries = 0
        self._by_kind: dict[Kind, int] = {}

    def reset(self) -> None:
        """A request succeeded."""
        self.tries = 0
        self._by_kind.clear()

    def after(self, error: ApiError) -> float:
        """Seconds to wait now.

        Raises:
            ConnectError: it is not transient, or was retried too often.
        """
        if error.kind is Kind.FATAL:
            raise error
        self.tries += 1
        if 0 <= self._most_tries < self.tries:
            raise ConnectError(
                f"{error} That was try {self.tries} in a row, which is more than twitter.retry.attempts allows."
            ) from error
        before = self._by_kind.get(error.kind, 0)
        self._by_kind[error.kind] = before + 1
        if error.kind is Kind.NETWORK:
            pause = min(self._network * (before + 1), self._network_most)
        elif error.kind is Kind.HTTP:
            pause = min(self._http * 2 ** min(before, 30), self._http_most)
        elif error.reset is not None and (left := error.reset - time.time()) > 0:
            return left + random.uniform(0.1, 1)  # noqa: S311 - nobody is to be kept from guessing it
        else:
            pause = min(self._limit * 2 ** min(before, 30), max(self._limit, _MOST_LIMITED_S))
        return pause * random.uniform(1, 1.1)  # noqa: S311


#: No limit lasts longer: a clock that is wrong must not stop us for good.
_LONGEST_S: Final = 24 * 3600.0


class Limits:
    """The limits of each endpoint, from its last response: as metrics, and as a pause before the next request."""

    def __init__(self, metrics: PluginMetrics) -> None:
        self._metrics = metrics
        self._until: dict[str, float] = {}

    def seen(self, endpoint: str, headers: Mapping[str, str]) -> float | None:
        """Process a response's headers. Returns when the limit is reset, in seconds since 1970, if they say so."""
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
        """Seconds until this endpoint may be used again; 0 for now."""
        return max(0.0, self._until.get(endpoint, 0.0) - time.time())


_HEADERS: Final = ("limit", "remaining", "reset")


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 16 else None
