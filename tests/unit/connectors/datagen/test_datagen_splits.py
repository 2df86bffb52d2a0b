"""What executors make of a plan is what polling would have given, and either goes on where the other ended."""

import json
from typing import Any

import pytest

from connect.testing import SourceRun
from connectors.datagen import DatagenConnector
from tests.support.read_plans import Offsets, Planner
from tests.unit.connectors.datagen.numbered import NUMBERED

OWN_KEYS = {"task.id": "0", "task.count": "1", "task.first": "0", "task.seed": "7"}


def _config(**config: str) -> dict[str, str]:
    told = {key.replace("_", "."): value for key, value in config.items()}
    return {"kafka.topic": "made", "max.interval": "0", "random.seed": "7", "schema.string": NUMBERED, **told}


def _planner(config: dict[str, str], offsets: Offsets = ()) -> Planner:
    return Planner(DatagenConnector(), {**config, **OWN_KEYS}, offsets)


def _planned(config: dict[str, str], offsets: Offsets = (), most: int = 4) -> tuple[list[Any], Offsets]:
    """All records of plans until there is nothing more, and the offsets at the end."""
    records: list[Any] = []
    with _planner(config, offsets) as planner:
        while (done := planner.carry_out(most)) is not None:
            records += [record for split in done.records for record in split]
            offsets = done.offsets
    return records, offsets


def _polled(config: dict[str, str], offsets: Offsets = (), count: int = 0) -> tuple[list[Any], Offsets]:
    with SourceRun(DatagenConnector, config, offsets=[(part, offset or {}) for part, offset in offsets]) as run:
        if count:
            run.poll_until(count)
        else:
            run.poll_all()
        return run.records, run.offsets


def _told(records: list[Any]) -> list[Any]:
    return [
        (each.topic, each.key, each.value, each.timestamp, [(header.key, header.value) for header in each.headers])
        for each in records
    ]


MORE = {
    "headers": "task.generation,task.id,current.iteration,a=b",
    "timestamp_start": "1000",
    "schema_keyfield": "text",
    "tombstone_share": "0.2",
    "cardinality": "50",
}


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("more", [{}, MORE], ids=["plain", "everything"])
def test_the_union_of_splits_is_what_polling_gives(most: int, more: dict[str, str]) -> None:
    config = _config(iterations="50001", **more)
    with _planner(config) as planner:
        done = planner.carry_out(most)
        assert done is not None
        assert planner.carry_out(most) is None
    polled, offsets = _polled(config)
    assert len(done.records) == min(most, 3)
    assert _told([record for split in done.records for record in split]) == _told(polled)
    assert [dict(offset or {}) for _, offset in done.offsets] == [dict(offset or {}) for _, offset in offsets]


def test_a_plan_without_an_end_is_limited_and_the_next_has_what_follows() -> None:
    with _planner(_config()) as planner:
        first, second = planner.task.plan(2), planner.task.plan(3)
        assert first is not None
        assert second is not None
        bounds = [(split["start"], split["stop"]) for split in [*first.splits, *second.splits]]
    assert len(bounds) == 5
    assert [start for start, _ in bounds] == [0, *(stop for _, stop in bounds[:-1])]
    assert all(0 < stop - start <= 100_256 for start, stop in bounds)
    assert all(stop % 256 == 0 for _, stop in bounds[:1])


def test_big_records_are_fewer_in_a_split() -> None:
    big = json.dumps({"type": "string", "arg.properties": {"length": 100_000}})
    with _planner(_config(schema_string=big)) as planner:
        plan = planner.task.plan(2)
        assert plan is not None
        assert sum(split["stop"] - split["start"] for split in plan.splits) < 2_000


def test_polling_goes_on_after_plans_and_plans_after_polling() -> None:
    config = {key: value for key, value in _config(iterations="3000").items() if key != "random.seed"}
    polled, offsets = _polled(config, count=1000)
    planned, _ = _planned(config, offsets)
    seed = str(offsets[0][1]["random.seed"])  # type: ignore[index]
    whole, _ = _polled(_config(iterations="3000", random_seed=seed))
    assert [record.value for record in [*polled, *planned]] == [record.value for record in whole]

    with _planner({**config, "rate": "100000"}) as planner:
        done = planner.carry_out()
        assert done is not None
        first = [record for split in done.records for record in split]
    rest, _ = _polled(config, done.offsets)
    whole, _ = _polled(_config(iterations="3000", random_seed=OWN_KEYS["task.seed"]))
    assert 0 < len(first) < 3000
    assert [record.value for record in [*first, *rest]] == [record.value for record in whole]


def test_a_rate_is_kept() -> None:
    with _planner(_config(rate="20")) as planner:
        plans = [planner.task.plan(4) for _ in range(3)]
    assert sum(split["stop"] - split["start"] for plan in plans if plan for split in plan.splits) in (3, 4)


def test_what_becomes_due_while_a_plan_is_carried_out_is_caught_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with _planner(_config(rate="100")) as planner:
        assert planner.task.plan(4) is not None
        pace = planner.task._plan_pace  # type: ignore[attr-defined]
        pace._next -= 30
        plan = planner.task.plan(4)
        assert plan is not None
        assert plan.splits[-1]["stop"] == pytest.approx(3000, abs=20)
