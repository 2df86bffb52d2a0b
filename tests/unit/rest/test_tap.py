"""/connectors/{connector}/tap: who is asked, how long, and what is said of those who show nothing."""

import time

import pytest

from connect.herder.model import ConnectorState
from connect.herder.taps import TappedRecord
from connect.pipeline.outcome import SeenOutcome
from connect.pipeline.seen import SeenRecord
from connect.storage import ConnectorStatus, State, TaskStatus

NOBODY = "127.0.0.1:1"


@pytest.fixture(autouse=True)
def _runs(herder) -> None:
    herder.configs["x"] = {"name": "x"}
    record = SeenRecord("lines", 0, None, None, {"n": 1}, [])
    herder.tapped = [TappedRecord(0, 1000 + number, SeenOutcome("kept", record, [], record)) for number in range(8)]


def at(herder, *workers: str) -> None:
    tasks = [TaskStatus("x", number, State.RUNNING, worker) for number, worker in enumerate(workers)]
    herder.status = lambda name: ConnectorState(name, ConnectorStatus(name, State.RUNNING, "here:1"), tasks, "sink")


def test_the_answer_has_as_many_records_as_wanted_and_nobody_looks_any_longer(client, herder) -> None:
    at(herder, "here:1")
    answer = client.get("/connectors/x/tap").json()
    assert [one["at"] for one in answer["records"]] == [1000, 1001, 1002, 1003, 1004]
    shown = {"topic": "lines", "partition": 0, "timestamp": None, "key": None, "value": {"n": 1}, "headers": []}
    (first, *_) = answer["records"]
    assert (first["task"], first["worker_id"]) == (0, "here:1")
    assert first["record"] == {"verdict": "kept", "before": shown, "steps": [], "after": shown}
    assert answer["untapped"] == []
    assert herder.asked == [("close tap", 1)]


def test_when_the_time_is_over_there_is_what_has_come(client, herder) -> None:
    at(herder, "here:1")
    herder.hanging.add("tap")
    began = time.monotonic()
    answer = client.get("/connectors/x/tap?records=100&seconds=1").json()
    assert time.monotonic() - began >= 1
    assert len(answer["records"]) == 8


def test_a_worker_that_shows_nothing_is_named_with_the_reason(client, herder) -> None:
    at(herder, "here:1", NOBODY)
    answer = client.get("/connectors/x/tap?records=20&seconds=1").json()
    assert len(answer["records"]) == 8
    (untapped,) = answer["untapped"]
    assert untapped["worker_id"] == NOBODY
    assert untapped["reason"].startswith("It shows no records: ")


def test_another_worker_is_not_waited_for_where_there_are_enough(client, herder) -> None:
    at(herder, "here:1", NOBODY)
    assert client.get("/connectors/x/tap?records=8").json()["untapped"] == []


def test_who_is_asked_by_another_worker_asks_no_other(client, herder) -> None:
    at(herder, "here:1", NOBODY)
    assert client.get("/connectors/x/tap?records=20&seconds=1&forward=false").json()["untapped"] == []


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("records=0", "records is a number from 1 to 100."),
        ("records=101", "records is a number from 1 to 100."),
        ("records=many", "records is a whole number."),
        ("seconds=61", "seconds is a number from 1 to 60."),
        ("task=-1", "task is a whole number."),
    ],
)
def test_what_makes_no_sense_is_refused(client, query: str, message: str) -> None:
    answer = client.get(f"/connectors/x/tap?{query}")
    assert (answer.status_code, answer.json()["message"]) == (400, message)


def test_an_unknown_connector_is_said(client) -> None:
    assert client.get("/connectors/y/tap").status_code == 404
