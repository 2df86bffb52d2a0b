"""Plans of a source that delivers exactly once: what a killed driver leaves, and who may finish it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from connect.api.splits import ReadPlan
from connect.errors import ConnectError
from connect.storage.offsets import MemoryOffsetStore
from spark_sink.connector_source.batches import PARTITION, Batches, StoredBatches

TABLE = {"table": "t"}


class Stored:
    """Offsets, as a worker keeps them: JSON."""

    def __init__(self) -> None:
        self._store = MemoryOffsetStore()

    def ask(self, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        return self._store.get("c", partitions)

    def store(self, entries: Sequence[tuple[dict[str, Any], dict[str, Any] | None]]) -> None:
        self._store.set("c", [(partition, json.loads(json.dumps(offset))) for partition, offset in entries])

    def batches(self, **config: str) -> StoredBatches:
        return StoredBatches(self.store, self.ask, {"mode": "bulk", **config}, lambda key: key in ("mode", "password"))

    @property
    def table(self) -> Mapping[str, Any] | None:
        return self.ask([TABLE])[0]


def _plan(upto: int) -> ReadPlan:
    return ReadPlan([{"from": upto - 10}, {"from": upto - 5}], [(TABLE, {"number": upto})])


def test_a_batch_that_is_done_leaves_its_offsets_and_a_number() -> None:
    stored = Stored()
    first = stored.batches()
    assert first.unfinished() is None
    batch = first.begin(_plan(10))
    assert batch.number == 0
    assert stored.table is None, "offsets are stored when all is written"
    first.end(batch)
    assert stored.table == {"number": 10}
    second = stored.batches()
    assert second.unfinished() is None
    assert (second.stream, second.begin(_plan(20)).number) == (first.stream, 1)


def test_an_unfinished_batch_is_finished_as_it_was_begun() -> None:
    stored = Stored()
    first = stored.batches()
    first.end(first.begin(_plan(10)))
    begun = first.begin(_plan(20))
    second = stored.batches()
    left = second.unfinished()
    assert left == begun
    assert left is not None
    assert second.stream == first.stream
    second.end(left)
    assert second.unfinished() is None
    assert stored.table == {"number": 20}
    assert second.begin(_plan(30)).number == 2


@pytest.mark.parametrize("what", ["altered", "reset", "configured"])
def test_an_unfinished_batch_is_dropped_where_it_does_not_belong_any_more(what: str) -> None:
    stored = Stored()
    first = stored.batches()
    first.end(first.begin(_plan(10)))
    first.begin(_plan(20))
    if what != "configured":
        stored.store([(TABLE, {"number": 3} if what == "altered" else None)])
    second = stored.batches(mode="incrementing") if what == "configured" else stored.batches()
    assert second.unfinished() is None
    assert second.stream != first.stream, "numbers of the old stream say nothing of the new plan"
    assert second.begin(_plan(20)).number == 0


@pytest.mark.parametrize("changed", ["password", "transforms"])
def test_a_new_password_or_transformation_leaves_an_unfinished_batch(changed: str) -> None:
    stored = Stored()
    stored.batches().begin(_plan(10))
    assert stored.batches(**{changed: "x"}).unfinished() is not None


def test_the_stored_plan_has_no_secret() -> None:
    stored = Stored()
    stored.batches(password="hidden").begin(_plan(10))
    assert "hidden" not in json.dumps(stored.ask([PARTITION]))


def test_a_plan_that_no_broker_takes_is_refused() -> None:
    stored = Stored()
    plan = ReadPlan([{"names": "x" * 800_000}], [(TABLE, {"number": 1})])
    with pytest.raises(ConnectError, match="connector is at fault"):
        stored.batches().begin(plan)
    assert stored.ask([PARTITION]) == [None]


def test_at_least_once_nothing_but_offsets_is_stored() -> None:
    stored = Stored()
    batches = Batches(stored.store)
    batches.end(batches.begin(_plan(10)))
    assert stored.table == {"number": 10}
    assert stored.ask([PARTITION]) == [None]
