"""Configurations are tried on real records before they are created, and whatever they do the worker goes on."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import psutil
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from connect.kafka.broker.embedded import Broker
from rest.security.passwords import PasswordHash
from tests.support.groups import group_ids
from tests.support.rest import ask

from .conftest import Worker, Workers

JSON = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
STEPS = {
    "transforms": "whole,mark",
    "transforms.whole.type": "org.apache.kafka.connect.transforms.Cast$Value",
    "transforms.whole.spec": "n:int32",
    "transforms.mark.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.mark.static.field": "from",
    "transforms.mark.static.value": "here",
}
SINK = "/connector-plugins/FileStreamSink/config/try"
SOURCE = "/connector-plugins/FileStreamSource/config/try"
HANGING = """
import threading

from connect import Transformation


class Slow(Transformation):
    def apply(self, record):
        if record.value == "bad":
            threading.Event().wait()
        return record
"""


@pytest.fixture
def lines(broker: Broker, new_topic: Any) -> str:
    """A topic of two partitions; of its ten records one is not JSON, and one has a secret."""
    name: str = new_topic(partitions=2)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(10):
        value = {3: "{", 4: '{"n": "4", "password": "pw-51x"}'}.get(number, json.dumps({"n": str(number)}))
        producer.produce(name, value, f"k{number}", number % 2, timestamp=1000 + number)
    assert producer.flush(30) == 0
    return name


def tried(worker: Worker, config: dict[str, str], path: str = SINK, status: int = 200, **body: Any) -> Any:
    answer, found = worker.ask("PUT", path, {"config": config, **body})
    assert answer == status, found
    return found


def values(answer: Any) -> list[tuple[str, Any]]:
    return [(one["record"]["verdict"], one["record"].get("after", {}).get("value")) for one in answer["records"]]


@pytest.mark.quick
def test_a_sink_is_tried_on_the_records_of_its_topic_and_leaves_no_trace(
    workers: Workers, broker: Broker, lines: str
) -> None:
    worker = workers.start()
    config = {"name": "archive", "topics": lines, **JSON, **STEPS}  # the file is still missing
    before = group_ids(broker.bootstrap_servers)
    answer = tried(worker, config, limit=20)
    assert answer["untapped"] == []
    by_key = {one["record"]["before"]["key"]["text"]: one["record"] for one in answer["records"]}
    assert set(by_key) == {f"k{number}" for number in range(10)}
    assert by_key["k0"]["after"]["value"] == {"n": 0, "from": "here"}
    changes = {step["alias"] or step["stage"]: step.get("changes", []) for step in by_key["k0"]["steps"]}
    assert [(one["path"], one["before"], one["after"]) for one in changes["whole"]] == [("value.n", "0", 0)]
    failed = by_key["k3"]
    assert (failed["verdict"], failed["steps"][-1]["stage"]) == ("failed", "VALUE_CONVERTER")
    assert "task would fail" in failed["steps"][-1]["error"]["advice"]
    assert by_key["k4"]["after"]["value"]["password"] == "[hidden]"
    assert "pw-51x" not in json.dumps(answer)

    latest = tried(worker, config, limit=3, from_end=True)
    assert [one["record"]["before"]["timestamp"] for one in latest["records"]] == [1007, 1008, 1009]
    assert len(tried(worker, config)["records"]) == 5
    assert group_ids(broker.bootstrap_servers) == before
    assert worker.get("/connectors") == []
    assert worker.stop() == 0


@pytest.mark.quick
def test_samples_are_tried_of_a_sink_and_of_a_source(workers: Workers) -> None:
    worker = workers.start()
    samples = [{"value": {"n": "1"}, "key": "k"}, {"value": {"n": "x"}}]
    sink = tried(worker, {"topics": "nowhere", **JSON, **STEPS}, samples=samples)
    assert values(sink) == [("kept", {"n": 1, "from": "here"}), ("failed", None)]
    assert sink["records"][0]["record"]["before"]["topic"] == "nowhere"

    source = {"topic": "lines", **JSON, **STEPS}
    assert values(tried(worker, source, SOURCE, samples=samples[:1])) == [("kept", {"text": '{"n":1,"from":"here"}'})]
    nothing = tried(worker, source, SOURCE)
    assert nothing["records"] == []
    assert [one["reason"] for one in nothing["untapped"]] == [
        "A trial does not start the task of a source, so there are no records to try. Give samples."
    ]


def test_what_cannot_be_tried_is_an_error_in_words(workers: Workers, broker: Broker, lines: str) -> None:
    worker = workers.start(connector__client__config__override__policy="None")
    config = {"topics": lines, **JSON}

    def said(change: dict[str, str], **body: Any) -> str:
        return str(tried(worker, {**config, **change}, status=400, **body)["message"])

    assert said({"value.converter": "Nobody"}).startswith('There is no converter "Nobody".')
    assert 'key "transforms.x.type"' in said({"transforms": "x"})
    assert said({"topics": "", "topics.regex": "l.*"}).startswith('key "topics": names no topic.')
    assert "There is no topic nowhere" in said({}, topic="nowhere")
    assert 'key "samples": record 2: size: is not a field' in said({}, samples=[{"value": 1}, {"size": 1}])
    assert "${file:a:b} has no value" in said({"value.converter.x": "${file:a:b}"})
    assert "has a variable of a config provider" in said({"transforms": "${file:a:b}"})
    # What the connector may not override the trial may not either.
    assert "consumer.override.isolation.level" in said({"consumer.override.isolation.level": "read_committed"})
    assert "consumer.override.plugin.library.paths" in said({"consumer.override.plugin.library.paths": "x"})
    assert tried(worker, {**config, "connection.password": "${file:a:b}"})["records"]  # this is not used here
    assert "nowhere" not in AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics().topics


@pytest.mark.promise("P8")
def test_values_of_config_providers_are_used_and_not_shown(workers: Workers) -> None:
    (workers.folder / "words").write_text("word=w0rd-51x\n")
    worker = workers.start(
        config__providers="file",
        config__providers__file__class="org.apache.kafka.common.config.provider.FileConfigProvider",
    )
    steps = {**STEPS, "transforms.mark.static.value": f"${{file:{workers.folder / 'words'}:word}}"}
    answer = tried(worker, {"topics": "lines", **JSON, **steps}, samples=[{"value": {"n": 1}}])
    assert values(answer) == [("kept", {"n": 1, "from": "[hidden]"})]
    wrong = {**steps, "transforms.whole.spec": f"n:${{file:{workers.folder / 'words'}:word}}"}
    refused = tried(worker, {"topics": "lines", **JSON, **wrong}, status=400, samples=[{"value": {"n": 1}}])
    assert "[hidden]" in refused["message"]
    assert "w0rd-51x" not in json.dumps([answer, refused]) + worker.log_file.read_text()


def test_a_topic_without_records_and_brokers_that_are_away_are_reasons(workers: Workers, new_topic: Any) -> None:
    worker = workers.start()
    empty = new_topic()
    answer = tried(worker, {"topics": empty, **JSON})
    assert [one["reason"] for one in answer["untapped"]] == [f"Topic {empty} has no records."]
    away = {"consumer.override.bootstrap.servers": "127.0.0.1:1", "admin.override.bootstrap.servers": "127.0.0.1:1"}
    answer = tried(worker, {"topics": empty, **JSON, **away})
    (reason,) = [one["reason"] for one in answer["untapped"]]
    assert "127.0.0.1:1" in reason


@pytest.mark.promise("P6", "P8")
def test_a_transformation_that_hangs_costs_the_worker_nothing(workers: Workers, broker: Broker, topic: str) -> None:
    plugins = workers.folder / "plugins"
    plugins.mkdir()
    (plugins / "slow.py").write_text(HANGING)
    worker = workers.start(plugin__path=str(plugins))
    source = {"connector.class": "Datagen", "kafka.topic": topic, "quickstart": "orders", "rate": "50"}
    assert worker.ask("PUT", "/connectors/orders/config", source)[0] == 201
    worker.until_state("orders", "RUNNING")
    config = {"topics": "lines", "transforms": "wait", "transforms.wait.type": "slow.Slow"}
    samples = [{"value": "good"}, {"value": "bad"}, {"value": "good"}]
    before = tasks_of(worker)
    answers: list[Any] = []

    def hang() -> None:
        answers.append(tried(worker, config, samples=samples))

    hanging = [threading.Thread(target=hang) for _ in range(2)]
    for thread in hanging:
        thread.start()
    worker.until(lambda: tasks_of(worker) > before, within=60)
    busy: list[tuple[int, Any]] = []

    def is_busy() -> bool:
        busy.append(worker.ask("PUT", SINK, {"config": {"topics": "lines"}, "samples": [{"value": "good"}]}))
        return busy[-1][0] == 503

    worker.until(is_busy, within=60)
    assert busy[-1][1]["message"] == "This worker is running 2 trials already. Try again in a moment."
    assert worker.get("/connectors/orders/status")["tasks"][0]["state"] == "RUNNING"
    for thread in hanging:
        thread.join(60)
    for answer in answers:
        assert values(answer) == [("kept", "good")]
        assert [one["reason"] for one in answer["untapped"]] == [
            "The trial took more than 20 s and was ended. It was running record 2 through transformation wait (Slow)."
        ]
    assert len(answers) == 2
    assert values(tried(worker, config, samples=samples[:1])) == [("kept", "good")]
    worker.until(lambda: tasks_of(worker) == before)
    worker.until_state("orders", "RUNNING")
    assert worker.stop() == 0


def tasks_of(worker: Worker) -> int:
    """How many processes the worker has, without those that wait to be reaped."""
    found = psutil.Process(worker.process.pid).children(recursive=True)
    return sum(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in found)


def test_who_stops_the_worker_does_not_wait_for_a_trial(workers: Workers) -> None:
    plugins = workers.folder / "plugins"
    plugins.mkdir()
    (plugins / "slow.py").write_text(HANGING)
    worker = workers.start(plugin__path=str(plugins))
    before = tasks_of(worker)
    config = {"topics": "lines", "transforms": "wait", "transforms.wait.type": "slow.Slow"}
    body = {"config": config, "samples": [{"value": "bad"}]}
    thread = threading.Thread(target=ignoring_its_end, args=(worker, body), daemon=True)
    thread.start()
    worker.until(lambda: tasks_of(worker) > before, within=60)
    assert worker.stop(within=10) == 0


def ignoring_its_end(worker: Worker, body: Any) -> None:
    try:
        worker.ask("PUT", SINK, body)
    except OSError:
        pass


def test_a_worker_may_show_no_records(workers: Workers) -> None:
    worker = workers.start(tap__enabled="false")
    refused = tried(worker, {"topics": "lines"}, status=403, samples=[{"value": "x"}])
    assert refused["message"] == "This worker shows no records: tap.enabled is false."


@pytest.fixture
def guarded(workers: Workers) -> Callable[..., Any]:
    """A trial by a user of a worker: edna may edit what begins with a, otto only operate it."""
    users, roles = workers.folder / "users", workers.folder / "roles.toml"
    users.write_text("".join(f"{user}:{PasswordHash.make(user)}\n" for user in ("edna", "otto")))
    users.chmod(0o600)
    roles.write_text(
        '[[grant]]\nrole="editor"\nto=["user:edna"]\nconnectors=["a*"]\n'
        '[[grant]]\nrole="operator"\nto=["user:otto"]\n[[grant]]\nrole="viewer"\nto=["user:edna"]\n'
    )
    worker = workers.start(
        rest__security__authentication="basic",
        rest__security__users__file=str(users),
        rest__security__roles__file=str(roles),
    )

    def by(user: str, name: str) -> tuple[int, Any]:
        headers = {"Authorization": {"edna": "Basic ZWRuYTplZG5h", "otto": "Basic b3R0bzpvdHRv"}[user]}
        body = {"config": {"name": name, "topics": "lines"}, "samples": [{"value": "x"}]}
        return ask(worker.port, "PUT", SINK, body, headers)

    return by


def test_only_who_may_create_a_connector_may_try_it(guarded: Callable[..., Any]) -> None:
    assert guarded("edna", "archive")[0] == 200
    status, body = guarded("edna", "backup")
    assert (status, body["message"]) == (403, 'user:edna needs the role editor for connector "backup".')
    assert guarded("otto", "archive")[0] == 403
