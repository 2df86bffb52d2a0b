"""Records that tasks show: collected for who looks, whatever a task says."""

from typing import Any

import msgspec
import pytest

from connect.herder.errors import BusyError
from connect.herder.taps import AT_ONCE, Taps
from connect.pipeline.outcome import SeenOutcome
from connect.pipeline.seen import SeenRecord
from connect.worker.messages import OpenTap, Tapped

RECORD = SeenRecord("lines", 0, None, None, {"n": 1}, [])
SEEN = SeenOutcome("kept", RECORD, [], RECORD)
SHOWN = msgspec.json.encode(SEEN)


class Process:
    """A task that remembers what it was told, if it `reads`."""

    def __init__(self, *, reads: bool = True) -> None:
        self.told: list[Any] = []
        self._reads = reads

    def offer(self, message: Any, within: float) -> bool:
        if self._reads:
            self.told.append(message)
        return self._reads


def two() -> dict[int, Any]:
    return {0: Process(), 1: Process()}


def test_all_tasks_are_asked_and_their_records_collected_until_there_are_enough() -> None:
    taps, tasks = Taps(), two()
    looks = taps.open(tasks, 2, 7.0)
    assert [task.told for task in tasks.values()] == [[OpenTap(looks.question, 2, 7.0)]] * 2
    taps.take(1, Tapped(looks.question, SHOWN))
    assert not looks.full.done()
    taps.take(0, Tapped(looks.question, SHOWN))
    assert looks.full.done()
    taps.take(0, Tapped(looks.question, SHOWN))
    assert [(one.task, one.seen) for one in looks.records] == [(1, SEEN), (0, SEEN)]


def test_who_looks_at_the_same_time_gets_only_what_is_for_them() -> None:
    taps = Taps()
    first, second = taps.open(two(), 5, 7.0), taps.open(two(), 5, 7.0)
    taps.take(0, Tapped(second.question, SHOWN))
    assert (len(first.records), len(second.records)) == (0, 1)
    taps.close(second)
    taps.take(0, Tapped(second.question, SHOWN))
    assert len(second.records) == 1


def test_only_so_many_look_at_a_time() -> None:
    taps = Taps()
    looks = [taps.open(two(), 1, 60.0) for _ in range(AT_ONCE)]
    with pytest.raises(BusyError, match="already"):
        taps.open(two(), 1, 60.0)
    taps.close(looks[0])
    taps.open(two(), 1, 60.0)


def test_tasks_that_all_show_none_are_not_waited_for() -> None:
    taps = Taps()
    looks = taps.open(two(), 5, 7.0)
    taps.take(0, Tapped(looks.question, error="It runs on Spark."))
    assert not looks.full.done()
    taps.take(1, Tapped(looks.question, error="It is starting."))
    assert looks.full.done()
    assert looks.refused == {0: "It runs on Spark.", 1: "It is starting."}
    assert taps.open({}, 5, 7.0).full.done()


def test_a_task_may_say_anything() -> None:
    taps = Taps()
    looks = taps.open({0: Process()}, 5, 7.0)  # type: ignore[dict-item]
    for record in (b"", b"{", b"{}", b'{"verdict": "odd"}'):
        taps.take(0, Tapped(looks.question, record))
    taps.take(3, Tapped(looks.question, SHOWN))  # no task that was asked
    taps.take(0, Tapped(looks.question + 9, SHOWN))
    assert (looks.records, looks.refused) == ([], {})


def test_a_task_that_does_not_read_what_it_is_told_is_named() -> None:
    looks = Taps().open({0: Process(), 1: Process(reads=False)}, 5, 7.0)
    assert looks.refused == {1: "It shows no records: it does not read what its worker tells it."}
    assert not looks.full.done()
    assert Taps().open({1: Process(reads=False)}, 5, 7.0).full.done()
