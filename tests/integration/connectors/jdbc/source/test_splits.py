"""Tables of real databases in ranges of their keys, as Spark reads them, in turn with polling."""

import random
import uuid
from collections import Counter
from collections.abc import Callable
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
    config = _config(shop, mode)
    config |= {"incrementing.column.name": "id"} if "incrementing" in mode else {}
    config |= {"timestamp.column.name": "at"} if "timestamp" in mode else {}
    plans: list[list[int]] = []
    with Planner(JdbcSourceConnector(), config) as planner:
        while len([number for plan in plans for number in plan]) < len(inserted):
            read = planner.carry_out(2)
            assert read is not None
            plans.append([record.value["id"] for split in read.records for record in split])
    assert len(plans) >= 3
    assert all(40 <= len(plan) <= 60 for plan in plans[:-1]), "the rows of a time stay together"
    assert Counter(number for plan in plans for number in plan) == Counter(inserted)


def _texts(chance: random.Random, count: int) -> list[str]:
    """Texts that mean something to a statement, in literals of each database."""
    hard = ["it''s", "back\\slash", "100 %", "%(name)s", "straße", "\U0001f980", ":bound", " "]
    return [f"'{number:03d}{chance.choice(hard)}'" for number in range(count)]


_TYPES = {"sqlite": ("blob", "char(36)"), "postgresql": ("bytea", "uuid"), "mariadb": ("varbinary(16)", "uuid")}
_KEYS: dict[str, tuple[str, Callable[[random.Random, int], list[str]]]] = {
    "texts": ("varchar(40)", _texts),
    "decimals": ("decimal(20,4)", lambda chance, count: [f"{n - count // 2}.{chance.randint(0, 9999):04d}"
                                                         for n in range(count)]),
    "times": ("{stamp}", lambda chance, count: [f"'2024-05-01 12:00:{n % 60:02d}.{n:06d}'" for n in range(count)]),
    "dates": ("date", lambda chance, count: [f"'2024-{n // 28 + 1:02d}-{n % 28 + 1:02d}'" for n in range(count)]),
    "uuids": ("{uuid}", lambda chance, count: [f"'{uuid.UUID(bytes=chance.randbytes(16), version=4)}'"
                                               for _ in range(count)]),
    "bytes": ("{bytes}", lambda chance, count: [f"{n:02x}{chance.randbytes(15).hex()}" for n in range(count)]),
}  # fmt: skip


@pytest.mark.parametrize(("mode", "second"), [("bulk", False), ("snapshot", True)], ids=["bulk", "snapshot by two"])
@pytest.mark.parametrize("keys", list(_KEYS))
def test_rows_are_divided_by_keys_that_are_no_whole_numbers(
    shop: Any, mode: str, keys: str, second: bool, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(splits, "_ROWS_OF_SPLIT", 10)
    kind = shop.config["connection.url"].split(":")[1]
    declared, made = _KEYS[keys]
    declared = declared.format(stamp=shop.stamp, bytes=_TYPES[kind][0], uuid=_TYPES[kind][1])
    values = made(random.Random(seed), 50)
    if keys == "bytes":
        values = [f"'\\x{value}'" if kind == "postgresql" else f"X'{value}'" for value in values]
    elif kind == "mariadb":
        values = [value.replace("\\", "\\\\") for value in values]
    key = "id, number" if second else "id"
    shop.execute(f"CREATE TABLE line (id {declared} NOT NULL, number int NOT NULL, PRIMARY KEY ({key}))")
    rows = ", ".join(f"({value}, {n})" for n, value in enumerate(values))
    shop.execute(f"INSERT INTO line VALUES {rows.replace('%', '%%') if kind == 'mariadb' else rows}")
    with Planner(JdbcSourceConnector(), _config(shop, mode)) as planner:
        read = planner.carry_out(4)
    assert read is not None
    found = [[record.value["number"] for record in split] for split in read.records]
    assert [len(split) for split in found] == [13, 13, 13, 11], "as many rows each"
    assert sorted(number for split in found for number in split) == list(range(50))


def test_a_column_with_few_values_gives_as_many_ranges_as_it_can(shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splits, "_ROWS_OF_SPLIT", 10)
    shop.execute("CREATE TABLE line (tenant varchar(9) NOT NULL, number int NOT NULL, PRIMARY KEY (tenant, number))")
    rows = ", ".join(f"('{'big' if n < 40 else 'little'}', {n})" for n in range(50))
    shop.execute(f"INSERT INTO line VALUES {rows}")
    with Planner(JdbcSourceConnector(), _config(shop, "bulk")) as planner:
        read = planner.carry_out(4)
    assert read is not None
    numbers = [record.value["number"] for split in read.records for record in split]
    assert sorted(numbers) == list(range(50))
    assert len(read.records) in (2, 3)


@pytest.mark.parametrize("query", [False, True], ids=["table", "query"])
def test_without_a_key_rows_are_divided_by_their_times(
    shop: Any, query: bool, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(splits, "_ROWS_OF_SPLIT", 10)
    shop.execute(f"CREATE TABLE line (id bigint, at {shop.stamp} NOT NULL, word varchar(10))")
    inserted = _insert(shop, random.Random(seed), 0, 90)
    config = _config(shop, "timestamp") | {"timestamp.column.name": "at"}
    if query:
        del config["tables"], config["table.whitelist"]
        config["query"] = "SELECT * FROM line"
    with Planner(JdbcSourceConnector(), config) as planner:
        read = planner.carry_out(3)
        assert read is not None
        assert planner.carry_out(3) is None, "all is read"
    found = [[record.value["id"] for record in split] for split in read.records]
    assert len(found) == 3
    assert all(len(split) >= 20 for split in found)
    assert sorted(number for split in found for number in split) == inserted


def _config(shop: Any, mode: str) -> dict[str, str]:
    whole = {**shop.config, "mode": mode, "table.whitelist": "line", "tables": shop.name("line"), "topic.prefix": "p"}
    return {**whole, "timestamp.delay.interval.ms": "0", "poll.interval.ms": "1"}
