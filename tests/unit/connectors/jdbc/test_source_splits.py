"""Tables are planned and read in ranges: the same rows as polling gives, and either goes on where the other ended."""

import datetime as dt
import random
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from connect import ConfigError
from connect.data.record import SourceRecord
from connect.testing import SourceRun
from connectors.jdbc.source import JdbcSourceConnector, splits
from tests.support.read_plans import Planner

MODES = ["bulk", "incrementing", "timestamp", "timestamp+incrementing", "snapshot"]
POLLED = ["incrementing", "timestamp", "timestamp+incrementing", "snapshot"]


class Database:
    """A SQLite database with tables `line` and `other`, filled by chance."""

    def __init__(self, path: Path, chance: random.Random) -> None:
        self.path = path
        self._chance = chance
        self._next = chance.choice([-500, 0, 1, 10**12])
        self._time = 0
        self.run("CREATE TABLE line (id INTEGER PRIMARY KEY, at TIMESTAMP NOT NULL, word TEXT)")

    def run(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    def insert(self, count: int) -> list[int]:
        """Add rows with gaps in their numbers, some at the same time."""
        rows = []
        for _ in range(count):
            self._next += self._chance.choice([1, 1, 1, 7, 1000])
            self._time += self._chance.choice([0, 0, 1, 60])
            at = dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=self._time)
            rows.append((self._next, f"{at:%Y-%m-%d %H:%M:%S}.000", f"w{self._next}"))
        self._time += 1  # rows that are added later have a later time
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.executemany("INSERT INTO line VALUES (?, ?, ?)", rows)
        return [row[0] for row in rows]


@pytest.fixture
def chance(seed: int) -> random.Random:
    return random.Random(seed)


@pytest.fixture
def database(tmp_path: Path, chance: random.Random) -> Database:
    return Database(tmp_path / "d.db", chance)


@pytest.fixture(autouse=True)
def small_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splits, "_ROWS_OF_SPLIT", 10)


def _config(database: Database, mode: str, **changes: str) -> dict[str, str]:
    return {
        "connection.url": f"jdbc:sqlite:{database.path}",
        "topic.prefix": "p-",
        "mode": mode,
        "table.whitelist": "line",
        "tables": "line",
        "incrementing.column.name": "id" if "incrementing" in mode else "",
        "timestamp.column.name": "at" if "timestamp" in mode else "",
        "poll.interval.ms": "0",
        **changes,
    }


def _planner(config: dict[str, str], offsets: Any = ()) -> Planner:
    return Planner(JdbcSourceConnector(), config, offsets)


def _ids(records: list[list[SourceRecord]]) -> list[int]:
    return [record.value["id"] for split in records for record in split]


def _polled(config: dict[str, str], offsets: Any = ()) -> tuple[list[SourceRecord], Any]:
    """What polling gives, and the offsets after it."""
    with SourceRun(JdbcSourceConnector, {**config, "poll.interval.ms": "100000"}, offsets=offsets) as run:
        return run.poll_all(), run.offsets


