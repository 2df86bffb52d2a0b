"""The commands against a real worker, Java's and ours: each is done, and seen to be done."""

import json
import os
import pty
import re
import signal
import subprocess
import urllib.error
import urllib.request

import pytest

from tests.integration.cli_client.conftest import running, states

pytestmark = pytest.mark.slow

SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"


def stopped(connect, name):
    connect.until(lambda: states(connect, name) == ("STOPPED", []))


def offsets(connect, name):
    return [entry["offset"] for entry in connect.json("offsets", "get", name)["offsets"]]


@pytest.mark.quick
def test_a_file_becomes_a_connector_and_a_changed_file_changes_it(connect, name, source):
    assert connect("apply", "-f", source, "--dry-run").startswith(f"{name}: create\n  + connector.class=File")
    assert connect.json("list") == []
    assert connect("apply", "-f", source, "--yes").endswith(f"{name} created\n")
    running(connect, name)
    assert connect("apply", "-f", source, "--yes") == f"{name}: unchanged\n"
    config = json.loads((connect.folder / source).read_text())
    config["config"]["batch.size"] = "7"
    del config["config"]["topic"]
    config["config"]["topic"] = "elsewhere"
    connect.write(source, config)
    assert connect("apply", "-f", source, "--yes") == (
        f"{name}: update\n  + batch.size=7\n  ~ topic={name} -> elsewhere\n{name} updated\n"
    )
    assert connect.json("get", name)["config"]["batch.size"] == "7"


def test_what_get_prints_can_be_applied(connect, name, source):
    connect("apply", "-f", source, "--yes")
    got = connect("get", name, "--json")
    assert connect("apply", "-f", "-", "--yes", stdin=got) == f"{name}: unchanged\n"
    assert "topic" in connect("get", name)


def test_a_secret_is_never_printed_and_stays_what_it_was_when_its_mask_is_applied(connect, name, source):
    config = json.loads((connect.folder / source).read_text())
    config["config"]["db.password"] = "hunter22"
    config["config"]["db.url"] = "postgresql://me:hunter33@host/db"
    connect.write(source, config)
    said = connect("apply", "-f", source, "--yes")
    said += connect("get", name) + connect("describe", name) + connect("describe", name, "--json")
    got = connect("get", name, "--json")
    changed = json.loads(got)
    changed["config"]["batch.size"] = "5"
    connect.write("changed.json", changed)
    said += got + connect("apply", "-f", "changed.json", "--yes")
    assert "[hidden]" in said
    assert "hunter" not in said
    assert connect("apply", "-f", "changed.json", "--dry-run") == f"{name}: unchanged\n"
    config["config"]["batch.size"] = "5"
    connect.write(source, config)
    again = connect("apply", "-f", source, "--dry-run")
    assert again.count("it may be the same") == (2 if connect.hides_secrets else 0)
    assert again.startswith(f"{name}: {'update' if connect.hides_secrets else 'unchanged'}\n")


def test_a_mask_of_nothing_is_refused(connect, name, source):
    config = json.loads((connect.folder / source).read_text())
    config["config"]["db.password"] = "[hidden]"
    connect.write(source, config)
    assert f'source.json:7: connector "{name}", key "db.password"' in connect("apply", "-f", source, "--yes", code=2)


def test_a_connector_may_be_created_stopped(connect, name, source):
    config = json.loads((connect.folder / source).read_text()) | {"initial_state": "stopped"}
    connect.write(source, config)
    connect("apply", "-f", source, "--yes")
    stopped(connect, name)
    assert "Use pause, resume or stop" in connect.run("apply", "-f", source, "--yes").stderr


def test_all_that_is_wrong_is_said_with_its_line_and_nothing_is_changed(connect, name, source):
    wrong = connect.write("wrong.properties", "name=wrong\nconnector.class=FileStreamSource\nbatch.size=3k\n")
    unknown = connect.write("unknown.properties", "name=unknown\n\nconnector.class=FileStreamSorce\n")
    for command in (["apply", "--yes"], ["validate"]):
        said = connect(*command, "-f", source, wrong, unknown, code=2)
        assert 'wrong.properties:3: connector "wrong", key "batch.size": ' in said
        assert 'wrong.properties:1: connector "wrong", key "topic"' in said
        assert 'unknown.properties:3: connector "unknown", key "connector.class": ' in said
        assert "FileStreamSource" in said.partition("unknown.properties:3")[2]
        assert said.endswith("errors; nothing was changed.\n")
    assert connect.json("list") == []
    assert connect("validate", "-f", source) == f"source.json: connector {name} is valid\n"
    assert connect.json("validate", "-f", source) == {"valid": True, "errors": [], "warnings": []}


