"""Each alert of config/operations fires when it should: `promtool test rules` runs alerts_test.yaml.

That file is itself tested: it has to notice whatever is changed about a rule.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.servers.programs import ProgramUnavailable, go_program
from tests.support.monitoring import OPERATIONS, RULES

# The first run builds promtool, for minutes.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400)]

ALERTS = OPERATIONS / "prometheus" / "alerts.yaml"
TESTS = Path(__file__).with_name("alerts_test.yaml")


@pytest.fixture(scope="module")
def promtool() -> Path:
    try:
        return go_program("github.com/prometheus/prometheus/cmd/promtool", "v0.316.0", tags="remove_all_sd")
    except ProgramUnavailable as error:
        pytest.skip(f"promtool cannot be had: {' '.join(str(error).split())}")


def outcome(promtool: Path, rules: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What promtool says of the tests with these rules."""
    (folder / "alerts.yaml").write_text(rules, encoding="utf-8")
    (folder / TESTS.name).write_text(TESTS.read_text(encoding="utf-8"), encoding="utf-8")
    command: list[str | Path] = [promtool, "test", "rules", "--diff", folder / TESTS.name]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_alerts_fire_when_they_should(promtool: Path, tmp_path: Path) -> None:
    done = outcome(promtool, ALERTS.read_text(encoding="utf-8"), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def changes(rule: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """A rule, wrong in one way after the other."""
    expression, minutes = rule["expr"], int(rule["for"].removesuffix("m"))
    yield "it never fires", {"expr": f"({expression}) and vector(0) > 1"}
    yield "it fires at once", {"for": "0s"}
    yield "it fires three times as late", {"for": f"{3 * minutes}m"}
    yield "it is less severe", {"labels": {"severity": "info"}}
    matchers = re.compile(r"\{[^}]*\}")
    if matchers.search(expression):
        yield "it looks at all labels", {"expr": matchers.sub("", expression)}
    limit = re.compile(r"(> )(\d+(\.\d+)?)$")
    if (found := limit.search(expression)) and float(found[2]):
        for factor in (4, 0.25):
            yield f"its limit times {factor}", {"expr": limit.sub(rf"\g<1>{float(found[2]) * factor:g}", expression)}


WRONG = {f"{name}: {what}": (name, change) for name, rule in RULES.items() for what, change in changes(rule)}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_changed_rule_is_noticed(wrong: str, promtool: Path, tmp_path: Path) -> None:
    name, change = WRONG[wrong]
    rules = deepcopy(yaml.safe_load(ALERTS.read_text(encoding="utf-8")))
    for group in rules["groups"]:
        group["rules"] = [{**rule, **change} if rule["alert"] == name else rule for rule in group["rules"]]
    done = outcome(promtool, yaml.safe_dump(rules), tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert name in done.stdout + done.stderr
