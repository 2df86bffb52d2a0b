"""Records of running tasks are shown on their way, wherever the tasks run, and the tasks go on as before."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.support.worker_process import our_command

from .pool import Pool, Rest

TRANSFORMS = {
    "transforms": "whole,mark",
    "transforms.whole.type": "org.apache.kafka.connect.transforms.Cast$Value",
    "transforms.whole.spec": "orderid:string",
    "transforms.mark.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.mark.static.field": "session_token",
    "transforms.mark.static.value": "t0k3n-51x",
}


def orders(topic: str, tasks: int = 2) -> dict[str, str]:
    """A source that writes orders and goes on."""
    source = {"connector.class": "Datagen", "kafka.topic": topic, "quickstart": "orders", "rate": "50"}
    converter = {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}
    return {**source, **converter, **TRANSFORMS, "tasks.max": str(tasks)}


def tap(worker: Rest, name: str, query: str = "") -> dict[str, Any]:
    answer = worker.ask("GET", f"/connectors/{name}/tap{query}")
    assert answer.status == 200, answer
    found: dict[str, Any] = answer.body
    return found


def run(worker: Rest, *words: str, status: int = 0) -> tuple[str, str]:
    command = [*our_command("tap"), *words, "--url", worker.url]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert ended.returncode == status, ended.stdout + ended.stderr
    return ended.stdout, ended.stderr


@pytest.mark.quick
def test_records_of_a_source_are_shown_from_whichever_worker_runs_its_tasks(
    two: Pool, name: str, new_topic: Any
) -> None:
    new_topic(name=name)
    two.workers[0].create(name, orders(name))
    two.until(lambda: all(worker.runs(name, 2) for worker in two.workers), "it runs")
    owners = {task["id"]: task["worker_id"] for task in two.workers[0].get(f"/connectors/{name}/status")["tasks"]}
    assert set(owners.values()) == {worker.id for worker in two.workers}
    for worker in two.workers:
        for number in (0, 1):
            answer = tap(worker, name, f"?records=3&seconds=20&task={number}")
            assert answer["untapped"] == []
            assert {(one["task"], one["worker_id"]) for one in answer["records"]} == {(number, owners[number])}
            assert len(answer["records"]) == 3
    one = tap(two.workers[0], name, "?records=1&seconds=20")["records"][0]
    assert abs(one["at"] / 1000 - time.time()) < 60
    record = one["record"]
    assert record["verdict"] == "kept"
    assert isinstance(record["before"]["value"]["orderid"], int)
    steps = {step["alias"] or step["stage"]: step for step in record["steps"]}
    number = record["before"]["value"]["orderid"]
    assert steps["whole"]["changes"] == [
        {
            "path": "value.orderid",
            "before": number,
            "after": str(number),
            "before_type": "INT32",
            "after_type": "STRING",
        }
    ]
    assert [(one["path"], one["after"]) for one in steps["mark"]["changes"]] == [("value.session_token", "[hidden]")]
    written = json.loads(record["after"]["value"]["text"])
    assert written["payload"]["orderid"] == str(number)
    assert written["payload"]["session_token"] == "[hidden]"
    assert "t0k3n-51x" not in json.dumps(record["before"]) + json.dumps(record["after"]) + json.dumps(record["steps"])

    said, _ = run(two.workers[1], name, "--records", "2", "--task", "0")
    assert said.count(f"task 0 at {owners[0]}, for topic {name}: kept") == 2
    assert "transformation whole (CastValue)" in said
    assert "t0k3n-51x" not in said


@pytest.mark.quick
def test_a_sink_shows_what_it_consumed_dropped_and_gave_up(
    two: Pool, name: str, new_topic: Any, tmp_path: Path
) -> None:
    new_topic(name=name, partitions=1)
    sink = {
        "connector.class": "FileStreamSink",
        "topics": name,
        "file": str(tmp_path / "out"),
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "all",
        "transforms": "tests",
        "transforms.tests.type": "org.apache.kafka.connect.transforms.Filter",
        "transforms.tests.predicate": "test",
        "predicates": "test",
        "predicates.test.type": "org.apache.kafka.connect.transforms.predicates.HasHeaderKey",
        "predicates.test.name": "test",
    }
    worker = two.workers[0]
    worker.create(name, sink)
    two.until(lambda: all(each.runs(name, 1) for each in two.workers), "it runs")
    command = [*our_command("tap"), name, "--records", "9", "--seconds", "60", "--json", "--url", worker.url]
    producer, sent = Producer({"bootstrap.servers": two.bootstrap, "linger.ms": 0}), 0
    looking = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        while looking.poll() is None:  # until it has seen enough
            producer.produce(name, b'{"n": %d, "password": "pw-51x"}' % sent)
            producer.produce(name, b'{"n": %d}' % sent, headers={"test": b"1"})
            producer.produce(name, b"{")
            producer.flush(30)
            sent += 1
        said, _ = looking.communicate(timeout=60)
    finally:
        looking.kill()
    answer = json.loads(said)
    assert len(answer["records"]) == 9, answer["untapped"]
    assert "pw-51x" not in said
    expected = {0: "kept", 1: "dropped", 2: "failed"}
    for one in answer["records"]:
        record = one["record"]
        assert record["before"]["topic"] == name
        assert record["verdict"] == expected[record["before"]["offset"] % 3]
    two.until((tmp_path / "out").exists, "it writes")


def test_nothing_moves_and_it_is_said(two: Pool, name: str, tmp_path: Path, new_topic: Any) -> None:
    new_topic(name=name)
    worker = two.workers[0]
    sink = {"connector.class": "FileStreamSink", "topics": name, "file": str(tmp_path / "out")}
    worker.create(name, sink)
    two.until(lambda: all(each.runs(name, 1) for each in two.workers), "it runs")
    assert tap(worker, name, "?seconds=1") == {"records": [], "untapped": []}
    _, said = run(worker, name, "--seconds", "1", status=1)
    assert said == "connect: no record came within 1 s.\n"
    for query in ("?records=0", "?records=101", "?seconds=61", "?seconds=x", "?task=-1"):
        assert worker.ask("GET", f"/connectors/{name}/tap{query}").status == 400
    assert worker.ask("GET", "/connectors/none-such/tap").status == 404


def test_a_pool_may_show_no_records(pool: Pool, name: str, new_topic: Any) -> None:
    new_topic(name=name)
    (worker,) = pool.start(1, tap_enabled="false")
    worker.create(name, orders(name, 1))
    pool.until(lambda: worker.runs(name, 1), "it runs")
    answer = worker.ask("GET", f"/connectors/{name}/tap")
    assert (answer.status, answer.body["message"]) == (403, "This worker shows no records: tap.enabled is false.")


@pytest.mark.promise("P8")
def test_values_of_config_providers_are_not_shown_whatever_is_masked(
    pool: Pool, name: str, new_topic: Any, tmp_path: Path
) -> None:
    new_topic(name=name)
    secrets = tmp_path / "secrets.properties"
    secrets.write_text("word=w0rd-51x\n")
    (worker,) = pool.start(
        1,
        config_providers="file",
        config_providers_file_class="org.apache.kafka.common.config.provider.FileConfigProvider",
        tap_mask_fields="",
    )
    worker.create(name, {**orders(name, 1), "transforms.mark.static.value": f"${{file:{secrets}:word}}"})
    pool.until(lambda: worker.runs(name, 1), "it runs")
    (one,) = tap(worker, name, "?records=1&seconds=20")["records"]
    assert one["record"]["verdict"] == "kept"
    assert "w0rd-51x" not in json.dumps(one)
    assert json.loads(one["record"]["after"]["value"]["text"])["payload"]["session_token"] == "[hidden]"
