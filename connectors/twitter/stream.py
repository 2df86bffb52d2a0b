"""The filtered stream, as the task polls it: rules, gaps and their filling, duplicates, offsets."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson

from connect import RetriableError, SourceBatch, Waiter
from connect.api.source import SourceTaskContext
from connectors.twitter import api as endpoints
from connectors.twitter import ids, offsets
from connectors.twitter.api import Api
from connectors.twitter.failures import ApiError, Backoff, Kind, count_error, details
from connectors.twitter.gaps import Gap, Window
from connectors.twitter.inbox import Closed, Inbox, Item, Opened
from connectors.twitter.includes import Includes
from connectors.twitter.keys import TwitterOptions
from connectors.twitter.offsets import GAP, SINCE
from connectors.twitter.pages import BATCH_BYTES
from connectors.twitter.reader import StreamReader
from connectors.twitter.recent import Posts
from connectors.twitter.records import Post, Records
from connectors.twitter.rule_set import RuleSet
from connectors.twitter.rules import Rule

log = logging.getLogger(__name__)

#: What is waited for while there is no connection.
_STREAM: Final = "the filtered stream"


class Stream:
    """Reads the filtered stream.

    The last returned post is stored with every record. When a connection is opened after that, a gap is open: from a
    little before the last post to the new connection. It is filled by recent search as soon as that can find
    everything, or by X itself (`backfill_minutes`), while the stream continues. Until then offsets name the gap's
    beginning, so that a restart fills it again: nothing is lost, and the stored ids keep posts from being returned
    twice meanwhile. A gap that search fills stays as it is however often the connection breaks; a later one is one more
    gap, filled next. So each is filled in the end, even if filling takes longer than a connection lasts.

    Args:
        options: the task's keys.
        rules: of the configuration.
        tag: of the connector's rules.
        context: of the task.
        make_api: returns a user of the API for one thread.
        fields: of every post.
    """

    def __init__(
        self,
        options: TwitterOptions,
        rules: Sequence[Rule],
        tag: str,
        context: SourceTaskContext,
        make_api: Callable[[], Api],
        fields: Mapping[str, list[str]],
    ) -> None:
        self._options = options
        self._context = context
        self._metrics = context.metrics
        self._make_api = make_api
        self._fields = fields
        self._api = make_api()
        context.exit_stack.callback(self._api.close)
        self._posts = Posts(self._api, fields, context.metrics)
        self._records = Records(options, context.metrics)
        self._rules = RuleSet(rules, tag, managed=options.rules_manage)
        self._rules_due = 0.0
        self._rules_known = False
        self._backoff = Backoff(options)
        self._not_before = 0.0
        self._inbox = Inbox(options.queue_max_bytes)
        self._reader: StreamReader | None = None
        self._window = Window(options.dedup_window)
        self._put_off = ""
        self._waiter = Waiter()
        self._fill_first = False
        self._gap: Gap | None = None
        self._later: Gap | None = None
        stored = context.offset(offsets.STREAM)
        self._newest = offsets.number(stored, SINCE)
        if self._newest is not None:
            self._window.is_new(self._newest)  # the one post of before that is known to have been given
        #: The beginning of a gap that was open when the task before this one ended.
        self._open_since = offsets.number(stored, GAP)

    def poll(self) -> SourceBatch | None:
        """New posts, and then a page of those that fill a gap.

        Raises:
            RetriableError: there is no connection now.
            ConnectError: there will be none.
        """
        self._keep_rules()
        if self._reader is None:
            if not self._rules_known:
                if self._put_off:
                    raise RetriableError(self._put_off, waits_for=_STREAM)
                return None
            self._connect()
        # In turns, so that a stream that never rests keeps no gap open.
        if self._fill_first and (filled := self._fill()) is not None:
            self._fill_first = False
            return filled
        items = self._inbox.take(self._options.queue_batch_size, BATCH_BYTES, self._options.queue_empty)
        self._metrics.gauge("twitter_queue_bytes", self._inbox.bytes)
        batch = self._taken(items)
        self._fill_first = batch is not None
        if batch is not None:
            return batch
        filled = self._fill()
        if filled is None and not items and self._put_off:
            raise RetriableError(self._put_off, waits_for=_STREAM)
        return filled

    def stop(self) -> None:
        """Close the connection."""
        if self._reader is not None:
            self._reader.stop()
        self._inbox.close()
        self._waiter.leaves()

    # Rules and connection.

    def _keep_rules(self) -> None:
        now = time.monotonic()
        if now < max(self._rules_due, self._not_before) or self._api.limits.wait(endpoints.RULES):
            return
        try:
            self._rules.synchronize(self._api)
        except ApiError as error:
            self._wait_after(error)
            if self._rules_known:
                log.warning("The rules of the stream cannot be looked at: %s", error)
            else:
                self._put_off = str(error)
            return
        self._rules_known, self._put_off = True, ""
        self._rules_due = now + self._options.rules_check_interval
        self._backoff.reset()

    def _connect(self) -> None:
        silent = None if self._newest is None else max(0.0, time.time() - ids.made_at(self._newest) / 1000)
        self._reader = StreamReader(self._options, self._make_api(), self._fields, self._inbox, self._metrics, silent)
        self._reader.start()

    # What comes.

    def _taken(self, items: Sequence[Item]) -> SourceBatch | None:
        posts: list[Post] = []
        positions: list[dict[str, str]] = []
        for item in items:
            if isinstance(item, Opened):
                self._opened(item)
            elif isinstance(item, Closed):
                self._closed(item, posts)
            elif (post := self._read(item)) is not None:
                self._newest = max(self._newest or 0, post.id)
                posts.append(post)
                positions.append(self._offset())
        return self._records.batch(posts, offsets.STREAM, positions, "stream") if posts else None

    def _read(self, line: bytes) -> Post | None:
        """A post for this connector that was not seen before."""
        try:
            found = orjson.loads(line)
            if not isinstance(found, dict):
                raise ValueError("no object")
            if "data" not in found:
                self._notice(found)
                return None
            matching = found.get("matching_rules")
            post = Post.of(found["data"], Includes(found.get("includes")), matching, line)
        except ValueError:
            count_error(self._metrics, "malformed")
            log.warning("The stream sent a line of %d bytes that holds no post: it is left out.", len(line))
            return None
        if not self._rules.takes(matching):
            self._metrics.count("twitter_others_posts_total")
            return None
        return post if self._is_new(post) else None

    def _notice(self, found: Mapping[str, Any]) -> None:
        """Other messages of the stream: mostly about its end."""
        self._metrics.count("twitter_stream_notices_total")
        log.warning("X says on the stream%s.", details(found) or ": nothing that we know")

    def _is_new(self, post: Post) -> bool:
        if self._window.is_new(post.id):
            return True
        self._metrics.count("twitter_duplicates_total")
        return False

    def _opened(self, opened: Opened) -> None:
        log.info("Connected to the filtered stream.")
        self._put_off = ""
        due = time.monotonic() + self._options.backfill_settle
        if self._gap is not None and self._gap.searched:
            since = self._later.since if self._later else self._overlapped(ids.first_at(self._gap.opened_at))
            searched = not opened.backfill or (self._later is not None and self._later.searched)
            self._later = Gap(since, opened.at, due, searched=searched)
            return
        # What X sends again reaches back to the last disconnection; what was open before is still for us.
        before = self._gap.since if self._gap is not None else self._open_since
        self._open_since = None
        if before is None and self._newest is None:
            return  # nothing ever came: there is nothing that could be missed
        since = self._overlapped() if before is None else before
        searched = bool(self._options.backfill_search) and (before is not None or not opened.backfill)
        if not searched and not opened.backfill:
            self._metrics.count("twitter_gaps_unfilled_total")
            log.warning(
                "Posts since %s may be missing: nothing fills the gap, by twitter.backfill.search=false.",
                _moment(since),
            )
        self._gap = Gap(since, opened.at, due, searched=searched)

    def _overlapped(self, filled: int = 0) -> int:
        """The id after which a new gap begins, given the id up to which nothing is missing, or the last post."""
        newest = max(self._newest or 0, filled)
        if overlap := self._options.backfill_overlap:
            return ids.first_at(ids.made_at(newest) - round(overlap * 1000)) - 1
        return newest

    def _closed(self, closed: Closed, posts: Sequence[Post]) -> None:
        if closed.fatal:
            assert closed.error is not None
            if not posts:
                raise closed.error
            # What came before is handed on first; the next poll finds this at the front again.
            self._inbox.put_back(closed)
            return
        if closed.no_rules:
            self._rules_due = 0.0
        self._put_off = str(closed.error) if closed.pause else ""
        if closed.pause:
            log.debug("%s Connecting again in %.3g s.", closed.error, closed.pause)  # `poll` tells
        else:
            log.warning("%s Connecting again.", closed.error or "The stream's connection ended.")

    def _offset(self) -> dict[str, str]:
        stored = {SINCE: str(self._newest or 0)}
        since = self._gap.since if self._gap is not None else self._open_since
        if since is not None:
            stored[GAP] = str(since)
        return stored

    # Gaps.

    def _fill(self) -> SourceBatch | None:
        """Posts of a gap, after a page was requested."""
        gap, now = self._gap, time.monotonic()
        if gap is None or now < max(gap.due, self._not_before):
            return None
        if not gap.searched:
            self._gap, self._later = self._later, None
            return None
        if not gap.begun:
            gap.begin(self._rules.values, self._options.rule_max_length)
            log.info("Filling the gap since %s by recent search.", _moment(gap.since))
        if gap.wants:
            if self._api.limits.wait(endpoints.SEARCH):
                return None
            try:
                gap.search(self._posts, self._options.sort_max_bytes)
            except ApiError as error:
                self._unfilled(gap, error)
            else:
                self._backoff.reset()
                self._waiter.goes_on()
        posts: list[Post] = []
        positions: list[dict[str, str]] = []
        for post, position in gap.take(self._options.queue_batch_size):
            gap.gave(post.id, position)
            if self._is_new(post):
                posts.append(post)
                positions.append(self._offset())
        if gap.over:
            log.info("The gap since %s is through.", _moment(gap.since))
            self._newest = max(self._newest or 0, gap.highest)
            self._gap, self._later = self._later, None
            if positions:
                positions[-1] = self._offset()
        return self._records.batch(posts, offsets.STREAM, positions, "backfill") if posts else None

    def _unfilled(self, gap: Gap, error: ApiError) -> None:
        if error.kind is not Kind.FATAL:
            self._waiter.waits(f"The gap since {_moment(gap.since)} cannot be filled yet: {error}")
            self._wait_after(error)
            return
        self._waiter.goes_on()
        if error.status == 401:
            raise error
        count_error(self._metrics, error.cause_class)
        query = gap.refused(error, self._rules.values)
        if query is not None:
            self._metrics.count("twitter_gaps_unfilled_total")
            log.error('The gap since %s is not filled for "%s": %s', _moment(gap.since), query[:80], error)

    def _wait_after(self, error: ApiError) -> None:
        count_error(self._metrics, error.cause_class)
        self._not_before = time.monotonic() + self._backoff.after(error)


def _moment(post: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ids.made_at(post) / 1000))
