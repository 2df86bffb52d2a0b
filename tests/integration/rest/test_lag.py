"""The lag of a running sink: OK while it keeps up, STALLED while its target takes nothing, OK again after."""

from pathlib import Path
from typing import Any

import pytest

from .test_metrics import page, value, write

#: A sink that takes nothing as long as a file is there.
BLOCKED = """
from pathlib import Path

from connect import RetriableError, SinkConnector, SinkTask, settings


class BlockedTask(SinkTask):
    def start(self, config):
        self.file = Path(config["blocked.by"])

    def put(self, batch):
        if len(batch) and self.file.exists():
            self.context.timeout(50)
            raise RetriableError("The target takes nothing.")


class Blocked(SinkConnector):
    task = BlockedTask
    settings = settings.define(settings.String("blocked.by"))
"""


@pytest.fixture
def blocked(workers: Any, topic: str) -> tuple[Any, Path]:
    """A worker with such a sink, and the file."""
    plugins = workers.folder / "plugins"
    plugins.mkdir()
    (plugins / "blocked.py").write_text(BLOCKED)
    worker = workers.start(
        plugin__path=str(plugins),
        metrics__lag__interval__ms="200",
        metrics__lag__samples="4",
        offset__flush__interval__ms="200",
    )
    file = worker.folder / "block"
    worker.ask(
        "PUT",
        f"/connectors/{topic}/config",
        {"connector.class": "blocked.Blocked", "topics": topic, "blocked.by": str(file)},
    )
    worker.until_state(topic, "RUNNING")
    return worker, file


def test_a_sink_that_is_blocked_is_stalled_and_is_well_when_it_goes_on(blocked, topic: str) -> None:
    worker, file = blocked
    path = f"/connectors/{topic}/lag"
    write(worker, topic, [b"a"] * 20)
    worker.until(lambda: [one["current_offset"] for one in worker.get(path)["partitions"]] == [20])
    lag = worker.get(path)
    assert (lag["status"], lag["lag"], lag["waiting_ms"]) == ("OK", 0, None)
    assert lag["group"] == f"connect-{topic}"
    file.touch()
    write(worker, topic, [b"b"] * 5)
    worker.until(lambda: worker.get(path)["status"] == "STALLED")
    lag = worker.get(path)
    (partition,) = lag["partitions"]
    assert (partition["current_offset"], partition["end_offset"], partition["lag"]) == (20, 25, 5)
    assert 0 <= partition["waiting_ms"] < 60_000
    place = {"connector": topic, "topic": topic, "partition": "0"}
    worker.until(lambda: value(page(worker), "connect_sink_lag_status", **place) == 2)
    assert value(page(worker), "connect_sink_lag_records", **place) == 5
    assert value(page(worker), "connect_sink_lag_total_records", connector=topic) == 5
    file.unlink()
    worker.until(lambda: worker.get(path)["status"] == "OK" and worker.get(path)["lag"] == 0)
    worker.until(lambda: value(page(worker), "connect_sink_lag_status", **place) == 0)


def test_a_sink_that_a_user_has_paused_is_not_stalled(blocked, topic: str) -> None:
    worker, _ = blocked
    path = f"/connectors/{topic}/lag"
    assert worker.ask("PUT", f"/connectors/{topic}/pause")[0] == 202
    worker.until_state(topic, "PAUSED")
    write(worker, topic, [b"a"] * 20)
    worker.until(lambda: all(one["looks"] == 4 for one in worker.get(path)["partitions"]))
    lag = worker.get(path)
    assert (lag["status"], lag["lag"]) == ("OK", 20)


def test_only_sinks_have_a_lag(workers, topic: str) -> None:
    worker = workers.start()
    (worker.folder / "in.txt").write_text("a\n")
    config = {"connector.class": "FileStreamSource", "file": str(worker.folder / "in.txt"), "topic": topic}
    worker.ask("PUT", "/connectors/in/config", config)
    status, body = worker.ask("GET", "/connectors/in/lag")
    assert (status, body["message"]) == (400, "Connector in is a source connector, and only sinks have a lag.")
    assert worker.ask("GET", "/connectors/none/lag")[0] == 404
