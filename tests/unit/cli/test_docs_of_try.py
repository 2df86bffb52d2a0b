"""What docs/try.md shows is what the commands say of the files that it shows."""

import re
import shlex
from pathlib import Path

import pytest

from connect.cli import main

PAGE = (Path(__file__).parents[3] / "docs" / "try.md").read_text(encoding="utf-8")
FILES = re.findall(r"<!-- file: (\S+) -->\n```\w*\n(.*?)```", PAGE, re.DOTALL)
SHOWN = re.findall(r"<!-- shown: connect (.*?) -->\n```\n\$ [^\n]*\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command.split()[0] for command, _ in SHOWN])
def test_the_page_shows_what_is_said(tmp_path, monkeypatch, capsys, command, output):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES:
        (tmp_path / name).write_text(content)
    assert main(shlex.split(command)) == 0
    assert re.sub(r"(\d passed) in [0-9.]+ s", r"\1", capsys.readouterr().out) == output


def test_there_is_something_to_show():
    assert [name for name, _ in FILES] == ["orders.json", "orders.test.yaml"]
    assert [command.split()[0] for command, _ in SHOWN] == ["try", "test"]
