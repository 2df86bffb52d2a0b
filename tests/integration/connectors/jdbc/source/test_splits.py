"""Tables of real databases in ranges of their keys, as Spark reads them, in turn with polling."""

import random
from collections import Counter
from typing import Any

import pytest

from connectors.jdbc.source import JdbcSourceConnector, splits
from tests.support.read_plans import Planner

MODES = ["incrementing", "timestamp", "timestamp+incrementing"]


def _insert(shop: Any, chance: random.Random, first: int, count: int) -> list[int]:
    """Rows of 2024, in microseconds, some at the same time; later ones are later."""
    hour = f"2024-05-01 {first // 1000 % 24:02d}:00"
    times = [f"{hour}:{n // 3 % 60:02d}.{chance.randint(0, 9) * 1001:06d}" for n in range(count)]
    rows = ", ".join(f"({first + n}, '{time}', 'x')" for n, time in enumerate(times))
    shop.execute(f"INSERT INTO line VALUES {rows}")
    return [first + n for n in range(count)]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
@pytest.mark.parametrize("mode", MODES)
def test_planning_and_polling_take_turns(
    shop: Any, mode: str, zone: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(splits, "_ROWS_OF_SPLIT", 10)
    chance = random.Random(seed)
    shop.execute(f"CREATE TABLE line (id bigint NOT NULL PRIMARY KEY, at {shop.stamp} NOT NULL, word varchar(10))")
    config = {"mode": mode, "db.timezone": zone, "table.whitelist": "line"}
    config |= {"incrementing.column.name": "id"} if "incrementing" in mode else {}
    config |= {"timestamp.column.name": "at"} if "timestamp" in mode else {}
    seen: Counter[int] = Counter()
    wanted: Counter[int] = Counter()
    values: dict[int, Any] = {}
    offsets: Any = ()
    for turn in range(4):
        wanted += Counter(_insert(shop, chance, turn * 1000, chance.randint(30, 100)))
        if turn % 2:
            with shop.run(offsets, **{key.replace(".", "_"): value for key, value in config.items()}) as run:
                records = run.poll_until(wanted.total() - seen.total())
                offsets = run.offsets
        else:
            whole = {**shop.config, **config, "tables": shop.name("line"), "topic.prefix": "db-"}
            whole |= {"timestamp.delay.interval.ms": "0", "poll.interval.ms": "1"}
            with Planner(JdbcSourceConnector(), whole, offsets) as planner:
                read = planner.carry_out(3)
                assert read is not None
                assert len(read.records) == 3
                assert all(read.records), "ranges are of equal width, and so are these numbers"
                records = [record for split in read.records for record in split]
                offsets = planner.stored.all("c")
        seen += Counter(record.value["id"] for record in records)
        values |= {record.value["id"]: record for record in records}
        assert seen == wanted
    assert [partition for partition, _ in offsets] == [shop.partition("line")]
    assert {record.topic for record in values.values()} == {"db-line"}
    assert len({record.value_schema for record in values.values()}) == 1


@pytest.mark.parametrize("mode", [*MODES, "snapshot"])
def test_plans_are_bounded_by_what_each_database_calls_a_limit(
    shop: Any, mode: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(splits, "_ROWS_OF_SPLIT", 5)
    monkeypatch.setattr(splits, "_MOST_ROWS", 20)
    shop.execute(f"CREATE TABLE line (id bigint NOT NULL PRIMARY KEY, at {shop.stamp} NOT NULL, word varchar(10))")
    inserted = _insert(shop, random.Random(seed), 0, 200)
    config = {**shop.config, "mode": mode, "table.whitelist": "line", "tables": shop.name("line"), "topic.prefix": "p"}
    config |= {"incrementing.column.name": "id"} if "incrementing" in mode else {}
    config |= {"timestamp.column.name": "at"} if "timestamp" in mode else {}
    config |= {"timestamp.delay.interval.ms": "0", "poll.interval.ms": "1"}
    plans: list[list[int]] = []
    with Planner(JdbcSourceConnector(), config) as planner:
        while len([number for plan in plans for number in plan]) < len(inserted):
            read = planner.carry_out(2)
            assert read is not None
            plans.append([record.value["id"] for split in read.records for record in split])
    assert len(plans) >= 3
    assert all(40 <= len(plan) <= 60 for plan in plans[:-1]), "the rows of a time stay together"
    assert Counter(number for plan in plans for number in plan) == Counter(inserted)
