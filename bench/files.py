"""`python -m bench.files`: a file to a topic and the topic to a file, beside Kafka Connect's own worker.

2,000,000 lines of 100 bytes, one connector, one task, one partition: with StringConverter, with JsonConverter and its
schema, and with one transformation that changes nothing, written as somebody does who knows nothing of batches. What
came out is compared with what went in, byte for byte.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import one
from bench.document import Rows
from bench.machine import kafka_connect, say, versions
from bench.measure import Bench
from bench.part import Settings
from bench.standalone import MeasurementFailed
from bench.tables import CPU, MEMORY, RATE, START, Figure, compare
from bench.topics import Topics, TopicUnreadable
from bench.work import FILLED, LINES, Work
from bench.workers import SIDES
from connect.jvm.jars import classpath
from connect.kafka.broker import embedded as broker

WITHIN_S = 180.0  # seconds for one measurement
FIGURES = (
    RATE,
    Figure("cpu_us", "CPU, µs, with the start", CPU.form),
    Figure("cpu_us_started", "CPU, µs, without it", CPU.form),
    MEMORY,
    START,
)


def measure(settings: Settings) -> dict[str, Any]:
    """The works of lines."""
    return measure_works(settings, LINES)


def measure_works(settings: Settings, works: Sequence[Work]) -> dict[str, Any]:
    """Each work by both sides in turn; who is first changes with each round.

    Raises:
        MeasurementFailed: a work failed in every round of a side.
    """
    works = [work for work in works if settings.wants(work.name)]
    lines, rounds = settings.count(2_000_000, 300_000), settings.repeat()
    classpath("kafka-connect")
    rows = Rows({"ours": ["java"]})
    last: dict[tuple[str, str], str] = {}
    try:
        say("starting the broker")
        running = broker.ensure_running(settings.folder / "broker", port=0)
        with Topics(running.bootstrap_servers) as topics:
            bench = Bench(
                running, topics, settings.folder / "lines", lines, WITHIN_S, settings.folder, os.cpu_count() or 1
            )
            _prepare(bench, works)
            for number in range(rounds):
                for work in works:
                    for side in reversed(SIDES) if number % 2 else SIDES:
                        if why := _one(bench, work, side, number, rows):
                            last[work.name, side] = why
    finally:
        broker.stop(settings.folder / "broker")
    found = rows.as_json()
    for (name, side), why in last.items():
        if not found[name][side]["median"]:
            raise MeasurementFailed(f"{name}, {side}: {why}")
    return {
        "settings": {"rounds": rounds, "lines": lines},
        "versions": {**kafka_connect(), **versions("connect-runtime", "confluent-kafka")},
        "rows": found,
    }


def table(document: dict[str, Any]) -> str:
    """The document as Markdown."""
    return compare(document, {work.name: work.title for work in LINES}, FIGURES, ("java", "Java"))


def _prepare(bench: Bench, works: Sequence[Work]) -> None:
    say(f"writing {bench.count:,} lines")
    write_lines(bench.lines, bench.count)
    for topic, form in FILLED.items():
        if any(work.direction == "sink" and work.topic == topic for work in works):
            say(f"filling the topic {topic}")
            bench.topics.fill(topic, bench.lines, form)


def write_lines(path: Path, count: int) -> None:
    """So many lines of a hundred bytes of JSON, none like another."""
    with path.open("wb") as file:
        file.writelines(_line(number) for number in range(count))


def _line(number: int) -> bytes:
    text = b'{"id":%d,"name":"customer %d","active":true,"amount":%d.25' % (
        number,
        number * 7919 % 100_003,
        number % 997,
    )
    return text + b',"note":"%b"}\n' % (b"-" * (89 - len(text)))


def _one(bench: Bench, work: Work, side: str, number: int, rows: Rows) -> str:
    """Measure once. Returns why that failed, or nothing."""
    try:
        run = bench.run(work, side, number)
    except (MeasurementFailed, TopicUnreadable) as error:
        say(f"round {number + 1}  {work.name:16}  {side}  FAILED: {error}")
        rows.add(work.name, side, None, number)
        return str(error)
    rows.add(work.name, side, run.figures(), number)
    say(
        f"round {number + 1}  {work.name:16}  {side}  {run.rate:>9,.0f} records/s  "
        f"{run.cpu_per_million_started:5.2f} us of CPU a record  {run.pss / 1e6:5,.0f} MB  "
        f"{run.to_first:.2f} s to the first  others {run.other_share:.0%}"
    )
    return ""


if __name__ == "__main__":
    sys.exit(one.main("bench.files", "files"))
