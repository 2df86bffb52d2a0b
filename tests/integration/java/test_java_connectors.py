"""Java connectors, unchanged, in a worker of ours: Kafka Connect's own file connectors, from jars of plugin.path."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pytest
from confluent_kafka import Producer

from connect.cli import main
from connect.jvm.jars import JarsUnavailable
from connect.kafka.broker.embedded import Broker
from tests.conformance.jdbc.debezium_connector import plug_in
from tests.integration.distributed.committed import Committed
from tests.integration.distributed.pool import TURNS, Pool
from tests.support.waiting import until
from tests.support.worker_process import WorkerProcess, our_command

from .jvms import jvms

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
STRINGS = "org.apache.kafka.connect.storage.StringConverter"
#: A JVM starts within seconds, and on a busy machine within a minute.
PATIENCE_S = 180.0


@pytest.mark.promise("P1")
def test_lines_flow_through_java_s_file_connectors(
    pool: Pool, tmp_path: Path, new_topic: Callable[..., str], jars: Path
) -> None:
    topic = new_topic()
    there, back = tmp_path / "in.txt", tmp_path / "out.txt"
    there.write_text("".join(f"line {number}\n" for number in range(1000)))
    (worker,) = pool.start()
    listed = {plugin["class"]: plugin for plugin in worker.get("/connector-plugins")}
    assert listed[SOURCE]["type"] == "source"
    java = {"connector.language": "java", "tasks.max": "1"}
    worker.create("source", {"connector.class": SOURCE, "file": str(there), "topic": topic, **java})
    worker.create("sink", {"connector.class": SINK, "file": str(back), "topics": topic, **java})
    pool.until(lambda: worker.runs("source", 1) and worker.runs("sink", 1), "both run")
    pool.until(lambda: back.exists() and len(back.read_text().splitlines()) == 1000, "the lines are there")
    assert back.read_text() == there.read_text()

    def figures(name: str, group: str) -> dict[str, Any]:
        told = worker.get("/connectors?expand=metrics")[name]["metrics"]["tasks"][0]["metrics"]
        return dict(told[group])

    # Kafka Connect's figures are those of Java.
    pool.until(lambda: figures("source", "source-task-metrics")["source-record-write-total"] == 1000, "they are told")
    assert figures("source", "source-task-metrics")["source-record-poll-total"] == 1000
    assert figures("source", "source-task-metrics")["poll-batch-max-time-ms"] >= 0
    pool.until(lambda: figures("sink", "sink-task-metrics")["sink-record-send-total"] == 1000, "they are told")
    assert 0 < figures("sink", "connector-task-metrics")["batch-size-max"] <= 1000
    assert figures("sink", "task-error-metrics")["total-record-failures"] == 0
    assert re.search(
        r'kafka_connect_\w*source_record_poll_total{\S*connector="source"\S* 1000', worker.ask("GET", "/metrics").body
    )

    # Its records pass the JVM alone, and who wants to look is told at once.
    (told,) = worker.get("/connectors/sink/tap?seconds=60")["untapped"]
    assert told["task"] == 0
    assert "run in engine java" in told["reason"]

    # Offsets are kept where any worker finds them.
    pool.until(lambda: _position(worker, "source") == there.stat().st_size, "the offset is committed")
    worker.do("PUT", "/connectors/source/pause")
    pool.until(lambda: worker.runs("source", 1, "PAUSED"), "it is paused")
    with there.open("a") as file:
        file.write("one more\n")
    worker.do("PUT", "/connectors/source/resume")
    pool.until(lambda: back.read_text().endswith("one more\n"), "it goes on")
    worker.do("POST", "/connectors/source/restart?includeTasks=true")
    pool.until(lambda: worker.runs("source", 1), "it runs again")
    with there.open("a") as file:
        file.write("the last\n")
    pool.until(lambda: back.read_text().endswith("the last\n"), "it goes on where it was")
    assert len(back.read_text().splitlines()) == 1002


def _position(worker: Any, name: str) -> int | None:
    offsets = worker.get(f"/connectors/{name}/offsets")["offsets"]
    return offsets[0]["offset"]["position"] if offsets else None


@pytest.mark.promise("P1")
def test_alone_offsets_are_in_the_worker_s_file(
    broker: Broker, jars: Path, tmp_path: Path, new_topic: Callable[..., str], read: Callable[..., list[Any]]
) -> None:
    topic, there = new_topic(), tmp_path / "in.txt"
    there.write_text("one\n")
    worker, connector, stored = (tmp_path / name for name in ("worker.properties", "source.properties", "offsets"))
    properties = {
        "bootstrap.servers": broker.bootstrap_servers,
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "offset.storage.file.filename": str(stored),
        "offset.flush.interval.ms": "200",
        "plugin.path": str(jars),
    }
    worker.write_text("".join(f"{key}={value}\n" for key, value in properties.items()) + "listeners=\n")
    config = {"name": "source", "connector.class": SOURCE, "connector.language": "java", "file": there, "topic": topic}
    connector.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
    command = our_command("standalone", worker, connector)
    for lines in (["one"], ["one", "two"]):
        process = WorkerProcess(command, tmp_path / "worker.log", cwd=tmp_path).start()
        try:
            found = read(broker.bootstrap_servers, topic, len(lines))
            until(lambda: stored.exists() and b"position" in stored.read_bytes(), what="offsets are stored")
        finally:
            process.close()
        assert [record.value().decode() for record in found] == lines
        with there.open("a") as file:
            file.write("two\n")


def test_converters_of_the_worker_may_be_plug_ins(
    pool: Pool,
    broker: Broker,
    tmp_path: Path,
    chain: Path,
    new_topic: Callable[..., str],
    read: Callable[..., list[Any]],
) -> None:
    """And those that a connector replaces need no Java: here the one for keys is Python's alone."""
    pool.settings |= {
        "plugin.path": str(chain),
        "key.converter": "io.confluent.connect.avro.AvroConverter",
        "key.converter.schema.registry.url": "http://localhost:1",
        "value.converter": "x.Chain$Backwards",
        "header.converter": "x.Chain$Marked",
        "metric.reporters": "com.acme.Reporter",
    }
    topic, there = new_topic(), tmp_path / "in.txt"
    there.write_text("abc\n")
    (worker,) = pool.start()
    config = {"connector.class": SOURCE, "connector.language": "java", "file": str(there), "topic": topic}
    worker.create("source", {**config, "key.converter": STRINGS})
    pool.until(lambda: worker.runs("source", 1), "it runs")
    (record,) = read(broker.bootstrap_servers, topic, 1)
    assert record.value() == b"cba"


