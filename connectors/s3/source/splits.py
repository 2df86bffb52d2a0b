"""Objects as splits: the planning instance writes them, and a reader reads them as its queue.

    {"lanes": [{"bucket": "b", "prefix": "logs/", "share": "3/16"}],
     "objects": [{"key": "logs/0019", "etag": "9a0364b9", "size": 51200, "record": 1200, "topic": "logs",
                  "partition": null, "lane": 0}]}

The objects of a lane are in one split, in their order: by partition those of a topic partition, and with
distribution.type=partition_in_filename likewise. Other lanes are only a means to divide names, but they are many, and
so one rule is enough.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from connect import ReadPlan
from connect.api.splits import Split
from connectors.s3.source.lanes import Found, Lane
from connectors.s3.source.layout import Place
from connectors.s3.source.walk import Next

#: The most of a plan: objects, bytes of them, characters of JSON with its offsets. A plan has at least one object.
_MOST_OBJECTS: Final = 1000
_MOST_BYTES: Final = 1 << 30
#: The same for each split: some seconds of work. A stop repeats what is not done, and offsets move at a plan's end.
_BYTES_OF_SPLIT: Final = 64 << 20
_MOST_JSON: Final = 390_000
#: By how much an offset grows with an object that is finished.
_DONE_JSON: Final = 12
#: A split should have work for longer than it takes to begin one.
_LEAST_BYTES: Final = 4 << 20
#: A request for an object takes as long as so many of its bytes.
_REQUEST_BYTES: Final = 64 << 10
#: An object that was begun is known by its offset, without a size; it is a large one, or it would not be open.
_UNKNOWN_BYTES: Final = 32 << 20


class Draft:
    """The objects of one plan, in their order.

    Args:
        most: splits.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._most_bytes = min(_MOST_BYTES, most * _BYTES_OF_SPLIT)
        self._chosen: list[Next] = []
        self._lanes: dict[Lane, None] = {}  # in the order of their first objects
        self._bytes = 0
        self._json = 0

    def __len__(self) -> int:
        return len(self._chosen)

    def add(self, chosen: Next) -> bool:
        """Add an object, before it is finished in its lane. False: it is one of the next plan's."""
        taken, written = self._bytes + max(0, chosen.found.size), self._json + _json(_split([chosen])) + _DONE_JSON
        if chosen.lane not in self._lanes:
            written += _json([chosen.lane.partition, chosen.lane.offset()])
        if self._chosen and (len(self) >= _MOST_OBJECTS or taken > self._most_bytes or written > _MOST_JSON):
            return False
        self._chosen.append(chosen)
        self._lanes[chosen.lane] = None
        self._bytes, self._json = taken, written
        return True

    def plan(self) -> ReadPlan:
        """The plan. All its objects are finished in their lanes by now."""
        return ReadPlan(
            [_split(objects) for objects in divided(self._chosen, self._most)],
            [(dict(lane.partition), dict(lane.offset())) for lane in self._lanes],
        )


def divided(objects: Sequence[Next], most: int) -> list[list[Next]]:
    """Objects in at most so many groups of about equal bytes, each in the order given; a lane is in one group."""
    weights: dict[Lane, int] = {}
    for chosen in objects:
        weights[chosen.lane] = weights.get(chosen.lane, 0) + _weight(chosen)
    count = max(1, min(most, len(weights), sum(weights.values()) // _LEAST_BYTES))
    loads = [0] * count
    group: dict[Lane, int] = {}
    for lane in sorted(weights, key=weights.__getitem__, reverse=True):  # the heaviest first, to the lightest group
        group[lane] = loads.index(min(loads))
        loads[group[lane]] += weights[lane]
    groups: list[list[Next]] = [[] for _ in loads]
    for chosen in objects:
        groups[group[chosen.lane]].append(chosen)
    return groups


def _json(value: Any) -> int:
    return len(json.dumps(value))


def _weight(chosen: Next) -> int:
    size = chosen.found.size
    return _REQUEST_BYTES + (_UNKNOWN_BYTES if size < 0 else size)


def _split(objects: Sequence[Next]) -> Split:
    numbers: dict[Lane, int] = {}
    for chosen in objects:
        numbers.setdefault(chosen.lane, len(numbers))
    return {
        "lanes": [lane.partition for lane in numbers],
        "objects": [
            {
                "key": chosen.found.key,
                "etag": chosen.found.etag,
                "size": chosen.found.size,
                "record": chosen.record,
                "topic": chosen.place.topic,
                "partition": chosen.place.partition,
                "lane": numbers[chosen.lane],
            }
            for chosen in objects
        ],
    }


class SplitQueue:
    """A queue of objects, see `connectors.s3.source.objects.Queue`: those of a split.

    Its lanes say where a record comes from; what was read is the planning instance's to say.

    Attributes:
        left: how many objects are not done with.
    """

    def __init__(self, split: Split) -> None:
        lanes = [Lane(dict(partition), None, window=1, timed=False) for partition in split["lanes"]]
        self._objects = deque(_next(each, lanes) for each in split["objects"])
        self.left = len(self._objects)

    def next(self, deadline: float | None) -> Next | None:
        return self._objects.popleft() if self._objects else None

    def coming(self, count: int) -> list[Next]:
        return [self._objects[at] for at in range(min(count, len(self._objects)))]

    def put_back(self, chosen: Next) -> None:
        self._objects.appendleft(chosen)

    def finish(self, chosen: Next, *, empty: bool) -> None:
        self.left -= 1

    def leave(self, chosen: Next) -> None:
        self.left -= 1


def _next(said: dict[str, Any], lanes: list[Lane]) -> Next:
    found = Found(said["key"], said["etag"], said["size"])
    return Next(lanes[said["lane"]], found, Place(said["topic"], said["partition"]), said["record"])
