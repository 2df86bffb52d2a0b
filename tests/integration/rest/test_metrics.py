"""What a running worker measures: figures that are equal to what was moved, on the page for Prometheus and in REST."""

import urllib.request
from collections.abc import Mapping
from typing import Any

import pytest
from confluent_kafka import Producer
from prometheus_client.parser import text_string_to_metric_families

POISON = 7


def page(worker: Any) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """The series of /metrics, read by Prometheus's own parser."""
    with urllib.request.urlopen(f"http://127.0.0.1:{worker.port}/metrics", timeout=30) as answer:
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        text = answer.read().decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    found = {(one.name, tuple(sorted(one.labels.items()))): one.value for one in samples}
    assert len(found) == len(samples)  # no series twice
    return found


def value(series: Mapping[Any, float], name: str, **labels: str) -> float:
    (found,) = (number for (one, has), number in series.items() if one == name and labels.items() <= dict(has).items())
    return found


def of(name: str) -> dict[str, str]:
    return {"connector": name, "task": "0"}


def write(worker: Any, topic: str, values: list[bytes]) -> None:
    servers = dict(line.split("=", 1) for line in (worker.folder / "worker.properties").read_text().splitlines())[
        "bootstrap.servers"
    ]
    producer = Producer({"bootstrap.servers": servers})
    for one in values:
        producer.produce(topic, one)
    assert producer.flush(30) == 0


@pytest.mark.quick
def test_the_figures_of_a_source_and_a_sink_are_what_was_moved(workers, topic: str) -> None:
    worker = workers.start()
    lines = "".join(f"line {number}\n" for number in range(5000))
    (worker.folder / "in.txt").write_text(lines)
    source, sink = f"{topic}-in", f"{topic}-out"
    worker.ask(
        "PUT",
        f"/connectors/{source}/config",
        {"connector.class": "FileStreamSource", "file": str(worker.folder / "in.txt"), "topic": topic},
    )
    out = worker.folder / "out.txt"
    worker.ask(
        "PUT",
        f"/connectors/{sink}/config",
        {"connector.class": "FileStreamSink", "file": str(out), "topics": topic},
    )
    worker.until(lambda: out.exists() and out.read_text() == lines)
    prefix = "kafka_connect_sink_task_metrics_"

    def told() -> bool:
        found = page(worker)
        names = {name for name, _ in found}
        return f"{prefix}sink_record_send_total" in names and (
            value(found, f"{prefix}sink_record_send_total", **of(sink)) == 5000
            and value(found, f"{prefix}sink_record_active_count", **of(sink)) == 0
            and value(found, "kafka_connect_source_task_metrics_source_record_write_total", **of(source)) == 5000
        )

    worker.until(told)
    found = page(worker)
    poll = "kafka_connect_source_task_metrics_"
    assert value(found, f"{poll}source_record_poll_total", **of(source)) == 5000
    assert value(found, f"{poll}source_record_active_count", **of(source)) == 0
    assert 0 < value(found, f"{poll}source_record_active_count_max", **of(source)) <= 5000
    assert value(found, f"{prefix}sink_record_read_total", **of(sink)) == 5000
    assert value(found, f"{prefix}partition_count", **of(sink)) == 1
    assert value(found, f"{prefix}offset_commit_completion_total", **of(sink)) >= 1
    assert value(found, f"{prefix}offset_commit_skip_total", **of(sink)) == 0
    # Bytes, and everything that is measured by batch: counted once for each.
    assert value(found, "connect_source_bytes_total", **of(source)) == len(lines) - 5000
    assert value(found, "connect_sink_bytes_total", **of(sink)) == pytest.approx(len(lines) - 5000, rel=0.02)
    assert value(found, "connect_task_batch_records_sum", **of(source)) == 5000
    assert value(found, "connect_task_batch_records_sum", **of(sink)) == 5000
    batches = value(found, "connect_task_batch_records_count", **of(sink))
    for name in ("connect_sink_put_seconds", "connect_sink_age_seconds"):
        assert value(found, f"{name}_count", **of(sink)) == batches
    steps = {dict(has)["step"] for (name, has) in found if name == "connect_task_step_seconds_count"}
    assert steps >= {"StringConverter", "SimpleHeaderConverter"}
    polls = value(found, "connect_source_poll_seconds_count", **of(source))
    assert polls == value(found, "connect_task_batch_records_count", **of(source))
    assert polls == value(found, "connect_source_ack_seconds_count", **of(source))
    # The worker, and the processes.
    assert value(found, "kafka_connect_connect_worker_metrics_task_count") == 2
    assert value(found, "kafka_connect_connect_worker_metrics_connector_count") == 2
    assert value(found, "kafka_connect_connect_worker_metrics_task_startup_success_total") == 2
    assert value(found, "kafka_connect_connector_task_metrics_status", **of(sink), status="running") == 1
    assert value(found, "connect_task_pss_bytes", **of(sink)) > 1_000_000
    assert value(found, "connect_task_cpu_seconds_total", **of(sink)) > 0
    route = {"method": "PUT", "route": "/connectors/{connector}/config", "status": "201"}
    assert value(found, "connect_rest_request_seconds_count", **route) == 2

    both = worker.get("/connectors?expand=metrics&expand=status")
    assert both[sink]["status"]["connector"]["state"] == "RUNNING"
    task = both[sink]["metrics"]["tasks"][0]
    assert task["worker_id"] == both[sink]["metrics"]["worker_id"] == f"127.0.0.1:{worker.port}"
    assert task["metrics"]["sink-task-metrics"]["sink-record-read-total"] == 5000
    about = task["metrics"]["connector-task-metrics"]
    assert about["task-class"] == "org.apache.kafka.connect.file.FileStreamSinkTask"
    assert about["value-converter-class"] == "org.apache.kafka.connect.storage.StringConverter"
    assert both[source]["metrics"]["tasks"][0]["metrics"]["source-task-metrics"]["source-record-write-total"] == 5000
    assert both[source]["metrics"]["unreachable"] == []


