"""The REST API, answer by answer, field by field, beside Apache Kafka Connect's own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from connect.kafka.broker import Broker

from .conversation import CONVERSATION
from .deliberate import Difference, deliberate
from .parties import java_command, our_command, party
from .talk import Answer, differences

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.mark.parametrize("mode", ["standalone", "distributed"])
def test_answers_are_those_of_java_but_for_what_is_listed(
    mode: str, broker: Broker, tmp_path: Path, cannot_have: Callable[[str, object], NoReturn]
) -> None:
    answers: dict[str, dict[str, Answer]] = {}
    for side, command, extra in (
        ("java", java_command(mode, cannot_have), {}),
        ("ours", our_command(mode), {"rest.mask.secrets": "false"}),
    ):
        with party(side, mode, command, tmp_path / side, broker.bootstrap_servers, extra) as worker:
            answers[side] = worker.talk(CONVERSATION)
    known = deliberate(mode)
    used: set[Difference] = set()
    unforeseen = []
    for name, theirs in answers["java"].items():
        for place, mine, other in differences(by_name(answers["ours"][name]), by_name(theirs)):
            found = next((one for one in known if one.covers(name, place, mine, other)), None)
            if found is None:
                unforeseen.append(f"{name}: {place}: ours {mine!r}, Java {other!r}")
            else:
                used.add(found)
    assert not unforeseen, "\n" + "\n".join(unforeseen)
    assert [one.reason for one in known if one not in used] == [], "these differences are gone"


def by_name(answer: Answer) -> Answer:
    """An answer whose lists of keys and plug-ins are maps, because their order says nothing."""
    return Answer(answer.status, answer.location, _by_name(answer.body))


def _by_name(body: Any) -> Any:
    if isinstance(body, dict):
        return {key: _by_name(value) for key, value in body.items()}
    if not isinstance(body, list) or not body or not all(isinstance(item, dict) for item in body):
        return body
    if all("class" in item and "type" in item for item in body):
        return {f"{item['type']} {item['class']}": item for item in body}
    if all("value" in item and "definition" in item for item in body):
        return {item["value"]["name"]: _by_name(item) for item in body}
    if all("display_name" in item for item in body):
        return {item["name"]: item for item in body}
    return body
