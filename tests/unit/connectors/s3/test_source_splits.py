"""One instance plans objects, others read them: each record once, also where the worker polls before or behind."""

import base64
import json
import logging
import random
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from connect import ConfigError, ConnectError, RetriableError, SourceRecord
from connect.api.engine import WORKER
from connectors.s3.source import S3SourceConnector, splits
from connectors.s3.source.lanes import Found, Lane
from connectors.s3.source.layout import Place
from connectors.s3.source.splits import Draft, divided
from connectors.s3.source.walk import Next
from tests.support.read_plans import Planner
from tests.unit.connectors.s3.stored import Stored, config_of, lines, planner_of, run_of, stored_of

ORDERS = {
    "name": {},
    "time": {"object__order": "time"},
    "partition": {"mode": "RESTORE_BACKUP", "topics__dir": ""},
}


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> Stored:
    found = Stored()
    monkeypatch.setattr("connectors.s3.bucket.client._client", lambda *_: found)
    monkeypatch.setattr(splits, "_LEAST_BYTES", 1)
    return found


def name_of(order: str, number: int) -> str:
    partition = number % 5
    return f"t/partition={partition}/t+{partition}+{number:010}.json" if order == "partition" else f"{number:04}"


def put(stored: Stored, order: str, objects: Iterable[int], count: int = 7) -> None:
    """Objects of so many records each, whose numbers follow from the object's."""
    for number in objects:
        stored.put(name_of(order, number), lines(range(100 * number, 100 * number + count)))


def numbers(records: Iterable[SourceRecord]) -> list[int]:
    return [record.value["n"] for record in records]


def carried_out(planner: Planner, most: int = 4) -> list[int]:
    """The numbers that a planner's plans give, split by split, until there is nothing more."""
    found: list[int] = []
    while (read := planner.carry_out(most)) is not None:
        found += [number for records in read.records for number in numbers(records)]
    return found


def told(record: SourceRecord) -> tuple[Any, ...]:
    return (record.topic, record.partition, record.key, record.value["n"], tuple(record.source_partition.items()))


def chosen_of(lane: Lane, size: int, key: str = "k") -> Next:
    return Next(lane, Found(key, "e", size), Place("t"))


def lane_of(number: int, offset: dict[str, Any] | None = None, window: int = 64) -> Lane:
    return Lane({"bucket": "b", "share": str(number)}, offset, window, timed=False)


# What is read.


@pytest.mark.parametrize("order", ORDERS)
def test_the_splits_together_are_what_polling_gives(stored: Stored, order: str) -> None:
    put(stored, order, range(60))
    config = {**ORDERS[order], "record__key": "object"}
    with run_of(**config) as run:
        polled = [told(record) for record in run.poll_all()]
    with planner_of(**config) as planner:
        read = planner.carry_out(4)
        assert read is not None
        assert planner.carry_out(4) is None
    assert len(read.records) == 4
    assert Counter(told(record) for records in read.records for record in records) == Counter(polled)
    for records in read.records:  # within a split the order is that of polling
        ones = {told(record)[-1] for record in records}
        assert [told(record) for record in records] == [each for each in polled if each[-1] in ones]
    with planner_of(**config) as planner:
        alone = planner.carry_out(1)
        assert alone is not None
        assert [[told(record) for record in records] for records in alone.records] == [polled]


@pytest.mark.parametrize("order", ORDERS)
def test_plans_and_polls_go_on_where_the_other_was_also_amid_an_object(order: str, stored: Stored, seed: int) -> None:
    chance = random.Random(seed)
    config = {**ORDERS[order], "max__poll__records": "5"}
    found: list[int] = []
    offsets: Any = ()
    opened = 0
    for turn in range(8):
        put(stored, order, range(10 * turn, 10 * turn + 10))
        if turn % 2:
            with planner_of(offsets, **config) as planner:
                found += carried_out(planner, chance.randint(1, 4))
                offsets = stored_of(planner)
                assert all("object" not in offset for _, offset in offsets)
        else:
            with run_of(offsets, **config) as run:
                for _ in range(chance.randint(1, 9)):
                    run.poll()
                found += numbers(run.records)
                offsets = run.offsets
                opened += any("object" in offset for _, offset in offsets)
    assert opened, "no turn ended amid an object"
    assert Counter(found) == Counter(100 * number + n for number in range(80) for n in range(7))
    with run_of(offsets, **config) as run:
        assert run.poll_all() == []


@pytest.mark.parametrize("order", ORDERS)
def test_a_plan_stores_what_polling_stores(stored: Stored, order: str) -> None:
    put(stored, order, range(50))
    with run_of(**ORDERS[order]) as run:
        run.poll_all()
        polled = {json.dumps(partition): offset for partition, offset in run.offsets}
    with planner_of(**ORDERS[order]) as planner:
        carried_out(planner)
        assert {json.dumps(partition): offset for partition, offset in stored_of(planner)} == polled


