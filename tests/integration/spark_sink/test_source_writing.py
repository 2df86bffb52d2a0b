"""Parts of batches in Kafka, each in one transaction with its writer's account. A real broker, and no Spark."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from connect import ConnectError, FencedError
from connect.kafka.broker.embedded import Broker
from connect.kafka.reading.newest import NewestRecords
from connect.pipeline import RecordError
from spark_sink.source.clients import SourceClients
from spark_sink.source.committed_batches import CommittedBatches, Partitioning, Run
from spark_sink.source.records import RowShape
from spark_sink.source.writing import BatchRequest, OutputPlan, PartWriter, WritePlan, Written

CUT = Partitioning(2, ("id",))
ROOT = Path(__file__).parents[3]


def clients(broker: Broker, **config: str) -> SourceClients:
    """Underscores stand for dots."""
    worker = {
        "bootstrap.servers": broker.bootstrap_servers,
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "false",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }
    return SourceClients("orders", worker, {"name": "orders", **{k.replace("_", "."): v for k, v in config.items()}})


def rows(ids: Sequence[int], writer: int = 0) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {"id": list(ids), "name": [f"n{i}" for i in ids], "_writer": pa.array([writer] * len(ids), pa.int32())}
    )


def written(plan: WritePlan, request: BatchRequest, *batches: pa.RecordBatch) -> list[Written]:
    found = [row for made in PartWriter(plan, request)(batches) for row in made.to_pylist()]
    return [Written(**{**row, "topics": tuple(row["topics"])}) for row in found]


class Place:
    """A topic, and a topic of committed batches."""

    def __init__(self, broker: Broker, topic: str, committed: str) -> None:
        self.broker = broker
        self.topic = topic
        self.committed_topic = committed
        self.clients = clients(broker)
        self.prefix = f"test-{uuid.uuid4().hex[:8]}"

    def begin(self, partitioning: Partitioning = CUT, stream: str = "g1/query") -> CommittedBatches:
        """A new run."""
        made = CommittedBatches(Run("orders", self.prefix, self.committed_topic, stream), self.clients)
        made.begin(partitioning, lambda: None)
        return made

    def plan(self, committed: CommittedBatches | None = None, **config: str) -> WritePlan:
        shape = RowShape(self.topic, ("id",), ("id", "name"))
        own = clients(self.broker, **config)
        return WritePlan(shape, OutputPlan(own, run=None if committed is None else committed.run))

    def request(self, committed: CommittedBatches, batch: int, partitioning: Partitioning = CUT) -> BatchRequest:
        since = committed.refresh()
        return BatchRequest(batch, committed.partitioning_of(batch, partitioning), committed.done(batch), since)

    def ids(self, isolation: str = "read_committed") -> list[int]:
        """What a consumer finds, in order."""
        return [json.loads(message.value())["id"] for message in everything(self.broker, self.topic, isolation)]


def everything(broker: Broker, topic: str, isolation: str = "read_committed") -> list[Message]:
    """All records of a topic of one partition, up to its end."""
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": uuid.uuid4().hex}
    consumer = Consumer({**settings, "isolation.level": isolation, "enable.partition.eof": True})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        found: list[Message] = []
        while True:
            message = consumer.poll(30)
            assert message is not None, "the topic could not be read to its end"
            if message.error() is not None:
                assert message.error().name() == "_PARTITION_EOF", message.error()
                return found
            found.append(message)
    finally:
        consumer.close()


@pytest.fixture
def place(broker: Broker, new_topic: Callable[..., str]) -> Place:
    return Place(broker, new_topic(), new_topic(5, {"cleanup.policy": "compact"}))


def test_a_part_and_its_account_appear_together(place: Place) -> None:
    committed = place.begin()
    [part] = written(place.plan(committed), place.request(committed, 0), rows([1, 2]), rows([3]))
    assert part == Written(0, 3, 3, 0, False, (place.topic,))
    assert place.ids() == [1, 2, 3]
    assert place.begin().done(0) == {0}


@pytest.mark.promise("P10")
def test_a_part_that_comes_again_is_written_once(place: Place) -> None:
    committed = place.begin()
    plan, request = place.plan(committed), place.request(committed, 0)
    written(plan, request, rows([1, 2]))
    [again] = written(plan, request, rows([1, 2]))  # in the same run: a task that Spark repeats
    assert again.repeated
    successor = place.begin()  # in the next run, which knows without looking
    [later] = written(place.plan(successor), place.request(successor, 0), rows([1, 2]))
    assert later.repeated
    [next_batch] = written(place.plan(successor), place.request(successor, 1), rows([9]))
    assert not next_batch.repeated
    assert place.ids() == [1, 2, 9]


def test_a_part_without_rows_needs_nobody(place: Place) -> None:
    committed = place.begin()
    assert written(place.plan(committed), place.request(committed, 0), rows([])) == []
    assert written(place.plan(committed), place.request(committed, 0)) == []


@pytest.mark.promise("P3", "P10")
@pytest.mark.parametrize("writer", [0, 3])
def test_what_a_run_of_before_has_open_is_never_seen(place: Place, writer: int) -> None:
    before = place.begin(Partitioning(4, ("id",)))
    zombie = place.clients.transactional(before.run.writer_id(writer))
    zombie.claim()
    zombie.begin()
    zombie.write(place.topic, [(b"k", b'{"id":666}')])
    zombie.poll(0.5)
    after = place.begin()  # with two writers, of which none has begun
    with pytest.raises(FencedError):
        zombie.commit(lambda: None)
    zombie.close()
    written(place.plan(after), place.request(after, 0), rows([1]))
    assert place.ids() == [1]


@pytest.mark.promise("P3", "P10")
def test_a_late_writer_of_a_run_of_before_leaves_without_having_written(place: Place) -> None:
    before = place.begin()
    plan, request = place.plan(before), place.request(before, 0)
    after = place.begin()
    with pytest.raises(FencedError, match="Another run of orders has begun"):
        written(plan, request, rows([666]))
    with pytest.raises(FencedError):
        before.refresh()
    written(place.plan(after), place.request(after, 0), rows([1]))
    assert place.ids("read_uncommitted") == [1]


@pytest.mark.promise("P10")
def test_a_batch_is_repeated_as_it_was_cut(place: Place) -> None:
    four = Partitioning(4, ("id",))
    before = place.begin(four)
    written(place.plan(before), place.request(before, 7, four), rows([1], 3))
    after = place.begin(CUT)
    request = place.request(after, 7)
    assert request.partitioning == four
    assert request.done == {3}
    assert place.request(after, 8).partitioning == CUT


def test_another_checkpoint_begins_anew(place: Place) -> None:
    before = place.begin(stream="g1/query")
    written(place.plan(before), place.request(before, 3), rows([1]))
    after = place.begin(stream="g2/query")
    [part] = written(place.plan(after), place.request(after, 0), rows([2]))
    assert not part.repeated
    assert place.ids() == [1, 2]


KILLED = """
    import os, signal, sys, json, pyarrow as pa
    from spark_sink.source.committed_batches import Run
    from spark_sink.source.clients import SourceClients
    from spark_sink.source.records import RowShape
    from spark_sink.source.writing import OutputPlan, PartWriter, BatchRequest, WritePlan
    from connect.delivery.transactional import TransactionalOutput
    from spark_sink.source.committed_batches import Partitioning
    told = json.loads(sys.argv[1])
    clients = SourceClients("orders", told["worker"], {})
    plan = WritePlan(RowShape(told["topic"], ("id",), ("id", "name")), OutputPlan(clients, run=Run(**told["run"])))
    request = BatchRequest(0, Partitioning(2, ("id",)), since={int(k): v for k, v in told["since"].items()})
    if told["when"] == "after the commit":
        finish = TransactionalOutput.finish
        def killed(self, seconds):
            finish(self, seconds)
            os.kill(os.getpid(), signal.SIGKILL)
        TransactionalOutput.finish = killed
    def batches():
        yield pa.RecordBatch.from_pydict({"id": [1, 2], "name": ["a", "b"], "_writer": pa.array([0, 0], pa.int32())})
        yield pa.RecordBatch.from_pydict({"id": [3], "name": ["c"], "_writer": pa.array([0], pa.int32())})
        if told["when"] == "in the transaction":
            from confluent_kafka import Consumer, TopicPartition
            looks = Consumer({
                "bootstrap.servers": told["worker"]["bootstrap.servers"],
                "group.id": "looks",
                "isolation.level": "read_uncommitted",
            })
            known = looks.list_topics(told["topic"]).topics[told["topic"]].partitions
            partitions = [TopicPartition(told["topic"], number) for number in known]
            while sum(looks.get_watermark_offsets(each, timeout=30)[1] for each in partitions) < 3:
                pass  # until what was sent is with the broker
            os.kill(os.getpid(), signal.SIGKILL)
    list(PartWriter(plan, request)(batches()))
