"""What has to hold of a run. Each check is a function of what was seen, and names what is wrong."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: A topic partition's number and an offset in it; None where no broker has said it: the record was written already, and
#: came again because an answer had been lost.
Place = tuple[int, int | None]


@dataclass(frozen=True)
class Problem:
    """Something that must not be.

    Attributes:
        check: which check found it: lost, repeated, ahead, order, owners, letters, leak, standstill, error.
        flow: where.
        text: what.
    """

    check: str
    flow: str
    text: str

    def __str__(self) -> str:
        return f"{self.check}: {self.flow}: {self.text}"


def few(numbers: Iterable[int], most: int = 12) -> str:
    """Numbers for a message, stretches as first-last."""
    parts: list[str] = []
    for number in sorted(set(numbers)):
        if parts and number == int(parts[-1].rpartition("-")[2]) + 1:
            parts[-1] = f"{parts[-1].partition('-')[0]}-{number}"
        else:
            parts.append(str(number))
    return ", ".join(parts[:most]) + (f", and {len(parts) - most} more" if len(parts) > most else "")


def lost(
    flow: str, expected: Collection[int], arrived: Collection[int], excused: Collection[int] = ()
) -> list[Problem]:
    """Every record arrived, but those that were deleted before they could be read.

    A record that was to be lost and has arrived is right as well: a sink may have been quick.
    """
    missing = set(expected) - set(arrived) - set(excused)
    return [Problem("lost", flow, f"{len(missing)} of {len(expected)}: {few(missing)}")] if missing else []


def invented(flow: str, expected: Collection[int], arrived: Collection[int]) -> list[Problem]:
    """Nothing arrived that was not written."""
    more = set(arrived) - set(expected)
    return [Problem("invented", flow, f"{len(more)}: {few(more)}")] if more else []


def repeats(arrived: Iterable[int]) -> dict[int, int]:
    """The numbers that arrived more than once, and how often more."""
    return {number: times - 1 for number, times in Counter(arrived).items() if times > 1}


def repeated(flow: str, arrived: Iterable[int], excused: Collection[int] = ()) -> list[Problem]:
    """No record arrived twice, but those that a user had sent again."""
    twice = set(repeats(arrived)) - set(excused)
    return [Problem("repeated", flow, f"{len(twice)}: {few(twice)}")] if twice else []


def ahead(
    flow: str,
    committed: Mapping[int, int],
    places: Mapping[int, Place],
    there: Collection[int],
    excused: Collection[int] = (),
) -> list[Problem]:
    """P1: what is before a committed offset is in the target.

    Args:
        committed: for each partition, read before the target was.
        places: where each record is in the topic.
        there: the records in the target, dead letters among them.
    """
    kept = set(there) | set(excused)
    early = [
        n
        for n, (partition, offset) in places.items()
        if offset is not None and offset < committed.get(partition, 0) and n not in kept
    ]
    return [Problem("ahead", flow, f"committed {dict(committed)}, and not there: {few(early)}")] if early else []


def order(flow: str, arrived: Sequence[int], places: Mapping[int, Place], *, once: bool) -> list[Problem]:
    """Records of a partition come in their order.

    With at least once any record may come again at any moment: by a task that begins further back, and late, from a
    task that was cut off with records under way. What comes for the first time comes in its order all the same.

    Args:
        places: where each record was; others do not count.
        once: whether nothing may come again.
    """
    offsets: dict[int, list[int]] = defaultdict(list)
    for partition, offset in places.values():
        if offset is not None:
            offsets[partition].append(offset)
    following = {partition: dict(itertools.pairwise([-1, *sorted(found)])) for partition, found in offsets.items()}
    highest: dict[int, int] = defaultdict(lambda: -1)
    for number in arrived:
        if number not in places:
            continue
        partition, offset = places[number]
        if offset is None:
            continue
        before = highest[partition]
        if offset > before and (once or offset == following[partition][before]):
            highest[partition] = offset
        elif once or offset > before:
            text = f"{number} (offset {offset}) after offset {before} of partition {partition}"
            return [Problem("order", flow, text)]
    return []


def owners(flow: str, marks: Iterable[Mapping[str, Any]]) -> list[Problem]:
    """P3: no process begins a write of a task once another one has begun one: each has one stretch of them.

    What a process that was frozen in the middle of a write does when it goes on is to end that one.

    Args:
        marks: what the task's processes noted: what (begins or ended), pid, at.
    """
    begins = sorted((mark["at"], mark["pid"]) for mark in marks if mark["what"] == "begins")
    stretches = [pid for pid, _ in itertools.groupby(pid for _, pid in begins)]
    twice = {pid for pid in stretches if stretches.count(pid) > 1}
    return [Problem("owners", flow, f"processes {sorted(twice)} began writes after others had")] if twice else []