def test_the_next_plan_has_what_came_since_and_not_before_it_is_due(stored: Stored) -> None:
    with planner_of(s3__poll__interval__ms="60000") as planner:
        put(stored, "name", range(3))
        assert len(carried_out(planner)) == 21
        put(stored, "name", [3])
        assert planner.carry_out() is None
    with planner_of(stored_of(planner)) as planner:
        assert carried_out(planner) == list(range(300, 307))
        put(stored, "name", [4])
        assert carried_out(planner) == list(range(400, 407))


def test_records_come_in_batches_of_at_most_max_poll_records(stored: Stored) -> None:
    put(stored, "name", range(4))
    with planner_of(max__poll__records="5") as planner:
        plan = planner.task.plan(1)
        assert plan is not None
        reader = type(planner.task)()
        reader.context = type(planner.context)(planner.config, None)
        with reader.context.exit_stack:
            sizes = [len(batch) for batch in reader.read(planner.config, plan.splits[0])]
        assert sum(sizes) == 28
        assert max(sizes) == 5


def test_a_split_has_no_secret(stored: Stored) -> None:
    put(stored, "name", range(4))
    with planner_of() as planner:
        plan = planner.task.plan(2)
        assert plan is not None
        assert "very-secret" in planner.config.values()
        assert "very-secret" not in json.dumps([plan.splits, plan.offsets])


def test_it_runs_on_both_engines() -> None:
    assert S3SourceConnector.engines == (WORKER, "spark")


# How it is divided.


def test_splits_are_of_about_equal_bytes_and_a_lane_is_in_one(seed: int) -> None:
    chance = random.Random(seed)
    lanes = [lane_of(number) for number in range(16)]
    objects = [chosen_of(chance.choice(lanes), chance.randint(0, 4 << 20), str(number)) for number in range(400)]
    groups = divided(objects, 4)
    sizes = [sum(chosen.found.size for chosen in group) for group in groups]
    assert len(groups) == 4
    assert max(sizes) < 1.15 * min(sizes)
    assert sum(len({chosen.lane for chosen in group}) for group in groups) == 16
    for group in groups:
        assert group == [chosen for chosen in objects if chosen.lane in {each.lane for each in group}]
    assert divided(objects, 1) == [objects]
    assert len(divided(objects, 100)) == 16


def test_a_little_is_one_split_and_many_small_objects_are_several() -> None:
    lanes = [lane_of(number) for number in range(16)]
    assert len(divided([chosen_of(lane, 1000) for lane in lanes], 8)) == 1
    assert len(divided([chosen_of(lanes[number % 16], 1000) for number in range(1000)], 8)) == 8
    assert len(divided([chosen_of(lane, -1) for lane in lanes], 8)) == 8, "objects that were begun are large"


def _drafted(objects: Sequence[Next], most: int = 16) -> Draft:
    draft = Draft(most)
    for chosen in objects:
        if not draft.add(chosen):
            break
        chosen.lane.finish(chosen.found)
    return draft


def test_a_plan_is_bounded() -> None:
    lane = lane_of(0)
    assert len(_drafted([chosen_of(lane, 1, f"{n:05}") for n in range(5000)])) == 1000
    assert len(_drafted([chosen_of(lane, 300 << 20, f"{n + 5000}") for n in range(10)])) == 3
    assert len(_drafted([chosen_of(lane, 30 << 20, f"{n + 6000}") for n in range(10)], most=2)) == 4, "64 MiB a split"
    assert len(_drafted([chosen_of(lane, 300 << 30, "9")])) == 1, "a large one is a plan by itself"


def test_all_of_a_plan_fits_into_one_record() -> None:
    def remembering(number: int, objects: int) -> Lane:
        done = base64.b64encode(random.randbytes(8 * objects)).decode()
        return lane_of(number, {"after": "x", "done": done}, window=10_000)

    wide = [remembering(number, 5000) for number in range(16)]
    long = _drafted([chosen_of(lane_of(0), 1, f"{n:04}" + 500 * "ü") for n in range(1000)])
    broad = _drafted([chosen_of(wide[number % 16], 1, f"z{number:04}") for number in range(1000)])
    many = _drafted([chosen_of(remembering(number, 64), 1, f"z{number}") for number in range(1000)])
    for draft in (long, broad, many):
        plan = draft.plan()
        assert 300_000 < len(json.dumps(plan)) < 400_000


