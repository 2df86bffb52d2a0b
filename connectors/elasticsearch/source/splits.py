"""What executors read of shards: parts that end at a known document, several of them in a split.

By sequence numbers a part may be any range of them: each document has one number at a time. By a field nobody knows how
many documents are in a range, so that a shard is one part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from connect.api.splits import Split
from connect.kit import shared_out
from connectors.elasticsearch.source.offsets import Position
from connectors.elasticsearch.source.pages import Page
from connectors.elasticsearch.source.shards import Shard

#: Fewer operations of shards are not split.
_LEAST: Final = 10_000


@dataclass(frozen=True, slots=True)
class Part:
    """What is read of one shard.

    Attributes:
        after, end: the positions before and at the last document. `end` may be that of one that is left out.
        limit: a condition on the documents, None for none.
    """

    shard: Shard
    after: Position
    end: Position
    limit: Mapping[str, Any] | None

    def within(self, page: Page) -> Page:
        """What of a page belongs to it."""
        end = self.end.search_after
        # Elasticsearch adds a number of its own to what documents are sorted by.
        hits = [hit for hit in page.hits if hit.sort[: len(end)] <= end]
        return Page(page.shard, hits, page.size, page.last or len(hits) < len(page.hits))


def by_number(parts: Iterable[Part], most: int) -> list[list[Part]]:
    """Parts by sequence numbers, cut into at most so many splits of about the same size."""
    whole = list(parts)
    each = max(_LEAST, -(-sum(part.end.seq_no - part.after.seq_no for part in whole) // most))
    splits: list[list[Part]] = []
    room = 0
    for part in whole:
        at = part.after.seq_no
        while at < part.end.seq_no:
            if not room:
                splits.append([])
                room = each
            stop = min(part.end.seq_no, at + room)
            limit = {"range": {"_seq_no": {"lte": stop}}}
            splits[-1].append(Part(part.shard, Position(at), Position(stop), limit))
            room -= stop - at
            at = stop
    return splits


def by_shard(parts: Iterable[Part], most: int) -> list[list[Part]]:
    """Whole parts, dealt out to at most so many splits."""
    return [list(share) for share in shared_out(list(parts), most)]


def split(parts: Sequence[Part]) -> Split:
    """The split of these parts."""
    return {
        "parts": [
            {
                "shard": [part.shard.index, part.shard.uuid, part.shard.number],
                "after": [part.after.seq_no, part.after.value],
                "end": [part.end.seq_no, part.end.value],
                "limit": part.limit,
            }
            for part in parts
        ]
    }


def parts(split: Split) -> list[Part]:
    """The parts of a split."""
    return [
        Part(Shard(*each["shard"]), Position(*each["after"]), Position(*each["end"]), each["limit"])
        for each in split["parts"]
    ]
