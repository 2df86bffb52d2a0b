"""Real workers between a REST API and topics: killed at any moment, servers that are away, records that are refused."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from connect.kafka.broker.embedded import Broker
from tests.integration.distributed.committed import Committed
from tests.integration.distributed.pool import Pool, PoolWorker, a_pool
from tests.servers.rest_api import HANG, RestApi, rest_api

JSON = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
TOKEN = "Bearer s3cret-51x"


@pytest.fixture
def pool(broker: Broker, tmp_path: Path) -> Iterator[Pool]:
    with a_pool(broker.bootstrap_servers, tmp_path) as made:
        yield made


@pytest.fixture
def api() -> Iterator[RestApi]:
    with rest_api() as server:
        yield server


def source(api: RestApi, topic: str, **more: str) -> dict[str, str]:
    """Reads what is new, by a cursor through pages."""
    return {
        "connector.class": "HttpSource",
        "http.url": f"{api.url}/cursor",
        "http.records.path": "data.items",
        "http.pagination": "cursor",
        "http.pagination.field": "meta.cursor",
        "http.pagination.parameter": "cursor",
        "http.offset.field": "at",
        "http.offset.parameter": "since",
        "poll.interval.ms": "100",
        "retry.backoff.ms": "50",
        "topic": topic,
        **JSON,
        **{key.replace("_", "."): value for key, value in more.items()},
    }


def sink(api: RestApi, topic: str, **more: str) -> dict[str, str]:
    return {
        "connector.class": "io.aiven.kafka.connect.http.HttpSinkConnector",
        "http.url": f"{api.url}/hook",
        "http.authorization.type": "none",
        "retry.backoff.ms": "50",
        "max.retries": "-1",
        "topics": topic,
        **JSON,
        **{key.replace("_", "."): value for key, value in more.items()},
    }


def produce(broker: Broker, topic: str, values: list[Any]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in values:
        producer.produce(topic, json.dumps(value).encode(), partition=value % 3 if isinstance(value, int) else 0)
        producer.poll(0)
    assert producer.flush(30) == 0


def waits_for(worker: PoolWorker, connector: str) -> str:
    """What the connector's task waits for; empty while it does not say."""
    tasks = (worker.get(f"/connectors/{connector}/status") or {}).get("tasks", [])
    return "".join(task.get("waiting", {}).get("reason", "") for task in tasks)


def ids(seen: Committed) -> list[int]:
    return [json.loads(value)["id"] for value in list(seen.values)]