def test_what_does_not_fit_comes_with_the_next_plan(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splits, "_MOST_OBJECTS", 4)
    put(stored, "name", range(10))
    with planner_of(s3__poll__interval__ms="60000") as planner:
        plans: list[list[int]] = []
        while (read := planner.carry_out(1)) is not None:
            plans.append(numbers(read.records[0]))
        assert list(map(len, plans)) == [28, 28, 14]
        assert [n for plan in plans for n in plan] == [100 * number + n for number in range(10) for n in range(7)]


# Afterwards.


@pytest.mark.promise("P2")
def test_objects_are_deleted_behind_the_commit_and_not_before(stored: Stored) -> None:
    put(stored, "name", range(5))
    with planner_of(done__action="delete") as planner:
        plan = planner.task.plan(2)
        assert plan is not None
        for split in plan.splits:
            planner.read(split)
        planner.stored.set("c", plan.offsets)
        assert planner.task.plan(2) is None
        assert len(stored.keys()) == 5
        planner.task.commit()
        assert planner.task.plan(2) is None
        assert stored.keys() == []
        put(stored, "name", [1])
        assert carried_out(planner) == list(range(100, 107))
        assert stored.keys() == []


@pytest.mark.promise("P2")
@pytest.mark.parametrize("order", ORDERS)
def test_what_was_carried_out_without_a_commit_is_deleted_by_the_next_instance(stored: Stored, order: str) -> None:
    """As where a batch is finished that an earlier run has left."""
    put(stored, order, range(5))
    with planner_of(done__action="delete", **ORDERS[order]) as planner:
        plan = planner.task.plan(2)
        assert plan is not None
        planner.stored.set("c", plan.offsets)
    assert len(stored.keys()) == 5
    with planner_of(stored_of(planner), done__action="delete", **ORDERS[order]) as planner:
        while stored.keys():
            assert planner.task.plan(2) is None