@pytest.mark.parametrize("mode", MODES)
def test_splits_have_the_rows_and_the_offset_of_polling(database: Database, chance: random.Random, mode: str) -> None:
    inserted = database.insert(chance.randint(1, 200))
    config = _config(database, mode)
    polled, offsets = _polled(config)
    most = chance.randint(1, 8)
    with _planner({**config, "poll.interval.ms": "100000"}) as planner:
        read = planner.carry_out(most)
        assert read is not None
        assert Counter(_ids(read.records)) == Counter(inserted)
        assert len(read.records) <= max(1, min(most, -(-len(inserted) // 10)))
        records = sorted((record for split in read.records for record in split), key=lambda each: each.value["id"])
        expected = sorted(polled, key=lambda each: each.value["id"])
        assert [(r.topic, r.value, r.value_schema, r.source_partition) for r in records] == [
            (r.topic, r.value, r.value_schema, r.source_partition) for r in expected
        ]
        assert planner.stored.all("c") == [each for each in offsets if each[1]]
        assert planner.task.plan(1) is None, "what was planned counts as read"


@pytest.mark.parametrize("mode", POLLED)
def test_many_rows_are_divided_and_each_split_is_in_order(database: Database, mode: str) -> None:
    database.insert(300)
    with _planner(_config(database, mode)) as planner:
        read = planner.carry_out(4)
    assert read is not None
    assert sum(1 for split in read.records if split) >= 2
    for split in read.records:
        moments = [(record.value["at"], record.value["id"]) for record in split]
        assert moments == sorted(moments)


@pytest.mark.parametrize("mode", ["incrementing", "timestamp", "timestamp+incrementing"])
def test_planning_and_polling_take_turns(database: Database, chance: random.Random, mode: str) -> None:
    config = _config(database, mode)
    seen: Counter[int] = Counter()
    wanted: Counter[int] = Counter()
    offsets: Any = ()
    for turn in range(6):
        wanted += Counter(database.insert(chance.randint(1, 60)))
        if (turn + chance.randint(0, 1)) % 2:
            records, offsets = _polled(config, offsets)
            seen += Counter(record.value["id"] for record in records)
        else:
            with _planner(config, offsets) as planner:
                read = planner.carry_out(chance.randint(1, 4))
                assert read is not None
                seen += Counter(_ids(read.records))
                offsets = planner.stored.all("c")
        assert seen == wanted


@pytest.mark.parametrize("mode", POLLED)
def test_a_plan_is_bounded_and_the_next_one_goes_on(
    database: Database, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(splits, "_MOST_ROWS", 30)
    inserted = database.insert(400)
    seen: list[int] = []
    plans = 0
    with _planner(_config(database, mode)) as planner:
        while len(seen) < len(inserted):
            read = planner.carry_out(2)
            if read is None:
                continue
            plans += 1
            seen += _ids(read.records)
            assert plans < 100
    assert plans > 2
    assert Counter(seen) == Counter(inserted)
    if mode == "snapshot":
        assert planner.stored.all("c")[0][1]["snapshot"] == "completed"


def test_rows_that_come_after_the_plan_are_not_in_it(database: Database) -> None:
    inserted = database.insert(50)
    with _planner(_config(database, "timestamp+incrementing")) as planner:
        plan = planner.task.plan(3)
        assert plan is not None
        later = database.insert(50)
        assert sorted(r.value["id"] for split in plan.splits for r in planner.read(split)) == inserted
        read = planner.carry_out()
        assert read is not None
        assert sorted(_ids(read.records)) == later


def test_bulk_is_read_when_it_is_due_and_has_no_offset(database: Database) -> None:
    database.insert(30)
    with _planner(_config(database, "bulk", **{"poll.interval.ms": "300"})) as planner:
        first = planner.carry_out()
        assert first is not None
        assert not first.offsets
        second = planner.carry_out()  # waits until it is due
        assert second is not None
        assert len(_ids(second.records)) == 30


def test_several_tables_share_the_splits(database: Database) -> None:
    database.insert(200)
    database.run("CREATE TABLE other (id INTEGER PRIMARY KEY)", "INSERT INTO other VALUES (1), (2)")
    with _planner(_config(database, "incrementing", tables="line,other")) as planner:
        read = planner.carry_out(4)
        assert read is not None
        topics = [{record.topic for record in split} for split in read.records]
        assert topics.count({"p-other"}) == 1
        assert 2 <= topics.count({"p-line"}) <= 3
        assert len(read.offsets) == 2


def test_a_query(database: Database) -> None:
    inserted = database.insert(100)
    config = _config(database, "incrementing", query="SELECT * FROM line WHERE id IS NOT NULL", tables="")
    config |= {"table.whitelist": "", "topic.prefix": "q"}
    with _planner(config) as planner:
        read = planner.carry_out(3)
    assert read is not None
    assert sorted(_ids(read.records)) == inserted
    assert {record.topic for split in read.records for record in split} == {"q"}
    assert [partition for partition, _ in read.offsets] == [{"query": "query"}]


def test_a_table_without_a_key_is_one_split(database: Database) -> None:
    database.run("CREATE TABLE heap (word TEXT)", *(f"INSERT INTO heap VALUES ('{n}')" for n in range(50)))
    with _planner(_config(database, "bulk", tables="heap")) as planner:
        read = planner.carry_out(4)
    assert read is not None
    assert [len(split) for split in read.records] == [50]


def test_a_dropped_table_does_not_stop_the_others(database: Database) -> None:
    database.insert(10)
    with _planner(_config(database, "incrementing", tables="line")) as planner:
        plan = planner.task.plan(1)
        assert plan is not None
        database.run("DROP TABLE line")
        assert planner.read(plan.splits[0]) == []
        assert planner.task.plan(1) is None


def test_a_suffix_is_refused(database: Database) -> None:
    config = _config(database, "incrementing", **{"query.suffix": "LIMIT 3", "engine": "spark"})
    found = {value.name: value.errors for value in JdbcSourceConnector().validate(config)}
    assert "LIMIT" in found["query.suffix"][0]
    with _planner(config) as planner, pytest.raises(ConfigError, match=r"query\.suffix"):
        planner.task.plan(1)
