"""What executors read of plans is what polling reads, and either goes on where the other ended."""

import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest

from connect.errors import RetriableError
from connectors.elasticsearch.source import pages
from tests.integration.connectors.elasticsearch.source.conftest import Index, NewIndex, numbers
from tests.support.read_plans import Offsets, Planner, ReadSplits
from tests.support.waiting import until

pytestmark = pytest.mark.slow

BY: list[Any] = [
    pytest.param({}, id="numbers of shards"),
    pytest.param({"incrementing_field_name": "n"}, id="field"),
    pytest.param({"incrementing_field_name": "at"}, id="nanoseconds"),
]


def _planner(index: Index, offsets: Offsets = (), **more: str) -> Planner:
    """The planning instance of one task that has all shards."""
    settings = index.server.request("GET", f"/{index.name}/_settings")[index.name]["settings"]["index"]
    found = [[index.name, settings["uuid"], number] for number in range(int(settings["number_of_shards"]))]
    shards = "[" + ", ".join(f'["{name}", "{uuid}", {number}]' for name, uuid, number in found) + "]"
    return Planner(index.connector(), {**index.config(**more), "task.shards": shards}, offsets)


def _numbers(done: ReadSplits | None) -> list[int]:
    return [record.value["n"] for split in done.records for record in split] if done else []


def _all(planner: Planner, count: int, most: int = 4) -> list[int]:
    """What plans have until nothing is left; at least so many, since a checkpoint may come a little late."""
    found: list[int] = []
    deadline = time.monotonic() + 30
    while (done := planner.carry_out(most)) is not None or (len(found) < count and time.monotonic() < deadline):
        found += _numbers(done)
    return found


def _settled(index: Index, count: int) -> None:
    """Wait until the checkpoint of the one shard has these operations."""

    def there() -> bool:
        stats = index.server.request("GET", f"/{index.name}/_stats?level=shards")
        (copies,) = stats["indices"][index.name]["shards"].values()
        return bool(copies[0]["seq_no"]["global_checkpoint"] == count - 1)

    until(there)


def _write(index: Index, first: int, count: int) -> None:
    """Documents of which some share their values."""
    index.put(
        (f"n{each}", {"n": each, "at": f"2026-01-01T00:00:00.{each // 7:09d}Z"}) for each in range(first, first + count)
    )


def _new(new_index: NewIndex, shards: int) -> Index:
    return new_index(shards=shards, n="long", at="date_nanos")


def _stored(planner: Planner, partitions: list[Mapping[str, Any]]) -> Offsets:
    return [(each, planner.context.offset(each)) for each in partitions if planner.context.offset(each)]


@pytest.mark.parametrize("more", BY)
@pytest.mark.parametrize("most", [1, 2, 8])
def test_the_union_of_splits_is_what_polling_gives(new_index: NewIndex, more: dict[str, Any], most: int) -> None:
    index = _new(new_index, 3)
    _write(index, 0, 500)
    index.delete("n7")
    with _planner(index, batch_max_rows="37", **more) as planner:
        assert sorted(_all(planner, 499, most)) == [each for each in range(500) if each != 7]
        _write(index, 500, 50)
        assert sorted(_all(planner, 50, most)) == list(range(500, 550))
    with index.run(**more) as run:
        run.poll_until(549)
        assert sorted(numbers(run)) == [each for each in range(550) if each != 7]


@pytest.mark.parametrize("more", BY)
def test_it_goes_on_in_both_directions(new_index: NewIndex, more: dict[str, Any]) -> None:
    index = _new(new_index, 2)
    partitions: list[Mapping[str, Any]] = [{"index": index.name, "shard": number} for number in range(2)]
    _write(index, 0, 100)
    with _planner(index, **more) as planner:
        assert sorted(_all(planner, 100)) == list(range(100))
        stored = _stored(planner, partitions)
    _write(index, 100, 100)
    with index.run(offsets=stored, batch_max_rows="10", **more) as run:
        run.poll_until(50)
        polled, offsets = numbers(run), run.offsets
    with _planner(index, offsets, **more) as planner:
        planned = _all(planner, 100 - len(polled))
        stored = _stored(planner, partitions)
    assert sorted(polled + planned) == list(range(100, 200))
    with index.run(offsets=stored, **more) as run:
        run.poll_all()
        assert not run.records


