"""The connector in the README is complete, and runs as the README says."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def code(standalone, topic):
    """The code of the connector. Its settings, and the worker's, are written."""
    _, _, rest = README.partition("<!-- ten-line connector -->\n")
    found, settings = re.findall(r"```(?:python|properties)\n(.*?)```", rest, re.DOTALL)[:2]
    (standalone.folder / "clock.properties").write_text(settings.replace("topic=time", f"topic={topic}"))
    standalone.worker({"plugin.path": "."})
    return found


@pytest.mark.quick
def test_the_ten_line_connector_runs(standalone, topic, code):
    assert len([line for line in code.splitlines() if line.strip()]) == 10
    (standalone.folder / "clock.py").write_text(code)
    out = standalone.folder / "out.txt"
    running = standalone.start("clock.properties", standalone.sink(topic, f"{topic}-sink"))
    running.until(lambda: out.exists() and out.read_text().count("\n") >= 2)
    assert re.fullmatch(r"(\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\n)+", out.read_text())
    assert running.stop() == 0


def test_a_mistake_in_it_is_logged_with_its_line(standalone, code):
    (standalone.folder / "clock.py").write_text(code.replace('config["topic"]', 'confg["topic"]'))
    running = standalone.start("clock.properties")
    running.until(lambda: "clock-0  NameError: name 'confg' is not defined" in running.log)
    assert re.search(r'clock.py", line 7, in start\n +self.topic = confg\["topic"\]\n', running.log)
    assert running.stop() == 0