def test_what_is_wrong_is_said_by_java(pool: Pool) -> None:
    (worker,) = pool.start()
    config = {"connector.class": SOURCE, "connector.language": "java", "batch.size": "none"}
    found = worker.do("PUT", f"/connector-plugins/{SOURCE}/config/validate", {**config, "name": "x"})
    errors = {each["value"]["name"]: each["value"]["errors"] for each in found["configs"] if each["value"]["errors"]}
    assert errors["topic"] == ['Missing required configuration "topic" which has no default value.']
    assert errors["batch.size"] == ["Invalid value none for configuration batch.size: Not a number of type INT"]


def test_a_task_that_fails_says_java_s_words(pool: Pool, tmp_path: Path, new_topic: Callable[..., str]) -> None:
    (worker,) = pool.start()
    config = {"connector.class": SINK, "connector.language": "java", "topics": new_topic()}
    worker.create("sink", {**config, "file": str(tmp_path / "no folder" / "out.txt")})
    pool.until(lambda: worker.states("sink").get("0", ("",))[0] == "FAILED", "it fails")
    trace = worker.get("/connectors/sink/tasks/0/status")["trace"]
    assert "org.apache.kafka.connect.errors.ConnectException: Couldn't find or create file" in trace
    assert "\tat org.apache.kafka.connect.file.FileStreamSinkTask.start(FileStreamSinkTask.java" in trace