def test_a_key_that_nobody_knows_is_a_warning_with_the_one_that_was_probably_meant(connect):
    lines = ["name=typo", "connector.class=FileStreamSource", "file=in.txt", "topic=lines", "batch.sise=30"]
    file = connect.write("typo.properties", "\n".join(lines))
    warnings = connect.json("validate", "-f", file)["warnings"]
    if connect.hides_secrets:  # a worker of ours; Kafka Connect's says nothing
        (warning,) = warnings
        assert warning.startswith('typo.properties:5: connector "typo", key "batch.sise": is not known')
        assert "Did you mean batch.size?" in warning
    else:
        assert warnings == []
    assert connect("validate", "-f", file) == "typo.properties: connector typo is valid\n"


def test_pause_resume_stop_restart_and_delete(connect, name, source):
    connect("apply", "-f", source, "--yes")
    running(connect, name)
    assert connect("pause", name) == f"{name} is told to pause\n"
    connect.until(lambda: states(connect, name) == ("PAUSED", ["PAUSED"]))
    connect("resume", name)
    running(connect, name)
    connect("restart", name)
    connect("restart", name, "--tasks")
    connect("restart", name, "--tasks", "--failed")
    running(connect, name)
    connect("restart", name, "--task", "0")
    running(connect, name)
    assert "(404 from" in connect("restart", name, "--task", "7", code=1)
    connect("stop", name)
    stopped(connect, name)
    assert connect("delete", name, code=1) == (f"connect: Delete {name}? There is no terminal to ask at: add --yes.\n")
    assert connect("delete", name, "--yes") == f"{name} is deleted\n"
    assert connect.json("list") == []


def test_one_connector_that_is_not_there_does_not_keep_the_others(connect, name, source):
    connect("apply", "-f", source, "--yes")
    running(connect, name)
    said = connect("pause", "nobody", name, code=1)
    assert "connect: nobody: " in said
    assert "(404 from http://" in said
    connect.until(lambda: states(connect, name) == ("PAUSED", ["PAUSED"]))


def test_offsets_of_a_source_are_read_set_and_forgotten(connect, name, source):
    connect("apply", "-f", source, "--yes")
    connect.until(lambda: [offset["position"] for offset in offsets(connect, name)] == [14])
    assert '"position": 14' in connect("offsets", "get", name)
    assert f"`connect stop {name}`" in connect("offsets", "reset", name, "--yes", code=2)
    connect("stop", name)
    stopped(connect, name)
    changed = connect.json("offsets", "get", name)
    changed["offsets"][0]["offset"]["position"] = 4
    connect.write("offsets.json", changed)
    connect("offsets", "set", name, "-f", "offsets.json", "--yes")
    assert [offset["position"] for offset in offsets(connect, name)] == [4]
    connect("offsets", "reset", name, "--yes")
    assert offsets(connect, name) == []


def test_offsets_of_a_sink_are_set_by_topic_and_partition(connect, name, source):
    out = connect.folder / "out.txt"
    sink = f"{name}-sink"
    config = {"connector.class": SINK, "topics": name, "file": str(out)}
    connect.write("sink.json", {"name": sink, **config})
    connect("apply", "-f", source, "sink.json", "--yes")
    connect.until(lambda: out.exists() and len(out.read_text().splitlines()) == 3)
    connect("stop", sink)
    stopped(connect, sink)
    connect.until(lambda: connect.run("offsets", "set", sink, f"{name}:0=1", "--yes").returncode == 0)
    assert offsets(connect, sink) == [{"kafka_offset": 1}]
    assert connect("offsets", "get", sink).splitlines()[0].split() == ["TOPIC", "PARTITION", "OFFSET"]
    out.write_text("")
    connect("resume", sink)
    connect.until(lambda: out.read_text() == "two\nthree\n")


def test_a_failed_task_is_in_list_and_status_and_described_with_its_trace(connect, name):
    config = {"connector.class": SINK, "topics": name, "file": str(connect.folder / "no" / "such" / "out.txt")}
    connect.write("failing.json", {"name": name, **config})
    connect("apply", "-f", "failing.json", "--yes")
    connect.until(lambda: states(connect, name) == ("RUNNING", ["FAILED"]))
    assert "0/1 running, 1 failed" in connect("list")
    shown = connect.run("status", name)
    assert shown.returncode == 1
    assert "FAILED" in shown.stdout
    assert config["file"] in shown.stdout
    described = connect("describe", name)
    assert "why task 0 failed\n" in described
    assert described.count(config["file"]) > 1


