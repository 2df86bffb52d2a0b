"""Checks of sink connectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

from connect.api.connector import SinkConnector
from connect.data.record import SinkRecord, TopicPartition
from connect.data.schema import Schema
from connect.testing._sink import SinkRun
from connect.testing.conformance._connector import ConnectorConformance, counted

_TOPIC = "test"
_P0, _P1 = TopicPartition(_TOPIC, 0), TopicPartition(_TOPIC, 1)


class SinkConformance(ConnectorConformance):
    """Checks of a sink connector.

    Things are numbered from 0. Each test begins with an empty target.

    Attributes:
        repeats: what happens to a record that is delivered again after a crash: "harmless", the target shows it once,
            or "duplicates". The page of a connector with duplicates says so.
        schema: of the values.
    """

    connector: ClassVar[type[SinkConnector]]
    repeats: ClassVar[Literal["harmless", "duplicates"]] = "harmless"
    schema: ClassVar[Schema | None] = None

    def value(self, number: int) -> Any:
        """The value of this thing's record."""
        raise NotImplementedError

    def key(self, number: int) -> Any:
        """The key of this thing's record."""
        return None

    def written(self) -> list[Any]:
        """The current values in the target, in any order, in the form of `value`."""
        raise NotImplementedError

    def exercise(self, config: Mapping[str, str]) -> list[Any]:
        with self._run(config) as run:
            self._put(run, 0, 1)
            run.commit()
            return [run.connector, *run.tasks]

    def test_what_is_committed_is_in_the_target(self) -> None:
        run = self._run().start()
        self._put(run, 0, 5)
        run.commit()
        assert run.committed == {_P0: 5}, "pre_commit leaves out records that were put"
        run.crash()
        self._are(range(5))

    def test_a_stop_makes_everything_durable(self) -> None:
        with self._run() as run:
            self._put(run, 0, 5)
        assert run.committed == {_P0: 5}
        self._are(range(5))

    def test_a_restart_goes_on(self) -> None:
        with self._run() as run:
            self._put(run, 0, 3)
            run.restart()
            self._put(run, 3, 3)
            run.restart()
        self._are(range(6))

    def test_a_record_that_comes_again_is_harmless_or_declared(self) -> None:
        with self._run() as run:
            self._put(run, 0, 3)
            run.commit()
            run.broker_takes_commits = False
            self._put(run, 3, 3)
            run.commit()  # durable in the target, and Kafka does not know
            self._put(run, 6, 3)
            run.crash()
            run.broker_takes_commits = True
            assert run.committed == {_P0: 3}
            run.restart()
            run.deliver()
            self._put(run, 9, 1)
        self._are(range(10), again=range(3, 9))

    def test_empty_batches_do_no_harm(self) -> None:
        with self._run() as run:
            run.put_nothing()
            run.commit()
            self._put(run, 0, 2)
            run.put_nothing()
            run.put_nothing()
        self._are(range(2))

    def test_pre_commit_promises_nothing_that_was_not_put(self) -> None:
        with self._run(partitions=2) as run:
            self._put(run, 0, 2)
            run.commit()
            self._put(run, 2, 2, partition=1)
            run.commit()
        for asked, answered in run.pre_commits:
            beyond = {place: offset for place, offset in (answered or {}).items() if offset > asked.get(place, -1)}
            assert not beyond, f"asked about {asked}"

    def test_partitions_come_and_go(self) -> None:
        with self._run(partitions=2) as run:
            self._put(run, 0, 2)
            self._put(run, 2, 2, partition=1)
            run.revoke(_P1)
            assert run.committed.get(_P1) == 2, "what was put is not durable when its partition is revoked"
            self._put(run, 4, 2)
            self._put(run, 6, 2, partition=1)
            run.assign(_P1)
            run.deliver()
        self._are(range(8))

    def test_partitions_that_were_lost_come_back(self) -> None:
        with self._run(partitions=2) as run:
            self._put(run, 0, 2)
            self._put(run, 2, 2, partition=1)
            run.lose(_P0, _P1)
            run.assign(_P0, _P1)
            run.deliver()
        self._are(range(4), again=range(4))

    def test_a_task_with_work_at_hand_stops_in_time(self) -> None:
        run = self._run().start()
        self._put(run, 0, 2000)
        run.stop()
        assert run.committed == {_P0: 2000}

    def _run(self, config: Mapping[str, str] | None = None, *, partitions: int = 1) -> SinkRun:
        config = self.config() if config is None else config
        return SinkRun(self.connector, {**config, "topics": _TOPIC}, partitions=partitions, timeout=self.stop_within)

    def _put(self, run: SinkRun, first: int, count: int, partition: int = 0) -> None:
        numbers = range(first, first + count)
        run.put(*(SinkRecord(_TOPIC, self.value(n), self.schema, self.key(n), partition=partition) for n in numbers))

    def _are(self, numbers: Iterable[int], again: Iterable[int] = ()) -> None:
        """The target has these things once each; those in `again` may be there twice if that is declared."""
        written, wanted = counted(self.written()), counted(map(self.value, numbers))
        most = wanted + counted(map(self.value, again)) if self.repeats == "duplicates" else wanted
        assert not wanted - written, "lost"
        assert not written - most, "repeated, or never put"