def test_later_documents_of_the_last_value_come_as_well(new_index: NewIndex) -> None:
    index = _new(new_index, 1)
    index.put((f"a{each}", {"n": 5}) for each in range(10))
    _settled(index, 10)
    with _planner(index, incrementing_field_name="n") as planner:
        plan = planner.task.plan(1)
        assert plan is not None
        index.put((f"b{each}", {"n": 5}) for each in range(10))
        index.server.request("POST", f"/{index.name}/_refresh")
        _settled(index, 20)
        assert [record.key for record in planner.read(plan.splits[0])] == [f"a{each}" for each in range(10)]
        done = planner.carry_out()
        assert done is not None
        assert [record.key for record in done.records[0]] == [f"b{each}" for each in range(10)]
        index.delete(*(f"b{each}" for each in range(10)))
        index.put([("c", {"n": 4})])  # a lower value than was read
        assert planner.carry_out() is None


def test_a_beginning_that_is_set(new_index: NewIndex) -> None:
    index = _new(new_index, 1)
    _write(index, 0, 20)
    with _planner(index, incrementing_field_name="n", incrementing_initial="14") as planner:
        assert _all(planner, 5) == [15, 16, 17, 18, 19]


def test_what_is_written_while_plans_are_carried_out_is_read_once(new_index: NewIndex) -> None:
    index = _new(new_index, 2)

    def write(writer: int) -> None:
        for turn in range(20):
            _write(index, writer * 500 + turn * 25, 25)

    threads = [threading.Thread(target=write, args=[writer]) for writer in range(3)]
    found: list[int] = []
    with _planner(index) as planner:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            found += _numbers(planner.carry_out(2))
        found += _all(planner, 1500 - len(found))
    assert sorted(found) == list(range(1500))


def test_a_big_shard_is_cut_and_a_plan_is_limited(new_index: NewIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connectors.elasticsearch.source.splits._LEAST", 10)
    monkeypatch.setattr("connectors.elasticsearch.source.task._SPLIT_OPERATIONS", 100)
    index = _new(new_index, 1)
    _write(index, 0, 1000)
    _settled(index, 1000)
    with _planner(index) as planner:
        first = planner.carry_out(4)
        assert first is not None
        assert [len(split) for split in first.records] == [100] * 4
        assert _numbers(first) + _all(planner, 600, 3) == list(range(1000))


@pytest.mark.parametrize("again", [False, True])
def test_an_index_that_is_deleted_before_it_is_read_is_left_out(new_index: NewIndex, again: bool) -> None:
    index = _new(new_index, 1)
    _write(index, 0, 10)
    _settled(index, 10)
    with _planner(index) as planner:
        plan = planner.task.plan(1)
        assert plan is not None
        index.server.request("DELETE", f"/{index.name}")
        if again:
            index.make(1, n="long", at="date_nanos")
            _write(index, 0, 5)
            index.server.request("POST", f"/{index.name}/_refresh")
        assert planner.read(plan.splits[0]) == []
        planner.stored.set("c", plan.offsets)
        if again:
            assert _all(planner, 5) == list(range(5))
        else:
            assert planner.carry_out() is None
            index.make(1, n="long", at="date_nanos")


def test_a_lost_view_is_opened_again(new_index: NewIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    index = _new(new_index, 1)
    _write(index, 0, 100)
    reading = pages.Pages._next
    failed: list[int] = []

    def losing(self: pages.Pages) -> pages.Page:
        if len(failed) < 2 and self.position.seq_no >= 20 * (1 + len(failed)):
            failed.append(1)
            raise RetriableError("The view was lost.")
        return reading(self)

    monkeypatch.setattr(pages.Pages, "_next", losing)
    with _planner(index, batch_max_rows="10", retry_backoff_ms="1") as planner:
        assert _all(planner, 100) == list(range(100))
    assert len(failed) == 2
