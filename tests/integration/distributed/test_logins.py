"""`connect distributed` at a broker that asks for TLS and a password."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.group.secure_broker import SecureBroker
from tests.integration.standalone.test_logins import SOON_S, WORDS, settings

from .pool import PATIENCE, Pool, PoolWorker

#: For Python to start on a busy machine.
START_S = 10.0


@pytest.fixture
def secure_pool(secure_broker: SecureBroker, pool_at: Callable[[str], Pool]) -> Pool:
    """Without workers."""
    pool = pool_at(secure_broker.bootstrap_servers)
    pool.settings |= settings(secure_broker, None)
    return pool


@pytest.mark.promise("P8", "P9")
@pytest.mark.parametrize("wrong", WORDS)
def test_a_worker_that_is_not_let_in_ends_in_seconds_with_one_line_that_names_the_key(
    secure_pool: Pool, secure_broker: SecureBroker, tmp_path: Path, wrong: str
) -> None:
    for key in ("sasl.jaas.config", "ssl.truststore.location"):
        del secure_pool.settings[key]
    worker = PoolWorker(tmp_path, secure_pool.settings | settings(secure_broker, wrong))
    secure_pool.workers.append(worker)
    began = time.monotonic()
    process = worker.start().process
    assert process is not None
    assert process.wait(PATIENCE) == 3
    assert time.monotonic() - began < START_S + SOON_S
    (line,) = worker.log.splitlines()
    assert re.search(WORDS[wrong], line)
    assert f"{worker.port}.properties" in line
    assert "not-it-51x" not in line


@pytest.mark.promise("P8", "P9")
def test_a_login_of_a_connectors_own_that_is_refused_fails_its_tasks_and_nobody_elses(
    secure_pool: Pool, secure_broker: SecureBroker, tmp_path: Path
) -> None:
    (worker,) = secure_pool.start(1)
    (tmp_path / "in.txt").write_text("one\n")
    source = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in.txt"), "topic": "logins"}
    own = {f"producer.override.{key}": value for key, value in settings(secure_broker, "password").items()}
    worker.create("good", source)
    worker.create("wrong", {**source, **own})
    secure_pool.until(lambda: worker.states("wrong").get("0", ("",))[0] == "FAILED", "it is FAILED")
    (task,) = worker.get("/connectors/wrong/status")["tasks"]
    assert "user and password in producer.override.sasl.jaas.config" in task["trace"]
    assert "not-it-51x" not in task["trace"] + worker.log
    assert worker.runs("good", 1)
