"""The REST API about a connector of Java: the same jar in a worker of ours and in Apache Kafka Connect's own."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from connect.jvm.jars import JarsUnavailable, classpath
from connect.kafka.broker.embedded import Broker
from tests.support.worker_process import our_command

from .conversation import LIFE, OFFSETS, PLUGINS, SINKS, STATES, THE_END, TOPICS, Ask, Step
from .deliberate import Difference, deliberate
from .parties import java_command, party
from .talk import MISSING, Answer, by_name, differences

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

#: What is ours alone about our own file connectors must not show here.
OURS = (
    "Our file connectors have more settings, in groups; forms show them",
    "Our file source finds a file again that was renamed",
)


def in_java(steps: list[Step]) -> Iterator[Step]:
    """The same with the connectors of Java: Kafka Connect's own worker takes no notice of the further key."""
    for step in steps:
        yield replace(step, body=_in_java(step.body)) if isinstance(step, Ask) else step


def _in_java(body: Any) -> Any:
    if not isinstance(body, dict):
        return body
    if isinstance(body.get("config"), dict):
        return {**body, "config": _in_java(body["config"])}
    return {**body, "connector.language": "java"} if "connector.class" in body else body


#: Beside those of every connector.
MORE = [
    Difference("Said in our words", "patch a needed one away", r"body\.message"),
    Difference("Our groups of keys stand between Kafka Connect's", "validate .*", r"body\.groups\[\d+\]"),
    Difference(
        "A jar that was never loaded here has told no version",
        "status of one that was created stopped",
        r"body\.connector\.version",
        lambda ours, theirs: ours is MISSING,
    ),
]
VALIDATIONS = [step for step in PLUGINS if isinstance(step, Ask) and step.name.startswith("validate ")]
CONVERSATION = [*in_java([*LIFE, *OFFSETS, *SINKS, *STATES, *TOPICS, *VALIDATIONS]), *THE_END]


@pytest.fixture
def plugin_path(tmp_path: Path, cannot_have: Callable[[str, object], NoReturn]) -> Path:
    """Kafka Connect's file connectors, as a plug-in."""
    folder = tmp_path / "plugins" / "file"
    folder.mkdir(parents=True)
    try:
        jars = classpath("kafka-connect").split(":")
    except JarsUnavailable as error:
        cannot_have("Kafka Connect", error)
    (jar,) = (jar for jar in jars if Path(jar).name.startswith("connect-file"))
    shutil.copy(jar, folder)
    return folder.parent


@pytest.mark.parametrize("mode", ["standalone", "distributed"])
def test_answers_about_a_connector_of_java_are_those_of_java(
    mode: str, broker: Broker, tmp_path: Path, plugin_path: Path, cannot_have: Callable[[str, object], NoReturn]
) -> None:
    answers: dict[str, dict[str, Answer]] = {}
    ours = {"rest.mask.secrets": "false", "plugin.path": str(plugin_path)}
    for side, command, extra in (("java", java_command(mode, cannot_have), {}), ("ours", our_command(mode), ours)):
        with party(side, mode, command, tmp_path / side, broker.bootstrap_servers, extra) as worker:
            answers[side] = worker.talk(CONVERSATION)
    known = [one for one in deliberate(mode) if one.reason not in OURS]
    unforeseen = []
    for name, theirs in answers["java"].items():
        for place, mine, other in differences(by_name(answers["ours"][name]), by_name(theirs)):
            if not any(one.covers(name, place, mine, other) for one in [*known, *MORE]):
                unforeseen.append(f"{name}: {place}: ours {mine!r}, Java {other!r}")
        if name.startswith("validate ") and isinstance(theirs.body, dict) and "groups" in theirs.body:
            assert set(theirs.body["groups"]) <= set(answers["ours"][name].body["groups"]), name
    assert not unforeseen, "\n" + "\n".join(unforeseen)
