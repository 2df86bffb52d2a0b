"""Checks of source connectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from connect.api.connector import ExactlyOnceSupport, SourceConnector
from connect.data.record import SourceRecord
from connect.testing._source import SourceRun
from connect.testing.conformance._connector import ConnectorConformance, counted

_SOME = 7
_TURNS = 4


class SourceConformance(ConnectorConformance):
    """Checks of a source connector.

    Things in the source are numbered from 0. Each test begins with an empty source.

    Attributes:
        every_offset_resumes: whether reading can continue after any record, also after one before the last stored one.
            Without, only after a whole poll, and never back: for a source that deletes what was stored.
        plenty: a number of things that do not fit into one poll.
        most_rows, most_bytes: the limits of one poll, however much there is: they bound the memory.
    """

    connector: ClassVar[type[SourceConnector]]
    every_offset_resumes: ClassVar[bool] = True
    plenty: ClassVar[int] = 20_000
    most_rows: ClassVar[int] = 100_000
    most_bytes: ClassVar[int] = 4 << 20

    def value(self, number: int) -> Any:
        """The value of this thing's record, before conversion."""
        raise NotImplementedError

    def produce(self, first: int, count: int) -> None:
        """Put this thing, and this many in all, into the source."""
        raise NotImplementedError

    def exercise(self, config: Mapping[str, str]) -> list[Any]:
        self.produce(0, 1)
        with self._run(config) as run:
            run.poll_until(1)
            return [run.connector, *run.tasks]

    def test_everything_is_read_once(self) -> None:
        self.produce(0, _SOME)
        with self._run() as run:
            run.poll_until(_SOME)
            self._are(run.poll_all(), range(_SOME))

    def test_what_comes_while_it_runs_is_read(self) -> None:
        self.produce(0, 2)
        with self._run() as run:
            run.poll_until(2)
            self.produce(2, 3)
            run.poll_until(5)
            self._are(run.poll_all(), range(5))

    def test_a_restart_goes_on_from_stored_offsets(self) -> None:
        self.produce(0, _SOME)
        with self._run() as run:
            run.poll_until(_SOME)
            run.restart()
            self.produce(_SOME, 3)
            run.poll_until(_SOME + 3)
            self._are(run.poll_all(), range(_SOME + 3))

    def test_a_crash_loses_nothing(self) -> None:
        self.produce(0, _SOME)
        with self._run() as run:
            run.poll_until(_SOME)
            run.hold()
            self.produce(_SOME, 3)
            run.poll_until(_SOME + 1)
            sent = [record.value for record in run.records[_SOME:]]
            run.crash()
            run.acknowledge()
            run.restart()
            run.poll_until(_SOME + len(sent) + 3)
            # What was acknowledged came once, the rest came again.
            values = [record.value for record in run.poll_all()]
            assert counted(values) == counted([*map(self.value, range(_SOME + 3)), *sent])

    def test_each_offset_says_where_to_go_on(self) -> None:
        if not self.every_offset_resumes:
            self._goes_on_after_each_poll()
            return
        self.produce(0, _SOME)
        with self._run() as run:
            run.poll_until(_SOME)
            records = run.poll_all()
        for done in range(1, _SOME + 1):
            offsets = [(record.source_partition, record.source_offset) for record in records[:done]]
            with SourceRun(self.connector, self.config(), offsets=offsets, timeout=self.stop_within) as resumed:
                resumed.poll_until(_SOME - done)
                rest = [record.value for record in resumed.poll_all()]
                wanted = [record.value for record in records[done:]]
                assert counted(rest) == counted(wanted), f"going on after record {done}: {offsets[-1]}"

    def _goes_on_after_each_poll(self) -> None:
        with self._run() as run:
            run.hold()
            for turn in range(_TURNS):
                self.produce(turn * _SOME, _SOME)
                before = len(run.records)
                run.poll_until(before + 1)
                run.acknowledge(len(run.records) - before)
                run.crash()
                run.restart()
            run.acknowledge()
            run.poll_until(_TURNS * _SOME)
            # What was stored did not come again, and the rest came.
            values = [record.value for record in run.poll_all()]
            assert counted(values) == counted(map(self.value, range(_TURNS * _SOME)))

    def test_a_poll_that_waits_ends_when_the_task_is_to_stop(self) -> None:
        run = self._run().start()
        run.poll_all()
        run.begin_poll()
        run.stop()

    def test_a_poll_is_bounded(self) -> None:
        self.produce(0, self.plenty)
        with self._run() as run:
            run.poll_until(self.plenty)
            polled = run.polled
        assert len(polled) > 1, "one poll took all: raise `plenty` until it cannot, or bound what it takes"
        for batch in polled:
            assert len(batch) <= self.most_rows, "see most_rows"
            assert sum(map(len, batch.values.encoded_texts())) <= self.most_bytes, "see most_bytes"

    def test_exactly_once_support_answers(self) -> None:
        answer = self.connector().exactly_once_support(self.config())
        assert answer is None or isinstance(answer, ExactlyOnceSupport)

    def _run(self, config: Mapping[str, str] | None = None) -> SourceRun:
        return SourceRun(self.connector, self.config() if config is None else config, timeout=self.stop_within)

    def _are(self, records: Sequence[SourceRecord], numbers: Iterable[int]) -> None:
        got, wanted = [record.value for record in records], [self.value(number) for number in numbers]
        partitions = counted(record.source_partition for record in records)
        if len(partitions) == 1:
            assert got == wanted
        else:
            assert counted(got) == counted(wanted)
