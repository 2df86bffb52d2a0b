"""`connect standalone` at a broker that asks for TLS and a password."""

from __future__ import annotations

import re
from datetime import datetime

import pytest

from tests.integration.group.secure_broker import SecureBroker
from tests.integration.standalone.conftest import Standalone
from tests.support.worker_process import WorkerProcess

#: From the task's start on: three refusals over three seconds, a question that has two, and a busy machine.
SOON_S = 15.0
WORDS = {
    "password": "refuse the login by PLAIN: .*Invalid username or password.* in sasl.jaas.config.",
    "authority": r"is not trusted: certificate verify failed.*\(ssl.truststore.location\)",
}


def settings(broker: SecureBroker, wrong: str | None) -> dict[str, str]:
    found = broker.settings("PLAIN", "alice", "not-it-51x" if wrong == "password" else "wonder")
    if wrong == "authority":
        del found["ssl.truststore.location"]
    return found


def said(running: WorkerProcess, about: str) -> list[tuple[datetime, str, str]]:
    """What the log says of one task: moment, level, words."""
    lines = [line.split(maxsplit=3) for line in running.log.splitlines() if f" {about} " in line]
    return [(datetime.fromisoformat(moment), level, words) for moment, level, _, words in lines]


@pytest.mark.promise("P8", "P9")
@pytest.mark.parametrize("wrong", WORDS)
@pytest.mark.parametrize("kind", ["source", "sink"])
def test_a_task_that_is_not_let_in_is_failed_in_seconds_with_one_line_that_names_the_key(
    standalone: Standalone, secure_broker: SecureBroker, topic: str, kind: str, wrong: str
) -> None:
    standalone.worker(settings(secure_broker, wrong))
    (standalone.folder / "in.txt").write_text("one\n")
    file = standalone.source(topic) if kind == "source" else standalone.sink(topic, "sink")
    running = standalone.start(file)
    running.until(lambda: any(level == "ERROR" for _, level, _ in said(running, f"{kind}-0")))
    assert running.stop() == 0
    lines = said(running, f"{kind}-0")
    assert [level for _, level, _ in lines if level != "INFO"] == ["ERROR"], "one line, and nothing before it"
    begun = next(moment for moment, _, words in lines if words == "running")
    failed, words = next((moment, words) for moment, level, words in lines if level == "ERROR")
    assert re.search(WORDS[wrong], words)
    assert (failed - begun).total_seconds() < SOON_S
    assert "not-it-51x" not in running.log


def test_who_is_let_in_moves_lines(standalone: Standalone, secure_broker: SecureBroker, topic: str) -> None:
    standalone.worker(settings(secure_broker, None))
    (standalone.folder / "in.txt").write_text("one\ntwo\n")
    running = standalone.start(standalone.source(topic), standalone.sink(topic, "sink"))
    out = standalone.folder / "out.txt"
    running.until(lambda: out.exists() and out.read_text() == "one\ntwo\n")
    assert running.stop() == 0
