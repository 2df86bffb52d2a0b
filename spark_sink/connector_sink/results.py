"""What one write did: `Done`. Plain data, for the driver."""

from __future__ import annotations

from dataclasses import dataclass, field, fields


@dataclass(frozen=True, slots=True)
class Span:
    """The records of one topic partition that a write took; all are durable, or as dead letters, or were skipped.

    Attributes:
        topic, partition: where they were consumed.
        first, next: the first one's offset, and the one after the last.
        records: how many.
    """

    topic: str
    partition: int
    first: int
    next: int
    records: int


@dataclass(frozen=True, slots=True)
class Tally:
    """Counted records.

    Attributes:
        read: that came.
        written: that a put took.
        known: that the target had already, by what `open` answered.
        errors: given up.
        skipped: of these, those that were tolerated.
        dead_letters: written to the dead letter topic.
        retries: operations that were tried again.
    """

    read: int = 0
    written: int = 0
    known: int = 0
    errors: int = 0
    skipped: int = 0
    dead_letters: int = 0
    retries: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


@dataclass(frozen=True, slots=True)
class Done:
    """What one write did.

    Attributes:
        spans: one for each topic partition.
        tally: over all of them.
    """

    spans: tuple[Span, ...] = ()
    tally: Tally = field(default_factory=Tally)
