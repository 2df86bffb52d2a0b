"""What failed comes back by itself in standalone mode, and who stands still is shown."""

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from rest.models.connectors import Restarts, TaskStateInfo

from .conftest import Herd

FRAIL = str(Path(__file__).parents[1] / "distributed" / "plugins")
POLICY = {"restart__policy": "on", "restart__policy__initial__delay__ms": "400", "plugin__path": FRAIL}


#: How old a record may be that a topic takes. With 0 it is as if this machine's clock were behind.
AGE = "message.timestamp.before.max.ms"


def set_for(broker, topic: str, key: str, value: str) -> None:
    """Change the configuration of a topic."""
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.incremental_alter_configs([resource])[resource].result(30)


def starts(folder: Path, number: int | str = 0) -> int:
    return len((folder / f"starts-{number}").read_text().splitlines())


@pytest.mark.promise("P9")
def test_a_task_comes_back_and_its_connector_is_left_alone(herd: Callable[..., Herd], tmp_path: Path) -> None:
    one = herd(**POLICY)
    one.run("frail", connector__class="frail.FrailSource", folder=str(tmp_path))
    one.await_state("frail", "RUNNING")
    (tmp_path / "fault-0").write_text("crash")
    assert "SIGKILL" in one.await_state("frail", "FAILED")
    said = Restarts.of(one.herder.status("frail")).tasks[0]
    assert (said.state, said.error) == ("FAILED", "crash")
    assert said.next_restart_ms is not None
    (tmp_path / "fault-0").unlink()
    one.await_state("frail", "RUNNING")
    assert (starts(tmp_path), starts(tmp_path, "connector")) == (2, 1)


@pytest.mark.promise("P1", "P9")
def test_a_source_goes_on_when_the_clock_is_right_again(
    herd: Callable[..., Herd], new_topic: Callable[..., str], read: Callable[..., list], broker, tmp_path: Path
) -> None:
    topic = new_topic(config={AGE: "0"})
    lines = tmp_path / "lines"
    lines.write_text("one\ntwo\n")
    one = herd(restart__policy="on", restart__policy__initial__delay__ms="400")
    source = {"connector__class": "FileStreamSource", "file": str(lines), "errors__tolerance": "all"}
    one.run("lines", topic=topic, **source)
    assert "clock" in one.await_state("lines", "FAILED")
    assert Restarts.of(one.herder.status("lines")).tasks[0].error == "passing"
    set_for(broker, topic, AGE, "3600000")
    assert [message.value() for message in read(broker.bootstrap_servers, topic, 2)] == [b"one", b"two"]
    one.await_state("lines", "RUNNING")


def test_a_connector_comes_back_with_its_tasks(herd: Callable[..., Herd], tmp_path: Path) -> None:
    one = herd(**POLICY)
    (tmp_path / "fault-connector").write_text("fire")
    one.run("frail", connector__class="frail.FrailSource", folder=str(tmp_path))
    one.await_connector("frail", "FAILED")
    (tmp_path / "fault-connector").unlink()
    one.await_connector("frail", "RUNNING")
    one.await_state("frail", "RUNNING")


@pytest.mark.parametrize("how", ["pause", "stop_connector", "delete_connector"])
def test_what_a_user_does_calls_it_off(herd: Callable[..., Herd], tmp_path: Path, how: str) -> None:
    one = herd(**POLICY)
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        one.run(name, connector__class="frail.FrailSource", folder=str(tmp_path / name))
        one.await_state(name, "RUNNING")
    for name in ("first", "second"):
        (tmp_path / name / "fault-0").write_text("crash")
        one.await_state(name, "FAILED")
        (tmp_path / name / "fault-0").unlink()
        if name == "first":
            getattr(one.herder, how)(name).result(30)
    one.await_state("second", "RUNNING")  # which failed later
    assert starts(tmp_path / "first") == 1
    assert not any(status.restart for status in one.herder.worker.statuses.tasks("first"))


def test_a_wrong_configuration_stays_failed(herd: Callable[..., Herd], tmp_path: Path) -> None:
    one = herd(**POLICY)
    (tmp_path / "fault-0").write_text("config")
    one.run("frail", connector__class="frail.FrailSource", folder=str(tmp_path))
    one.await_state("frail", "FAILED")
    said = Restarts.of(one.herder.status("frail")).tasks[0]
    assert (said.error, said.next_restart_ms) == ("configuration", None)


@pytest.mark.promise("P9")
def test_a_sink_that_hangs_is_shown_and_recovers(
    herd: Callable[..., Herd], write: Callable[..., None], broker: object, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic = new_topic()
    one = herd(**POLICY, task__stalled__after__ms="1000")
    (tmp_path / "fault-0").write_text("block")
    one.run("frail", connector__class="frail.FrailSink", folder=str(tmp_path), topics=topic)
    one.await_state("frail", "RUNNING")
    write(broker, topic, [b"one"])
    one.until(one.herder.worker.tasks.stalled)
    shown = TaskStateInfo.of(one.task("frail"), stalled=True)
    assert shown.state == "STALLED"
    assert "FrailSinkTask.put has not returned" in (shown.trace or "")
    (tmp_path / "fault-0").unlink()
    one.until(lambda: not one.herder.worker.tasks.stalled())
    assert TaskStateInfo.of(one.task("frail"), stalled=True).state == "RUNNING"
    one.await_lines(tmp_path / "out", ["one"])
