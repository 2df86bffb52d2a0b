"""P1, P10: whoever writes an index is killed at random moments; each record is a document, the newest of its id."""

import json
import random
import uuid
from typing import TYPE_CHECKING

import pytest

from tests.support.waiting import until

from . import topic as topics
from .attacks import Attacks
from .conftest import StartWorker

if TYPE_CHECKING:
    from connect.kafka.broker.embedded import Broker
    from tests.servers.elasticsearch import ElasticsearchServer

PARTITIONS = 3
AT_A_TIME = 2000
ROUNDS = 5


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.promise("P1", "P10")
@pytest.mark.parametrize("ids", ["places", "keys"])
def test_an_index_has_each_record_once_whatever_is_killed(
    start_worker: StartWorker, broker: "Broker", chance: random.Random, elasticsearch: "ElasticsearchServer", ids: str
) -> None:
    bootstrap = broker.bootstrap_servers
    worker = start_worker(task_shutdown_graceful_timeout_ms="1000", offset_flush_interval_ms="20")
    topic = index = f"documents-{uuid.uuid4().hex[:10]}"
    topics.create(bootstrap, topic, PARTITIONS)
    # With keys each document is rewritten in every round: an old record that comes again must not win.
    key = {
        "key.ignore": "false",
        "transforms": "slow,key,id",
        "transforms.key.type": "org.apache.kafka.connect.transforms.ValueToKey",
        "transforms.key.fields": "id",
        "transforms.id.type": "org.apache.kafka.connect.transforms.ExtractField$Key",
        "transforms.id.field": "id",
    }
    worker.put(
        "documents",
        {
            "connector.class": "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector",
            "topics": topic,
            "connection.url": elasticsearch.url,
            "key.ignore": "true",
            "batch.size": str(chance.choice([50, 500])),
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            "consumer.override.max.poll.records": str(chance.choice([20, 600])),
            "transforms": "slow",
            "transforms.slow.type": "unruly.Slow",
            **(key if ids == "keys" else {}),
        },
    )

    attacks = Attacks(worker, "documents", chance, lambda: None)
    for number, strike in enumerate(attacks.some(ROUNDS)):
        before = written(elasticsearch, index)

        def moment(awaited: int = before + chance.randrange(1, 1500)) -> None:
            until(lambda: written(elasticsearch, index) >= awaited, 90, lambda: f"written\n{worker.last_words()}")

        lines = [
            [json.dumps({"id": f"{p}-{n}", "p": p, "n": n, "round": number}).encode() for n in range(AT_A_TIME)]
            for p in range(PARTITIONS)
        ]
        topics.fill(bootstrap, topic, lines)
        attacks.strike(strike, moment)
    each = ROUNDS * AT_A_TIME
    until(
        lambda: topics.committed(bootstrap, "connect-documents", topic, PARTITIONS) == [each] * PARTITIONS,
        180,
        lambda: f"all is committed: {attacks.done}\n{worker.last_words()}",
    )
    expected = each * PARTITIONS if ids == "places" else AT_A_TIME * PARTITIONS
    assert elasticsearch.count(index) == expected
    last = {"query": {"term": {"round": ROUNDS - 1}}}
    assert elasticsearch.request("GET", f"/{index}/_count", last)["count"] == AT_A_TIME * PARTITIONS
    elasticsearch.drop(index)


def written(server: "ElasticsearchServer", index: str) -> int:
    """How many documents were written so far, those that were written again among them."""
    path = f"/_stats/indexing?filter_path=indices.{index}.primaries.indexing.index_total"
    found = server.request("GET", path)
    return int(found["indices"][index]["primaries"]["indexing"]["index_total"]) if found else 0