def test_without_a_commit_all_is_planned_and_nothing_deleted(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connectors.s3.source.actions.MOST", 4)
    put(stored, "name", range(30))
    found: list[int] = []
    with planner_of(done__action="delete") as planner:  # as `spark.read` does it
        while (plan := planner.task.plan(2)) is not None:
            assert sum(len(split["objects"]) for split in plan.splits) <= 4
            found += [number for split in plan.splits for number in numbers(planner.read(split))]
            planner.stored.set("c", plan.offsets)
    assert sorted(found) == [100 * number + n for number in range(30) for n in range(7)]
    assert len(stored.keys()) == 30


@pytest.mark.promise("P2")
def test_what_was_planned_and_not_carried_out_is_planned_again(stored: Stored) -> None:
    put(stored, "name", range(5))
    with planner_of(done__action="delete") as planner:
        assert planner.task.plan(2) is not None
    assert len(stored.keys()) == 5
    with planner_of(stored_of(planner), done__action="delete") as planner:
        assert len(carried_out(planner)) == 35


def test_what_cannot_be_read_is_not_deleted(stored: Stored) -> None:
    put(stored, "name", range(2))
    config = {"done__action": "delete", "errors__tolerance": "all"}
    with planner_of(**config) as planner, pytest.raises(ConfigError, match="behavior.on.error"):
        planner.task.plan(2)
    values = S3SourceConnector().validate({**config_of(**config), "engine": "spark"})
    assert [value.name for value in values if value.errors] == ["behavior.on.error"]
    assert not any(value.errors for value in S3SourceConnector().validate(config_of(**config)))
    with planner_of(**{**config, "behavior__on__error": "fail"}) as planner:
        assert len(carried_out(planner)) == 14


# What goes wrong with an object.


def test_one_that_is_gone_is_left_out(stored: Stored, caplog: pytest.LogCaptureFixture) -> None:
    put(stored, "name", range(3))
    with planner_of() as planner:
        plan = planner.task.plan(1)
        assert plan is not None
        stored.delete("0001")
        with caplog.at_level(logging.INFO):
            assert numbers(planner.read(plan.splits[0])) == [*range(7), *range(200, 207)]
        assert 'Object "0001" is gone' in caplog.text


@pytest.mark.parametrize("order", ORDERS)
def test_one_that_was_replaced_is_read_once_as_it_is_now(stored: Stored, order: str) -> None:
    put(stored, order, range(3))
    with planner_of(**ORDERS[order]) as planner:
        plan = planner.task.plan(1)
        assert plan is not None
        stored.put(name_of(order, 1), lines([1000, 1001]))
        found = numbers(planner.read(plan.splits[0]))
        planner.stored.set("c", plan.offsets)
        planner.task.commit()
        found += carried_out(planner)
        assert sorted(found) == [*range(7), *range(200, 207), 1000, 1001]


@pytest.mark.parametrize("order", ["name", "time"])
@pytest.mark.parametrize("asked", ["fail", "restart"])
def test_one_that_was_replaced_amid_reading(stored: Stored, order: str, asked: str) -> None:
    put(stored, order, [1])
    config = {**ORDERS[order], "max__poll__records": "3", "object__changed": asked}
    with run_of(**config) as run:
        run.poll()
        offsets = run.offsets
    stored.put(name_of(order, 1), lines([1000, 1001]))
    with planner_of(offsets, **config) as planner:
        if asked == "fail":
            with pytest.raises(ConnectError, match="was replaced after 3 of its records .* object.changed=restart"):
                planner.carry_out()
        else:
            assert carried_out(planner) == [1000, 1001]


def test_one_that_was_replaced_is_not_deleted_unread(stored: Stored) -> None:
    put(stored, "name", [1])
    with planner_of(done__action="delete") as planner:
        plan = planner.task.plan(1)
        assert plan is not None
        assert len(planner.read(plan.splits[0])) == 7
        planner.stored.set("c", plan.offsets)
        stored.put("0001", lines([1000]))
        planner.task.commit()
        assert carried_out(planner) == [1000]
        assert stored.keys() == []


@pytest.mark.parametrize("asked", ["fail", "log"])
def test_what_cannot_be_read_is_treated_as_asked(stored: Stored, asked: str, caplog: pytest.LogCaptureFixture) -> None:
    stored.put("a", b'{"n": 1}\n{"n": \n{"n": 2}\n')
    stored.put("b", lines([3]))
    with planner_of(behavior__on__error=asked, object__shares="1") as planner:
        if asked == "fail":
            with pytest.raises(ConnectError, match='Object "a" of bucket b .* cannot be read as jsonl') as caught:
                planner.carry_out()
            assert not isinstance(caught.value, RetriableError)
        else:
            assert carried_out(planner) == [1, 2, 3]
            assert 'Skipped a record of object "a", record 1' in caplog.text


# What goes wrong with the store.


def test_a_reader_continues_where_the_store_failed(stored: Stored) -> None:
    large = lines(range(200_000), width=10)
    stored.put("a", large)
    stored.put("b", lines([-1]))
    with planner_of(object__shares="1") as planner:
        plan = planner.task.plan(1)
        assert plan is not None
        # Three failures in a row are too many for a body, and the reader opens another one: at the beginning of "a",
        # and twice in its middle, where the connection breaks.
        stored.failing["get_object"] = deque([True] * 3 + [False] + [True] * 5)
        stored.pieces = deque([len(large) // 2])
        found = numbers(planner.read(plan.splits[0]))
        assert not stored.failing["get_object"]
        assert found == [*range(200_000), -1]


def test_a_store_that_is_away_for_long_is_the_tasks_to_tell(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    put(stored, "name", [1])
    for limit, kind in (("-1", RetriableError), ("5", ConnectError)):
        monkeypatch.setattr("connectors.s3.source.task._READER_S", 0.02)
        with planner_of(read__retry__timeout__ms=limit) as planner:
            plan = planner.task.plan(1)
            assert plan is not None
            stored.failing["get_object"] = deque([True] * 1000)
            with pytest.raises(kind, match="SlowDown") as caught:
                planner.read(plan.splits[0])
            assert (type(caught.value), "read.retry.timeout.ms" in str(caught.value)) == (kind, limit != "-1")
            stored.failing.clear()
            assert len(planner.read(plan.splits[0])) == 7


def test_a_plan_of_what_was_listed_before_the_store_failed(stored: Stored) -> None:
    put(stored, "name", range(4))
    with planner_of(aws__s3__fetch__page__size="2") as planner:
        stored.failing["list_objects_v2"] = deque([True, False, True])
        with pytest.raises(RetriableError, match="SlowDown"):
            planner.carry_out()
        first = planner.carry_out()
        assert first is not None
        assert sum(map(len, first.records)) == 14
        assert len(carried_out(planner)) == 14


def test_a_store_that_failed_is_left_alone_for_a_while(stored: Stored) -> None:
    put(stored, "name", [1])
    with planner_of(s3__retry__backoff__ms="60000", s3__retry__backoff__max__ms="60000") as planner:
        stored.failing["list_objects_v2"] = deque([True, True])
        for _ in range(2):
            with pytest.raises(RetriableError, match="SlowDown"):
                planner.task.plan(1)
        assert len(stored.failing["list_objects_v2"]) == 1


def test_a_reader_that_is_stopped_does_not_say_that_it_read_all(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(stored, "name", range(3))
    with planner_of() as planner:
        plan = planner.task.plan(1)
        assert plan is not None
        monkeypatch.setattr("tests.support.read_plans.PlanContext.stopping", lambda _: True)
        with pytest.raises(RetriableError):
            planner.read(plan.splits[0])
        assert planner.task.plan(1) is None
