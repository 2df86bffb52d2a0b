"""Gaps of the stream: posts that it may have missed, how far a gap is filled, and which posts were already seen."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from connectors.twitter import ids
from connectors.twitter.failures import ApiError
from connectors.twitter.offsets import Position
from connectors.twitter.pages import Backlog, Given, cut
from connectors.twitter.recent import Posts
from connectors.twitter.rules import queries

#: Up to how long after the connection was made posts belong to the gap: they may have been made before our rules count.
_AFTER_MS: Final = 10_000


class Window:
    """The ids of the last posts. Bounded by their number."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._ids: OrderedDict[int, None] = OrderedDict()

    def is_new(self, post: int) -> bool:
        """Whether a post was not seen before. From now on it was."""
        if post in self._ids:
            return False
        if self._most:
            self._ids[post] = None
            if len(self._ids) > self._most:
                self._ids.popitem(last=False)
        return True


class Gap:
    """Posts between two ids that the stream may have missed.

    Args:
        since: the id after which it begins. It advances while a single query is read from the oldest post on.
        opened_at: the opening of the connection that ends it, in milliseconds since 1970.
        due: on the monotonic clock, when it is filled, or known to be filled.
        searched: whether it has to be filled by search.
    """

    def __init__(self, since: int, opened_at: int, due: float, *, searched: bool) -> None:
        self.since = since
        self.opened_at = opened_at
        self.due = due
        self.searched = searched
        #: The highest id that was given.
        self.highest = 0
        self._until = ids.first_at(opened_at + _AFTER_MS)
        self._queries: list[str] | None = None
        self._alone = False
        self._backlog: Backlog | None = None
        self._found: Given = []

    @property
    def begun(self) -> bool:
        """Whether it is being filled."""
        return self._queries is not None

    @property
    def over(self) -> bool:
        """Whether nothing is left to request or return."""
        return self.begun and not self._queries and not self._found

    @property
    def wants(self) -> bool:
        """Whether to request a page: found posts are returned first."""
        return not self._found and self._queries != []

    def begin(self, rules: Sequence[str], longest: int) -> None:
        """Search for these rules, in as few queries as their length allows."""
        self._queries = queries(rules, longest)
        self._alone = len(self._queries) == 1

    def search(self, posts: Posts, most_bytes: int) -> None:
        """Request a page.

        Args:
            posts: sends requests.
            most_bytes: of the pages that are held, to be returned from the oldest post on.

        Raises:
            ApiError: see `Backlog.read`.
        """
        assert self._queries
        if self._backlog is None:
            query, until = self._queries[0], self._until
            self._backlog = Backlog(
                lambda since, below, token: posts.search(query, since, min(below or until, until), token),
                Position(self.since),
                most_bytes,
            )
        self._found = self._backlog.read()
        if self._backlog.done:
            self._queries.pop(0)
            self._backlog = None

    def take(self, most: int) -> Given:
        """Found posts that were not returned yet; as many as one batch may have."""
        given, self._found = cut(self._found, most)
        return given

    def gave(self, post: int, position: Position) -> None:
        """A post was returned."""
        self.highest = max(self.highest, post)
        if self._alone and position.until is None and position.since is not None:
            self.since = max(self.since, position.since)

    def refused(self, error: ApiError, rules: Sequence[str]) -> str | None:
        """The last query was refused for good.

        Returns:
            The query, if it stays unanswered; None where its rules are searched one by one instead: one of several may
            be invalid in a search.
        """
        assert self._queries
        query = self._queries.pop(0)
        self._backlog = None
        if error.status == 400 and len(rules) > 1 and query not in rules:
            self._queries[:0] = [rule for rule in rules if f"({rule})" in query]
            self._alone = False
            return None
        if error.status in (402, 403):
            self._queries.clear()  # it is not this query that is refused
        return query
