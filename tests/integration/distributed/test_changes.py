"""A connector gets another configuration: its tasks are started again with it, once, and only if it is another one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.chaos.worker import unruly

from .pool import Pool, PoolWorker, a_pool, steady

if TYPE_CHECKING:
    from connect.kafka.broker.embedded import Broker


@pytest.fixture
def asked(two: Pool) -> PoolWorker:
    return two.followers()[0]


@pytest.fixture(scope="module")
def quiet(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """Two workers with nothing else to run: no task moves for the sake of balance, which starts it again as well."""
    with a_pool(broker.bootstrap_servers, tmp_path_factory.mktemp("quiet"), 2) as made:
        yield made


def lines(file: Path) -> list[str]:
    return sorted(file.read_text().splitlines()) if file.exists() else []


@pytest.mark.promise("P4")
@pytest.mark.parametrize(
    ("change", "mark"),
    [
        ({"mark": "new"}, "new"),
        # Tasks do not see this key in their own configuration, and depend on it all the same.
        ({"value.converter": "org.apache.kafka.connect.json.JsonConverter"}, "old"),
        ({"producer.override.client.id": "me"}, "old"),
    ],
    ids=["of the task's own", "of a converter", "of a client"],
)
def test_a_change_restarts_the_tasks_once(
    quiet: Pool, name: str, tmp_path: Path, change: dict[str, str], mark: str
) -> None:
    """And with the new task configurations: nobody starts a task with the old ones while they are being cut."""
    asked = quiet.followers()[0]
    starts = tmp_path / "starts"
    config = steady(tmp_path, 2, starts=str(starts), mark="old", **{"cut.seconds": "0.3"})
    asked.create(name, config)
    quiet.until(lambda: all(worker.runs(name, 2) for worker in quiet.workers), "it runs")
    expected = ["0 old", "1 old"]
    assert lines(starts) == expected
    config |= change
    asked.do("PUT", f"/connectors/{name}/config", config)
    expected += [f"0 {mark}", f"1 {mark}"]
    quiet.until(lambda: len(lines(starts)) >= len(expected), "the tasks are started again")
    # The same again restarts nothing. tasks.max is a part of every task's configuration here.
    asked.do("PUT", f"/connectors/{name}/config", config)
    asked.do("PUT", f"/connectors/{name}/config", config | {"tasks.max": "3"})
    expected += [f"{number} {mark}" for number in range(3)]
    quiet.until(lambda: all(worker.runs(name, 3) for worker in quiet.workers), "it has three tasks")
    quiet.until(lambda: len(lines(starts)) >= len(expected), "all are started with it")
    asked.do("DELETE", f"/connectors/{name}")
    quiet.until(lambda: not any(worker.states(name) for worker in quiet.workers), "it is gone")
    assert lines(starts) == sorted(expected)


def test_a_connector_may_not_have_more_tasks_than_it_is_allowed(
    two: Pool, asked: PoolWorker, name: str, tmp_path: Path
) -> None:
    """KIP-1004."""
    config = unruly(tmp_path, topic=name, tasks="3") | {"tasks.max": "2"}
    asked.create(name, config)
    two.until(lambda: all(worker.runs(name, 0, "FAILED") for worker in two.workers), "it fails")
    assert "tasks.max" in asked.get(f"/connectors/{name}/status")["connector"]["trace"]
    asked.do("PUT", f"/connectors/{name}/config", config | {"tasks.max.enforce": "false"})
    two.until(lambda: all(worker.runs(name, 3) for worker in two.workers), "it may")
    # From now on it may not any more: those that run go on, the connector says why it is at fault.
    asked.do("PUT", f"/connectors/{name}/config", config)
    two.until(lambda: all(worker.states(name)["connector"][0] == "FAILED" for worker in two.workers), "it fails")
    asked.do("PUT", f"/connectors/{name}/config", config | {"tasks.max": "3"})
    two.until(lambda: all(worker.runs(name, 3) for worker in two.workers), "it is allowed")
    asked.do("DELETE", f"/connectors/{name}")


def test_a_connector_that_cannot_cut_its_work_keeps_its_tasks(
    two: Pool, asked: PoolWorker, name: str, tmp_path: Path
) -> None:
    config = unruly(tmp_path, topic=name)
    asked.create(name, config)
    two.until(lambda: all(worker.runs(name, 1) for worker in two.workers), "it runs")
    asked.do("PUT", f"/connectors/{name}/config", config | {"fail.task_configs": "yes"})
    two.until(lambda: all(worker.states(name)["connector"][0] == "FAILED" for worker in two.workers), "it fails")
    assert "the work cannot be cut" in asked.get(f"/connectors/{name}/status")["connector"]["trace"]
    assert all(worker.states(name)["0"][0] == "RUNNING" for worker in two.workers)
    asked.do("PUT", f"/connectors/{name}/config", config)
    two.until(lambda: all(worker.runs(name, 1) for worker in two.workers), "it runs again")
    asked.do("DELETE", f"/connectors/{name}")


@pytest.mark.parametrize(
    "plug_in", ["FileStreamSource", "FileStreamSourceConnector", "org.apache.kafka.connect.file.*"]
)
def test_a_plug_in_goes_by_any_of_its_names(
    two: Pool, asked: PoolWorker, name: str, tmp_path: Path, plug_in: str
) -> None:
    plug_in = plug_in.replace("*", "FileStreamSourceConnector")
    converter = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}
    asked.create(name, {"connector.class": plug_in, "file": str(tmp_path / "in"), "topic": name, **converter})
    two.until(lambda: all(worker.runs(name, 1) for worker in two.workers), "it runs")
    asked.do("DELETE", f"/connectors/{name}")


@pytest.mark.parametrize("by", ["its name", "an override"])
def test_a_sink_may_not_consume_in_the_group_of_the_workers(
    two: Pool, asked: PoolWorker, name: str, tmp_path: Path, by: str
) -> None:
    """It would take part in what only workers understand. The group of a sink is connect- and its name."""
    sink = {"connector.class": "FileStreamSink", "file": str(tmp_path / "out"), "topics": name}
    if by == "its name":
        name = two.name.removeprefix("connect-")
        says = f"Consumer group for sink connector named {name} conflicts with Connect worker group {two.name}"
    else:
        sink["consumer.override.group.id"] = two.name
        says = f"Consumer group {two.name} conflicts with Connect worker group {two.name}"
    answer = asked.ask("POST", "/connectors", {"name": name, "config": sink})
    assert answer.status == 400, answer
    assert says in answer.body["message"]
    found = asked.ask("PUT", "/connector-plugins/FileStreamSink/config/validate", {"name": name, **sink})
    assert found.body["error_count"] == 1
