"""`python -m bench.bars`: every bar that measurements are held to, and what bench/results says of it.

A bar stands here and nowhere else. `make bench`, this command and docs/performance.md judge by it.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from bench import document
from bench.shapes import CLASSES

Comparison = Literal[">=", "<="]


@dataclass(frozen=True)
class Bar:
    """What one figure has to reach.

    Attributes:
        part: whose.
        metric: its path in the rows of the part's document (`bench.document.find`); `*` stands for every name. Where
            several bars of a part lead to one figure, the last counts.
        why: where the bar comes from, or what it is good for, in a line.
    """

    part: str
    metric: str
    comparison: Comparison
    value: float
    why: str

    def holds(self, measured: float) -> bool:
        """Whether a figure reaches it."""
        return measured >= self.value if self.comparison == ">=" else measured <= self.value

    def __str__(self) -> str:
        return f"{'≥' if self.comparison == '>=' else '≤'}{self.value:g}"


def _ratio(part: str, row: str, figure: str, peer: str, comparison: Comparison, value: float, why: str) -> Bar:
    return Bar(part, f"{row}/ours/ratio/{peer}/{figure}/median", comparison, value, why)


def _beside_java() -> Iterator[Bar]:
    """Lines of text between files and topics, beside Kafka Connect."""
    for row in ("source-string", "sink-string"):
        yield _ratio("files", row, "rate", "java", ">=", 2.5, "two and a half times the records of Kafka Connect")
        yield _ratio("files", row, "cpu_us", "java", "<=", 0.25, "a quarter of its CPU, with the start")
        yield _ratio("files", row, "cpu_us_started", "java", "<=", 0.25, "a quarter of its CPU, without the start")
        yield _ratio("files", row, "pss_mb", "java", "<=", 0.33, "a third of its memory")
        yield _ratio("files", row, "start_s", "java", "<=", 0.25, "the first record in a quarter of the time")
    for row, rate, cpu in (("sink-schemaless", 1.2, 0.7), ("sink-declared", 2.5, 0.33), ("sink-enveloped", 2.5, 0.33)):
        yield _ratio("chain", row, "rate", "java", ">=", rate, "JSON through three transformations")
        yield _ratio("chain", row, "cpu_us_started", "java", "<=", cpu, "the same: CPU, without the start")
    for name in CLASSES:
        for form, rate, cpu in (("declared", 2.5, 0.33), ("enveloped", 2.5, 0.33), ("schemaless", 2, 0.4)):
            yield _ratio("shapes", f"{name}-{form}", "rate", "java", ">=", rate, "JSON of every shape")
            yield _ratio("shapes", f"{name}-{form}", "cpu_us", "java", "<=", cpu, "the same: CPU, without the start")
    for row in ("source-string", "sink-string"):
        yield _ratio("java", row, "rate", "java", ">=", 0.95, "Java's classes are as fast here as in their own worker")
        yield _ratio("java", row, "cpu_us", "java", "<=", 1.1, "and take no more CPU")

    for form in ("schema", "Arrow"):
        why = "a batch crosses into the JVM and back"
        yield Bar("crossing", f"eight fields: transformed/{form}/median/us", "<=", 3, why)


def _transforms() -> Iterator[Bar]:
    """Microseconds a record of eight fields. The exceptions stand behind the rule."""

    def of(row: str, form: str, value: float, why: str) -> Bar:
        return Bar("transforms", f"{row}/{form}/median/us", "<=", value, why)

    python = ("no schema", "schema")
    for form in python:
        yield of("*", form, 0.5, "a transformation by rows of Python values")
    yield of("*", "Arrow", 0.1, "a transformation by columns of Arrow")
    for form in python:
        for row in ("InsertField, timestamp", "TimestampConverter*"):
            yield of(row, form, 1.5, "times are made one by one")
    for row in ("TimestampConverter, text", "TimestampConverter from text"):
        yield of(row, "Arrow", 1.5, "Arrow has none of Java's patterns for times")
    yield of("TimestampRouter", "Arrow", 0.5, "a topic is text for each record, in columns too")
    yield of("HeaderFrom", "*", 2.5, "headers are objects of their own for each record")
    for form in python:
        yield of("Deduplicate", form, 3, "it remembers what it saw; none of Kafka Connect's")
        yield of("Expression", form, 1, "it computes what a user wrote; none of Kafka Connect's")
        yield of("SchemaContract", form, 3, "it looks at every value; none of Kafka Connect's")
    yield of("Deduplicate", "Arrow", 4, "it remembers what it saw; none of Kafka Connect's")
    yield of("Expression", "Arrow", 0.2, "it computes what a user wrote; none of Kafka Connect's")


def _connectors() -> Iterator[Bar]:
    for row, rate in (("insert", 2.5), ("upsert", 2)):
        yield _ratio("jdbc", row, "rate", "java", ">=", rate, "rows a second of Debezium's JDBC sink")
        yield _ratio("jdbc", row, "cpu_us", "java", "<=", 0.25, "a quarter of its CPU")
        yield _ratio("jdbc", row, "pss_mb", "java", "<=", 0.33, "a third of its memory")
    yield _ratio("jdbc", "source", "seconds", "copy", "<=", 2, "from the first record on, twice what COPY TO takes")
    yield _ratio("elasticsearch", "index", "rate", "client", ">=", 0.9, "as fast as parallel_bulk, nearly")
    for row in ("jsonl", "parquet"):
        yield _ratio("s3", row, "rate", "hand", ">=", 0.8, "nearly as fast as a program for this one topic")
        yield _ratio("s3", row, "cpu_us", "hand", "<=", 1.5, "half as much CPU again as that program at most")
    yield Bar("soak", "memory/ours/median/spread", "<=", 1.1, "memory is flat with 200 open files")


def _spark() -> Iterator[Bar]:
    yield _ratio("spark", "delta", "cpu_us", "raw", "<=", 0.6, "the engine beside the same written by hand")
    yield _ratio("spark", "delta", "rate", "raw", ">=", 1.3, "the engine beside the same written by hand")
    yield _ratio("merges", "merge", "cpu_us", "kafka", "<=", 0.8, "a merge beside one written by hand")
    yield _ratio("merges", "merge", "rate", "kafka", ">=", 1.25, "a merge beside one written by hand")
    same = "connector/worker/ratio/spark"
    yield Bar("spark", f"{same}/cpu_us/median", "<=", 0.4, "a machine that is enough needs no Spark")
    yield Bar("spark", f"{same}/rate/median", ">=", 1.3, "a machine that is enough needs no Spark")


def _pool() -> Iterator[Bar]:
    yield Bar("pool", "idle/ours/median/worker_percent", "<=", 5, "100 idle tasks take 5 % of a core")
    yield Bar("pool", "change/ours/median/begun_ms", "<=", 300, "a changed configuration reaches its task")
    yield Bar("pool", "loss/ours/median/flows_last_s", "<=", 17, "session 10 s, rebalance delay 5 s, and 2 s")
    yield _ratio("pool", "many", "pss_mb", "java", "<=", 1.0, "1,000 connectors need no more memory")
    yield _ratio("pool", "many", "running_s", "java", "<=", 0.3, "1,000 connectors run sooner")
    yield _ratio("pool", "many", "flows_last_s", "java", "<=", 0.7, "of 1,000, all flow sooner after a lost worker")
    yield _ratio("rest", "list", "p99_ms", "java", "<=", 0.5, "the list is answered sooner under full load")
    for row in ("list", "status", "expand"):
        yield Bar("rest", f"{row}/ours/median/p99_ms", "<=", 50, "REST answers while tasks run at full load")
    yield Bar("rest", "validate/ours/median/p99_ms", "<=", 500, "REST validates while tasks run at full load")


def _java_tasks() -> Iterator[Bar]:
    yield _ratio("java_tasks", "ten", "pss_mb", "java", "<=", 1.3, "ten tasks of a Java connector in one JVM")
    yield _ratio("java_tasks", "start", "start_s", "java", "<=", 1.5, "a JVM of its own costs a connector little")
    yield _ratio("java_tasks", "shared", "start_s", "java", "<=", 1.5, "connectors that share a JVM start as at home")
    yield _ratio("java_tasks", "shared", "pss_mb", "java", "<=", 1.3, "and need no more memory")


def _latency() -> Iterator[Bar]:
    for row in ("files", "capture", "table"):
        for rate in ("1,000 a second", "20,000 a second"):
            why = "records arrive sooner than from Kafka Connect and Debezium"
            yield _ratio("latency", f"{row} {rate}", "p99_ms", "java", "<=", 0.7, why)


def _avro() -> Iterator[Bar]:
    for row in ("read", "write"):
        for form in ("columns", "dicts"):
            yield Bar("avro", f"{row}/{form}/ratio/fastavro/us/median", "<=", 1, "no slower than fastavro alone")


BARS: tuple[Bar, ...] = (
    *_beside_java(),
    *_transforms(),
    *_avro(),
    *_connectors(),
    *_spark(),
    *_pool(),
    *_java_tasks(),
    *_latency(),
)


@dataclass(frozen=True)
class Judged:
    """One bar beside one figure; `measured` is None where a document has no such figure."""

    bar: Bar
    metric: str
    measured: float | None

    @property
    def held(self) -> bool:
        """Whether the bar is reached. What was not measured reaches none."""
        return self.measured is not None and self.bar.holds(self.measured)

    @property
    def figure(self) -> str:
        """What was measured: row, figure, sides."""
        row, side, *rest = self.metric.split("/")
        return f"{row}: {rest[2]}, {side} to {rest[1]}" if rest[0] == "ratio" else f"{row}: {rest[1]}, {side}"

    def __str__(self) -> str:
        measured = "was not measured" if self.measured is None else f"is {self.measured:.3g}"
        return f"{self.bar.part}, {self.figure} {measured}, the bar is {self.bar}: {self.bar.why}"


def judge(found: Mapping[str, Any], bars: Iterable[Bar] = BARS) -> list[Judged]:
    """Every bar of a document's part beside its figure, in the order of the bars; none where sizes were tiny."""
    if found.get("quick"):
        return []
    judged: dict[str, Judged] = {}
    for bar in bars:
        if bar.part != found["part"]:
            continue
        figures = list(_figures(found["rows"], bar.metric))
        judged.update((metric, Judged(bar, metric, measured)) for metric, measured in figures)
        if not figures:
            judged[bar.metric] = Judged(bar, bar.metric, None)
    return list(judged.values())


def _figures(rows: Mapping[str, Any], metric: str) -> Iterator[tuple[str, float]]:
    """As `document.find`; the row may also be a pattern."""
    row, _, rest = metric.partition("/")
    for name in rows:
        if fnmatchcase(name, row):
            yield from document.find(rows, f"{name}/{rest}")


def bar_of(judged: Iterable[Judged], metric: str) -> Judged | None:
    """The bar of one figure."""
    return next((each for each in judged if each.metric == metric), None)


def main() -> int:
    """Returns 0 when all that was measured reaches its bar and all was measured, else 1."""
    argparse.ArgumentParser(prog="python -m bench.bars", description=__doc__).parse_args()
    return show(Path(document.RESULTS))


def show(folder: Path) -> int:
    """Print what the documents of a folder say of the bars. See `main`."""
    code = 0
    for part in dict.fromkeys(bar.part for bar in BARS):
        for each in judge(document.read(part, folder) or {"part": part, "rows": {}}):
            print(f"{'held  ' if each.held else 'MISSED'}  {each}")
            code |= not each.held
    return code


if __name__ == "__main__":
    sys.exit(main())
