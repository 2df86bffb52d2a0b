"""Every object is read once, whoever reads it and whenever it comes, and few names are listed again."""

import base64
import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from connectors.s3.source import keys
from connectors.s3.source.lanes import Found, Lane, Lanes
from connectors.s3.source.layout import Layout
from connectors.s3.source.walk import Share, Walk
from tests.unit.connectors.s3.listing import Names


class Offsets:
    """What is stored, as JSON keeps it."""

    def __init__(self) -> None:
        self.stored: dict[str, str] = {}

    def get(self, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        found = [self.stored.get(json.dumps(partition, sort_keys=True)) for partition in partitions]
        return [None if each is None else json.loads(each) for each in found]

    def set(self, partition: Mapping[str, Any], offset: Mapping[str, Any]) -> None:
        self.stored[json.dumps(partition, sort_keys=True)] = json.dumps(offset)


def layout_of(**config: str) -> Layout:
    given = {name.replace("_", "."): value for name, value in config.items()}
    return Layout(keys.S3SourceOptions.parse({"s3.bucket.name": "b", **given}))


def walk_of(
    names: Names, offsets: Offsets, layout: Layout, number: int = 0, tasks: int = 1, window: int = 64, **more: Any
) -> Walk:
    lanes = Lanes(offsets.get, window, layout.order == "time", more.pop("start", ""))
    share = Share(number, tasks, more.pop("shares", 4), more.pop("by_partition", False))
    return Walk(names, layout, share, lanes, "b", **more)


def go_over(walk: Walk, offsets: Offsets | None = None) -> list[str]:
    """One pass: each object is read, and its offset stored."""
    read = []
    walk.begin()
    while True:
        while (chosen := walk.take()) is not None:
            read.append(chosen.found.key)
            chosen.lane.finish(chosen.found)
            if offsets is not None:
                offsets.set(chosen.lane.partition, chosen.lane.offset())
        if walk.over:
            return read
        walk.step()


GENERIC = {"topic": "t"}
LAYOUTS = {
    "name": GENERIC,
    "time": {**GENERIC, "object_order": "time"},
    "partition": {"mode": "RESTORE_BACKUP", "topics_dir": ""},
    "partition of an open form": {"file_name_template": "{{topic}}-{{partition}}-{{start_offset}}"},
}


def name_of(order: str, number: int) -> str:
    partition, offset = number % 3, number // 3
    if order == "partition":
        return f"t/partition={partition}/t+{partition}+{offset:010}.json"
    if order == "partition of an open form":
        return f"t-{partition}-{offset:010}.json"
    return f"{number:08}"


@pytest.mark.parametrize("order", LAYOUTS)
def test_each_object_is_read_once_over_passes_restarts_and_numbers_of_tasks(order: str, seed: int) -> None:
    chance = random.Random(seed)
    names, offsets, layout = Names(size=50), Offsets(), layout_of(**LAYOUTS[order])
    read: list[str] = []
    put = 0
    for _ in range(12):
        tasks = chance.randint(1, 4)
        walks = [walk_of(names, offsets, layout, number, tasks) for number in range(tasks)]
        for _ in range(chance.randint(1, 3)):
            for number in range(put, put + chance.randint(0, 300)):
                names.put(name_of(order, number), modified=number)
                put = number + 1
            for walk in walks:
                read += go_over(walk, offsets)
    assert Counter(read) == Counter(name_of(order, number) for number in range(put))


@pytest.mark.parametrize("order", LAYOUTS)
def test_objects_that_come_late_are_read_within_the_window(order: str) -> None:
    names, offsets, layout = Names(), Offsets(), layout_of(**LAYOUTS[order])
    late = {9 * each for each in range(20)}
    for number in range(200):
        if number not in late:
            names.put(name_of(order, number), modified=number)
    walk = walk_of(names, offsets, layout, window=200)
    assert len(go_over(walk, offsets)) == 180
    for number in late:
        names.put(name_of(order, number), modified=number)
    again = walk_of(names, offsets, layout, 0, 1, window=200)
    assert sorted(go_over(again, offsets)) == sorted(name_of(order, number) for number in late)
    assert go_over(walk_of(names, offsets, layout, window=200)) == []


def test_one_that_comes_behind_the_window_is_missed_as_the_page_says() -> None:
    names, offsets = Names(f"{n:04}" for n in range(1, 100)), Offsets()
    walk = walk_of(names, offsets, layout_of(**GENERIC), window=10, shares=1)
    go_over(walk, offsets)
    names.put("0000")
    names.put("0089x")
    assert go_over(walk) == ["0089x"]


@pytest.mark.parametrize("order", ["name", "partition"])
def test_what_was_read_long_ago_is_not_listed_again(order: str) -> None:
    layout = layout_of(**LAYOUTS[order])
    names, offsets = Names((name_of(order, number) for number in range(20_000)), size=200), Offsets()
    walk = walk_of(names, offsets, layout, shares=16)
    assert len(go_over(walk, offsets)) == 20_000
    assert len(names.asked) == 100
    for walked in (walk, walk_of(names, offsets, layout, shares=16)):
        names.asked.clear()
        assert go_over(walked) == []
        # By name the last 16 x 64 or so; by partition one page each, and the first to begin with.
        assert len(names.asked) <= (8 if order == "name" else 5)
    assert len(offsets.stored) == (16 if order == "name" else 3)
    assert max(map(len, offsets.stored.values())) < 1200


def test_another_tasks_partitions_are_leapt_over() -> None:
    layout = layout_of(**LAYOUTS["partition"])
    names = Names((name_of("partition", number) for number in range(30_000)), size=100)
    read = []
    for task in range(3):
        names.asked.clear()
        found = go_over(walk_of(names, Offsets(), layout, task, 3, by_partition=True))
        assert {name[len("t/partition=")] for name in found} == {str(task)}
        assert len(names.asked) <= 104
        read += found
    assert len(set(read)) == len(read) == 30_000


def test_a_topic_whose_name_begins_like_another_series_is_not_leapt_over() -> None:
    layout = layout_of(file_name_template="{{topic}}-{{partition}}-{{start_offset}}")
    of_t = [f"t-1-{offset}" for offset in (*range(1000, 1300), *range(3000, 3300))]
    of_other = [f"t-1-2-{offset:06}" for offset in range(300)]  # topic t-1, amid the names of t's partition 1
    names, offsets = Names(of_t + of_other, size=100), Offsets()
    walk = walk_of(names, offsets, layout, window=1)
    assert sorted(go_over(walk, offsets)) == sorted(of_t + of_other)
    names.put("t-1-2-000300")
    assert go_over(walk) == ["t-1-2-000300"]


def test_by_time_more_objects_than_are_kept_come_over_several_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connectors.s3.source.walk._MOST_KEPT", 100)
    names = Names(size=77)
    for number in range(1000):
        names.put(f"{number * 7919 % 1000:04}", modified=number)
    walk = walk_of(names, Offsets(), layout_of(**LAYOUTS["time"]))
    read = go_over(walk)
    assert walk.cut
    while walk.cut:
        read += go_over(walk)
    assert read == [f"{number * 7919 % 1000:04}" for number in range(1000)]


def test_by_time_an_object_that_was_written_anew_is_another_one() -> None:
    names, layout = Names(), layout_of(**LAYOUTS["time"])
    names.put("a", 1, "one")
    walk = walk_of(names, Offsets(), layout)
    assert go_over(walk) == ["a"]
    names.put("a", 5, "two")
    assert go_over(walk) == ["a"]
    assert go_over(walk) == []


def test_an_object_that_is_open_comes_first_from_the_record_where_it_was() -> None:
    names, offsets, layout = Names(["a", "b", "c"]), Offsets(), layout_of(**GENERIC)
    walk = walk_of(names, offsets, layout, shares=1)
    walk.begin()
    walk.step()
    first, second = walk.take(), walk.take()
    assert first is not None
    assert second is not None
    first.lane.finish(first.found)
    offsets.set(second.lane.partition, second.lane.offset(second.found, 17))
    again = walk_of(names, offsets, layout, shares=1)
    chosen = again.take()
    assert chosen is not None
    assert (chosen.found.key, chosen.found.etag, chosen.record) == ("b", "e", 17)
    chosen.lane.finish(chosen.found)
    assert go_over(again) == ["c"]


def test_a_restart_amid_an_object_leaves_the_window_as_it_was() -> None:
    names, offsets, layout = Names(f"{n:04}" for n in range(1, 101)), Offsets(), layout_of(**GENERIC)
    walk = walk_of(names, offsets, layout, window=10, shares=1)
    walk.begin()
    walk.step()
    while (chosen := walk.take()) is not None and chosen.found.key != "0100":
        chosen.lane.finish(chosen.found)
    assert chosen is not None
    offsets.set(chosen.lane.partition, chosen.lane.offset(chosen.found, 3))
    names.put("0095x")
    again = walk_of(names, offsets, layout, window=10, shares=1)
    assert go_over(again) == ["0100", "0095x"]
    assert len(chosen.lane.offset()["done"]) == len(base64.b64encode(bytes(80)))


def test_objects_that_are_gone_are_not_remembered() -> None:
    names, offsets, layout = Names(map(str, range(10, 40))), Offsets(), layout_of(**GENERIC)
    go_over(walk_of(names, offsets, layout, shares=1), offsets)
    for number in range(10, 39):
        names.delete(str(number))
    walk = walk_of(names, offsets, layout, shares=1)
    go_over(walk)
    ((lane,),) = [list(walk._lanes)]
    assert len(lane.offset()["done"]) == 12  # one digest


def test_what_is_held_is_found_again_however_much_is_read_behind_it() -> None:
    names, offsets, layout = Names(f"{n:04}" for n in range(500)), Offsets(), layout_of(**GENERIC)
    walk = walk_of(names, offsets, layout, window=8, shares=1)
    walk.begin()
    walk.step()
    chosen = []
    while (each := walk.take()) is not None:
        chosen.append(each)
        each.lane.finish(each.found, hold=True)
        offsets.set(each.lane.partition, each.lane.offset())
    again = walk_of(names, offsets, layout, window=8, shares=1)
    assert go_over(again) == []
    assert len(again.seen_done) == 500
    for each in chosen:
        each.lane.release(each.found)
    assert chosen[0].lane.floor == (0, "0491")


def test_what_is_held_keeps_the_floor_below_it() -> None:
    lane = Lane({}, None, window=4, timed=False)
    for number in range(20):
        lane.finish(Found(f"{number:02}", "e"), hold=number == 2)
    assert lane.floor == (0, "01")
    lane.release(Found("02", "e"))
    assert lane.floor == (0, "15")


def test_by_time_an_object_that_is_open_keeps_its_place_in_the_order() -> None:
    names, offsets, layout = Names(), Offsets(), layout_of(**LAYOUTS["time"])
    names.put("a", 1_000)
    walk = walk_of(names, offsets, layout, shares=1)
    walk.begin()
    walk.step()
    chosen = walk.take()
    assert chosen is not None
    offsets.set(chosen.lane.partition, chosen.lane.offset(chosen.found, 5))
    again = walk_of(names, offsets, layout, shares=1, window=1)
    opened = again.take()
    assert opened is not None
    assert opened.lane.mark(opened.found) == (1_000, "a")
    opened.lane.finish(opened.found)
    assert go_over(again) == []


def test_begins_behind_a_name_and_with_a_time() -> None:
    names = Names(f"{n:04}" for n in range(100))
    assert go_over(walk_of(names, Offsets(), layout_of(**GENERIC), start="0089")) == [f"{n:04}" for n in range(90, 100)]
    assert go_over(walk_of(names, Offsets(), layout_of(**GENERIC), not_before=95)) == [
        f"{n:04}" for n in range(95, 100)
    ]
