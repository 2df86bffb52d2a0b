"""Recent search and timelines, as the task polls them: each query or user when it is due."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from connect import ConfigError, ConnectError, RetriableError, SourceBatch
from connect.api.source import SourceTaskContext
from connectors.twitter import api as endpoints
from connectors.twitter import keys, offsets
from connectors.twitter.api import Api
from connectors.twitter.failures import ApiError, Backoff, count_error, details
from connectors.twitter.keys import TwitterOptions
from connectors.twitter.offsets import Position
from connectors.twitter.pages import Backlog, Given, cut
from connectors.twitter.recent import Posts, UserUnreadable, reach
from connectors.twitter.records import Records

log = logging.getLogger(__name__)

_WAIT_S: Final = 1.0
_SLICE_S: Final = 0.05
_MOST_NAMES: Final = 100
#: How long after a user could not be read the next try is, at least.
_UNREADABLE_S: Final = 900.0


class Reading:
    """One query or user of a task.

    Attributes:
        backlog: reads it.
        due: on the monotonic clock, when its next page is requested.
    """

    def __init__(self, name: str, partition: Mapping[str, str], backlog: Backlog) -> None:
        self.name = name
        self.partition = partition
        self.backlog = backlog
        self.due = 0.0


class Polled:
    """Reads queries, or users' timelines, one page at a time.

    Args:
        options: the task's keys.
        work: the queries, or names and ids of users.
        sources: for each query the configuration key that it comes from.
        context: of the task.
        api: for this thread.
        fields: of every post.
    """

    def __init__(
        self,
        options: TwitterOptions,
        work: Sequence[str],
        sources: Mapping[str, str],
        context: SourceTaskContext,
        api: Api,
        fields: Mapping[str, list[str]],
    ) -> None:
        self._options = options
        self._sources = sources
        self._context = context
        self._metrics = context.metrics
        self._api = api
        self._posts = Posts(api, fields, context.metrics, options.timeline_exclude)
        self._records = Records(options, context.metrics)
        self._backoff = Backoff(options)
        self._search = options.mode == keys.SEARCH
        self._endpoint = endpoints.SEARCH if self._search else endpoints.TIMELINE
        self._interval = options.poll_interval
        self._start = options.start_id
        self._not_before = 0.0
        self._put_off = ""
        self._held: tuple[Reading, Given] | None = None  # read, and too much for one batch
        self._readings: list[Reading] | None = None
        self._users_of_work = work
        if self._search:
            self._readings = self._made([(query, offsets.of_query(query)) for query in work])

    def poll(self) -> SourceBatch | None:
        """The next posts.

        Raises:
            RetriableError: the API is unavailable now.
            ConnectError: it refuses for good.
        """
        if self._held is not None:
            return self._batch(*self._held)
        deadline = time.monotonic() + _WAIT_S
        while not self._context.stopping():
            now = time.monotonic()
            due = max(self._due(), self._not_before)
            if due <= now:
                break
            if due > deadline and now + _SLICE_S > deadline:
                if self._put_off:
                    raise RetriableError(self._put_off)
                return None
            time.sleep(min(_SLICE_S, due - now))
        else:
            return None
        try:
            return self._next()
        except ApiError as error:
            count_error(self._metrics, error.cause_class)
            self._not_before = time.monotonic() + self._backoff.after(error)
            self._put_off = str(error)
            raise RetriableError(self._put_off) from error

    def _due(self) -> float:
        """The time of the next request."""
        endpoint = endpoints.USERS if self._readings is None else self._endpoint
        allowed = time.monotonic() + wait if (wait := self._api.limits.wait(endpoint)) else 0.0
        return max(allowed, min((reading.due for reading in self._readings or ()), default=0.0))

    def _next(self) -> SourceBatch | None:
        if self._readings is None:
            self._readings = self._made([(user, offsets.of_user(user)) for user in self._users()])
            return None
        # Pages of one reading at a time are held: memory is bounded, however many users there are.
        holding = next((each for each in self._readings if each.backlog.holds), None)
        reading = holding or min(self._readings, key=lambda each: each.due)
        try:
            given = reading.backlog.read()
        except UserUnreadable as error:
            self._unreadable(reading, str(error), "refused")
            return None
        except ApiError as error:
            if error.is_about_query and reading.name in self._sources:
                raise ConfigError(
                    self._sources[reading.name], f'"{reading.name[:80]}" is refused by X{details(error.problem)}.'
                ) from error
            if self._search or error.status != 404:
                raise
            self._unreadable(reading, f"There is no user {reading.name} any more: {error}", error.cause_class)
            return None
        self._backoff.reset()
        self._put_off = ""
        # Whoever has more pages goes on at once.
        reading.due = time.monotonic() + (self._interval if reading.backlog.done else 0.0)
        return self._batch(reading, given) if given else None

    def _batch(self, reading: Reading, given: Given) -> SourceBatch:
        """As many as one batch may have; the rest is held."""
        now, later = cut(given, self._options.queue_batch_size)
        self._held = (reading, later) if later else None
        return self._records.batch(
            [post for post, _ in now],
            reading.partition,
            [position.offset() for _, position in now],
            "search" if self._search else "timeline",
        )

    def _unreadable(self, reading: Reading, why: str, cause: str) -> None:
        count_error(self._metrics, cause)
        reading.backlog.forget()
        reading.due = time.monotonic() + max(self._interval, _UNREADABLE_S)
        log.warning("%s It is tried again later.", why if why.endswith(".") else f"{why}.")

    def _made(self, work: Sequence[tuple[str, dict[str, str]]]) -> list[Reading]:
        stored = self._context.offsets([partition for _, partition in work])
        most = self._options.sort_max_bytes
        readings = []
        for (name, partition), offset in zip(work, stored, strict=True):
            position = Position(self._start) if offset is None else Position.of(offset)
            if self._search and position.until is not None and position.until <= reach():
                # What was left of that reading is older than what search remembers.
                self._posts.lost(name, position.since or 0)
                position = Position(position.newest)
            ask = partial(self._posts.search if self._search else self._posts.timeline, name)
            readings.append(Reading(name, partition, Backlog(ask, position, most)))
        return readings

    def _users(self) -> list[str]:
        """Ids of the users, in the order of the configuration, each once. Unknown ones are logged."""
        numbers = [user for user in self._users_of_work if user.isdigit()]
        names = [user.removeprefix("@") for user in self._users_of_work if not user.isdigit()]
        found: dict[str, str] = {}
        for first in range(0, len(names), _MOST_NAMES):
            answer = self._api.users(names[first : first + _MOST_NAMES])
            for user in answer.get("data") or []:
                found[str(user["username"]).lower()] = str(user["id"])
        self._backoff.reset()
        self._put_off = ""
        missing = [name for name in names if name.lower() not in found]
        if missing:
            told = f"X knows no user {', '.join(missing[:20])}. Correct twitter.users; names change, ids do not."
            if len(missing) == len(self._users_of_work):
                raise ConnectError(told)
            log.warning("%s The others are read.", told)
        ids = [found[name.lower()] for name in names if name.lower() in found]
        return list(dict.fromkeys([*ids, *numbers]))
