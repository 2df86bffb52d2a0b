"""A standalone worker that tells a receiver of OpenLineage what its connectors do."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.integration.standalone.conftest import Standalone
from tests.servers.openlineage import OpenLineageReceiver
from tests.support.rest import ask
from tests.support.worker_process import WorkerProcess

KEYS = "openlineage.integration."


@pytest.fixture
def receiver() -> Iterator[OpenLineageReceiver]:
    with OpenLineageReceiver() as server:
        yield server


def start(standalone: Standalone, topic: str, **sink: str) -> WorkerProcess:
    """A file source and a file sink."""
    (standalone.folder / "in.txt").write_text("one\ntwo\n")
    return standalone.start(standalone.source(topic), standalone.sink(topic, "sink", **sink))


def named(datasets: list[dict[str, str]]) -> set[tuple[str, str]]:
    return {(each["namespace"], each["name"]) for each in datasets}


def test_runs_are_told_with_what_they_read_and_write(
    standalone: Standalone, topic: str, receiver: OpenLineageReceiver
) -> None:
    standalone.worker(
        {
            f"{KEYS}enabled": "true",
            f"{KEYS}config.file.path": receiver.file(standalone.folder),
            f"{KEYS}tags": "team=orders,env=test",
            f"{KEYS}owners": "Ada=maintainer",
        }
    )
    running = start(
        standalone,
        topic,
        openlineage_integration_job_namespace="files",
        openlineage_integration_dataset_kafka_bootstrap_servers="kafka1:9092,kafka2:9092",
    )
    running.until(lambda: receiver.kinds("sink.0") == ["START", "RUNNING"])
    running.until(lambda: receiver.kinds("source.0") == ["START", "RUNNING"])
    first, last = receiver.of("sink.0")
    assert first["job"]["namespace"] == "files"
    assert first["run"]["runId"] == last["run"]["runId"]
    assert named(last["inputs"]) == {("kafka://kafka1:9092", topic)}
    assert named(last["outputs"]) == {("file", str(standalone.folder / "out.txt"))}
    facets = first["job"]["facets"]
    assert facets["jobType"]["integration"] == "KAFKA_CONNECT"
    assert [(tag["key"], tag["value"]) for tag in facets["tags"]["tags"]] == [("team", "orders"), ("env", "test")]
    assert [(owner["name"], owner["type"]) for owner in facets["ownership"]["owners"]] == [("Ada", "maintainer")]
    source = receiver.of("source.0")[-1]
    assert source["job"]["namespace"] == "kafka-connect"
    assert named(source["inputs"]) == {("file", str(standalone.folder / "in.txt"))}
    assert [each["name"] for each in source["outputs"]] == [topic]
    assert running.stop() == 0
    assert receiver.kinds("sink.0") == ["START", "RUNNING", "COMPLETE"]
    assert receiver.kinds("source.0") == ["START", "RUNNING", "COMPLETE"]


def test_a_failure_is_told_and_a_new_start_is_another_run(
    standalone: Standalone, topic: str, receiver: OpenLineageReceiver
) -> None:
    told = {"enabled": "true", "config.file.path": receiver.file(standalone.folder)}
    broken = {
        "transforms": "cast",
        "transforms_cast_type": "org.apache.kafka.connect.transforms.Cast$Value",
        "transforms_cast_spec": "int32",
    }
    lineage = {f"{KEYS}{key}".replace(".", "_"): value for key, value in told.items()}
    running = start(standalone, topic, **lineage, **broken)
    running.until(lambda: receiver.kinds("sink.0")[-1:] == ["FAIL"])
    failed = receiver.of("sink.0")[-1]
    assert "cast" in failed["run"]["facets"]["errorMessage"]["message"].lower()
    running.until_logged("REST API at ")
    found = re.search(r"REST API at http://127\.0\.0\.1:(\d+)", running.log)
    assert found is not None
    ask(int(found[1]), "POST", "/connectors/sink/tasks/0/restart")
    running.until(lambda: receiver.kinds("sink.0").count("FAIL") == 2)
    assert len({event["run"]["runId"] for event in receiver.of("sink.0")}) == 2
    assert receiver.of("source.0") == [], "only the sink says that it is to be told"


def test_a_receiver_that_is_away_costs_nothing_but_events(standalone: Standalone, topic: str) -> None:
    file = standalone.folder / "nowhere.yml"
    retry = "{total: 2, backoff_factor: 0}"
    file.write_text(f"transport:\n  type: http\n  url: http://127.0.0.1:1\n  retry: {retry}\n")
    standalone.worker({f"{KEYS}enabled": "true", f"{KEYS}config.file.path": str(file)})
    running = start(standalone, topic)
    out = standalone.folder / "out.txt"
    running.until(lambda: out.exists() and out.read_text() == "one\ntwo\n")
    running.until_logged("An event could not be sent to OpenLineage")
    assert running.stop(30) == 0
    warnings = [line for line in running.log.splitlines() if " WARN " in line and "127.0.0.1" in line]
    assert len(warnings) == 1, "the client's own tries are not logged, and what comes of them is logged once"
