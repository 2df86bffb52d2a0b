"""Plug-ins of Java in the chain of a Python connector, and of Python in that of a Java connector: `engine=worker`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.integration.distributed.pool import Pool

from .jvms import jvms

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PYTHON_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
PYTHON_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
PATIENCE_S = 180.0


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def _before(path: Path, line: str) -> str:
    """What was told before this; a commit of the task before may come in between."""
    lines = _lines(path)
    return [each for each in lines[: lines.index(line)] if each != "commit"][-1]


def _has_heard_of(told: Path, least: int) -> bool:
    return sum(line.startswith("record") for line in _lines(told)) >= least


def test_a_python_source_has_transformations_and_converters_of_java(
    pool: Pool, tmp_path: Path, chain: Path, new_topic: Callable[..., str], read: Callable[..., list[Any]]
) -> None:
    topic, there = new_topic(), tmp_path / "in.txt"
    lines = [f"line {number}" for number in range(300)]
    lines[7], lines[50], lines[51], lines[200] = "drop it", "it is bad", "bad again", "to be shouted"
    there.write_text("".join(line + "\n" for line in lines))
    (worker,) = pool.start()
    worker.create(
        "source",
        {
            "connector.class": PYTHON_SOURCE,
            "file": str(there),
            "topic": topic,
            "value.converter": "x.Chain$Backwards",
            "header.converter": "x.Chain$Marked",
            "transforms": "number,shout",
            "transforms.number.type": "x.Chain$Numbered",
            "transforms.number.before": "no. ",
            "transforms.shout.type": "x.Chain$Numbered",
            "transforms.shout.before": "loud ",
            "transforms.shout.predicate": "shouted",
            "predicates": "shouted",
            "predicates.shouted.type": "x.Chain$Has",
            "predicates.shouted.wanted": "shouted",
            "errors.tolerance": "all",
        },
    )
    expected = [line for line in lines if "drop" not in line and "bad" not in line]
    records = read(pool.bootstrap, topic, len(expected))
    numbered = [f"no. {number} {line}" for number, line in enumerate(expected, 1)]
    at = expected.index("to be shouted")
    numbered[at] = f"loud 1 {numbered[at]}"
    assert [record.value().decode()[::-1] for record in records] == numbered
    lengths = [dict(record.headers())["length"] for record in records]
    assert lengths[0] == f"[{len(expected[0])}]".encode()
    assert all(dict(record.headers())["by"] == b"Backwards" for record in records)
    told = worker.get("/connectors?expand=metrics")["source"]["metrics"]["tasks"][0]["metrics"]
    assert told["task-error-metrics"]["total-records-skipped"] == 2

    # What Java refuses is said before anything starts.
    config = {"connector.class": PYTHON_SOURCE, "file": str(there), "topic": topic, "transforms": "number"}
    wrong = {**config, "transforms.number.type": "x.Chain$Numbered"}
    refused = worker.ask("POST", "/connectors", {"name": "wrong", "config": wrong})
    assert refused.status == 400
    assert "Invalid configuration transforms.number.before" in refused.body["message"]


def test_a_python_sink_has_transformations_and_converters_of_java(
    pool: Pool, tmp_path: Path, chain: Path, new_topic: Callable[..., str], read: Callable[..., list[Any]]
) -> None:
    topic, dead, out = new_topic(), new_topic(), tmp_path / "out.txt"
    producer = Producer({"bootstrap.servers": pool.bootstrap})
    for number in range(200):
        producer.produce(topic, ("! broken" if number in {3, 120} else f"line {number}"[::-1]).encode())
    assert producer.flush(30) == 0
    (worker,) = pool.start()
    worker.create(
        "sink",
        {
            "connector.class": PYTHON_SINK,
            "file": str(out),
            "topics": topic,
            "value.converter": "x.Chain$Backwards",
            "transforms": "number",
            "transforms.number.type": "x.Chain$Numbered",
            "transforms.number.before": "",
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": dead,
            "errors.deadletterqueue.topic.replication.factor": "1",
            "errors.deadletterqueue.context.headers.enable": "true",
        },
    )
    expected = [f"line {number}" for number in range(200) if number not in {3, 120}]
    pool.until(lambda: len(_lines(out)) == len(expected), "the lines are there", within=PATIENCE_S)
    assert _lines(out) == [f"{number} {line}" for number, line in enumerate(expected, 1)]
    letters = read(pool.bootstrap, dead, 2)
    assert [letter.value() for letter in letters] == [b"! broken", b"! broken"]
    headers = dict(letters[0].headers())
    assert headers["__connect.errors.class.name"] == b"x.Chain$Backwards"
    assert b"it begins with a mark" in headers["__connect.errors.exception.message"]


#: A source of Java on the worker's engine, of 35 records.
SOURCE = {
    "connector.class": "x.Chain$Source",
    "engine": "worker",
    "count": "35",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


@pytest.mark.promise("P1")
def test_a_java_source_has_a_chain_of_python(
    pool: Pool, tmp_path: Path, chain: Path, new_topic: Callable[..., str], read: Callable[..., list[Any]]
) -> None:
    topic, told = new_topic(), tmp_path / "told.txt"
    (worker,) = pool.start()
    config = {
        **SOURCE,
        "told": str(told),
        "topic": topic,
        "transforms": "some",
        "transforms.some.type": "Expression",
        "transforms.some.filter": "n <> 5",
    }
    worker.create("source", config)
    records = read(pool.bootstrap, topic, 34)
    numbers = [number for number in range(35) if number != 5]
    assert [json.loads(record.value())["n"] for record in records] == numbers
    assert json.loads(records[1].value()) == {
        "n": 1, "text": "line 1", "at": 1700000000001, "tags": {"x": 1},
    }  # fmt: skip
    assert json.loads(records[3].value())["text"] is None
    assert [record.key().decode() for record in records] == [f"k{number}" for number in numbers]
    assert records[2].timestamp()[1] == 1600000000002
    assert dict(records[2].headers())["n"] == b"2"

    # Java's task hears of each record, where it was written, and of the commit.
    pool.until(lambda: len([line for line in _lines(told) if line.startswith("record")]) == 35, "it was told")
    assert "record 0 at " + topic + " 0" in _lines(told)
    assert "record 5 dropped" in _lines(told)
    assert "record 6 at " + topic + " 5" in _lines(told)
    pool.until(lambda: _lines(told)[-1] == "commit", "it is committed")
    offsets = worker.get("/connectors/source/offsets")["offsets"]
    assert offsets == [{"partition": {"of": "lines"}, "offset": {"n": 34}}]

    # It goes on where it was, on this engine and on Java's own, in a JVM with its options.
    refused = worker.ask("PUT", "/connectors/source/config", {**config, "java.options": "Xmx1g"})
    assert refused.status == 400
    assert "options begin with a dash" in refused.body["message"]
    assert "greeting null" in _lines(told)
    greeting = {"java.options": "-Dx.greeting=hello"}
    worker.do("PUT", "/connectors/source/config", {**config, **greeting, "count": "40"})
    pool.until(lambda: "start 35" in _lines(told), "it starts again", within=PATIENCE_S)
    assert _before(told, "start 35") == "greeting hello"
    assert "stop" in _lines(told)
    assert len(read(pool.bootstrap, topic, 39)) == 39
    alone = {key: value for key, value in config.items() if not key.startswith(("engine", "transforms"))}
    worker.do("PUT", "/connectors/source/config", {**alone, **greeting, "count": "45"})
    pool.until(lambda: "start 40" in _lines(told), "it starts in Java's worker", within=PATIENCE_S)
    assert _before(told, "start 40") == "greeting hello"
    last = read(pool.bootstrap, topic, 44)
    assert [json.loads(record.value())["n"] for record in last] == [n for n in range(45) if n != 5]
    assert records[1].value() == last[1].value()


@pytest.mark.promise("P1")
def test_a_java_source_may_wait_in_its_poll_for_what_it_is_told(
    pool: Pool, tmp_path: Path, chain: Path, new_topic: Callable[..., str], read: Callable[..., list[Any]]
) -> None:
    """As queues do that acknowledge a poll's messages at the next poll, and those that wait there for messages."""
    topic, told = new_topic(), tmp_path / "told.txt"
    (worker,) = pool.start()
    config = {**SOURCE, "told": str(told), "topic": topic, "patient": "true"}
    worker.create("source", config)
    assert len(read(pool.bootstrap, topic, 35)) == 35
    pool.until(lambda: _lines(told)[-1] == "commit", "it is committed while a poll waits")
    assert worker.get("/connectors/source/offsets")["offsets"] == [{"partition": {"of": "lines"}, "offset": {"n": 34}}]
    worker.do("PUT", "/connectors/source/config", {**config, "count": "40"})
    pool.until(lambda: "start 35" in _lines(told), "it starts again", within=PATIENCE_S)
    assert "stop" in _lines(told)[: _lines(told).index("start 35")]
    assert [json.loads(record.value())["n"] for record in read(pool.bootstrap, topic, 40)] == list(range(40))


