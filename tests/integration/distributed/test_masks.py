"""What was read from us with its secrets masked, and written by a worker that knows of no masks, starts nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka import Producer

from .pool import Pool, steady

MASK = "[hidden]"


def write_as_java(pool: Pool, name: str, config: Mapping[str, str]) -> None:
    """A connector's configuration, into the config topic."""
    producer = Producer({"bootstrap.servers": pool.bootstrap})
    record = {"properties": {**config, "name": name}}
    producer.produce(f"{pool.name}-config", json.dumps(record).encode(), f"connector-{name}".encode())
    assert producer.flush(30) == 0


@pytest.mark.promise("P8")
def test_a_mask_in_the_config_topic_is_no_password(two: Pool, name: str, tmp_path: Path) -> None:
    config = steady(tmp_path, **{"db.password": "hunter22", "db.url": "postgresql://me:hunter22@host/db"})
    asked = two.workers[0]
    asked.create(name, config)
    two.until(lambda: asked.runs(name, 1), "it runs")
    for key in ("db.password", "db.url"):
        read = asked.get(f"/connectors/{name}/config")
        assert MASK in read[key]
        write_as_java(two, name, {**config, key: read[key]})
        two.until(lambda: asked.states(name)["connector"][0] == "FAILED", "it is not started")
        trace = asked.get(f"/connectors/{name}/status")["connector"]["trace"]
        assert f'key "{key}": {MASK} stands in place of the secret itself' in trace
        assert "PUT the configuration again" in trace
        # What is there now is not a secret that the mask could stand for.
        for worker in two.workers:
            refused = worker.ask("PUT", f"/connectors/{name}/config", read)
            assert (refused.status, "the secret is lost" in refused.body["message"]) == (400, True)
        asked.do("PUT", f"/connectors/{name}/config", config)
        two.until(lambda: asked.runs(name, 1), "it runs again")
    # Elsewhere it is a text like others.
    said = {"transforms": "m", "transforms.m.type": "org.apache.kafka.connect.transforms.MaskField$Value"}
    said |= {"transforms.m.fields": "a", "transforms.m.replacement": MASK}
    write_as_java(two, name, {**config, **said})
    two.until(lambda: "transforms" in asked.get(f"/connectors/{name}/config"), "it is read")
    two.until(lambda: asked.runs(name, 1), "it runs")
    asked.do("DELETE", f"/connectors/{name}")
