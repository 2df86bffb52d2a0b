"""How far a task is with a partition: files that are open or not durable yet, and objects that others have written."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connectors.objects.sink.files import File
    from connectors.objects.sink.rotation import Rotation


@dataclass(slots=True)
class Stretch:
    """Files that are committed together.

    Attributes:
        first: offset of its first record.
        pending: files that are not durable yet.
    """

    first: int
    pending: set[File] = field(default_factory=set)
    ended: bool = False


@dataclass(slots=True)
class PartitionProgress:
    """What a task knows of a partition: what it has written of it, and what others have.

    Attributes:
        files: the open ones: the file of a part, and those of keys and headers beside it.
        stretches: those not durable yet, in order; the last may be open.
        behind: patterns where other objects were found, and the last offsets in those.
        since: where the first of those began, as far as this task knows. No offset from there to their ends is
            committed: a task that began in between would find no object that begins there, and write the rest again.
        last: the last offset taken.
        fresh: whether nothing became durable since the partition was assigned: others may have written what comes now.
        seen: the patterns checked meanwhile.
    """

    rotation: Rotation
    files: dict[int, list[File]] = field(default_factory=dict)
    stretches: deque[Stretch] = field(default_factory=deque)
    behind: dict[str, int] = field(default_factory=dict)
    since: int | None = None
    last: int = -1
    fresh: bool = True
    seen: set[str] = field(default_factory=set)

    def oldest(self, coming: int) -> int:
        """The first offset that is not durable, given the one that comes next: files that are open begin before it."""
        return min(coming, self.stretches[0].first) if self.stretches else coming

    def forget_behind(self, coming: int) -> None:
        """Forget the other objects when all that is not durable lies behind them."""
        if self.behind and self.oldest(coming) > max(self.behind.values()):
            self.behind, self.since = {}, None

    def held_back(self, offset: int) -> int:
        """The offset up to which all is durable, given that this much is written: see `since`."""
        if self.since is None or offset > max(self.behind.values()):
            return offset
        return min(offset, self.since)
