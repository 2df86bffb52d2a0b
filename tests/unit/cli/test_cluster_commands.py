"""The commands for a running cluster where a real worker seldom takes them: refusals, outages, terminals."""

import io
import json
import os
import pty
import signal
import subprocess
import sys

import pytest

from connect.cli import _main, main
from connect.cli._connectors import agree
from connect.cli._statuses import reason
from connect.cli._table import shows_colours, table
from connect.cli.list import _tasks

CLIENTS = list(_main.COMMANDS)[list(_main.COMMANDS).index("list") :]
COMMAND = [sys.executable, "-m", "connect.cli"]


def status(name, state="RUNNING", *tasks, **more):
    parts = [{"id": n, "state": task, "worker_id": "w:1", **more} for n, task in enumerate(tasks)]
    return {"name": name, "connector": {"state": state, "worker_id": "w:1"}, "tasks": parts, "type": "source"}


@pytest.fixture
def file(tmp_path):
    """Writes a connector file and gives its path."""

    def write(name, **config):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"name": name, "connector.class": "Lines", **config}))
        return str(path)

    return write


@pytest.fixture
def valid(server):
    """The server takes every configuration for valid; `pin` is declared as a secret."""
    pin = {"definition": {"name": "pin", "type": "PASSWORD"}, "value": {"name": "pin", "errors": []}}
    server.answers["PUT /connector-plugins/Lines/config/validate"] = (200, {"error_count": 0, "configs": [pin]})
    return server