def test_the_errors_of_a_task_are_the_records_that_it_could_not_take(workers, topic: str) -> None:
    worker = workers.start(value__converter="org.apache.kafka.connect.json.JsonConverter")
    worker.ask("PUT", f"/connectors/{topic}/config", {
        "connector.class": "FileStreamSink",
        "file": str(worker.folder / "out.txt"),
        "topics": topic,
        "value.converter.schemas.enable": "false",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "errors.tolerance": "all",
        "errors.log.enable": "true",
    })  # fmt: skip
    write(worker, topic, [b"{bad" if number % 10 < POISON else b'{"a":1}' for number in range(100)])
    errors = "kafka_connect_task_error_metrics_"

    def counted() -> bool:
        found = page(worker)
        name = f"{errors}total_record_errors"
        return (name, tuple(sorted(of(topic).items()))) in found and value(found, name, **of(topic)) == 10 * POISON

    worker.until(counted)
    found = page(worker)
    for name in ("total_record_failures", "total_records_skipped", "total_errors_logged"):
        assert value(found, errors + name, **of(topic)) == 10 * POISON
    assert value(found, f"{errors}total_retries", **of(topic)) == 0
    assert value(found, f"{errors}last_error_timestamp", **of(topic)) > 0
    worker.until(
        lambda: value(page(worker), "kafka_connect_sink_task_metrics_sink_record_send_total", **of(topic)) == 30
    )


def test_a_task_that_failed_keeps_its_figures_and_its_restarts_are_counted(workers, topic: str) -> None:
    worker = workers.start(restart__policy="off")
    worker.ask("PUT", f"/connectors/{topic}/config", {
        "connector.class": "FileStreamSink",
        "file": str(worker.folder / "out.txt"),
        "topics": topic,
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    })  # fmt: skip
    worker.until_state(topic, "RUNNING")
    write(worker, topic, [b"{bad"])
    state = {"state": "failed", **of(topic)}
    worker.until(lambda: ("connect_task_state", tuple(sorted(state.items()))) in page(worker))
    found = page(worker)
    assert value(found, "kafka_connect_task_error_metrics_total_record_errors", **of(topic)) == 1
    assert value(found, "kafka_connect_connect_worker_metrics_connector_failed_task_count", connector=topic) == 1
    assert worker.ask("POST", f"/connectors/{topic}/tasks/0/restart")[0] == 204
    again = {"connector": topic, "task": "0", "reason": "failure"}
    worker.until(lambda: ("connect_task_restarts_total", tuple(sorted(again.items()))) in page(worker))
    assert value(page(worker), "connect_task_restarts_total", **again) == 1
    assert worker.ask("DELETE", f"/connectors/{topic}")[0] == 204
    worker.until(lambda: not [1 for _, labels in page(worker) if dict(labels).get("connector") == topic])


@pytest.mark.parametrize("enabled", ["true", "false"])
def test_the_page_is_also_where_admin_is_and_can_be_switched_off(workers, enabled: str) -> None:
    from connect.ports import free_port

    port = free_port()
    worker = workers.start(
        admin__listeners=f"http://127.0.0.1:{port}",
        metrics__prometheus__enable=enabled,
        metrics__prometheus__names="short",
    )
    for at in (worker.port, port):
        worker.port = at
        if enabled == "true":
            assert value(page(worker), "kafka_connect_worker_task_count") == 0
        else:
            assert worker.ask("GET", "/metrics")[0] == 404
