"""`connect distributed` before it is in its group: what is wrong with its file, and brokers that are not there yet."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from connect.ports import free_port
from tests.servers.broker import a_broker

from .pool import PATIENCE, Pool, PoolWorker, steady


def started(pool: Pool, folder: Path, **changes: str) -> PoolWorker:
    """A worker that nobody waits for."""
    worker = PoolWorker(folder, pool.settings | {key.replace("_", "."): value for key, value in changes.items()})
    pool.workers.append(worker)
    worker.start()
    return worker


def test_what_is_wrong_is_told_at_once_with_its_line_before_any_broker_is_asked(
    pool_at: Callable[[str], Pool], tmp_path: Path
) -> None:
    worker = started(
        pool_at("127.0.0.1:1"),
        tmp_path,
        value_converter="NoSuchConverter",
        offset_storage_topic="shared",
        status_storage_topic="shared",
        config_history_topic="shared",
        config_storage_topic="not legal",
        connect_protocol="eager",
        worker_unsync_backoff_ms="1000",
        security_protocol="SSL",
        ssl_truststore_type="PEM",
        ssl_truststore_location=str(tmp_path / "absent.pem"),
    )
    assert worker.process.wait(PATIENCE) == 2
    *told, last = worker.log.splitlines()
    assert last == "connect: 6 errors; nothing was started."
    for key, why in (
        ("value.converter", 'There is no converter "NoSuchConverter"'),
        ("status.storage.topic", '"shared" is the topic of offset.storage.topic already'),
        ("config.history.topic", '"shared" is the topic of offset.storage.topic already'),
        ("config.storage.topic", '"not legal" cannot be the name of a topic'),
        ("worker.unsync.backoff.ms", "is not available with connect.protocol=eager"),
        ("ssl.truststore.location", "No such file or directory"),
    ):
        (line,) = (line for line in told if f'key "{key}": ' in line)
        assert line.startswith(f"{worker.port}.properties:") or f"/{worker.port}.properties:" in line
        assert why in line


@pytest.mark.promise("P9")
def test_brokers_that_start_later_are_waited_for_and_said_once(pool_at: Callable[[str], Pool], tmp_path: Path) -> None:
    port = free_port()
    pool = pool_at(f"127.0.0.1:{port}")
    worker = started(pool, tmp_path)
    worker.until(lambda: "REST API at" in worker.log)
    assert [worker.ask("GET", f"/health{path}").status for path in ("/live", "", "/ready")] == [200, 503, 503]
    assert "No broker answers" in worker.ask("GET", "/health/ready").body["message"]
    assert worker.ask("GET", "/connectors").body == {"error_code": 503, "message": "Worker is still starting up."}
    with a_broker(tmp_path / "broker", port=port):
        pool.until(worker.ready, "it is in its group")
        assert worker.stop() == 0
    assert len(re.findall(r"No broker answers at .* Trying again", worker.log)) == 1


def test_one_that_waits_ends_when_it_is_told_to(pool_at: Callable[[str], Pool], tmp_path: Path) -> None:
    worker = started(pool_at("127.0.0.1:1"), tmp_path)
    worker.until(lambda: "No broker answers" in worker.log)
    worker.signal(signal.SIGTERM)
    assert worker.process.wait(PATIENCE) == 0


def test_a_worker_whose_file_has_blanks_at_the_ends_of_lines_is_in_the_same_group(pool: Pool, tmp_path: Path) -> None:
    """A properties file keeps them. In a group of its own the worker would run all that the others run, too."""
    (first,) = pool.start(1)
    first.create("steady", steady(tmp_path, 4))
    pool.until(lambda: pool.shared(1, 4), "it runs")
    pool.settings = {key: f"{value} \t" for key, value in pool.settings.items()}
    (second,) = pool.start(1)
    members = {first.id, second.id}
    pool.until(lambda: set(second.get("/cluster/rebalances")["rebalances"][0]["members"] or ()) == members, "one group")
    pool.until(lambda: pool.shared(1, 4), "both share it")
