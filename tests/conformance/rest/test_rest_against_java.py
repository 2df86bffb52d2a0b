"""The REST API, answer by answer, field by field, beside Apache Kafka Connect's own."""

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from connect.kafka.broker.embedded import Broker
from tests.support.worker_process import our_command

from .conversation import CONVERSATION
from .deliberate import Difference, deliberate
from .parties import java_command, party
from .talk import Answer, by_name, differences

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
