"""Clients that know only Kafka's states are told no other; who asks for STALLED is told so."""

import pytest

from connect.herder.model import ConnectorState
from connect.storage import ConnectorStatus, State, TaskStatus

TRACE = "FrailSinkTask.put has not returned for 301 s."
#: As closed enums of clients have them.
KAFKAS = {"RUNNING", "FAILED", "PAUSED", "RESTARTING", "UNASSIGNED"}


@pytest.fixture(autouse=True)
def _stands_still(herder) -> None:
    herder.configs["a"] = {"name": "a"}
    tasks = [
        TaskStatus("a", 0, State.RUNNING, "w:1", stalled=TRACE),
        TaskStatus("a", 1, State.FAILED, "w:1", "why", stalled=TRACE),
        TaskStatus("a", 2, State.RUNNING, "w:1"),
    ]
    herder.status = lambda name: ConnectorState(name, ConnectorStatus(name, State.RUNNING, "w:1"), tasks, "sink")


def said(client, query: str) -> list[list[dict]]:
    """The tasks, by each of the three requests that tell of them."""
    return [
        client.get(f"/connectors/a/status{query}").json()["tasks"],
        client.get(f"/connectors{query or '?'}&expand=status").json()["a"]["status"]["tasks"],
        [client.get(f"/connectors/a/tasks/{number}/status{query}").json() for number in range(3)],
    ]


@pytest.mark.promise("P9")
@pytest.mark.parametrize("query", ["", "?stalled=false"])
def test_a_task_that_stands_still_is_running_and_that_it_does_is_said_beside_it(client, query: str) -> None:
    for tasks in said(client, query):
        assert {task["state"] for task in tasks} <= KAFKAS
        assert tasks[0] == {"id": 0, "state": "RUNNING", "worker_id": "w:1", "stalled": {"trace": TRACE}}
        assert tasks[1:] == [
            {"id": 1, "state": "FAILED", "worker_id": "w:1", "trace": "why"},
            {"id": 2, "state": "RUNNING", "worker_id": "w:1"},
        ]


@pytest.mark.promise("P9")
def test_who_asks_for_it_is_told_that_it_is_stalled(client) -> None:
    for tasks in said(client, "?stalled=true"):
        assert tasks[0] == {"id": 0, "state": "STALLED", "worker_id": "w:1", "trace": TRACE}
        assert [task["state"] for task in tasks[1:]] == ["FAILED", "RUNNING"]


def test_another_word_for_true_is_refused(client) -> None:
    for path in ("/connectors?expand=status&", "/connectors/a/status?", "/connectors/a/tasks/0/status?"):
        assert client.get(f"{path}stalled=yes").status_code == 400


def test_the_answer_to_a_restart_has_kafkas_states(client) -> None:
    assert client.post("/connectors/a/restart?includeTasks=true").json()["tasks"][0]["state"] == "RUNNING"
