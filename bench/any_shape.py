"""`python -m bench.any_shape`: JSON of every shape through transformations, topic to file, beside Kafka Connect.

The records are those of `bench.shapes`, some 60 MB of JSON for each class: of a schema in `schema.content`, with the
schema in each record, and without one; Flatten comes first for structs in structs. What both sides wrote is compared
line by line. Doubles may differ in their digits, for a Java before 19 does not always find the fewest; maps without a
schema may differ in their order.
"""

import json
import re
import sys
import time
from pathlib import Path
from typing import Any, Final

from bench import one
from bench.document import Rows
from bench.machine import kafka_connect, say, versions
from bench.part import Settings
from bench.shapes import CLASSES, Shape, shape
from bench.standalone import MeasurementFailed, Memory, watch, worker
from bench.tables import CPU, MEMORY, RATE, compare
from bench.topics import produce
from bench.work import JSON, STRING
from bench.workers import SIDES
from connect.jvm.jars import classpath
from connect.kafka.broker import embedded as broker

FORMS: Final = ("declared", "enveloped", "schemaless")
_TITLES: Final = {"declared": "schema declared", "enveloped": "schema in each record", "schemaless": "no schema"}
_BYTES: Final = 60_000_000  # of JSON for each class, without envelopes
_QUICK_BYTES: Final = 6_000_000
_MOST: Final = 500_000  # records
_SEED: Final = 1
_LOOK_S: Final = 0.02
_DOUBLE: Final = re.compile(rb"-?\d+\.\d+(?:E-?\d+)?")


def measure(settings: Settings) -> dict[str, Any]:
    """Each class in each form by both sides in turn; who is first changes with each round.

    Raises:
        MeasurementFailed: a worker failed, or the two did not write the same.
    """
    rounds = settings.repeat()
    wanted = [(name, form) for name in CLASSES for form in FORMS if settings.wants(f"{name}-{form}")]
    classpath("kafka-connect")
    rows = Rows({"ours": ["java"]})
    counts: dict[str, int] = {}
    try:
        say("starting the broker")
        bootstrap = broker.ensure_running(settings.folder / "broker", port=0).bootstrap_servers
        for name in dict.fromkeys(name for name, _ in wanted):
            drawn = shape(name, _SEED)
            counts[name] = settings.size or _count(drawn, _QUICK_BYTES if settings.quick else _BYTES)
            payloads = list(drawn.payloads(counts[name]))
            for form in (form for of, form in wanted if of == name):
                topic = f"{name}-{form}"
                produce(bootstrap, topic, map(drawn.enveloped, payloads) if form == "enveloped" else payloads)
                for number in range(rounds):
                    _round(settings.folder, bootstrap, drawn, form, counts[name], number, rows)
    finally:
        broker.stop(settings.folder / "broker")
    return {
        "settings": {"rounds": rounds, "seed": _SEED, "records": counts},
        "versions": {**kafka_connect(), **versions("connect-runtime", "confluent-kafka", "pyarrow")},
        "rows": rows.as_json(),
    }


def table(document: dict[str, Any]) -> str:
    """The document as Markdown."""
    titles = {f"{name}-{form}": f"{name}, {_TITLES[form]}" for form in FORMS for name in CLASSES}
    return compare(document, titles, (RATE, CPU, MEMORY), ("java", "Java"))


def _count(drawn: Shape, size: int) -> int:
    """How many records have about so many bytes."""
    sample = list(drawn.payloads(200))
    return min(_MOST, size // (sum(map(len, sample)) // len(sample)))


def _round(base: Path, bootstrap: str, drawn: Shape, form: str, count: int, number: int, rows: Rows) -> None:
    """Both sides once, and what they wrote side by side."""
    topic = f"{drawn.name}-{form}"
    written = {}
    for side in reversed(SIDES) if number % 2 else SIDES:
        folder = base / f"{topic}-{side}-{number}"
        figures = _run(side, bootstrap, topic, drawn, form, count, folder)
        rows.add(topic, side, figures, number)
        written[side] = folder / "output"
        say(
            f"round {number + 1}  {topic:20}  {side}  {figures['rate']:>9,.0f} records/s  "
            f"{figures['cpu_us']:6.2f} us of CPU a record"
        )
    _compare(topic, written["java"], written["ours"], in_order=form != "schemaless")
    for output in written.values():
        output.unlink()


def _run(side: str, bootstrap: str, topic: str, drawn: Shape, form: str, count: int, folder: Path) -> dict[str, float]:
    converter = {
        "declared": {"value.converter.schema.content": json.dumps(drawn.schema)},
        "enveloped": {},
        "schemaless": {"value.converter.schemas.enable": "false"},
    }[form]
    output = folder / "output"
    connector = {
        "name": folder.name,
        "connector.class": "FileStreamSink",
        "tasks.max": "1",
        "file": str(output),
        "topics": topic,
        **drawn.transforms,
    }
    began = time.monotonic()
    settings = {"key.converter": STRING, "value.converter": JSON, **converter}
    with worker(side, bootstrap, folder, connector, settings) as pid, Memory(pid) as memory:
        figures = watch(_Lines(output).count, count, pid, began, folder / "log", _LOOK_S)
    return {**figures, "pss_mb": memory.most}


class _Lines:
    """Counts the lines of a file that grows; each is looked at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = self._lines = 0

    def count(self) -> int:
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._at)
                while part := file.read(1 << 20):
                    self._at += len(part)
                    self._lines += part.count(b"\n")
        return self._lines


def _compare(topic: str, java: Path, ours: Path, *, in_order: bool) -> None:
    with java.open("rb") as theirs, ours.open("rb") as own:
        for number, (expected, made) in enumerate(zip(theirs, own, strict=True)):
            if not same(expected, made, in_order=in_order):
                raise MeasurementFailed(f"{topic}, line {number + 1}: Java wrote {expected!r} and ours {made!r}")


def same(expected: bytes, made: bytes, *, in_order: bool) -> bool:
    """Whether two lines say the same: doubles may have other digits and, without a schema, fields another order."""
    if expected == made:
        return True
    one, other = (_DOUBLE.sub(_shortest, line) for line in (expected, made))
    return one == other or (not in_order and sorted(one) == sorted(other))


def _shortest(found: re.Match[bytes]) -> bytes:
    return repr(float(found[0])).encode()


if __name__ == "__main__":
    sys.exit(one.main("bench.any_shape", "shapes"))
