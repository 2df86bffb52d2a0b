"""What who restarts a connector or a task that cannot start is told, beside what Apache Kafka Connect's worker says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from connect.kafka.broker.embedded import Broker
from tests.integration.distributed.pool import PLUGINS
from tests.support.java import JavaProgram
from tests.support.worker_process import our_command

from .conversation import Ask, state
from .parties import java_command, party
from .talk import Answer, Party

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

RESTART = Ask("restart", "POST", "/connectors/a/restart")
RESTART_TASK = Ask("restart a task", "POST", "/connectors/a/tasks/0/restart")
RESTART_ALL = Ask("restart all", "POST", "/connectors/a/restart?includeTasks=true")
FILES = {
    "config.providers": "file",
    "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
}


def conversation(worker: Party, connector: str) -> list[Answer]:
    """The answers to restarts of a connector that runs, cannot start, and runs again; then for want of a variable."""
    variable = "${file:{folder}/words.properties:word}"
    config = {"connector.class": connector, "folder": "{folder}", "tasks.max": "1", "word": variable}
    fault, words = worker.folder / "fail-connector", worker.folder / "words.properties"
    words.write_text("word=x\n")
    assert worker.ask(Ask("create", "PUT", "/connectors/a/config", config)).status == 201
    worker.talk(state("a", "RUNNING", tasks=1))
    answers = [worker.ask(RESTART)]
    worker.talk(state("a", "RUNNING", tasks=1))
    fault.touch()
    answers.append(worker.ask(RESTART))
    worker.talk(state("a", "FAILED"))
    answers.append(worker.ask(RESTART))
    answers.append(worker.ask(RESTART_ALL))
    worker.talk(state("a", "FAILED"))
    fault.unlink()
    answers.append(worker.ask(RESTART))
    worker.talk(state("a", "RUNNING", tasks=1))
    answers.append(worker.ask(RESTART_TASK))
    worker.talk(state("a", "RUNNING", tasks=1))
    words.unlink()
    answers.append(worker.ask(RESTART_TASK))
    answers.append(worker.ask(RESTART))
    return answers


@pytest.mark.parametrize("mode", ["standalone", "distributed"])
def test_a_restart_that_fails_is_told_as_in_java(
    broker: Broker,
    tmp_path: Path,
    java_program: Callable[..., JavaProgram],
    cannot_have: Callable[[str, object], NoReturn],
    mode: str,
) -> None:
    plugin = java_program(Path(__file__).with_name("Obedient.java"), jars=["kafka-connect"]).classes
    services = plugin / "META-INF" / "services"
    services.mkdir(parents=True)
    (services / "org.apache.kafka.connect.source.SourceConnector").write_text("Obedient\n")
    java = java_command(mode, cannot_have)
    path = java.index("-cp") + 1
    java[path] = f"{java[path]}:{plugin}"
    found: dict[str, list[Any]] = {}
    for side, command, connector, extra in (
        ("java", java, "Obedient", {"plugin.discovery": "service_load"}),
        ("ours", our_command(mode), "steady.SteadySource", {"plugin.path": str(PLUGINS)}),
    ):
        with party(side, mode, command, tmp_path / side, broker.bootstrap_servers, {**extra, **FILES}) as worker:
            found[side] = conversation(worker, connector)
    assert [answer.status for answer in found["ours"]] == [answer.status for answer in found["java"]]
    assert [answer.status for answer in found["java"]] == [204, 500, 500, 202, 204, 204, 500, 500]
    for ours, theirs in zip(found["ours"][1:3], found["java"][1:3], strict=True):
        assert ours.body["error_code"] == theirs.body["error_code"]
        # Ours says why; so does theirs, in the connector's status alone.
        words = (
            "Failed to start connector: a"
            if mode == "distributed"
            else "Failed to transition connector a to state STARTED"
        )
        assert theirs.body["message"] == words
        assert ours.body["message"] == "Failed to start connector: a. told to fail by fail-connector"
    for answer, what in zip(found["ours"][-2:], ("task: a-0", "connector: a"), strict=True):
        assert answer.body["message"].startswith(f"Failed to start {what}. ")
        assert "words.properties" in answer.body["message"]