def test_describe_shows_state_topics_and_configuration(connect, name, source):
    connect("apply", "-f", source, "--yes")
    connect.until(lambda: connect.json("describe", name)["topics"] == [name])
    shown = connect("describe", name)
    assert f"connector  {name}\n" in shown
    assert "\nclass      FileStreamSource " in shown
    assert " (source)\n" in shown
    assert f"topics     {name}\n" in shown


def test_levels_are_shown_and_set(connect):
    logger = "org.apache.kafka.connect.file"
    for scope in ([], ["--cluster"]):
        for level in ("debug", "WARN"):
            assert f"{logger} logs {level.upper()} on " in connect("logs", "level", logger, level, *scope)
            assert connect.json("logs", "level", logger)[logger]["level"] == level.upper()
    assert logger in connect("logs", "level")


def test_plugins_of_a_worker_are_listed_and_described(connect):
    listed = connect.json("plugins", "list", "--url", connect.url)
    assert {one["type"] for one in listed} >= {"source", "sink", "converter"}
    sink = next(one["class"] for one in listed if one["class"].endswith("FileStreamSinkConnector"))
    assert sink in connect("plugins", "list", "--url", connect.url)
    described = connect("plugins", "describe", sink)
    assert "\nfile  (string, " in f"\n{described}"
    assert {one["name"] for one in connect.json("plugins", "describe", sink)} >= {"file"}


def test_watch_shows_every_change_until_ctrl_c(connect, name, source):
    connect("apply", "-f", source, "--yes")
    running(connect, name)
    with subprocess.Popen(
        connect.command("status", name, "--watch", "--json"),
        env=connect.environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as watching:
        try:
            assert json.loads(watching.stdout.readline())[0]["connector"]["state"] == "RUNNING"
            connect("pause", name)
            while json.loads(watching.stdout.readline())[0]["connector"]["state"] != "PAUSED":
                pass
        finally:
            watching.send_signal(signal.SIGINT)
        assert watching.wait() == 130


def test_watch_on_a_terminal_shows_each_task_and_where_a_worker_tells_them_its_figures(connect, name, source):
    connect("apply", "-f", source, "--yes")
    running(connect, name)
    expected = [rb"\n  task 0 +\S*RUNNING"]
    if connect.hides_secrets:  # a worker of ours
        expected += [rb"\A%s +\S*RUNNING\S* +\S+ records/s +3 in all" % name.encode(), rb"task 0 [^\n]* 3 in all"]
    master, slave = pty.openpty()
    environment = {**connect.environment, "TERM": "xterm"}
    with subprocess.Popen(connect.command("status", name, "--watch"), env=environment, stdout=slave) as watching:
        os.close(slave)
        shown = b""
        try:
            while not all(re.search(line, shown.rpartition(b"\x1b[J")[2]) for line in expected):
                shown += os.read(master, 10_000)
        finally:
            watching.send_signal(signal.SIGINT)
            watching.wait()
            os.close(master)


def test_the_page_is_served_for_any_cluster_and_on_this_machine_alone(connect, name, source):
    connect("apply", "-f", source, "--yes")
    running(connect, name)
    with subprocess.Popen(
        connect.command("ui", "--port", "0"), env=connect.environment, stdout=subprocess.PIPE, text=True
    ) as serving:
        try:
            said = serving.stdout.readline()
            page = re.match(r"(http://localhost:\d+/ui) shows (\S+)\. ", said)
            assert page[2] == connect.url
            assert name in get(f"{page[1]}/connectors")
            assert "FileStreamSource" in get(f"{page[1]}/connectors/{name}")
            assert "FileStreamSink" in get(f"{page[1]}/new")
            assert 'name="key:file"' in get(f"{page[1]}/new?class={SINK}")
            assert "The connector pauses." in get(f"{page[1]}/connectors/{name}", b"do=pause")
            connect.until(lambda: states(connect, name) == ("PAUSED", ["PAUSED"]))
            with pytest.raises(urllib.error.HTTPError, match="421"):
                get(f"{page[1]}/connectors", Host="evil.example")
        finally:
            serving.send_signal(signal.SIGINT)
        assert serving.wait(60) in (0, 130)


def get(url, form=None, **headers):
    """A page as a browser gets it, or what a form of it leads to."""
    with urllib.request.urlopen(urllib.request.Request(url, form, headers), timeout=60) as answer:
        return answer.read().decode()


def test_names_of_connectors_and_loggers_are_completed(connect, name, source):
    connect("apply", "-f", source, "--yes")
    assert connect("completion", "--words", "pause", "lin") == f"{name}\n"
    assert connect("completion", "--words", "offsets", "get", "") == f"{name}\n"
    connect("logs", "level", "org.apache.kafka.connect.file", "INFO")
    assert "org.apache.kafka.connect.file\n" in connect("completion", "--words", "logs", "level", "org.a")
