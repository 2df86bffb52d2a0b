"""Topics whose first records say nothing of columns: broken, aborted, deleted, tombstones. The sink begins anyway."""

import json
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from connect.errors import ConnectError
from connect.kafka.broker.embedded import Broker
from spark_sink.reading import sample
from spark_sink.session import Session

from .sink_runs import Sink, delete_before, make_topic, numbers, produce, rows

MakeSink = Callable[..., Sink]
BROKEN = b"{broken"
MANY = 600  # more than are looked at in one step


@pytest.fixture
def sink(broker: Broker, session: Session, monkeypatch: pytest.MonkeyPatch, lake: Path) -> MakeSink:
    """Makes a connector for one table; underscores stand for dots."""

    def make(topic: str, **config: str) -> Sink:
        keys = {key.replace("_", "."): value for key, value in config.items()}
        return Sink(broker, session, monkeypatch, {"table": str(lake / "rows"), "topics": topic, **keys})

    return make


@pytest.fixture(params=["found", "not found"])
def looked_for(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the look at records before the query begins goes far enough to find one that says something."""
    if request.param == "not found":
        monkeypatch.setattr(sample, "_ROWS", 10)
        monkeypatch.setattr(sample, "_MOST_ROWS", 20)


def keyed(broker: Broker, topic: str, records: Sequence[tuple[str | None, Any]]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for key, value in records:
        producer.produce(topic, None if value is None else json.dumps(value).encode(), key)
    assert producer.flush(30) == 0


def aborted(broker: Broker, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": uuid.uuid4().hex})
    producer.init_transactions(30)
    producer.begin_transaction()
    for n in range(count):
        producer.produce(topic, json.dumps({"n": -n}).encode())
    assert producer.flush(30) == 0
    producer.abort_transaction(30)


@pytest.mark.slow
@pytest.mark.promise("P1")
def test_broken_records_come_first(broker: Broker, sink: MakeSink, lake: Path, looked_for: None) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [BROKEN] * MANY + [{"n": n} for n in range(3)])
    sink(topic, errors_tolerance="all", errors_deadletter_table=str(lake / "dead")).run_until({(topic, 0): MANY + 3})
    assert numbers(lake / "rows") == [0, 1, 2]
    assert sorted(row["offset"] for row in rows(lake / "dead")) == list(range(MANY))


def test_all_records_are_broken_so_far(broker: Broker, sink: MakeSink, lake: Path) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [BROKEN] * 20)
    one = sink(topic, errors_tolerance="all", errors_deadletter_table=str(lake / "dead"))
    with one.running() as run:
        run.until(lambda: one.committed().get((topic, 0), (0, ""))[0] == 20)
        assert len(rows(lake / "dead")) == 20
        assert not (lake / "rows").exists()
        produce(broker, topic, [{"n": 1}, BROKEN])
        run.until(lambda: one.committed()[(topic, 0)][0] == 22)
    assert rows(lake / "rows") == [{"n": 1}]
    assert len(rows(lake / "dead")) == 21


def test_a_broken_record_fails_the_task_though_no_other_says_which_columns_there_are(
    broker: Broker, sink: MakeSink
) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [BROKEN] * 20)
    with sink(topic).running() as run, pytest.raises(ConnectError, match="JsonConverter"):
        run.until(lambda: False)


@pytest.mark.slow
@pytest.mark.promise("P1")
def test_an_aborted_transaction_comes_first(broker: Broker, sink: MakeSink, lake: Path) -> None:
    topic = make_topic(broker)
    aborted(broker, topic, MANY)
    one = sink(topic, consumer_override_isolation_level="read_committed")
    with one.running() as run:
        run.until(lambda: one.committed().get((topic, 0), (0, ""))[0] > MANY)
        produce(broker, topic, [{"n": 1}])
        run.until(lambda: numbers(lake / "rows") == [1])


@pytest.mark.slow
@pytest.mark.promise("P1")
@pytest.mark.parametrize("loss", ["an error", "skipped"])
def test_retention_took_records_behind_the_position(broker: Broker, sink: MakeSink, lake: Path, loss: str) -> None:
    topic = make_topic(broker)
    produce(broker, topic, [{"n": n} for n in range(3 * MANY)])
    one = sink(topic, fail_on_data_loss=str(loss == "an error").lower())
    one.alter({(topic, 0): 100})
    delete_before(broker, topic, 2 * MANY)
    if loss == "an error":
        with one.running() as run, pytest.raises(ConnectError, match=f"{topic}-0 are gone before they were read"):
            run.until(lambda: False)
    else:
        one.run_until({(topic, 0): 3 * MANY})
        assert numbers(lake / "rows") == list(range(2 * MANY, 3 * MANY))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_tombstones_come_first(broker: Broker, sink: MakeSink, lake: Path, mode: str, looked_for: None) -> None:
    topic = make_topic(broker)
    keyed(broker, topic, [(f"k{n}", None) for n in range(MANY)])
    one = sink(topic, mode=mode)
    with one.running() as run:
        run.until(lambda: one.committed().get((topic, 0), (0, ""))[0] == MANY)
        assert not (lake / "rows").exists()
        keyed(broker, topic, [("k", {"n": 1})])
        run.until(lambda: numbers(lake / "rows") == [1])


@pytest.mark.slow
def test_tombstones_alone_delete_from_a_table_that_is_there(broker: Broker, sink: MakeSink, lake: Path) -> None:
    topic = make_topic(broker)
    keyed(broker, topic, [(f"k{n}", {"n": n}) for n in range(3)])
    one = sink(topic, mode="upsert")
    one.run_until({(topic, 0): 3})
    keyed(broker, topic, [("k1", None)])
    one.alter({(topic, 0): 3})  # the query restarts, and has to look at records once more
    one.run_until({(topic, 0): 4})
    assert numbers(lake / "rows") == [0, 2]
    assert [set(row) for row in rows(lake / "rows")] == [{"key", "n"}] * 2


@pytest.mark.slow
def test_records_without_keys_cannot_be_merged_by_them(broker: Broker, sink: MakeSink, lake: Path) -> None:
    topic = make_topic(broker)
    keyed(broker, topic, [(None, {"n": n}) for n in range(3)])
    with sink(topic, mode="upsert").running() as run, pytest.raises(ConnectError, match=f"{topic}.*It has no key"):
        run.until(lambda: False)
    dead = str(lake / "dead")
    one = sink(topic, mode="upsert", errors_tolerance="all", errors_deadletter_table=dead)
    with one.running() as run:
        run.until(lambda: one.committed().get((topic, 0), (0, ""))[0] == 3)
        assert [row["offset"] for row in sorted(rows(lake / "dead"), key=lambda row: row["offset"])] == [0, 1, 2]
        assert not (lake / "rows").exists()
        keyed(broker, topic, [("k", {"n": 7})])
        run.until(lambda: numbers(lake / "rows") == [7])
