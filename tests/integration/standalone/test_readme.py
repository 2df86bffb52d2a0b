"""The connector in the README is complete, and runs as the README says."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")


@pytest.mark.quick
def test_the_ten_line_connector_runs(standalone, topic):
    _, _, rest = README.partition("<!-- ten-line connector -->\n")
    code, settings = re.findall(r"```(?:python|properties)\n(.*?)```", rest, re.DOTALL)[:2]
    assert len([line for line in code.splitlines() if line.strip()]) == 10
    (standalone.folder / "clock.py").write_text(code)
    (standalone.folder / "clock.properties").write_text(settings.replace("topic=time", f"topic={topic}"))
    standalone.worker({"plugin.path": "."})
    out = standalone.folder / "out.txt"
    running = standalone.start("clock.properties", standalone.sink(topic, f"{topic}-sink"))
    running.until(lambda: out.exists() and out.read_text().count("\n") >= 2)
    assert re.fullmatch(r"(\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\n)+", out.read_text())
    assert running.stop() == 0
