"""The ledger of a connector's checkpoints, kept through Spark, and where a checkpoint says that a query goes on."""

from typing import Any

import pytest

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from spark_sink.query.generations import Generation, Generations
from spark_sink.tables.batch_offsets import BatchOffsets

from .readings import Readings, Run


def test_generations_are_written_down_and_the_newest_is_the_one(spark: Any, tmp_path: Any) -> None:
    ledger = Generations(spark, f"file://{tmp_path}/deep/checkpoints/")
    assert ledger.current() is None
    first = ledger.begin(None, {})
    assert (first.number, first.start) == (1, {})
    assert first.name.startswith("000001-")
    start = {TopicPartition("t", 0): 7, TopicPartition("t", 10): 0}
    second = ledger.begin(first, start)
    assert second == Generation(2, second.name, {"t": {"0": 7, "10": 0}})
    for again in (ledger, Generations(spark, str(tmp_path / "deep" / "checkpoints"))):
        assert again.current() == second
    assert first.name.split("-")[1] != second.name.split("-")[1]


@pytest.mark.slow
@pytest.mark.promise("P1")
def test_a_checkpoint_says_where_its_query_goes_on_and_whether_a_batch_is_under_way(
    readings: Readings, new_topic: Any
) -> None:
    topic = new_topic()
    place = TopicPartition(topic, 0)
    ledger = Generations(readings.spark, str(readings.folder / "checkpoints"))
    generation = ledger.begin(None, {place: 2})
    folder = ledger.checkpoint(generation, "main")
    assert ledger.positions(generation, "main") == ({place: 2}, False)
    readings.produce(topic, [b"%d" % n for n in range(10)])
    plan = readings.plan(topic, start=generation.start)
    seen: list[int] = []

    def refuse(df: Any, batch: int) -> None:
        seen.append(df.count())
        raise ValueError("not now")

    readings.begin(Run(), plan, refuse, folder).error()
    assert seen == [8]
    assert ledger.positions(generation, "main") == ({place: 2}, True)  # begun, not written
    assert readings.available(plan, folder).offsets == list(range(2, 10))
    assert ledger.positions(generation, "main") == ({place: 10}, False)
    readings.produce(topic, [b"more"])
    readings.begin(Run(), plan, refuse, folder).error()
    assert ledger.positions(generation, "main") == ({place: 10}, True)
    assert ledger.positions(generation, "another") == ({place: 2}, False)


@pytest.mark.slow
def test_a_checkpoint_that_is_damaged_is_named(readings: Readings, new_topic: Any) -> None:
    topic = new_topic()
    readings.produce(topic, [b"0"])
    ledger = Generations(readings.spark, str(readings.folder / "checkpoints"))
    generation = ledger.begin(None, {})
    folder = ledger.checkpoint(generation, "main")
    readings.available(readings.plan(topic), folder)
    newest = max((readings.folder / folder / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    newest.unlink()
    with pytest.raises(ConnectError, match=f"The checkpoint {folder} is damaged: its batch {newest.name} has no"):
        ledger.positions(generation, "main")


@pytest.mark.parametrize("name", ["orders [eu]", "{a,b}", "eu:orders", "a*b?", "a\\b"])
def test_a_connector_may_have_any_name(spark: Any, tmp_path: Any, name: str) -> None:
    ledger = Generations(spark, f"{tmp_path}/{name}")
    generation = ledger.begin(None, {TopicPartition("t", 0): 2})
    assert ledger.current() == generation
    folder = tmp_path / name / generation.name / "all"
    for log_of in ("offsets", "commits"):
        (folder / log_of).mkdir(parents=True)
        (folder / log_of / "0").write_text('v1\n{}\n{"t":{"0":7}}')
    assert ledger.queries(generation) == {"all"}
    assert ledger.positions(generation, "all") == ({TopicPartition("t", 0): 7}, False)
    assert BatchOffsets(str(folder), {}).of(spark, 0) is not None