@pytest.mark.parametrize("name", CLIENTS)
def test_help_teaches_with_examples(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert f"  connect {name}" in shown or f"$(connect {name}" in shown
    assert "examples:" in shown


def test_no_client_command_imports_the_runtime():
    code = (
        "import sys\nfrom connect.cli._main import parser_for\n"
        f"for name in {CLIENTS!r}: parser_for([name])\n"
        "heavy = {'confluent_kafka', 'kafka', 'pyarrow', 'fastapi', 'connect.kafka', 'connect.herder'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_one_file_that_is_refused_late_does_not_keep_the_others(valid, file, capsys):
    valid.answers["PUT /connectors/a/config"] = (500, {"message": "No."})
    valid.answers["PUT /connectors/b/config"] = (201, {})
    assert main(["apply", "-f", file("a"), "-f", file("b"), "--yes"]) == 1
    shown = capsys.readouterr()
    assert shown.err == f"connect: a: No. (500 from {valid.url})\n"
    assert shown.out.endswith("b created\n")


def test_apply_tells_programs_what_it_does(valid, file, capsys):
    valid.answers["GET /connectors/a/config"] = (200, {"name": "a", "connector.class": "Lines", "pin": "hunter22"})
    assert main(["apply", "-f", file("a", pin="hunter33", x="1"), file("b"), "--dry-run", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert first.pop("file").endswith("a.json")
    assert first == {
        "name": "a",
        "action": "update",
        "changes": [
            {"key": "pin", "before": "[hidden]", "after": "[hidden]", "unsure": False},
            {"key": "x", "before": None, "after": "1", "unsure": False},
        ],
    }
    assert (second["name"], second["action"]) == ("b", "create")


def test_a_secret_in_clear_text_in_yaml_is_warned_of_and_not_shown(valid, tmp_path, capsys):
    path = tmp_path / "a.yaml"
    path.write_text("name: a\nconfig:\n  connector.class: Lines\n  pin: hunter22\n")
    assert main(["plan", str(path)]) == 0
    said = capsys.readouterr()
    assert f'{path}:4: connector "a", key "pin": [hidden] is a secret in clear text' in said.err
    assert "hunter22" not in said.err + said.out
    text = path.read_text()
    for harmless in ("${file:/etc/connect/secrets:pin}", '""'):
        path.write_text(text.replace("hunter22", harmless))
        assert main(["plan", str(path)]) == 0
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize("command", [["plan"], ["validate", "-f"]])
def test_an_undeclared_key_whose_name_says_that_it_is_secret_is_warned_of_in_yaml(command, valid, tmp_path, capsys):
    path = tmp_path / "a.yaml"
    path.write_text(
        "name: a\nconfig:\n  connector.class: Lines\n  warehouse.password: hunter22\n  my.token: hunter33\n"
        "  consumer.override.sasl.jaas.config: x.PlainLoginModule required password=hunter44;\n"
        "  value.converter.basic.auth.credentials.source: USER_INFO\n  tokens.max: '5'\n"
    )
    assert main([*command, str(path)]) == 0
    said = capsys.readouterr()
    for line, key in ((4, "warehouse.password"), (5, "my.token"), (6, "consumer.override.sasl.jaas.config")):
        assert f'{path}:{line}: connector "a", key "{key}": ' in said.err
    assert said.err.count(" is a secret in clear text. Write a variable") == 3
    assert "hunter" not in said.err + said.out


def test_nothing_is_changed_where_nobody_agrees(valid, file, capsys):
    assert main(["apply", "-f", file("a")]) == 1
    assert capsys.readouterr().err.endswith("add --yes.\nconnect: nothing was changed.\n")
    assert main(["offsets", "reset", "a"]) == 1
    assert main(["delete", "a"]) == 1
    assert all(asked.method == "GET" or "validate" in asked.path for asked in valid.asked)


@pytest.mark.parametrize(("typed", "agreed"), [("y\n", True), ("Yes\n", True), ("\n", False), ("n\n", False)])
def test_a_person_is_asked(monkeypatch, capsys, typed, agreed):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    assert agree("Delete a?", type("Arguments", (), {"yes": False})()) is agreed
    assert capsys.readouterr().err == "Delete a? [y/N] "


def test_two_files_of_one_name_are_refused(valid, file, tmp_path, capsys):
    other = tmp_path / "other.properties"
    other.write_text("name=a\nconnector.class=Lines\n")
    assert main(["apply", "-f", file("a"), str(other), "--yes"]) == 2
    assert 'other.properties:1: connector "a", key "name"' in capsys.readouterr().err


def test_a_file_that_is_named_twice_counts_once(valid, file, tmp_path, capsys):
    path = file("a")
    assert main(["plan", path, str(tmp_path), path]) == 0
    assert capsys.readouterr().out.startswith("a: create\n")


def test_a_value_that_the_worker_repeats_when_it_refuses_it_is_hidden(server, file, capsys):
    pin = {
        "definition": {"name": "pin", "type": "PASSWORD"},
        "value": {"name": "pin", "errors": ["hunter22 is too short"]},
    }
    unknown = {"definition": None, "value": {"name": "odd", "errors": ["odd is unknown"]}}
    server.answers["PUT /connector-plugins/Lines/config/validate"] = (200, {"configs": [pin, unknown]})
    assert main(["validate", "-f", file("a", pin="hunter22")]) == 2
    err = capsys.readouterr().err
    assert 'key "pin": [hidden] is too short\n' in err
    assert 'key "odd": odd is unknown\n' in err
    assert err.endswith("connect: 2 errors; nothing was changed.\n")


@pytest.mark.parametrize(
    ("status", "answer", "said"),
    [
        (403, "user:a needs the role editor.", "connect: user:a needs the role editor. (403 from "),
        (500, "No class has the name Lines.", 'key "connector.class": the cluster has no Lines. It has '),
    ],
)
def test_only_a_worker_that_lacks_a_class_is_said_to_lack_it(server, file, capsys, status, answer, said):
    server.answers["PUT /connector-plugins/Lines/config/validate"] = (status, {"message": answer})
    server.answers["GET /connector-plugins"] = (200, [{"class": "x.LineSourceConnector"}])
    assert main(["validate", "-f", file("a")]) != 0
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    ["{", "[]", '{"offsets": []}', '{"offsets": [{"partition": {}}]}', '{"offsets": [{"partition": 1, "offset": 2}]}'],
)
def test_a_file_of_offsets_in_another_form_is_refused(server, tmp_path, capsys, content):
    path = tmp_path / "offsets.json"
    path.write_text(content)
    assert main(["offsets", "set", "a", "-f", str(path), "--yes"]) == 2
    assert "offsets.json" in capsys.readouterr().err
    assert server.asked == []


@pytest.mark.parametrize("words", [["t:0"], ["t=1"], ["t:x=1"], ["t:0=-1"], [":0=1"], [], ["t:0=1", "-f", "x"]])
def test_positions_in_another_form_are_refused(server, words):
    assert main(["offsets", "set", "a", *words, "--yes"]) == 2
    assert server.asked == []


def test_the_topic_of_a_position_may_hold_what_separates(server, capsys):
    server.answers["PATCH /connectors/a/offsets"] = (200, {"message": "Done."})
    assert main(["offsets", "set", "a", "a=b:c:7=42", "--yes"]) == 0
    assert server.asked[-1].body == {
        "offsets": [{"partition": {"kafka_topic": "a=b:c", "kafka_partition": 7}, "offset": {"kafka_offset": 42}}]
    }


def test_offsets_of_what_is_not_stopped_are_refused_with_the_command_that_stops_it(server, capsys):
    said = "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for ..."
    server.answers["DELETE /connectors/a/offsets"] = (400, {"error_code": 400, "message": said})
    assert main(["offsets", "reset", "a", "--yes"]) == 2
    assert capsys.readouterr().err == "connect: Stop it first: `connect stop a`.\n"
    server.answers["DELETE /connectors/a/offsets"] = (400, {"error_code": 400, "message": "No."})
    assert main(["offsets", "reset", "a", "--yes"]) == 2
    assert capsys.readouterr().err.startswith("connect: No. (400 from ")


@pytest.mark.parametrize(
    ("words", "state", "said"),
    [
        ([], status("a", "RUNNING", "RUNNING"), "no record came within 10 s."),
        (["--task", "4"], status("a", "RUNNING", "RUNNING"), "a has no task 4; `connect status a` shows its tasks."),
        (["--task", "1"], status("a", "RUNNING", "RUNNING", "FAILED"), "no record comes: a is FAILED."),
        ([], status("a", "PAUSED", "PAUSED", "FAILED"), "no record comes: a is FAILED, PAUSED."),
        ([], status("a", "STOPPED"), "no record comes: a is STOPPED."),
    ],
)
def test_a_look_that_sees_nothing_says_why(server, capsys, words, state, said):
    server.answers["GET /connectors/a/tap"] = (200, {"records": [], "untapped": []})
    server.answers["GET /connectors/a/status"] = (200, state)
    assert main(["tap", "a", *words]) == 1
    assert capsys.readouterr().err == f"connect: {said}\n"


def test_one_task_is_not_restarted_with_others(server):
    assert main(["restart", "a", "--task", "0", "--tasks"]) == 2
    assert main(["logs", "level", "--cluster"]) == 2
    assert server.asked == []


def test_what_has_no_status_yet_is_listed(server, capsys):
    info = {"type": "sink", "config": {"connector.class": "x.Lines"}}
    server.answers["GET /connectors"] = (200, {"b": {"info": info}, "a": {"status": status("a", "RUNNING", "FAILED")}})
    assert main(["list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "NAME  TYPE    STATE       TASKS                  CLASS",
        "a     source  RUNNING     0/1 running, 1 failed",
        "b     sink    UNASSIGNED  none                   x.Lines",
    ]
    assert "expand=status&expand=info&stalled=true" in server.asked[0].path


def test_a_task_that_stands_still_is_asked_for_and_shown_as_stalled(server, capsys):
    stalled = status("a", "RUNNING", "STALLED", trace="put has not returned for 301 s.\n  File x")
    server.answers["GET /connectors/a/status"] = server.answers["GET /connectors/b/status"] = (200, stalled)
    server.answers["GET /connectors"] = (200, {"a": {"status": stalled}})
    assert main(["status"]) == main(["status", "a"]) == 0
    assert capsys.readouterr().out.count("STALLED  w:1     put has not returned for 301 s.") == 2
    assert all("stalled=true" in one.path for one in server.asked)


def test_tasks_are_counted_by_state():
    assert _tasks(["RUNNING", "FAILED", "RUNNING", "PAUSED", "FAILED"]) == "2/5 running, 2 failed, 1 paused"


def test_the_reason_of_a_failure_is_one_line():
    python = "Traceback (most recent call last):\n  File x\nKeyError: 1\n\nDuring ...:\n\nTraceback ...\n  y\nBad: it\n"
    assert reason({"trace": python}) == "Bad: it"
    assert reason({"trace": "org.x.Bad: it\n\tat org.x.Y\nCaused by: z\n"}) == "org.x.Bad: it"
    assert reason({}) == ""


def test_a_trace_has_no_secrets_and_a_failure_is_exit_code_1(server, capsys):
    server.answers["GET /connectors/a/status"] = (200, status("a", "RUNNING", "FAILED", trace="password=hunter22"))
    for more in ([], ["--json"]):
        assert main(["status", "a", *more]) == 1
        assert "password=[hidden]" in capsys.readouterr().out


def test_a_cell_moves_no_cursor_and_columns_are_aligned():
    assert table(["A", "B"], [("x\x1b[2J", 1), ("yyyyyyyy", "z\n")]) == "A         B\nx [2J     1\nyyyyyyyy  z"


def test_states_are_coloured_on_a_terminal_only(server):
    server.answers["GET /connectors"] = (200, {"a": {"status": status("a", "RUNNING", "FAILED")}})
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    done = subprocess.run([*COMMAND, "status"], stdout=slave, env=environment, check=False)
    os.close(slave)
    shown = os.read(master, 10_000).decode()
    os.close(master)
    assert done.returncode == 1
    assert "\x1b[31mFAILED" in shown
    assert "\x1b[32mRUNNING" in shown


@pytest.mark.parametrize(("value", "coloured"), [(None, True), ("", True), ("1", False), ("0", False)])
def test_no_color_counts_where_it_is_not_empty(monkeypatch, value, coloured):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if value is not None:
        monkeypatch.setenv("NO_COLOR", value)
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdout", terminal)
    assert shows_colours() is coloured


def test_watching_goes_on_while_the_worker_is_away(server):
    server.answers["GET /connectors/a/status"] = [
        (200, status("a")),
        (500, {"message": "Away."}),
        (200, status("a")),
        (200, status("a", "PAUSED")),
    ]
    with subprocess.Popen(
        [*COMMAND, "status", "a", "--watch", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as watching:
        try:
            assert json.loads(watching.stdout.readline()) == [status("a")]
            assert json.loads(watching.stdout.readline()) == [status("a", "PAUSED")]
            assert watching.stderr.readline() == f"connect: Away. (500 from {server.url})\n"
        finally:
            watching.send_signal(signal.SIGINT)
        assert watching.wait(30) == 130


def test_a_reader_sees_that_a_worker_is_back(server):
    away = (500, {"message": "Away."})
    server.answers["GET /connectors/a/status"] = [(200, status("a")), away, away, (200, status("a"))]
    with subprocess.Popen(
        [*COMMAND, "status", "a", "--watch"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as watching:
        try:
            table = [watching.stdout.readline() for _ in range(2)]
            assert watching.stdout.readline() == f"connect: Away. (500 from {server.url})\n"
            assert watching.stdout.readline() == "\n"
            assert [watching.stdout.readline() for _ in range(2)] == table
        finally:
            watching.send_signal(signal.SIGINT)


def watched(*names, until):
    """What a terminal of 80 columns and 24 lines has been given when this text has come."""
    master, slave = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "LINES": "24", "TERM": "xterm"}
    with subprocess.Popen([*COMMAND, "status", *names, "--watch"], stdout=slave, env=environment) as watching:
        os.close(slave)
        shown = b""
        try:
            while until not in shown:
                shown += os.read(master, 10_000)
        finally:
            watching.send_signal(signal.SIGINT)
            watching.wait(30)
            os.close(master)
    return shown


def test_a_watch_on_a_terminal_is_drawn_in_place(server):
    server.answers["GET /connectors"] = [
        (200, {"a": {"status": status("a")}}),
        (200, {"a": {"status": status("a", "PAUSED")}}),
    ]
    shown = watched("a", until=b"PAUSED")
    assert shown.count(b"\x1b[H\x1b[J") == 2


def test_a_watch_shows_what_is_measured_and_what_failed_first(server):
    measured = {
        "source-task-metrics": {"source-record-write-rate": 1234.4, "source-record-write-total": 5000.0},
        "task-error-metrics": {"total-record-errors": 2.0},
    }
    metrics = {"tasks": [{"id": n, "worker_id": "w:1", "metrics": measured} for n in range(2)], "unreachable": []}
    server.answers["GET /connectors"] = (200, {
        "a": {"status": status("a", "RUNNING", "RUNNING", "RUNNING"), "metrics": metrics},
        "b": {"status": status("b", "RUNNING", "FAILED", trace="The disk is full.")},
    })  # fmt: skip
    lines = watched(until=b"4 errors").decode().partition("\x1b[J")[2].splitlines()
    assert lines[0].split() == ["b", "\x1b[31mFAILED\x1b[0m", "The", "disk", "is", "full."]
    assert " ".join(lines[1].split()) == "a \x1b[32mRUNNING\x1b[0m 2,469 records/s 10,000 in all 4 errors"


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "x"])
def test_a_time_that_is_none_is_said(capsys, seconds):
    with pytest.raises(SystemExit) as ended:
        main(["list", "--timeout", seconds])
    assert ended.value.code == 2
    assert f"argument --timeout: '{seconds}' is not a number of seconds: write 5, or 0.5" in capsys.readouterr().err


def test_a_watch_that_cannot_begin_ends(server):
    assert main(["status", "nobody", "--watch"]) == 1
