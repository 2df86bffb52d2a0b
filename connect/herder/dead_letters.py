"""Reading dead letters: the records that a connector gave up, and the reasons in their headers.

Reading needs no consumer group. Memory is bounded: only a preview of each listed record is kept, and only as many as
are asked for. Time is bounded: a result says what it did not reach. No code of a plug-in runs here; payloads stay
bytes.
"""

from __future__ import annotations

import heapq
import re
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from connect.errors import ConnectError
from connect.herder.dead_letter_view import PREVIEW, DeadLetterView, fingerprint
from connect.herder.errors import BadRequestError, NotFoundError
from connect.kafka.reading.browse import Browser, NoTopicError, Span
from connect.kafka.reading.read_range import StoredRecord
from connect.pipeline.error_headers import ErrorContext
from connect.telemetry.redaction import redactor

TOPIC_KEY: Final = "errors.deadletterqueue.topic.name"
#: The most letters in one answer.
MOST: Final = 500
#: Seconds that one question may take. A request of REST is given up after 90.
PATIENCE_S: Final = 30.0

_WINDOW: Final = 500
_MOST_GROUPS: Final = 1000
#: What a cursor looks like: partitions with the offset before which the next page begins.
AFTER: Final = r"^[0-9]{1,9}:[0-9]{1,18}(,[0-9]{1,9}:[0-9]{1,18})*$"
_PLACES: Final = re.compile(AFTER, re.ASCII)


class LetterPage(msgspec.Struct):
    """Some dead letters, each partition's newest first. `next` is the argument for the next page; None on the last."""

    topic: str
    letters: list[DeadLetterView]
    next: str | None


class LetterGroup(msgspec.Struct):
    """Dead letters with one fingerprint: their number, their time range, and the newest one's message and position."""

    fingerprint: str
    stage: str
    class_name: str
    exception: str
    message: str | None
    count: int
    first: int | None
    last: int | None
    partition: int
    offset: int