"""


@pytest.mark.promise("P10")
@pytest.mark.parametrize("when", ["in the transaction", "after the commit"])
def test_a_writer_that_is_killed_is_repeated_and_every_row_is_there_once(place: Place, when: str) -> None:
    committed = place.begin()
    request = place.request(committed, 0)
    run = committed.run
    told = {
        "topic": place.topic,
        "worker": dict(place.clients.worker),
        "run": {name: getattr(run, name) for name in ("connector", "prefix", "topic", "stream", "id")},
        "since": request.since,
        "when": when,
    }
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED), json.dumps(told)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=60,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL
    if when == "in the transaction":
        assert place.ids("read_uncommitted") == [1, 2, 3]
    [part] = written(place.plan(committed), request, rows([1, 2, 3]))
    assert part.repeated == (when == "after the commit")
    assert place.ids() == [1, 2, 3]


def test_a_record_that_cannot_be_written_takes_its_part_back(place: Place) -> None:
    committed = place.begin()
    bad = {
        "transforms": "c",
        "transforms_c_type": "org.apache.kafka.connect.transforms.Cast$Value",
        "transforms_c_spec": "name:int32",
    }
    with pytest.raises(RecordError):
        written(place.plan(committed, **bad), place.request(committed, 0), rows([1, 2]))
    assert place.ids() == []
    [part] = written(place.plan(committed, errors_tolerance="all", **bad), place.request(committed, 0), rows([1, 2]))
    assert (part.read, part.written, part.errors) == (2, 0, 2)
    assert place.begin().done(0) == {0}


@pytest.mark.parametrize("exactly_once", [True, False])
def test_dead_letters_are_written_with_their_part(
    place: Place, new_topic: Callable[..., str], exactly_once: bool
) -> None:
    dead = new_topic()
    keys = {
        "errors_tolerance": "all",
        "errors_deadletterqueue_topic_name": dead,
        "transforms": "c",
        "transforms_c_type": "org.apache.kafka.connect.transforms.Cast$Value",
        "transforms_c_spec": "name:int32",
    }
    given = rows([1, 2]).set_column(1, "name", pa.array(["17", "x"]))
    if exactly_once:
        committed = place.begin()
        [part] = written(place.plan(committed, **keys), place.request(committed, 0), given)
    else:
        [part] = written(place.plan(**keys), BatchRequest(0, CUT), given)
    assert (part.written, part.errors) == (1, 1)
    assert place.ids() == [1]
    [letter] = everything(place.broker, dead)
    assert json.loads(letter.value())["payload"] == {"id": 2, "name": "x"}


def test_at_least_once_writes_without_transactions(place: Place) -> None:
    [part] = written(place.plan(), BatchRequest(0, CUT), rows([1, 2]))
    assert part == Written(0, 2, 2, 0, False, (place.topic,))
    written(place.plan(), BatchRequest(0, CUT), rows([1, 2]))
    assert place.ids() == [1, 2, 1, 2]


@pytest.mark.promise("P1")
@pytest.mark.parametrize("exactly_once", [False, True])
def test_a_part_that_failed_is_written_whole_though_a_transformation_remembers_it(
    place: Place, exactly_once: bool
) -> None:
    committed = place.begin() if exactly_once else None
    dedup = {"transforms": "once", "transforms.once.type": "Deduplicate"}
    plan = place.plan(committed, **dedup)
    request = BatchRequest(0, CUT) if committed is None else place.request(committed, 0)

    def broken() -> Iterator[pa.RecordBatch]:
        yield rows([1, 2])
        raise OSError("the system is away")

    with pytest.raises(OSError, match="away"):
        list(PartWriter(plan, request)(broken()))
    [part] = written(plan, request, rows([1, 2, 3]))
    assert (part.read, part.written) == (3, 3)
    assert set(place.ids()) == {1, 2, 3}


def test_topics_are_made_as_the_connector_says(place: Place, broker: Broker) -> None:
    keys = {"topic_creation_default_partitions": "3", "topic_creation_default_replication_factor": "1"}
    plan = place.plan(**{name.replace("replication_factor", "replication.factor"): v for name, v in keys.items()})
    topic = f"made-{uuid.uuid4().hex[:8]}"
    shape = RowShape(topic, ("id",), ("id",))
    written(WritePlan(shape, OutputPlan(plan.output.clients)), BatchRequest(0, CUT), rows([1]))
    found = Producer({"bootstrap.servers": broker.bootstrap_servers}).list_topics(topic, timeout=10).topics[topic]
    assert len(found.partitions) == 3


def test_rows_of_two_writers_in_one_part_are_refused(place: Place) -> None:
    mixed = pa.concat_batches([rows([1], 0), rows([2], 1)])
    with pytest.raises(ConnectError, match="several writers"):
        written(place.plan(), BatchRequest(0, CUT), mixed)


# The topic of committed batches belongs to others, too.


def test_transactions_of_others_are_waited_for_only_where_they_matter(place: Place) -> None:
    committed = place.begin()
    plan = place.plan(committed)
    written(plan, place.request(committed, 0), rows([1]))
    other = Producer({"bootstrap.servers": place.broker.bootstrap_servers, "transactional.id": uuid.uuid4().hex})
    other.init_transactions(30)
    other.begin_transaction()
    for partition in range(5):
        other.produce(place.committed_topic, b"{}", b'["other",{"a":1}]', partition)
    other.flush(30)
    request = place.request(committed, 1)  # does not wait either, though a batch was written since
    [part] = written(plan, request, rows([2]))  # does not wait: what it looks for is not there
    assert not part.repeated
    ending = threading.Timer(1.0, other.commit_transaction, [30])
    ending.start()
    [again] = written(plan, request, rows([2]))  # waits: its own account stands behind the other's transaction
    assert again.repeated
    ending.join()
    assert place.ids() == [1, 2]


def test_the_newest_committed_value_of_a_key_is_found(broker: Broker, new_topic: Callable[..., str]) -> None:
    topic = new_topic(3, {"cleanup.policy": "compact"})
    settings = {"bootstrap.servers": broker.bootstrap_servers, "partitioner": "murmur2_random"}
    plain = Producer(settings)
    for value in (b"1", b"2"):
        plain.produce(topic, value, b"a")
    plain.produce(topic, b"x", b"b")
    plain.produce(topic, None, b"gone")
    plain.flush(30)
    dropping = Producer({**settings, "transactional.id": uuid.uuid4().hex})
    dropping.init_transactions(30)
    dropping.begin_transaction()
    dropping.produce(topic, b"3", b"a")
    dropping.flush(30)
    dropping.abort_transaction(30)
    reader = NewestRecords(topic, {"bootstrap.servers": broker.bootstrap_servers})
    try:
        found = reader.look({b"a", b"gone", b"never"}.__contains__, 30)
        assert found.values == {b"a": b"2", b"gone": None}
        assert sorted(found.ends) == [0, 1, 2]
        assert reader.look(lambda _: True, 30, found.ends).values == {}
        place = reader.place_of(b"a", 30)
        assert reader.look(lambda _: True, 30, partitions=[place]).values[b"a"] == b"2"
        plain.produce(topic, b"4", b"a")
        plain.flush(30)
        assert reader.look(lambda _: True, 30, found.ends).values == {b"a": b"4"}
    finally:
        reader.close()


def test_a_topic_of_accounts_that_is_not_there_is_named(broker: Broker) -> None:
    reader = NewestRecords("no-such-topic-here", {"bootstrap.servers": broker.bootstrap_servers})
    try:
        with pytest.raises(ConnectError, match="no-such-topic-here cannot be read"):
            reader.look(lambda _: True, 10)
    finally:
        reader.close()
