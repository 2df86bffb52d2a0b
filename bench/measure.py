"""One measurement: a fresh worker does one work from its start to the last record, watched from outside."""

import filecmp
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.standalone import MeasurementFailed
from bench.topics import Topics
from bench.work import Work, transformed
from bench.workers import Worker, running
from connect.kafka.broker.embedded import Broker
from connect.telemetry import processes as tree

LOOK_EVERY = 0.01  # seconds between two looks at the output
MEMORY_EVERY = 0.2  # seconds between two looks at the memory, at least
QUIET = 0.1  # the share of the cores that may be busy when a measurement begins
QUIET_WITHIN = 20.0  # seconds that are waited for that


@dataclass(frozen=True)
class Run:
    """What one worker took for one work.

    Attributes:
        to_first: seconds from its start to its first record in the output.
        seconds: from then to the last record.
        after_first: how many records came out in these seconds.
        cpu: CPU-seconds of its whole process tree from its start to the last record.
        cpu_to_first: those up to the first record.
        broker_cpu: CPU-seconds of the broker meanwhile.
        other_share: what all other programs took of the machine's cores meanwhile, from 0 to 1.
        pss, rss: peak bytes of the whole process tree. RSS counts shared pages once for each process.
        processes: the most at a time.
    """

    work: str
    side: str
    round: int
    records: int
    to_first: float
    seconds: float
    after_first: int
    cpu: float
    cpu_to_first: float
    broker_cpu: float
    other_share: float
    pss: int
    rss: int
    processes: int

    @property
    def rate(self) -> float:
        """Records a second, from the first record to the last."""
        return self.after_first / self.seconds

    @property
    def cpu_per_million(self) -> float:
        """CPU-seconds for a million records, the start included."""
        return self.cpu / self.records * 1e6

    @property
    def cpu_per_million_started(self) -> float:
        """CPU-seconds for a million records, up to the first record left out."""
        return (self.cpu - self.cpu_to_first) / self.after_first * 1e6

    @property
    def broker_cpu_per_million(self) -> float:
        """CPU-seconds of the broker for a million records."""
        return self.broker_cpu / self.records * 1e6

    def figures(self) -> dict[str, float]:
        """A round of a document. A CPU-second for a million records is a microsecond a record."""
        return {
            "records": self.after_first,
            "seconds": self.seconds,
            "rate": self.rate,
            "cpu_s": self.cpu,
            "cpu_us": self.cpu_per_million,
            "cpu_us_started": self.cpu_per_million_started,
            "pss_mb": self.pss / 1e6,
            "rss_mb": self.rss / 1e6,
            "start_s": self.to_first,
            "broker_cpu_us": self.broker_cpu_per_million,
            "others": self.other_share,
            "processes": self.processes,
        }


