"""When a shard is read, and up to where, so that nothing behind the position is missed.

By sequence numbers: every operation up to a shard's global checkpoint has been applied in all its copies. When the
checkpoint is read first and the index is refreshed after that, a view opened then shows all of them, and reading ends
with the checkpoint: later writes have higher numbers.

By a field: documents may arrive with lower values than those already read, since the value was set before they were
written. So only old enough values are read: dates by themselves (`delay.ms`), others up to the highest one of that long
ago. Of equal values later writes have higher sequence numbers, and are found however late.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from connectors.elasticsearch.source.offsets import BEHIND_ALL, Position
from connectors.elasticsearch.source.shards import Checkpoint, Shard

#: What a date's values count: so many to a millisecond.
_DATES: Final = {"date": 1, "date_nanos": 1_000_000}
#: Of what was seen within a delay, so many are remembered.
_REMEMBERED: Final = 100


class Reach(NamedTuple):
    """How far a shard may be read now.

    Attributes:
        anything: whether there may be anything.
        limit: a condition on it, None for none.
        pending: whether something is left that is too young.
    """

    anything: bool
    limit: Mapping[str, Any] | None = None
    pending: bool = False


_NOTHING: Final = Reach(anything=False)
_TOO_YOUNG: Final = Reach(anything=False, pending=True)


@dataclass(slots=True)
class Followed:
    """One shard of a task.

    Attributes:
        position: after which it is read next.
        done: the checkpoint up to which it was read; -2 before the first time.
        pending: whether some documents were too young then.
    """

    shard: Shard
    position: Position
    done: int = -2
    pending: bool = False
    _seen: list[tuple[float, Any]] = field(default_factory=list)
    _checkpoints: list[tuple[float, Any]] = field(default_factory=list)

    def due(self, checkpoint: Checkpoint | None) -> bool:
        """Whether there may be something to read."""
        return checkpoint is not None and (self.pending or checkpoint.seq_no != self.done)

    def went_back(self, checkpoint: Checkpoint) -> bool:
        """Whether the shard has less than was read of it: the index was restored from an earlier state."""
        return checkpoint.highest < self.position.seq_no != BEHIND_ALL

    def read_up_to(self, checkpoint: Checkpoint, *, pending: bool) -> None:
        """Everything that was to be read by now is read."""
        self.done = checkpoint.seq_no
        self.pending = pending

    def aged(self, value: Any, delay: float, now: float) -> Any:
        """The newest value that was seen at least `delay` seconds ago, None for none; this one is seen now."""
        return _aged(self._seen, value, delay, now)

    def aged_checkpoint(self, seq_no: int, delay: float, now: float) -> int | None:
        """The same for the shard's checkpoint."""
        aged: int | None = _aged(self._checkpoints, seq_no, delay, now)
        return aged


@dataclass(slots=True)
class Limits:
    """The limits of reading shards.

    Attributes:
        cursor: the field whose values grow; empty for sequence numbers.
        delay: seconds.
        refresh: whether indices are refreshed before they are read.
        kind: the field's type in an index, "" where it has none yet.
        highest: its highest value in a shard, None where there is none.
        clock: seconds.
    """

    cursor: str
    delay: float
    refresh: bool
    kind: Callable[[str], str]
    highest: Callable[[Shard], Any]
    clock: Callable[[], float] = time.monotonic

    def of(self, followed: Followed, checkpoint: Checkpoint) -> Reach:
        """How far a shard may be read, given its checkpoint."""
        return self._by_field(followed) if self.cursor else self._by_number(followed, checkpoint)

    def settled(self, followed: Followed, checkpoint: Checkpoint) -> int | None:
        """The operation up to which all are visible to any search that begins now; None where it is not known yet."""
        if self.refresh:
            return checkpoint.seq_no
        return followed.aged_checkpoint(checkpoint.seq_no, self.delay, self.clock())

    def _by_number(self, followed: Followed, checkpoint: Checkpoint) -> Reach:
        bound = self.settled(followed, checkpoint)
        if bound is None:
            return _TOO_YOUNG
        limit = {"range": {"_seq_no": {"lte": bound}}}
        return Reach(bound > followed.position.seq_no, limit, pending=bound != checkpoint.seq_no)

    def _by_field(self, followed: Followed) -> Reach:
        kind = self.kind(followed.shard.index)
        top = self.highest(followed.shard) if kind else None
        if top is None:
            return _NOTHING
        if not self.delay:
            return Reach(anything=True)
        if kind in _DATES:
            bound = int((time.time() - self.delay) * 1000)
            limit = {"range": {self.cursor: {"lte": bound, "format": "epoch_millis"}}}
            return Reach(anything=True, limit=limit, pending=top > bound * _DATES[kind])
        aged = followed.aged(top, self.delay, self.clock())
        if aged is None:
            return _TOO_YOUNG
        return Reach(anything=True, limit={"range": {self.cursor: {"lte": aged}}}, pending=aged != top)


def _aged(seen: list[tuple[float, Any]], value: Any, delay: float, now: float) -> Any:
    if not seen or now - seen[-1][0] >= delay / _REMEMBERED:
        seen.append((now, value))
    while len(seen) > 1 and seen[1][0] <= now - delay:
        del seen[0]
    when, oldest = seen[0]
    return oldest if when <= now - delay else None