@pytest.mark.promise("P1")
def test_a_java_sink_has_a_chain_of_python(
    pool: Pool, tmp_path: Path, chain: Path, new_topic: Callable[..., str], read: Callable[..., list[Any]]
) -> None:
    topic, dead, out = new_topic(), new_topic(), tmp_path / "out.txt"
    producer = Producer({"bootstrap.servers": pool.bootstrap})
    for number in range(50):
        text = {10: "poison", 20: "later", 30: "left out"}.get(number, f"line {number}")
        producer.produce(topic, json.dumps({"text": text}).encode(), key=f"k{number}".encode())
    assert producer.flush(30) == 0
    (worker,) = pool.start()
    worker.create(
        "sink",
        {
            "connector.class": "x.Chain$Sink",
            "engine": "worker",
            "file": str(out),
            "topics": topic,
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            "transforms": "some,number",
            "transforms.some.type": "Expression",
            "transforms.some.filter": "text <> 'left out'",
            "transforms.number.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
            "transforms.number.field": "text",
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": dead,
            "errors.deadletterqueue.topic.replication.factor": "1",
        },
    )
    texts = {number: f"line {number}" for number in range(50) if number not in {10, 30}} | {20: "later"}
    expected = [f"{topic} {number} k{number} {texts[number]} CreateTime" for number in sorted(texts)]
    pool.until(lambda: len(_lines(out)) >= len(expected), "the records are there", within=PATIENCE_S)
    assert _lines(out) == expected
    (letter,) = read(pool.bootstrap, dead, 1)
    assert json.loads(letter.value()) == {"text": "poison"}

    def committed() -> int | None:
        found = worker.get("/connectors/sink/offsets")["offsets"]  # the group may know topics of other tests
        mine = [each["offset"] for each in found if each["partition"]["kafka_topic"] == topic]
        return mine[0]["kafka_offset"] if mine else None

    pool.until(lambda: committed() == 50, "its offsets are committed")
    worker.do("PUT", "/connectors/sink/stop")
    pool.until(lambda: _lines(tmp_path / "out.txt.calls")[-1:] == ["stop"], "it stopped", within=PATIENCE_S)
    calls = _lines(tmp_path / "out.txt.calls")
    assert calls[0] == f"open [{topic}-0] of 1"
    assert f"close [{topic}-0]" in calls


