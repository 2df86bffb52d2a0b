"""Records that failed and wait in a retry topic: how they are written, and read back.

A parked record has the bytes that it had where it was consumed first. When it is due it goes through the same chain
with the topic, partition, timestamp and headers that it had there; offsets are committed where it was parked. No I/O:
`connect.delivery.retry_topics` writes, and `connect.delivery.retrying_consumer` waits.

The idea: https://www.uber.com/blog/reliable-reprocessing/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from connect.data.batch import SinkBatch
from connect.data.column import Plain
from connect.errors import ConnectError
from connect.pipeline.dead_letters import EncodedRecord, Original
from connect.pipeline.error_headers import ErrorContext, ParkedHeaders, default_retry_prefix, retry_topic
from connect.settings.error_keys import RETRY_TOPICS, RETRY_TOPICS_KEY, duration_ms, is_duration


@dataclass(frozen=True, slots=True)
class Tier:
    """One retry topic, and how long records wait in it, in ms."""

    topic: str
    wait_ms: int


@dataclass(frozen=True, slots=True)
class RetrySettings:
    """The keys errors.retry.topics* of a sink, with at least one tier.

    Attributes:
        tiers: in the order in which a record passes them.
        partitions: None for as many as the sink's topics have.
        replication: -1 leaves it to the broker.
        keep_order: whether records of a key that waits wait behind it.
    """

    tiers: tuple[Tier, ...]
    partitions: int | None
    replication: int
    keep_order: bool

    @classmethod
    def of(cls, connector: Mapping[str, str], name: str) -> RetrySettings | None:
        """None when there are no tiers. Raises ConfigError."""
        config = RETRY_TOPICS.parse(connector)
        prefix = config["errors.retry.topics.prefix"].strip() or default_retry_prefix(name)
        tiers = tuple(Tier(retry_topic(prefix, text), duration_ms(text)) for text in config[RETRY_TOPICS_KEY])
        if not tiers:
            return None
        return cls(
            tiers,
            config["errors.retry.topics.partitions"],
            config["errors.retry.topics.replication.factor"],
            config["errors.retry.topics.keep.order"],
        )

    @property
    def topics(self) -> tuple[str, ...]:
        """The names of the retry topics."""
        return tuple(tier.topic for tier in self.tiers)

    def former(self, topics: Iterable[str]) -> list[str]:
        """Those of these topics that are named as a tier's of this connector, and no tier's: nobody reads them."""
        start = retry_topic(self.tiers[0].topic.rpartition("-")[0], "")
        others = (name for name in topics if name.startswith(start) and name not in self.topics)
        return sorted(name for name in others if is_duration(name.removeprefix(start)))

    def after(self, failed: int) -> Tier | None:
        """The tier for a record that has failed this often; None when it is given up."""
        return self.tiers[failed - 1] if failed <= len(self.tiers) else None

    def behind(self, topic: str) -> Tier:
        """The tier for a record that was consumed from this topic and has to wait for another of its key."""
        number = self.topics.index(topic) + 1 if topic in self.topics else 0
        return self.tiers[min(number, len(self.tiers) - 1)]


def parked(source: Original, error: ErrorContext, wait_ms: int, now_ms: int, *, failed: bool) -> EncodedRecord:
    """A record in the form of a retry topic.

    Args:
        source: as it was consumed first.
        error: without its stack trace.
        wait_ms: how long it waits.
        now_ms: since the epoch.
        failed: whether it was tried; else it only waits behind another of its key.
    """
    before = source.parked
    parked = ParkedHeaders(
        topic=source.topic,
        partition=source.partition,
        offset=source.offset,
        timestamp=source.letter.timestamp,
        attempt=(before.attempt if before else 0) + failed,
        parked=(before.parked if before else 0) + 1,
        due=now_ms + wait_ms,
    )
    headers = parked.after(source.letter.headers, replace(error, stacktrace=None))
    return EncodedRecord(source.letter.key, source.letter.value, headers, None)


def place_of(batch: SinkBatch, row: int) -> ParkedHeaders:
    """The headers of a parked record; the batch is as it was consumed.

    Raises:
        ConnectError: it is not a parked record.
    """
    raw: Any = batch.headers[row]
    try:
        return ParkedHeaders.split(raw)[1]
    except ValueError as error:
        where = f"{batch.original_topics[row]}-{batch.original_partitions[row]}@{batch.offsets[row]}"
        raise ConnectError(
            f"The retry topic has a foreign record at {where}: {error}. Only the connector may write to it; delete the "
            f"record, or move the offset of the connector's group past it."
        ) from None


def unparked(batch: SinkBatch, rows: Mapping[int, ParkedHeaders]) -> SinkBatch:
    """The batch with these rows as they were before they were parked; their consumed positions stay."""
    if not rows:
        return batch

    def column(items: Sequence[Any], name: str) -> Plain[Any]:
        return Plain([getattr(rows[row], name) if row in rows else item for row, item in enumerate(items)])

    raw: Sequence[Any] = batch.headers
    headers: list[Any] = [ParkedHeaders.split(item)[0] or None if row in rows else item for row, item in enumerate(raw)]
    return batch.with_columns(
        topics=column(batch.topics, "topic"),
        partitions=column(batch.partitions, "partition"),
        timestamps=column(batch.timestamps, "timestamp"),
        headers=Plain(headers),
    )
