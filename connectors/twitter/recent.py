"""Recent search and timelines as pages: the reach of the API, and its errors about users."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any, Final

from connect import ConnectError
from connect.api.metrics import PluginMetrics
from connectors.twitter import ids
from connectors.twitter.api import Api
from connectors.twitter.failures import ApiError, count_error
from connectors.twitter.pages import Page, page

log = logging.getLogger(__name__)

_WEEK_S: Final = 7 * 24 * 3600
#: Ids of the last minute of the week are refused by the time that the request is there.
_MARGIN_S: Final = 60
_PAGE: Final = 100


def reach() -> int:
    """The least id after which recent search can begin."""
    return ids.first_at(int((time.time() - _WEEK_S + _MARGIN_S) * 1000))


class Posts:
    """Requests pages of posts. All methods raise `ApiError`.

    Args:
        api: of this thread.
        fields: of every post.
        metrics: of the task.
        exclude: what to leave out of timelines.
    """

    def __init__(
        self, api: Api, fields: Mapping[str, list[str]], metrics: PluginMetrics, exclude: list[str] | None = None
    ) -> None:
        self.api = api
        self._fields = fields
        self._metrics = metrics
        self._exclude = [each for each in exclude or [] if each]
        self._told: dict[str, int] = {}

    def search(self, query: str, since: int | None, until: int | None, token: str | None) -> Page:
        """A page of a query's posts. A lower bound that is too old is left out, and the loss is logged."""
        if since is not None and since < reach():
            self.lost(query, since)
            since = None
        parameters = {**self._fields, **_bounds(since, until), "max_results": _PAGE, "sort_order": "recency"}
        if token:
            parameters["next_token"] = token
        try:
            answer = self.api.search(query, **parameters)
        except ApiError as error:
            if error.status != 400 or since is None or token or "since_id" not in str(error):
                raise
            # X's clock is ahead of ours.
            self.lost(query, since)
            del parameters["since_id"]
            answer = self.api.search(query, **parameters)
        return self._page(answer)

    def timeline(self, user: str, since: int | None, until: int | None, token: str | None) -> Page:
        """A page of a user's posts."""
        parameters = {**self._fields, **_bounds(since, until), "max_results": _PAGE}
        if self._exclude:
            parameters["exclude"] = self._exclude
        if token:
            parameters["pagination_token"] = token
        answer = self.api.timeline(user, **parameters)
        if "data" not in answer and (why := _unreadable(answer)):
            raise UserUnreadable(f"The posts of user {user} cannot be read: {why}.")
        return self._page(answer)

    def lost(self, what: str, since: int) -> None:
        """Log, once, that posts after this id are no longer available."""
        if self._told.get(what) == since:
            return
        self._told[what] = since
        seconds = max(0.0, time.time() - _WEEK_S - ids.made_at(since) / 1000)
        self._metrics.gauge("twitter_gap_lost_seconds", seconds)
        log.warning(
            '"%s" is read up to %s, and recent search reaches back seven days: what was posted between is lost, if '
            "anything was.",
            what if len(what) <= 80 else f"{what[:80]}...",
            time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ids.made_at(since) / 1000)),
        )

    def _page(self, answer: dict[str, Any]) -> Page:
        def malformed() -> None:
            count_error(self._metrics, "malformed")
            log.warning("X sent a post without an id: it is left out.")

        return page(answer, self.api.answered_bytes, malformed)


class UserUnreadable(ConnectError):
    """A user's posts are protected, or the user is suspended or gone."""


def _bounds(since: int | None, until: int | None) -> dict[str, Any]:
    return {name: str(value) for name, value in (("since_id", since), ("until_id", until)) if value is not None}


def _unreadable(answer: Mapping[str, Any]) -> str | None:
    errors = answer.get("errors")
    for error in errors if isinstance(errors, list) else []:
        if isinstance(error, Mapping):
            return str(error.get("detail") or error.get("title") or "X does not say why").rstrip(".")
    return None