@pytest.mark.promise("P10")
def test_a_java_source_with_a_chain_of_python_delivers_exactly_once_when_it_is_killed(
    pool: Pool, tmp_path: Path, chain: Path, new_topic: Callable[..., str], read: Callable[..., list[Any]]
) -> None:
    topic, told = new_topic(), tmp_path / "told.txt"
    (worker,) = pool.start(exactly_once_source_support="enabled", restart_policy="on")
    worker.create(
        "source",
        {
            "connector.class": "x.Chain$Source",
            "engine": "worker",
            "exactly.once.support": "required",
            "told": str(told),
            "topic": topic,
            "count": "20000",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
        },
    )
    for least in (1000, 6000):
        pool.until(partial(_has_heard_of, told, least), "records are written", within=PATIENCE_S)
        jvms(worker)[-1].kill()
    records = read(pool.bootstrap, topic, 20000, **{"isolation.level": "read_committed"})
    assert [json.loads(record.value())["n"] for record in records] == list(range(20000))


def test_records_of_every_shape_cross_as_they_are() -> None:
    """Java's own JsonConverter, in our chain, against ours; and Java's InsertField, both ways."""
    run = [sys.executable, "-m", "tests.integration.java.round_trips", "--seeds", "60"]
    done = subprocess.run(run, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "60 seeds" in done.stdout


def test_what_a_java_transformation_changes_in_place_has_changed(chain: Path) -> None:
    run = [sys.executable, "-m", "tests.integration.java.in_place", str(chain / "chain.jar")]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.splitlines() == [
        "header: None x []",
        "map: None {'n': '1'} []",
        "struct: None {'secret': '', 'n': '1'} []",
        "bytes: None b'\\x00' []",
        "key: {} x []",
        "untouched: True",
    ], done.stderr[-3000:]


def test_a_java_sink_that_keeps_its_own_offsets_holds_no_batch_of_which_it_has_no_record(chain: Path) -> None:
    run = [sys.executable, "-m", "tests.integration.java.batches_let_go", str(chain / "chain.jar")]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.splitlines() == [
        "0 after a", "1 after keep", "1 after d", "1 after e", "reported 2 keep", "0 after report", "0 after f",
    ], done.stderr[-3000:]  # fmt: skip


def test_records_of_java_that_python_has_not_fail_alone(chain: Path) -> None:
    run = [sys.executable, "-m", "tests.integration.java.records_apart", str(chain / "chain.jar")]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False)
    reasons = [
        line.partition(" x.Chain$Dated.apply: org.apache.kafka.connect.errors.DataException: ")
        for line in done.stdout.splitlines()
    ]
    assert [(row, why) for row, _, why in reasons] == [
        ("0:", "it is bad"),
        ("2:", "1152921504606846976 ms is outside the years 1 to 9999."),
        ("4:", "1152921504606846976 ms is outside the years 1 to 9999."),
        ("5:", "it is bad"),
        ("passed [1, 3, 6]", ""),
    ], done.stderr[-3000:]
