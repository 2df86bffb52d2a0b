"""What one write did, and how far the writing of a query is, in files on the driver's machine.

Whoever commits the micro-batches writes them. PySpark 4.2 has no way of its own for that: a writer reports no metrics,
accumulators do not reach it, and `commit` runs in a process of its own. Executors on the same machine also write what
they wait for. Elsewhere the folder does not exist, and nothing is written.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

_TOTALS: Final = "written.json"
_WAITING: Final = "waiting-"


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


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the writing is since the folder was made.

    Attributes:
        tally: of all micro-batches that were committed.
        topics: that were read.
        waiting: why a write does not move, one line; empty when none waits, or it is elsewhere.
    """

    tally: Tally = field(default_factory=Tally)
    topics: frozenset[str] = frozenset()
    waiting: str = ""


def read(folder: str) -> Progress:
    """How far it is by what stands there."""
    totals = _totals(Path(folder))
    waiting = ""
    for file in sorted(Path(folder).glob(f"{_WAITING}*")):
        try:
            waiting = waiting or file.read_text(encoding="utf-8")
        except OSError:
            pass  # it goes on
    return Progress(Tally(**totals.get("tally", {})), frozenset(totals.get("topics", ())), waiting)


def committed(folder: str, done: list[Done]) -> None:
    """Add what the writes of a micro-batch did. Called by one process at a time."""
    path = Path(folder)
    if not folder or not path.is_dir():
        return
    totals = _totals(path)
    tally = sum((each.tally for each in done), Tally(**totals.get("tally", {})))
    topics = {span.topic for each in done for span in each.spans}.union(totals.get("topics", ()))
    new = path / f"{_TOTALS}.new"
    new.write_text(json.dumps({"tally": asdict(tally), "topics": sorted(topics)}), encoding="utf-8")
    new.replace(path / _TOTALS)


def waiting(folder: str, number: int, why: str) -> None:
    """Say what a write waits for; nothing when it waits no more."""
    path = Path(folder)
    if not folder or not path.is_dir():
        return
    file = path / f"{_WAITING}{number}"
    if why:
        new = path / f".{file.name}"
        new.write_text(" ".join(why.split()), encoding="utf-8")
        new.replace(file)
    else:
        file.unlink(missing_ok=True)


def _totals(folder: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((folder / _TOTALS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return found
