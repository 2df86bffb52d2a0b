"""Source offsets of a cluster in a real topic."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from confluent_kafka import Producer

from connect.errors import DataError
from connect.kafka.admin.topics import TopicShape
from connect.kafka.broker.embedded import Broker
from connect.kafka.compacted_log import CompactedLog
from connect.storage.offsets import Offset, OffsetStoreError, Partition, key
from connect.storage.topic_offsets import TopicOffsetStore


@pytest.fixture
def join(broker: Broker, to_close: ExitStack, topic: str) -> Callable[[], TopicOffsetStore]:
    """One more worker's view of this test's topic, started."""

    def make() -> TopicOffsetStore:
        store = TopicOffsetStore(topic, {"bootstrap.servers": broker.bootstrap_servers}, TopicShape(5, 1, {}))
        to_close.callback(store.close)
        store.start()
        return store

    return make


Join = Callable[[], TopicOffsetStore]


@pytest.mark.quick
def test_what_one_worker_stores_another_finds_at_once(join: Join, seed: int) -> None:
    chance = random.Random(seed)
    stores = [join(), join()]
    expected: dict[tuple[str, int], dict[str, Any] | None] = {}
    for number in range(60):
        connector = chance.choice(["a", "a-1", 'ü"😀'])
        entries: list[tuple[Partition, Offset | None]] = []
        for table in chance.sample(range(10), 3):
            offset = None if chance.random() < 0.2 else {"at": number, "text": "ä", "real": 1.5, "none": None}
            entries.append(({"table": table, "db": None}, offset))
            expected[connector, table] = offset
        chance.choice(stores).set(connector, entries)
        reader = chance.choice(stores)
        assert reader.get(connector, [partition for partition, _ in entries]) == [offset for _, offset in entries]
    for store in [*stores, join()]:
        for connector in ("a", "a-1", 'ü"😀', "nobody"):
            assert sorted(store.all(connector), key=lambda entry: str(entry[0]["table"])) == sorted(
                (
                    ({"table": table, "db": None}, offset)
                    for (name, table), offset in expected.items()
                    if name == connector and offset is not None
                ),
                key=lambda entry: str(entry[0]["table"]),
            )


def test_the_youngest_of_two_spellings_counts_wherever_they_lie(join: Join, broker: Broker, topic: str) -> None:
    """A task of a Java worker and one of ours may write the entries of a source partition in another order."""
    join()
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "partitioner": "murmur2_random"})
    now = int(time.time() * 1000) - 100_000
    for number in range(20):
        db = str(number)
        spellings = [key("c", {"db": db, "table": "t"}), key("c", {"table": "t", "db": db})]
        for age, spelling in enumerate(spellings if number % 2 else reversed(spellings)):
            producer.produce(topic, f'{{"at":{age}}}', spelling, timestamp=now + age)
    assert producer.flush(30) == 0
    partitions = [{"db": str(number), "table": "t"} for number in range(20)]
    store = join()
    assert store.get("c", partitions) == [{"at": 1}] * 20
    # What is stored from here is found under both spellings, and so is that there is nothing any more.
    store.set("c", [(partition, {"at": 2}) for partition in partitions[:10]] + [(partitions[10], None)])
    late = join()
    assert late.get("c", partitions) == [{"at": 2}] * 10 + [None] + [{"at": 1}] * 9
    assert len(late.all("c")) == 19


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def test_offsets_of_a_transaction_count_when_it_is_committed(
    join: Join, broker: Broker, topic: str, threads: ThreadPoolExecutor
) -> None:
    store = join()
    task = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": str(uuid.uuid4())})
    task.init_transactions(30)
    for at, end in ((1, task.abort_transaction), (2, task.commit_transaction)):
        task.begin_transaction()
        task.produce(topic, f'{{"at":{at}}}', key("c", {"f": "x"}))
        task.flush(30)
        # Whoever asks meanwhile waits: the offset may be that of a task whose successor asks.
        asked = threads.submit(store.get, "c", [{"f": "x"}])
        with pytest.raises(TimeoutError):
            asked.result(1)
        end(30)
        assert asked.result(30) == ([None] if at == 1 else [{"at": 2}])


def test_an_offset_behind_an_open_transaction_of_another_task_is_waited_for(
    join: Join, broker: Broker, topic: str, threads: ThreadPoolExecutor
) -> None:
    """Kafka shows nothing behind the beginning of an open transaction, though it may be committed."""
    store = join()
    tasks = [
        Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": str(uuid.uuid4())})
        for _ in range(2)
    ]
    for number, task in enumerate(tasks):
        task.init_transactions(30)
        task.begin_transaction()
        task.produce(topic, b'{"at":1}', key("c", {"f": number}), partition=0)
        task.flush(30)
    tasks[1].commit_transaction(30)
    assert store.spellings("c", [{"f": 1}]) == [[key("c", {"f": 1})]], "to write an offset nobody waits"
    asked = threads.submit(store.get, "c", [{"f": 1}])
    with pytest.raises(TimeoutError):
        asked.result(1)
    tasks[0].abort_transaction(30)
    assert asked.result(30) == [{"at": 1}]


def test_what_others_wrote_amiss_is_passed_over(join: Join, broker: Broker, topic: str) -> None:
    join()
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "partitioner": "murmur2_random"})
    good = key("c", {"f": "x"})
    for name in (b"", b"{", b"[]", b'["c"]', b'["c",1]', b'[["c"],{}]', b'["c",{},1]', b"\xff", b"1", b"[" * 100_000):
        producer.produce(topic, b"{}", name)
    producer.produce(topic, b'{"at":1}', good)
    for value in (b"1", b"[]", b"", b"\xff"):
        producer.produce(topic, value, good)
    assert producer.flush(30) == 0
    assert join().all("c") == [({"f": "x"}, {"at": 1})]


def test_what_json_cannot_say_is_refused_and_nothing_is_stored(join: Join) -> None:
    store = join()
    with pytest.raises(DataError):
        store.set("c", [({"f": "x"}, {"at": 1}), ({"f": "y"}, {"at": object()})])
    assert store.all("c") == []


def test_a_closed_store_says_so(join: Join, broker: Broker, topic: str) -> None:
    store, other = join(), join()
    store.close()
    other.set("c", [({"f": "x"}, {"at": 1})])
    with pytest.raises(OffsetStoreError, match="is not read any more"):
        store.get("c", [{"f": "x"}])


def test_every_key_lies_where_the_log_puts_it(broker: Broker, topic: str, join: Join) -> None:
    """So a task's own producer and a worker's log write one key into one partition."""
    from connect.kafka.clients.settings import client_settings

    store = join()
    partitions = [{"f": str(number)} for number in range(200)]
    store.set("c", [(partition, {"at": 1}) for partition in partitions])
    task = Producer(client_settings("producer", {"bootstrap.servers": broker.bootstrap_servers}).librdkafka)
    for partition in partitions:
        task.produce(topic, b'{"at":2}', key("c", partition))
    assert task.flush(30) == 0
    where: dict[bytes | None, set[int]] = {}
    log = CompactedLog(
        topic,
        {"bootstrap.servers": broker.bootstrap_servers},
        TopicShape(5, 1, {}),
        lambda record: where.setdefault(record.key, set()).add(record.partition),
    )
    log.start()
    log.close()
    assert len(where) == 200
    assert all(len(found) == 1 for found in where.values())
    assert len(set.union(*where.values())) == 5
