"""Files on the driver's machine that say what one write did, and how far a query has written.

Whoever commits the micro-batches writes them. PySpark 4.2 has no way of its own for that: a writer reports no metrics,
accumulators do not reach it, and `commit` runs in a process of its own. Executors on the same machine also write what
they wait for. Elsewhere the folder does not exist, and nothing is written.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

_TOTALS: Final = "written.json"
_WAITING: Final = "waiting-"
_MEASURED: Final = "measured-"


@dataclass(frozen=True, slots=True)
class Span:
    """The records of one topic partition in one write; each is durable, or a dead letter, or was skipped.

    Attributes:
        topic, partition: of the records.
        first, next: the first one's offset, and the one after the last.
        records: their number.
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
        read: records consumed.
        written: records put.
        known: records that the target had already, by the offsets that `open` returned.
        errors: records that failed.
        skipped: failed records that errors.tolerance let pass.
        dead_letters: records written to the dead letter topic.
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
        measured: the connector's own metrics, as `connect.telemetry.Registry.text`.
    """

    spans: tuple[Span, ...] = ()
    tally: Tally = field(default_factory=Tally)
    measured: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of the writing since the folder was created.

    Attributes:
        tally: of all micro-batches that were committed.
        topics: that were read.
        waiting: why a write waits, one line; empty when none does, or it runs on another machine.
    """

    tally: Tally = field(default_factory=Tally)
    topics: frozenset[str] = frozenset()
    waiting: str = ""


def read(folder: str) -> Progress:
    """Read the progress."""
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
    _write(path / _TOTALS, json.dumps({"tally": asdict(tally), "topics": sorted(topics)}))
    if measured := [each.measured for each in done if each.measured]:
        _write(path / f"{_MEASURED}{uuid.uuid4().hex}", "\n".join(measured))


def take_measured(folder: str) -> Iterator[str]:
    """The metrics of writes that were committed and not taken yet, each as `connect.telemetry.Registry.text`."""
    for file in sorted(Path(folder).glob(f"{_MEASURED}*"), key=lambda file: file.stat().st_mtime_ns):
        measured = file.read_text(encoding="utf-8")
        file.unlink()
        yield from measured.splitlines()


def waiting(folder: str, number: int, why: str) -> None:
    """Note what a write waits for; an empty text when it no longer waits."""
    path = Path(folder)
    if not folder or not path.is_dir():
        return
    file = path / f"{_WAITING}{number}"
    if why:
        _write(file, " ".join(why.split()))
    else:
        file.unlink(missing_ok=True)


def _write(file: Path, text: str) -> None:
    new = file.with_name(f".{file.name}")
    new.write_text(text, encoding="utf-8")
    new.replace(file)


def _totals(folder: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((folder / _TOTALS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return found