@pytest.mark.quick
def test_records_of_an_api_reach_a_topic_and_another_api(
    pool: Pool, api: RestApi, new_topic: Callable[..., str]
) -> None:
    (worker,) = pool.start()
    topic = new_topic()
    api.authorization = TOKEN
    login = {"http_authorization_type": "static", "http_headers_authorization": TOKEN}
    api.items = [{"id": n, "at": n} for n in range(25)]
    worker.create("in", source(api, topic, **login))
    worker.create("out", sink(api, topic, **login, batching_enabled="true"))
    pool.until(lambda: len(api.values) == 25, "all records are there")
    api.items += [{"id": 25, "at": 25}]
    pool.until(lambda: [value["id"] for value in api.values] == list(range(26)), "the new one is there, once")
    (stored,) = pool.until(lambda: worker.get("/connectors/in/offsets")["offsets"], "its offset is stored")
    assert stored["partition"] == {"url": f"{api.url}/cursor"}
    assert "s3cret" not in worker.log
    assert "s3cret" not in json.dumps([worker.get("/connectors/in"), worker.get("/connectors/out")])


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.promise("P1", "P10")
@pytest.mark.parametrize("support", ["disabled", "enabled"])
def test_a_source_that_is_killed_loses_nothing_and_in_transactions_repeats_nothing(
    pool: Pool, api: RestApi, new_topic: Callable[..., str], seed: int, support: str
) -> None:
    chance = random.Random(seed)
    (worker,) = pool.start(1, restart_policy="on", exactly_once_source_support=support)
    topic = new_topic()
    with closing(Committed(pool.bootstrap, topic)) as seen:
        worker.create("in", source(api, topic))
        for _ in pool.deaths(worker):
            wanted = len(seen.values) + chance.randint(0, 300)
            # Several have the same time: a page may end between them.
            api.items += [{"id": n, "at": n // 3} for n in range(len(api.items), len(api.items) + 600)]
            pool.until(lambda wanted=wanted: len(seen.values) > wanted, "records come")  # type: ignore[misc]
        pool.until(lambda: set(ids(seen)) == set(range(len(api.items))), "every record is there")
        if support == "enabled":
            assert sorted(ids(seen)) == list(range(len(api.items))), "a record came twice"


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.promise("P1")
@pytest.mark.parametrize("batching", ["false", "true"])
def test_a_sink_that_is_killed_loses_nothing_and_keeps_the_order_of_partitions(
    pool: Pool, api: RestApi, broker: Broker, new_topic: Callable[..., str], seed: int, batching: str
) -> None:
    chance = random.Random(seed)
    (worker,) = pool.start(1, restart_policy="on", offset_flush_interval_ms="300")
    topic = new_topic(3)
    api.pause = 0.002
    worker.create("out", sink(api, topic, batching_enabled=batching, batch_max_size="20"))
    count = 0
    for _ in pool.deaths(worker):
        wanted = len(api.values) + chance.randint(0, 200)
        produce(broker, topic, list(range(count, count := count + 600)))
        pool.until(lambda wanted=wanted: len(api.values) > wanted, "records arrive")  # type: ignore[misc]
    pool.until(lambda: set(api.values) == set(range(count)), "every record is there")
    for partition in range(3):
        # What comes again comes in order from where it begins again: the first arrivals are in order.
        firsts = list(dict.fromkeys(value for value in api.values if value % 3 == partition))
        assert firsts == sorted(firsts)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.promise("P9")
def test_servers_that_are_away_are_waited_for(
    pool: Pool, broker: Broker, new_topic: Callable[..., str], api: RestApi
) -> None:
    (worker,) = pool.start()
    read, written = new_topic(), new_topic(3)
    with rest_api() as gone:
        port = gone.server_address[1]
    worker.create("in", source(gone, read))
    worker.create("out", sink(gone, written))
    produce(broker, written, [1, 2, 3])
    for name in ("in", "out"):
        pool.until(lambda name=name: waits_for(worker, name), f"{name} says what it waits for")  # type: ignore[misc]
        assert f"127.0.0.1:{port}" in waits_for(worker, name)
    with closing(Committed(pool.bootstrap, read)) as seen, rest_api(port) as back:
        back.items = [{"id": n, "at": n} for n in range(25)]
        pool.until(lambda: ids(seen) == list(range(25)), "it is read")
        pool.until(lambda: sorted(back.values) == [1, 2, 3], "it is written")
        pool.until(lambda: worker.runs("in", 1) and worker.runs("out", 1), "they run")


@pytest.mark.slow
@pytest.mark.promise("P5")
def test_refused_records_are_dead_letters_and_cost_no_other(
    pool: Pool, api: RestApi, broker: Broker, new_topic: Callable[..., str]
) -> None:
    (worker,) = pool.start()
    topic, dead = new_topic(3), new_topic()
    api.decide = lambda seen: 422 if any(value % 10 == 7 for value in seen.values) else 204
    letters = {
        "errors_tolerance": "all",
        "errors_deadletterqueue_topic_name": dead,
        "errors_deadletterqueue_topic_replication_factor": "1",
        "errors_deadletterqueue_context_headers_enable": "true",
    }
    produce(broker, topic, list(range(100)))
    with closing(Committed(pool.bootstrap, dead)) as seen:
        worker.create("out", sink(api, topic, batching_enabled="true", **letters))
        pool.until(lambda: len(seen.values) == 10, "the refused ones are dead letters")
        pool.until(lambda: len(api.values) == 90, "the others are there")
        assert sorted(map(int, seen.values)) == list(range(7, 100, 10))
        assert sorted(api.values) == [n for n in range(100) if n % 10 != 7]
    assert worker.runs("out", 1)


@pytest.mark.slow
def test_a_worker_stops_while_servers_hang(
    pool: Pool, api: RestApi, broker: Broker, new_topic: Callable[..., str]
) -> None:
    (worker,) = pool.start()
    topic = new_topic(3)
    api.script = [HANG] * 50
    produce(broker, topic, [1, 2, 3])
    worker.create("in", source(api, new_topic()))
    worker.create("out", sink(api, topic))
    pool.until(lambda: {seen.method for seen in api.requests} == {"GET", "POST"}, "both wait for an answer")
    assert worker.stop() == 0
    assert api.under_way >= 2, "it did not wait for the answers"