class LetterGroups(msgspec.Struct):
    """Dead letters by fingerprint, the largest group first. Not `complete`: time ran out before all were read."""

    topic: str
    groups: list[LetterGroup]
    count: int
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A filter of dead letters.

    Attributes:
        since, until: by their timestamps, ms since the epoch, both included.
        stage: such as VALUE_CONVERTER.
        error: a part of the exception's class or message, case-insensitive.
        fingerprint: of the error.
        key: as text.
        places: pairs of partition and offset in the error topic; None for all.
        connector: the one that gave them up; dead letters without headers match every connector. None for all.
    """

    since: int | None = None
    until: int | None = None
    stage: str | None = None
    error: str | None = None
    fingerprint: str | None = None
    key: str | None = None
    places: frozenset[tuple[int, int]] | None = None
    connector: str | None = None

    def takes(self, stored: StoredRecord, context: ErrorContext | None) -> bool:
        """Whether a record matches."""
        if self.places is not None and (stored.partition, stored.offset) not in self.places:
            return False
        if self.connector is not None and context is not None and context.connector != self.connector:
            return False
        at = stored.timestamp or 0
        if (self.since is not None and at < self.since) or (self.until is not None and at > self.until):
            return False
        if self.key is not None and stored.key != self.key.encode():
            return False
        if self.stage is None and self.error is None and self.fingerprint is None:
            return True
        context = context or ErrorContext()  # which `DeadLetters.groups` counts, too
        if self.stage is not None and context.stage != self.stage.upper():
            return False
        if self.fingerprint is not None and fingerprint(context) != self.fingerprint:
            return False
        return self.error is None or self.error.lower() in f"{context.exception}: {context.message or ''}".lower()


class DeadLetters:
    """The dead letters of one topic. For one thread; close it.

    Attributes:
        topic: where they are stored.
        worker, connector: see the arguments.

    Args:
        worker, connector: their configurations, with secrets filled in.
        topic: where they are stored; the connector's unless given.
        patience: the time limit of a call, in seconds.

    Raises:
        NotFoundError: the connector has no such topic.
        ConnectError: a client setting is wrong.
    """

    def __init__(
        self,
        worker: Mapping[str, str],
        connector: Mapping[str, str],
        topic: str | None = None,
        patience: float = PATIENCE_S,
    ) -> None:
        self.topic = topic or connector.get(TOPIC_KEY, "").strip()
        if not self.topic:
            name = connector.get("name", "")
            raise NotFoundError(f"Connector {name} keeps no dead letters. Set {TOPIC_KEY} to a topic for them.")
        self._may_be_missing = topic is None  # it is made for the first letter
        self.worker, self.connector = worker, connector
        self._patience = patience
        self.browser = Browser(worker, connector)

    def close(self) -> None:
        """Close the clients."""
        self.browser.close()

    def page(self, wanted: Wanted, limit: int, after: str | None = None) -> LetterPage:
        """The next dead letters, newest first in each partition, those of several partitions merged by time.

        Args:
            wanted: the filter.
            limit: the maximum number.
            after: `next` of the page before; None starts at the end of the topic.

        Raises:
            BadRequestError: `after` or `limit` is wrong.
            ConnectError: the topic cannot be read.
        """
        limit = _checked(limit)
        deadline = time.monotonic() + self._patience
        spans = self._wanted_spans(wanted)
        for number, end in _cursor(after).items():
            if number in spans:
                begin = spans[number].begin
                spans[number] = Span(begin, max(begin, min(end, spans[number].end)))
        found: dict[int, list[DeadLetterView]] = {number: [] for number in spans}
        reached = {number: span.end for number, span in spans.items()}
        window = max(_WINDOW, limit)
        while sum(map(len, found.values())) < limit and time.monotonic() < deadline:
            part = {
                number: Span(max(span.begin, reached[number] - window), reached[number])
                for number, span in spans.items()
                if reached[number] > span.begin and len(found[number]) < limit
            }
            if not part:
                break
            try:
                looked = self._newest(part, wanted, limit, deadline)
            except TimeoutError as error:
                if all(reached[number] == span.end for number, span in spans.items()):
                    raise ConnectError(str(error)) from error
                break
            for number, (letters, low) in looked.items():
                found[number] += letters
                reached[number] = low
            window *= 2
        taken, places = _merged(found, limit)
        for number, letters in found.items():
            if places[number] < len(letters):  # the rest of what was found is for the next page
                reached[number] = letters[places[number] - 1].offset if places[number] else letters[0].offset + 1
        more = any(reached[number] > span.begin for number, span in spans.items())
        cursor = ",".join(f"{number}:{offset}" for number, offset in sorted(reached.items()))
        return LetterPage(self.topic, taken, cursor if more else None)

    def one(self, partition: int, offset: int) -> DeadLetterView:
        """One dead letter, whole. Raises NotFoundError, ConnectError."""
        return DeadLetterView.of(self.stored(partition, offset), whole=True)

    def stored(self, partition: int, offset: int) -> StoredRecord:
        """One record as it is stored. Raises NotFoundError, ConnectError."""
        span = self._spans().get(partition)
        if span is not None and span.begin <= offset < span.end:
            try:
                for found in self.browser.read(self.topic, {partition: Span(offset, offset + 1)}, self._patience):
                    return found
            except TimeoutError as error:
                raise ConnectError(str(error)) from error
        raise NotFoundError(f"There is no record {offset} in partition {partition} of {self.topic}.")

    def groups(self, wanted: Wanted) -> LetterGroups:
        """All that match, grouped by error. Raises ConnectError."""
        groups: dict[str, LetterGroup] = {}
        count, complete = 0, True
        try:
            for stored, told in self._each(wanted):
                count += 1
                context = told or ErrorContext()
                name = fingerprint(context)
                if name not in groups and len(groups) >= _MOST_GROUPS:
                    complete = False
                    continue
                _count(groups, name, stored, context)
        except TimeoutError:
            complete = False
        for group in groups.values():
            group.message = None if group.message is None else redactor.redact(group.message)[:PREVIEW]
        ordered = sorted(groups.values(), key=lambda group: (-group.count, group.fingerprint))
        return LetterGroups(self.topic, ordered, count, complete)

    def each(self, wanted: Wanted) -> Iterator[StoredRecord]:
        """All that match, oldest first in each partition, up to the topic's current end.

        Raises:
            TimeoutError: there was not enough time to read all.
            ConnectError: the topic cannot be read.
        """
        for stored, _ in self._each(wanted):
            yield stored

    def _each(self, wanted: Wanted) -> Iterator[tuple[StoredRecord, ErrorContext | None]]:
        """As `each`, with what the headers say of the error."""
        for stored in self.browser.read(self.topic, self._wanted_spans(wanted), self._patience):
            _, context = ErrorContext.split(stored.headers)
            if wanted.takes(stored, context):
                yield stored, context

    def _spans(self) -> dict[int, Span]:
        try:
            return self.browser.spans(self.topic)
        except NoTopicError:
            if self._may_be_missing:
                return {}
            raise

    def _wanted_spans(self, wanted: Wanted) -> dict[int, Span]:
        """The ranges of offsets that may hold matching records."""
        spans = self._spans()
        if wanted.since is not None:
            # Before these offsets every record is older, in whatever order they lie.
            first = self.browser.offsets_at(self.topic, spans, max(0, wanted.since))
            spans = {number: Span(max(first[number], begin), end) for number, (begin, end) in spans.items()}
        if wanted.places is not None:
            spans = {number: _around(number, span, wanted.places) for number, span in spans.items()}
        return spans

    def _newest(
        self, part: Mapping[int, Span], wanted: Wanted, limit: int, deadline: float
    ) -> dict[int, tuple[list[DeadLetterView], int]]:
        """The last matching dead letters of each range, newest first, and the offset down to which none is missing."""
        kept: dict[int, deque[DeadLetterView]] = {number: deque(maxlen=limit) for number in part}
        dropped: dict[int, bool] = dict.fromkeys(part, False)
        for stored in self.browser.read(self.topic, part, max(0.0, deadline - time.monotonic())):
            _, context = ErrorContext.split(stored.headers)
            if wanted.takes(stored, context):
                dropped[stored.partition] |= len(kept[stored.partition]) == limit
                kept[stored.partition].append(DeadLetterView.of(stored, whole=False))
        return {
            number: (list(reversed(letters)), letters[0].offset if dropped[number] else part[number].begin)
            for number, letters in kept.items()
        }


def _count(groups: dict[str, LetterGroup], name: str, stored: StoredRecord, context: ErrorContext) -> None:
    """Add a letter to its group. The message is that of the newest, whole and with its secrets."""
    group = groups.get(name)
    if group is None:
        group = groups[name] = LetterGroup(
            name, context.stage, context.class_name, context.exception, None, 0, None, None, 0, 0
        )
    group.count += 1
    at = stored.timestamp
    if at is not None and (group.first is None or at < group.first):
        group.first = at
    if group.last is None or (at is not None and at >= group.last):
        group.last = at if at is not None else group.last
        group.message = context.message
        group.partition, group.offset = stored.partition, stored.offset


def _merged(found: Mapping[int, list[DeadLetterView]], limit: int) -> tuple[list[DeadLetterView], dict[int, int]]:
    """The newest of all partitions, in order within each partition, and how many of each were used."""
    taken: list[DeadLetterView] = []
    places = dict.fromkeys(found, 0)
    heads = [(-(letters[0].timestamp or 0), number) for number, letters in found.items() if letters]
    heapq.heapify(heads)
    while heads and len(taken) < limit:
        _, number = heapq.heappop(heads)
        taken.append(found[number][places[number]])
        places[number] += 1
        if places[number] < len(found[number]):
            heapq.heappush(heads, (-(found[number][places[number]].timestamp or 0), number))
    return taken, places


def _around(number: int, span: Span, places: frozenset[tuple[int, int]]) -> Span:
    """The range of a partition that covers these positions."""
    mine = [offset for partition, offset in places if partition == number and span.begin <= offset < span.end]
    return Span(min(mine), max(mine) + 1) if mine else Span(span.end, span.end)


def _checked(limit: int) -> int:
    if not 1 <= limit <= MOST:
        raise BadRequestError(f"limit is between 1 and {MOST}.")
    return limit


def _cursor(text: str | None) -> dict[int, int]:
    if not text:
        return {}
    if not _PLACES.fullmatch(text) or len(text) > 100_000:
        raise BadRequestError("after is the value of next in the previous page.")
    return {int(number): int(offset) for number, _, offset in (one.partition(":") for one in text.split(","))}
