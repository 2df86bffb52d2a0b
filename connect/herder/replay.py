"""Replays dead letters: into their original topic, or straight to their connector.

A record is written as it was consumed: key, value (unless it is edited), its own headers, timestamp, and partition as
long as that exists. The error headers are removed. What was replayed is marked, so that the same request does not
replay it twice; a crash between writing and marking may, and so may two processes at the same time.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, Literal

import msgspec

from connect.errors import ConfigError, ConnectError
from connect.herder.dead_letters import PATIENCE_S, DeadLetters, Wanted
from connect.herder.edits import EditError, edited
from connect.herder.errors import BadRequestError, BusyError
from connect.kafka.admin.replay_marks import Marks
from connect.kafka.reading.browse import NoTopicError
from connect.kafka.reading.read_range import StoredRecord
from connect.kafka.writing.resend import Resender
from connect.kafka.writing.write_once import Outcome, OutgoingRecord
from connect.pipeline.dead_letters import EncodedRecord, Original
from connect.pipeline.error_headers import ErrorContext
from connect.pipeline.parked import RetrySettings, Tier, parked

#: The most records of one replay, unless less is asked for.
MOST_REPLAYED: Final = 10_000
_AT_ONCE: Final = 500
#: By topic of dead letters: held by the one replay that this process writes.
_UNDER_WAY: Final[dict[str, Lock]] = {}

Target = Literal["topic", "connector"]


class Sent(msgspec.Struct):
    """A dead letter that was replayed, or would be: its position and destination. `to_offset` once it is written."""

    partition: int
    offset: int
    topic: str
    to_partition: int | None
    to_offset: int | None


class Skipped(msgspec.Struct):
    """A dead letter that was not replayed, and why."""

    partition: int
    offset: int
    reason: str


class Replayed(msgspec.Struct):
    """The result of a replay.

    Attributes:
        topic: of the dead letters.
        dry_run: nothing was written.
        replayed: those that were written, or would be.
        skipped: those that matched and were not written.
        marked_before: the number that was left out because of an earlier replay.
        complete: whether all that match were processed; else repeat the request.
        warning: for the user; mostly None.
    """

    topic: str
    dry_run: bool
    replayed: list[Sent]
    skipped: list[Skipped]
    marked_before: int
    complete: bool
    warning: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """What to replay, and how.

    Attributes:
        wanted: the filter.
        limit: the maximum number, oldest first.
        to: into the topic where each was consumed, or to the connector, through its first retry topic.
        into: another topic instead; also for dead letters without headers.
        put, drop: edits of JSON values: see `connect.herder.edits.edited`.
        values: new values by partition and offset.
        dry_run: write nothing.
        again: include those that were replayed before.
    """

    wanted: Wanted = field(default_factory=Wanted)
    limit: int = MOST_REPLAYED
    to: Target = "topic"
    into: str | None = None
    put: Mapping[str, Any] = field(default_factory=dict)
    drop: Sequence[str] = ()
    values: Mapping[tuple[int, int], bytes | None] = field(default_factory=dict)
    dry_run: bool = False
    again: bool = False


def replay(letters: DeadLetters, request: ReplayRequest) -> Replayed:
    """Replay. Blocks until everything is acknowledged, or the time limit of `letters` is over.

    Raises:
        BadRequestError: the request is contradictory.
        BusyError: this process has replayed the same topic for half a minute, and does so still.
        ConnectError: the brokers refuse, or do not answer. What was acknowledged before is marked.
    """
    if not 1 <= request.limit <= MOST_REPLAYED:
        raise BadRequestError(f"limit is between 1 and {MOST_REPLAYED}.")
    if request.dry_run:
        return _replayed(letters, request)
    # A button that is pressed twice: the second replay has to see what the first one marks.
    alone = _UNDER_WAY.setdefault(letters.topic, Lock())
    if not alone.acquire(timeout=PATIENCE_S):
        raise BusyError(f"Another replay of {letters.topic} is under way. Try again in a moment.")
    try:
        return _replayed(letters, request)
    finally:
        alone.release()


def _replayed(letters: DeadLetters, request: ReplayRequest) -> Replayed:
    worker, connector = letters.worker, letters.connector
    done = Replayed(letters.topic, request.dry_run, [], [], 0, True, None)
    marks = Marks(worker, connector, letters.topic, f"connect-dlq-replay-{connector.get('name') or letters.topic}")
    try:
        marks.read()
    except ConnectError as error:
        # Without the right to use the group, all else works.
        done.warning = f"The worker cannot tell what was replayed before: {error}"
    destination = _Destination(letters, request)
    writer = None if request.dry_run else Resender(worker, connector)
    try:
        batch = _Batch(letters, marks, writer, done)
        for stored in letters.each(request.wanted):
            if not request.again and marks.has(stored.partition, stored.offset):
                done.marked_before += 1
                continue
            try:
                written = destination.written(stored)
            except (EditError, _CannotError) as error:
                done.skipped.append(Skipped(stored.partition, stored.offset, str(error)))
                continue
            if len(done.replayed) + len(batch) >= request.limit:
                done.complete = False
                break
            batch.add(stored, written)
        batch.flush()
    except TimeoutError:
        batch.flush()
        done.complete = False
    finally:
        marks.close()
        if writer is not None:
            writer.close()
    return done


class _CannotError(ConnectError):
    """A dead letter cannot be replayed; the message says why."""


class _Destination:
    """Where dead letters are written, and in which form."""

    def __init__(self, letters: DeadLetters, request: ReplayRequest) -> None:
        self._letters = letters
        self._request = request
        self._partitions: dict[str, list[int] | None] = {}
        self._tier: Tier | None = None
        if request.to == "connector":
            if request.into:
                raise BadRequestError("A replay goes to the connector or into a topic, not both.")
            self._tier = _first_tier(letters.connector)

    def written(self, stored: StoredRecord) -> OutgoingRecord:
        """The record to write for a dead letter. Raises EditError, _CannotError."""
        own, context = ErrorContext.split(stored.headers)
        value = self._value(stored, context)
        if self._tier is not None:
            return self._to_connector(self._tier, EncodedRecord(stored.key, value, own, stored.timestamp), context)
        if self._request.into:
            topic, partition = self._request.into, None
        elif context is None or not context.topic:
            raise _CannotError("its headers do not say which topic it came from; name one.")
        elif context.source_partition is not None:
            raise _CannotError(
                "it is a source's, and is JSON whatever the connector writes; name a topic to write it into as JSON."
            )
        else:
            topic, partition = context.topic, context.partition
        partitions = self._known(topic)
        if partitions is None:
            raise _CannotError(f"topic {topic} does not exist.")
        known = partition if partition in partitions else None
        return OutgoingRecord(topic, stored.key, value, known, own, stored.timestamp)

    def _to_connector(self, tier: Tier, letter: EncodedRecord, context: ErrorContext | None) -> OutgoingRecord:
        """Parked in the first retry topic, due at once, as if it had not been tried yet."""
        if context is None or context.source_partition is not None:
            raise _CannotError("its headers do not say that a sink consumed it.")
        if not context.topic or context.partition is None or context.offset is None:
            raise _CannotError("its headers do not say where it came from.")
        partitions = self._known(tier.topic)
        if not partitions:
            raise _CannotError(f"topic {tier.topic} does not exist; the connector makes it when it starts.")
        source = Original(context.topic, context.partition, context.offset, letter)
        made = parked(source, context, 0, int(time.time() * 1000), failed=False)
        partition = partitions[context.partition % len(partitions)]
        return OutgoingRecord(tier.topic, made.key, made.value, partition, made.headers, made.timestamp)

    def _value(self, stored: StoredRecord, context: ErrorContext | None) -> bytes | None:
        request, place = self._request, (stored.partition, stored.offset)
        if place in request.values:
            return request.values[place]
        if context is not None and context.omitted:
            raise _CannotError(f"its value is not in the dead letter: {context.omitted}")
        return edited(stored.value, request.put, request.drop) if request.put or request.drop else stored.value

    def _known(self, topic: str) -> list[int] | None:
        if topic not in self._partitions:
            try:
                self._partitions[topic] = self._letters.browser.partitions(topic)
            except NoTopicError:
                self._partitions[topic] = None
        return self._partitions[topic]


class _Batch:
    """Dead letters that are being written. Acknowledged ones are marked, some hundreds at a time."""

    def __init__(self, letters: DeadLetters, marks: Marks, writer: Resender | None, done: Replayed) -> None:
        self._letters = letters
        self._marks = marks
        self._writer = writer
        self._done = done
        self._waiting: list[tuple[Sent, OutgoingRecord]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, stored: StoredRecord, record: OutgoingRecord) -> None:
        """Write one, together with others."""
        self._waiting.append((Sent(stored.partition, stored.offset, record.topic, record.partition, None), record))
        if len(self._waiting) >= _AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write those that wait, and mark them. When a topic refuses several together, each is tried alone."""
        waiting, self._waiting = self._waiting, []
        if self._writer is None:
            self._done.replayed += [sent for sent, _ in waiting]
            return
        outcomes = self._writer.write([record for _, record in waiting])
        refused = [row for row, outcome in enumerate(outcomes) if outcome.code]
        for row in refused if len(waiting) > 1 else ():
            if not _answered(outcomes):
                break
            outcomes[row] = self._writer.write([waiting[row][1]])[0]
        there: list[Sent] = []
        for (sent, _), outcome in zip(waiting, outcomes, strict=True):
            if not outcome.error:
                sent.to_partition, sent.to_offset = outcome.partition, outcome.offset
                there.append(sent)
                continue
            why = f"{sent.topic} refuses it: {outcome.error} ({outcome.code})"
            reason = why if outcome.code else "no broker answered in time."
            self._done.skipped.append(Skipped(sent.partition, sent.offset, reason))
        self._done.replayed += there
        if there:
            self._mark(there)
        if not _answered(outcomes):
            raise ConnectError("The brokers do not answer; some records may or may not have been written.")

    def _mark(self, written: Sequence[Sent]) -> None:
        self._marks.add((sent.partition, sent.offset) for sent in written)
        try:
            spans = self._letters.browser.spans(self._letters.topic)
            self._marks.store({number: span.begin for number, span in spans.items()})
        except ConnectError as error:
            self._done.warning = f"The replay could not be recorded: {error}"


def _answered(outcomes: Sequence[Outcome]) -> bool:
    return all(outcome.code for outcome in outcomes if outcome.error)


def _first_tier(connector: Mapping[str, str]) -> Tier:
    """The first retry topic of a connector. Raises BadRequestError where it has none."""
    name = connector.get("name", "")
    try:
        settings = RetrySettings.of(connector, name)
    except ConfigError as error:
        raise BadRequestError(f"Connector {name}: {error}") from error
    if settings is None:
        raise BadRequestError(
            f"Connector {name} has no retry topics to replay through. Set errors.retry.topics, or replay into the"
            " topic."
        )
    return settings.tiers[0]
