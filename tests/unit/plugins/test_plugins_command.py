import json
from pathlib import Path

import pytest

from connect.cli import main


def test_the_list_shows_what_there_is_by_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins", "list"]) == 0
    out = capsys.readouterr().out
    assert "\n  FileStreamSource " in out
    assert "header converter\n  " in out
    assert "Simple  " in out


def test_the_list_for_programs_is_json_with_the_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "orders.py").write_text("import connect\nclass Orders(connect.SinkConnector): ...\n")
    assert main(["plugins", "list", "--json", "--plugin-path", str(tmp_path)]) == 0
    found = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert found["orders.Orders"]["folder"] == str(tmp_path)
    assert found["orders.Orders"]["kind"] == "sink"


def test_a_folder_that_is_not_there_is_an_invalid_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins", "list", "--plugin-path", "/not/there"]) == 2
    assert "/not/there: there is no such folder" in capsys.readouterr().err


def test_a_module_that_is_no_python_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "orders.py").write_text("import connect\nclass Orders(connect.SinkConnector)\n    pass\n")
    assert main(["plugins", "list", "--plugin-path", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "Orders" not in said.out
    assert said.err == f"warning: could not read {tmp_path}/orders.py:2: expected ':'\n"