@pytest.mark.promise("P8")
@pytest.mark.parametrize("engine", ["java", "worker"])
def test_a_secret_that_stands_in_clear_is_shown_nowhere(
    pool: Pool, tmp_path: Path, new_topic: Callable[..., str], unruly: Path, engine: str
) -> None:
    (worker,) = pool.start()
    config = {"connector.class": "x.UnrulySource", "folder": str(tmp_path), "topic": new_topic(), "engine": engine}
    worker.create("unruly", {**config, "word": "correct-horse-battery"})
    pool.until(lambda: worker.states("unruly").get("0", ("",))[0] == "FAILED", "it fails", within=PATIENCE_S)
    trace = worker.get("/connectors/unruly/tasks/0/status")["trace"]
    assert "IllegalStateException: cannot log in with [hidden]" in trace
    assert "correct-horse-battery" not in trace + worker.log
    # What Java prints is logged like the rest.
    assert re.search(r"INFO +unruly-0  my word is \[hidden\]", worker.log)


def test_levels_of_loggers_reach_java(pool: Pool, tmp_path: Path, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    (worker,) = pool.start()
    config = {"connector.class": SINK, "connector.language": "java", "topics": topic, "file": str(tmp_path / "out")}
    worker.create("sink", config)
    pool.until(lambda: worker.runs("sink", 1), "it runs", within=PATIENCE_S)
    producer = Producer({"bootstrap.servers": pool.bootstrap})

    def say(line: str) -> None:
        producer.produce(topic, line)
        assert producer.flush(30) == 0

    say("one")
    pool.until(lambda: (tmp_path / "out").read_text() == "one\n", "a line is there")
    logger = "org.apache.kafka.connect.file"
    worker.do("PUT", f"/admin/loggers/{logger}", {"level": "TRACE"})
    pool.until(lambda: "TRACE sink-0  Flushing output stream" in worker.log, "the level is there")
    say("two")
    pool.until(lambda: re.search("TRACE sink-0  Writing line to .*: two", worker.log), "it is traced")
    worker.do("POST", "/connectors/sink/tasks/0/restart")  # its process begins with the level that was set
    pool.until(lambda: worker.runs("sink", 1), "it runs", within=PATIENCE_S)
    say("three")
    pool.until(lambda: re.search("TRACE sink-0  Writing line to .*: three", worker.log), "it is traced")
    assert not re.search("Writing line to .*: one", worker.log)


@pytest.mark.promise("P10")
def test_a_source_that_delivers_exactly_once_is_killed(
    pool: Pool, tmp_path: Path, new_topic: Callable[..., str]
) -> None:
    topic, there = new_topic(), tmp_path / "in.txt"
    (worker,) = pool.start(
        1, exactly_once_source_support="enabled", restart_policy="on", restart_policy_initial_delay_ms="200"
    )
    expected: list[str] = []

    def grow(count: int) -> None:
        lines = [f"line {len(expected) + number}" for number in range(count)]
        with there.open("a") as file:
            file.write("".join(f"{line}\n" for line in lines))
        expected.extend(lines)

    grow(1000)
    config = {"connector.class": SOURCE, "connector.language": "java", "file": str(there), "topic": topic}
    worker.create("source", {**config, "batch.size": "100"})
    with closing(Committed(pool.bootstrap, topic)) as seen:
        for _ in range(TURNS):
            before = len(seen.values)
            pool.until(lambda: len(seen.values) > before, "some are there")  # noqa: B023 - called at once
            grow(1000)
            for process in jvms(worker)[-1:]:
                process.kill()
        pool.until(lambda: len(seen.values) >= len(expected), "all are there", within=PATIENCE_S)
        assert seen.values == expected


@pytest.mark.promise("P6")
@pytest.mark.timeout(1200)
def test_a_task_that_ends_its_jvm_harms_no_other(pool: Pool, tmp_path: Path, unruly: Path) -> None:
    (worker,) = pool.start()
    name = "x.UnrulySource"
    alone = {"connector.class": name, "tasks.max": "2", "folder": str(tmp_path), "java.isolation": "task"}
    worker.create("unruly", alone)
    pool.until(lambda: worker.runs("unruly", 2), "both tasks run", within=PATIENCE_S)
    assert worker.get("/connectors/unruly/tasks")[0]["config"]["task.class"] == "x.UnrulySource$UnrulyTask"
    for fault in ("exit", "hang", "leak", "kill"):  # one after the other: each needs one more JVM
        if fault == "kill":
            jvms(worker)[-1].kill()
        else:
            (tmp_path / f"{fault}-1").touch()
        one_fails = f"one fails by {fault}, the other runs"
        pool.until(lambda: sorted(_states(worker)) == ["FAILED", "RUNNING"], one_fails, within=PATIENCE_S)
        assert worker.states("unruly")["connector"][0] == "RUNNING"
        if fault != "kill":
            (tmp_path / f"{fault}-1").unlink()
        worker.do("POST", "/connectors/unruly/restart?includeTasks=true&onlyFailed=true")
        pool.until(lambda: worker.runs("unruly", 2), f"both run again after {fault}", within=PATIENCE_S)


@pytest.mark.promise("P6")
@pytest.mark.timeout(900)
def test_tasks_of_a_connector_share_a_jvm_and_its_end(pool: Pool, tmp_path: Path, unruly: Path) -> None:
    (worker,) = pool.start()
    for name in ("unruly", "other"):
        (tmp_path / name).mkdir()
        config = {"connector.class": "x.UnrulySource", "tasks.max": "3", "folder": str(tmp_path / name)}
        worker.create(name, config)
    pool.until(lambda: worker.runs("unruly", 3) and worker.runs("other", 3), "all run", within=PATIENCE_S)
    assert len(jvms(worker)) == 3, "one of the host, and one of each connector"
    for fault in ("exit", "leak"):
        (tmp_path / "unruly" / f"{fault}-1").touch()
        pool.until(lambda: set(_states(worker)) == {"FAILED"}, f"its tasks fail by {fault}", within=PATIENCE_S)
        (tmp_path / "unruly" / f"{fault}-1").unlink()
        assert worker.runs("other", 3)
        worker.do("POST", "/connectors/unruly/restart?includeTasks=true&onlyFailed=true")
        pool.until(lambda: worker.runs("unruly", 3), f"all run again after {fault}", within=PATIENCE_S)
        assert worker.runs("other", 3)
        assert len(jvms(worker)) == 3


@pytest.mark.promise("P6")
@pytest.mark.parametrize(("isolation", "count"), [("plugin", 2), ("worker", 1)])
def test_connectors_share_a_jvm_and_its_end(
    pool: Pool, tmp_path: Path, unruly: Path, new_topic: Callable[..., str], isolation: str, count: int
) -> None:
    pool.settings["java.isolation"] = isolation
    (worker,) = pool.start()
    for name in ("unruly", "other"):
        (tmp_path / name).mkdir()
        worker.create(name, {"connector.class": "x.UnrulySource", "tasks.max": "2", "folder": str(tmp_path / name)})
    lines = tmp_path / "lines"
    lines.write_text("one\n")
    topic = new_topic()
    worker.create("file", {"connector.class": SOURCE, "connector.language": "java", "file": str(lines), "topic": topic})

    def all_run() -> bool:
        return worker.runs("unruly", 2) and worker.runs("other", 2) and worker.runs("file", 1)

    pool.until(all_run, "all run", within=PATIENCE_S)
    # A host for each plug-in, and one JVM for the tasks of each, or of all.
    assert len(jvms(worker)) == 2 + count
    (tmp_path / "unruly" / "exit-1").touch()
    pool.until(lambda: set(_states(worker)) == {"FAILED"}, "its tasks fail", within=PATIENCE_S)
    (tmp_path / "unruly" / "exit-1").unlink()
    pool.until(lambda: worker.states("other")["0"][0] == "FAILED", "so do those of the other", within=PATIENCE_S)
    assert "exit code 3" in worker.get("/connectors/other/tasks/0/status")["trace"]
    if isolation == "plugin":
        assert worker.runs("file", 1)
    for name in ("unruly", "other", "file"):
        worker.do("POST", f"/connectors/{name}/restart?includeTasks=true&onlyFailed=true")
    pool.until(all_run, "all run again", within=PATIENCE_S)
    assert len(jvms(worker)) == 2 + count
    with lines.open("a") as file:
        file.write("two\n")
    with closing(Committed(pool.bootstrap, topic)) as seen:
        pool.until(lambda: [*dict.fromkeys(seen.values)] == ["one", "two"], "the lines are there", within=PATIENCE_S)


def test_a_jvm_is_begun_beside_the_one_that_validates(pool: Pool) -> None:
    del pool.settings["java.spare.processes"]
    (worker,) = pool.start()
    config = {"connector.class": SINK, "connector.language": "java", "name": "sink"}
    refused = worker.ask("PUT", "/connectors/sink/config", config)
    assert refused.status == 400
    pool.until(lambda: len(jvms(worker)) == 2, "one is there for the task of what is written next", within=PATIENCE_S)


def test_the_next_connector_takes_the_jvm_that_waits(pool: Pool, tmp_path: Path, new_topic: Callable[..., str]) -> None:
    del pool.settings["java.spare.processes"]
    topic = new_topic()
    there, back = tmp_path / "in.txt", tmp_path / "out.txt"
    there.write_text("a line\n")
    (worker,) = pool.start()
    java = {"connector.language": "java", "tasks.max": "1"}
    worker.create("source", {"connector.class": SOURCE, "file": str(there), "topic": topic, **java})
    pool.until(lambda: worker.runs("source", 1), "it runs", within=PATIENCE_S)
    # It took one that was still loading, of which nobody hears.
    assert "rehearsal" not in worker.log
    pool.until(lambda: len(jvms(worker)) == 3, "one waits beside its own and the host's", within=PATIENCE_S)
    waiting = jvms(worker)[-1]
    worker.create("sink", {"connector.class": SINK, "file": str(back), "topics": topic, **java})
    pool.until(lambda: back.exists() and back.read_text() == "a line\n", "the line is there", within=PATIENCE_S)
    pool.until(lambda: len(jvms(worker)) == 5, "the next one waits, beside the sink's host", within=PATIENCE_S)
    waiting.kill()
    pool.until(lambda: worker.states("sink")["0"][0] == "FAILED", "it was the sink's", within=PATIENCE_S)
    assert worker.runs("source", 1)


def test_tasks_of_a_jvm_log_in_their_own_names_and_end_alone(
    pool: Pool, tmp_path: Path, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(2)
    (worker,) = pool.start()
    config = {"connector.class": SINK, "connector.language": "java", "topics": topic, "file": str(tmp_path / "out")}
    worker.do("PUT", "/admin/loggers/org.apache.kafka.connect.file", {"level": "TRACE"})
    worker.create("sink", config | {"tasks.max": "2"})
    pool.until(lambda: worker.runs("sink", 2), "both run", within=PATIENCE_S)
    producer = Producer({"bootstrap.servers": pool.bootstrap})

    numbers = itertools.count()

    def writer_of(partition: int) -> str:
        line = f"line {next(numbers)}"
        producer.produce(topic, line, partition=partition)
        assert producer.flush(30) == 0
        pattern = rf"TRACE (sink-\d)  Writing line to .*: {line}\n"
        found = pool.until(lambda: re.search(pattern, worker.log), f"{line} is traced", within=PATIENCE_S)
        return str(found[1])

    # Both run before the group has divided the partitions.
    pool.until(lambda: {writer_of(0), writer_of(1)} == {"sink-0", "sink-1"}, "each has one", within=PATIENCE_S)
    before = jvms(worker)
    worker.do("POST", "/connectors/sink/tasks/0/restart")
    pool.until(lambda: worker.runs("sink", 2), "both run", within=PATIENCE_S)
    assert writer_of(0)
    assert [each.pid for each in jvms(worker)] == [each.pid for each in before], "its neighbour's JVM goes on"


def _states(worker: Any) -> list[str]:
    return [state for part, (state, _) in worker.states("unruly").items() if part != "connector"]


def test_the_engine_java_runs_java_s_classes_alone(
    pool: Pool, tmp_path: Path, unruly: Path, new_topic: Callable[..., str], read: Callable[..., list[Any]]
) -> None:
    topic, there = new_topic(), tmp_path / "in.txt"
    there.write_text("a line\n")
    (worker,) = pool.start()
    config = {"connector.class": SOURCE, "file": str(there), "topic": topic, "connector.language": "java"}
    loud = {"transforms": "loud", "transforms.loud.type": "x.UnrulySource$Shout"}
    worker.create("java", {**config, **loud})
    (record,) = read(pool.bootstrap, topic, 1)
    assert record.value() == b"A LINE"

    ours = {"transforms": "one", "transforms.one.type": "Deduplicate"}
    refused = worker.ask("POST", "/connectors", {"name": "mixed", "config": {**config, **ours}})
    assert refused.status == 400
    assert '"Deduplicate" is a class of Python, which "engine": "java" does not run' in refused.body["message"]
    assert 'Write "engine": "worker"' in refused.body["message"]


def test_a_converter_of_the_worker_that_is_python_s_is_refused_beforehand(pool: Pool, tmp_path: Path) -> None:
    avro = "io.confluent.connect.avro.AvroConverter"
    pool.settings |= {"value.converter": avro, "value.converter.schema.registry.url": "http://127.0.0.1:1"}
    (worker,) = pool.start()
    config = {"connector.class": SOURCE, "file": str(tmp_path / "in.txt"), "topic": "t", "connector.language": "java"}
    refused = worker.ask("POST", "/connectors", {"name": "java", "config": config})
    assert refused.status == 400
    assert f'"{avro}" is a class of Python, which "engine": "java" does not run' in refused.body["message"]
    assert "Or set value.converter for this connector: this is the worker's." in refused.body["message"]
    for fitting in ({"value.converter": "org.apache.kafka.connect.storage.StringConverter"}, {"engine": "worker"}):
        found = worker.do("PUT", f"/connector-plugins/{SOURCE}/config/validate", {"name": "java", **config, **fitting})
        assert found["error_count"] == 0


def test_debezium_s_jdbc_sink_runs_unchanged(
    pool: Pool,
    jars: Path,
    postgres_database: Any,
    new_topic: Callable[..., str],
    cannot_have: Callable[[str, object], NoReturn],
) -> None:
    try:
        plug_in(jars, "debezium-jdbc")
    except JarsUnavailable as error:
        cannot_have("Debezium's JDBC sink", error)
    topic = new_topic()
    schema = {
        "type": "struct",
        "fields": [
            {"field": "id", "type": "int32", "optional": False},
            {"field": "name", "type": "string", "optional": True},
        ],
    }
    producer = Producer({"bootstrap.servers": pool.bootstrap})
    for number in range(100):
        value = {"schema": schema, "payload": {"id": number, "name": f"name {number}"}}
        producer.produce(topic, json.dumps(value))
    assert producer.flush(30) == 0
    (worker,) = pool.start()
    config = {
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "topics": topic,
        "connection.url": postgres_database.jdbc_url,
        "connection.username": postgres_database.user,
        "connection.password": postgres_database.password,
        "insert.mode": "upsert",
        "primary.key.mode": "record_value",
        "primary.key.fields": "id",
        "collection.name.format": "orders",
        "schema.evolution": "basic",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    }
    worker.create("orders", config)
    pool.until(lambda: worker.runs("orders", 1), "it runs")

    def rows() -> int:
        try:
            return int(postgres_database.execute("SELECT count(*) FROM orders")[0][0])
        except Exception:  # the table is not there yet
            return 0

    pool.until(lambda: rows() == 100, "the rows are there")


def test_migrate_finds_the_jars_that_run_a_connector(
    unruly: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "theirs": {"connector.class": "x.UnrulySource", "folder": "/in"},
        "both": {"connector.class": SOURCE, "file": "/in", "topic": "lines", "max.line.bytes": "many"},
        "ours": {
            "connector.class": SOURCE,
            "file": "/in",
            "topic": "lines",
            "transforms": "shout",
            "transforms.shout.type": "x.UnrulySource$Shout",
        },
    }
    for name, config in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"name": name, "config": config}))
    out = tmp_path / "out"
    paths = [str(tmp_path / f"{name}.json") for name in files]
    assert main(["migrate", *paths, "--plugin-path", str(unruly), "--out", str(out), "--json"]) == 0
    told = {each["name"]: each for each in json.loads(capsys.readouterr().out)["connectors"]}
    assert {name: each["outcome"] for name, each in told.items()} == {
        "theirs": "java",
        "both": "java",
        "ours": "python",
    }
    assert [why["key"] for why in told["both"]["why_not_python"]] == ["max.line.bytes"]
    written = {name: json.loads((out / "connectors" / f"{name}.json").read_text())["config"] for name in files}
    assert {name: config.get("connector.language") for name, config in written.items()} == {
        "theirs": None,
        "both": "java",
        "ours": None,
    }
