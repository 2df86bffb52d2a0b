"""Reads what is new of a query or a user, page by page, so that the offset of any record is a valid position.

The API returns the newest posts first, `since_id` and `until_id` bound them. A pass whose pages fit into memory is
reversed and returned oldest first, each record with its own id as `since_id`. A longer one is returned as it arrives,
and each record says what is left (see `offsets`): nothing has to be held, however much there is to catch up with.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from connectors.twitter import ids
from connectors.twitter.failures import ApiError
from connectors.twitter.includes import Includes
from connectors.twitter.offsets import Position
from connectors.twitter.records import Post

#: Asks for a page: the parameters `since_id`, `until_id` and the page's token, which may be None.
Ask = Callable[[int | None, int | None, str | None], "Page"]
#: Of what was sent, about as much makes a batch.
BATCH_BYTES: Final = 1024 * 1024
#: How many pages without posts are taken on trust that others follow.
_MOST_EMPTY: Final = 100
#: What was posted so long before a reading began is in it, whatever the clocks say and however late it can be found.
_SURE_S: Final = 3600


@dataclass(frozen=True, slots=True)
class Page:
    """One response.

    Attributes:
        posts: the newest first.
        next: the token of the next page; None for the last.
        size: in bytes.
    """

    posts: list[Post]
    next: str | None
    size: int


def page(answer: dict[str, Any], size: int, malformed: Callable[[], None]) -> Page:
    """The page of a response of this size. `malformed` is called for each invalid post."""
    includes = Includes(answer.get("includes"))
    posts = []
    data = answer.get("data")
    found = data if isinstance(data, list) else []
    for json in found:
        try:
            posts.append(Post.of(json, includes, size=size // len(found)))
        except ValueError:
            malformed()
    posts.sort(key=lambda post: post.id, reverse=True)
    meta = answer.get("meta")
    following = meta.get("next_token") if isinstance(meta, dict) else None
    return Page(posts, following if isinstance(following, str) and following else None, size)


Given = list[tuple[Post, Position]]


def cut(given: Given, most: int) -> tuple[Given, Given]:
    """As many posts as one batch may have, at least one, and the rest."""
    stop, size = 0, 0
    for post, _ in given[:most]:
        size += post.size
        if stop and size > BATCH_BYTES:
            break
        stop += 1
    return given[:stop], given[stop:]


class Backlog:
    """One query or user, read repeatedly.

    Args:
        ask: requests a page.
        position: where to continue.
        most_bytes: of the pages that are held to be reversed.
    """

    def __init__(self, ask: Ask, position: Position, most_bytes: int) -> None:
        self._ask = ask
        self._most = most_bytes
        self.position = position
        self._pages: list[Page] = []
        self._size = 0
        self._token: str | None = None
        self._oldest: int | None = None  # of the pages held
        self._started, self._began = False, 0.0
        self._turned = position.until is None  # whether all may still be turned round
        self._empty = 0

    @property
    def done(self) -> bool:
        """Whether everything is returned that existed when the pass began."""
        return not self._started

    @property
    def holds(self) -> bool:
        """Whether pages are held, to be reversed."""
        return bool(self._pages)

    def forget(self) -> None:
        """Begin the pass again, from the last returned post."""
        self._pages, self._size, self._token, self._oldest = [], 0, None, None
        self._started, self._turned, self._empty = False, self.position.until is None, 0

    def read(self) -> Given:
        """Request one page. Returns posts with the position after each; often none, when pages are held back.

        `done` says whether the pass is over.

        Raises:
            ApiError: the request failed. The next call continues where this one was.
        """
        until, began = self.position.until, time.time()
        try:
            got = self._ask(self.position.since, until, self._token)
        except ApiError as error:
            if error.status != 400 or self._token is None:
                raise
            # A token may be too old by now. Where it led to can be said by an id as well.
            self._token = None
            got = self._ask(self.position.since, self._oldest or until, None)
        if not self._started:
            self._started, self._began = True, began
        self._token = got.next
        self._empty = 0 if got.posts else self._empty + 1
        if got.posts:
            self._pages.append(got)
            self._size += got.size
            self._oldest = got.posts[-1].id
        over = got.next is None or self._empty >= _MOST_EMPTY
        if over:
            return self._end()
        if self._turned and self._size <= self._most:
            return []
        self._turned = False
        return self._give()

    def _give(self) -> Given:
        """Pages in the order of arrival, each post with what is left below it."""
        given: Given = []
        newest, since = self.position.newest, self.position.since
        for held in self._pages:
            for post in held.posts:
                newest = newest or post.id
                given.append((post, Position(since, post.id, max(newest, post.id))))
        self._pages, self._size = [], 0
        if given:
            self.position = given[-1][1]
        return given

    def _end(self) -> Given:
        if self._turned:
            posts = sorted((post for held in self._pages for post in held.posts), key=lambda post: post.id)
            given = [(post, Position(post.id)) for post in posts]
            self._pages, self._size = [], 0
            if given:
                self.position = given[-1][1]
        else:
            given = self._give()
            newest = self.position.newest
            self.position = Position(newest if newest is not None else self.position.since)
            if given:
                given[-1] = (given[-1][0], self.position)
        # Where little is posted the last post may be older than the API remembers; nothing was missed for that.
        sure = ids.first_at(int((self._began - _SURE_S) * 1000)) - 1
        self.position = Position(max(sure, self.position.since or 0))
        self._token, self._oldest, self._started, self._turned, self._empty = None, None, False, True, 0
        return given