@dataclass
class Bench:
    """The broker and the data that all measurements share.

    Attributes:
        lines: the file whose lines are moved.
        count: how many lines it has.
        within: seconds until a measurement is given up.
        folder: where everything lies.
        cores: how many the machine has.
    """

    broker: Broker
    topics: Topics
    lines: Path
    count: int
    within: float
    folder: Path
    cores: int

    def run(self, work: Work, side: str, number: int) -> Run:
        """Let one side do one work once, with a topic or a group, offsets and output that nobody has used.

        Raises:
            MeasurementFailed: the output is not what it should be.
        """
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=f"{work.name}-{side}-{number}-") as name:
            folder = Path(name)
            self._await_quiet()
            if work.direction == "source":
                return self._source(work, side, number, folder)
            return self._sink(work, side, number, folder)

    def _await_quiet(self) -> None:
        """Let what came before die down: a JVM that ends, the disk, other programs. Then begin anyway."""
        deadline = time.monotonic() + QUIET_WITHIN
        share = 1.0
        while share > QUIET and time.monotonic() < deadline:
            begin, before = time.monotonic(), tree.machine_cpu()
            time.sleep(0.5)
            share = (tree.machine_cpu() - before) / (time.monotonic() - begin) / self.cores

    def _source(self, work: Work, side: str, number: int, folder: Path) -> Run:
        topic = folder.name
        self.topics.create(topic)
        try:
            with running(side, work, self.broker.bootstrap_servers, folder.name, topic, self.lines, folder) as worker:
                run = self._watch(work, side, number, worker, lambda: self.topics.end(topic))
            if (end := self.topics.end(topic)) != self.count:
                raise MeasurementFailed(f"the topic holds {end:,} records instead of {self.count:,}")
            last = self.topics.value(topic, self.count - 1)
            if (json.loads(last)["payload"].encode() if work.is_json else last) != _last_line(self.lines):
                raise MeasurementFailed(f"the last record of the topic is not the last line of the file: {last!r}")
        finally:
            self.topics.delete(topic)
        return run

    def _sink(self, work: Work, side: str, number: int, folder: Path) -> Run:
        topic = work.topic
        output = folder / "output"
        size = self.lines.stat().st_size // self.count
        if work.transforms:
            with self.lines.open("rb") as file:
                size = len(transformed(next(file), schema=work.variant != "schemaless")) + 1

        def lines_out() -> int:
            # All lines are equally long; that they are the right ones is looked at in the end.
            return output.stat().st_size // size if output.exists() else 0

        with running(side, work, self.broker.bootstrap_servers, folder.name, topic, output, folder) as worker:
            run = self._watch(work, side, number, worker, lines_out)
        right = (
            self._are_transformed(work, output) if work.transforms else filecmp.cmp(self.lines, output, shallow=False)
        )
        if not right:
            raise MeasurementFailed("the lines of the output are not those of the topic")
        return run

    def _are_transformed(self, work: Work, output: Path) -> bool:
        """Whether each line is what the transformations make of the one that went in."""
        schema = work.variant != "schemaless"
        with self.lines.open("rb") as lines, output.open("rb") as changed:
            return all(
                _same(transformed(line, schema=schema), made.rstrip(b"\n"), in_order=schema)
                for line, made in zip(lines, changed, strict=True)
            )

    def _watch(self, work: Work, side: str, number: int, worker: Worker, out: Callable[[], int]) -> Run:
        """Look at the output until all of it is there."""
        begin = time.monotonic()
        broker_before, all_before, own_before = self._broker_cpu(), tree.machine_cpu(), time.process_time()
        memory = _Memory(worker.pid)

        def await_count(least: int) -> tuple[int, float]:
            while True:
                count, now = out(), time.monotonic()
                if count >= least:
                    return count, now
                if why := worker.ended():
                    raise MeasurementFailed(why)
                if now > begin + self.within:
                    raise MeasurementFailed(f"{count:,} of {self.count:,} records came in {self.within:.0f} s")
                memory.look_now_and_then()
                time.sleep(LOOK_EVERY)

        first, first_at = await_count(1)
        cpu_to_first = tree.cpu(worker.pid)
        last, last_at = await_count(self.count)
        cpu = tree.cpu(worker.pid)
        broker = self._broker_cpu() - broker_before
        others = tree.machine_cpu() - all_before - cpu - broker - (time.process_time() - own_before)
        memory.look()
        if last - first < last / 2:
            raise MeasurementFailed("more than half of the output was there at the first look: take more lines")
        return Run(
            work=work.name,
            side=side,
            round=number,
            records=last,
            to_first=first_at - begin,
            seconds=last_at - first_at,
            after_first=last - first,
            cpu=cpu,
            cpu_to_first=cpu_to_first,
            broker_cpu=broker,
            other_share=max(0.0, others / (last_at - begin) / self.cores),
            pss=memory.pss,
            rss=memory.rss,
            processes=memory.processes,
        )

    def _broker_cpu(self) -> float:
        broker = tree.look(self.broker.pid)
        if broker is None:
            raise MeasurementFailed(f"the broker ended; its log: {self.broker.log}")
        return broker.cpu


class _Memory:
    """The peak of a tree's memory. Looking at a gigabyte takes milliseconds, so it looks the less often for it."""

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._next = 0.0
        self.pss = self.rss = self.processes = 0

    def look_now_and_then(self) -> None:
        if time.monotonic() >= self._next:
            self.look()

    def look(self) -> None:
        begin = time.monotonic()
        members = tree.tree(self._leader)
        self.rss = max(self.rss, sum(each.rss for each in members))
        self.pss = max(self.pss, sum(tree.pss(each.pid) for each in members))
        self.processes = max(self.processes, len(members))
        end = time.monotonic()
        self._next = end + max(MEMORY_EVERY, 20 * (end - begin))


def _same(expected: bytes, made: bytes, *, in_order: bool) -> bool:
    """Java's maps have their keys in an order of their own."""
    return expected == made or (
        not in_order and sorted(expected.strip(b"{}").split(b", ")) == sorted(made.strip(b"{}").split(b", "))
    )


def _last_line(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-4096, 2)
        return file.read().splitlines()[-1]
