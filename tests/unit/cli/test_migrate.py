"""`connect migrate` on files: what runs each connector, what is written, and the exit codes."""

import json
import stat

import pytest

from connect.cli import main
from connect.cli._migration import Measured

JSON = "org.apache.kafka.connect.json.JsonConverter"
SINK = "io.confluent.connect.jdbc.JdbcSinkConnector"


@pytest.fixture
def connector(tmp_path):
    """Writes the file of a connector and gives its path."""

    def make(name, **config):
        path = tmp_path / f"{name.replace(chr(47), chr(45))}.json"
        keys = {key.replace("__", "."): value for key, value in config.items()}
        path.write_text(json.dumps({"name": name, "config": keys}))
        return str(path)

    return make


@pytest.fixture
def worker(tmp_path):
    """Writes the file of a worker, with other values or more keys, and gives its path."""

    def make(**changes):
        keys = {"bootstrap.servers": "localhost:9092", "key.converter": JSON, "value.converter": JSON}
        keys |= {"offset.storage.file.filename": "/tmp/offsets"}
        keys |= {key.replace("__", "."): value for key, value in changes.items()}
        path = tmp_path / "worker.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
        return str(path)

    return make


@pytest.fixture
def lines(connector):
    return connector("lines", connector__class="FileStreamSource", file="/data/in", topic="lines")


def verdicts(capsys, *arguments):
    code = main(["migrate", *arguments, "--json"])
    told = json.loads(capsys.readouterr().out)
    return code, {each["name"]: each for each in told["connectors"]}


def test_a_class_of_ours_runs_as_it_is(capsys, lines):
    code, found = verdicts(capsys, lines)
    assert code == 0
    assert (found["lines"]["outcome"], found["lines"]["errors"]) == ("python", [])
    assert found["lines"]["plugin"]["class"] == "org.apache.kafka.connect.file.FileStreamSourceConnector"
    assert found["lines"]["measured"]["rate"] > 1


def test_what_has_to_change_is_named(capsys, connector):
    path = connector(
        "orders",
        connector__class=SINK,
        topics="orders",
        connection__url="jdbc:postgresql://db/orders",
        transforms="mask",
        transforms__mask__type="com.acme.Mask$Value",
    )
    code, found = verdicts(capsys, path)
    assert (code, found["orders"]["outcome"]) == (1, "change")
    assert [error["key"] for error in found["orders"]["errors"]] == ["transforms.mask.type"]
    assert main(["migrate", path]) == 1
    shown = capsys.readouterr().out
    assert '- transforms.mask.type: There is no transformation "com.acme.Mask$Value".' in shown
    assert 'Or put its jars on plugin.path, and set "connector.language": "java".' in shown
    assert "1 with a change to make." in shown


def test_a_class_that_nobody_has_is_missing(capsys, connector, lines):
    path = connector("mongo", connector__class="com.mongodb.kafka.connect.MongoSinkConnector", topics="x")
    code, found = verdicts(capsys, path, lines)
    assert (code, found["mongo"]["outcome"], found["mongo"]["plugin"]) == (1, "missing", None)
    assert main(["migrate", path, lines]) == 1
    shown = capsys.readouterr().out
    assert "Copy its folder from the Java workers' plugin.path, and name it by --plugin-path." in shown
    assert "1 on Python's own connectors, 1 without a plug-in here." in shown


def test_keys_without_effect_are_noted(capsys, connector):
    path = connector("lines", connector__class="FileStreamSource", file="/in", topic="lines", tasks__maxx="1")
    assert main(["migrate", path]) == 0
    assert "- note: tasks.maxx: " in capsys.readouterr().out


def test_converters_of_the_worker_are_checked(capsys, worker, lines):
    code, found = verdicts(capsys, lines, "--worker", worker(key__converter="com.acme.OurConverter"))
    assert (code, found["lines"]["outcome"]) == (1, "change")
    assert [error["key"] for error in found["lines"]["errors"]] == ["key.converter"]
    main(["migrate", lines])
    assert "give the workers' file by --worker" in capsys.readouterr().out


def test_an_error_of_the_worker_s_file_is_the_exit_code(capsys, worker, lines):
    path = worker(group__id="pool", offset__flush__interval__ms="soon")
    assert main(["migrate", lines, "--worker", path]) == 2
    told = capsys.readouterr()
    assert f'{path}:6: key "offset.flush.interval.ms"' in told.err
    assert 'key "config.storage.topic"' in told.err
    assert "Python's own connector runs it" in told.out


def test_a_folder_may_hold_yaml_too(capsys, tmp_path, lines):
    (tmp_path / "more.yaml").write_text("name: more\nconfig: {connector.class: FileStreamSink, topics: a, file: /b}\n")
    code, found = verdicts(capsys, str(tmp_path))
    assert (code, {name: each["outcome"] for name, each in found.items()}) == (0, {"lines": "python", "more": "python"})


def test_files_are_for_their_owner_only(capsys, tmp_path, connector):
    path = connector(
        "a/b",
        connector__class=SINK,
        topics="x",
        connection__url="jdbc:postgresql://h/d",
        connection__password="hunter2",
    )
    out = tmp_path / "out"
    assert main(["migrate", path, "--out", str(out)]) == 0
    assert "hunter2" not in capsys.readouterr().out
    (written,) = (out / "connectors").iterdir()
    assert written.name == "a%2fb.json"
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    assert json.loads(written.read_text())["config"]["connection.password"] == "hunter2"
    assert "initial_state" not in json.loads(written.read_text())


def test_converters_of_the_worker_go_into_the_connector_s_file(capsys, tmp_path, monkeypatch, worker, connector):
    """The workers of another pool may have others."""
    path = connector(
        "lines",
        connector__class="FileStreamSource",
        file="/data/in",
        topic="lines",
        key__converter="org.apache.kafka.connect.storage.StringConverter",
        value__converter__schemas__enable="true",  # without effect: it has no converter of its own
    )
    keys = {"key__converter__schemas__enable": "false", "value__converter__schemas__enable": "false"}
    keys |= {"header__converter": JSON, "value__converter__replace__null__with__default": "${env:REPLACES}"}
    keys |= {"config__providers": "env"}
    keys |= {"config__providers__env__class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider"}
    monkeypatch.setenv("REPLACES", "true")
    out = tmp_path / "out"
    assert main(["migrate", path, "--worker", worker(**keys), "--out", str(out)]) == 0
    written = json.loads((out / "connectors" / "lines.json").read_text())["config"]
    assert {key: value for key, value in written.items() if "converter" in key} == {
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
        "value.converter.replace.null.with.default": "${env:REPLACES}",
        "header.converter": JSON,
    }
    assert "take converters from their workers" not in capsys.readouterr().out


def test_without_the_worker_s_file_the_converters_that_are_not_written_are_said(capsys, tmp_path, lines):
    out = tmp_path / "out"
    assert main(["migrate", lines, "--out", str(out)]) == 0
    written = json.loads((out / "connectors" / "lines.json").read_text())["config"]
    assert not [key for key in written if "converter" in key]
    assert "by --worker to check them, and to write them into the connectors' files." in capsys.readouterr().out


OFFSETS = {"offsets": [{"partition": {"filename": "/data/in"}, "offset": {"position": 7}}]}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((500, {"message": "Request timed out."}), "it starts over: Request timed out. (500 from "),
        ((404, {"message": "HTTP 404 Not Found"}), "it starts over: Kafka Connect tells them from version 3.6 on."),
        ((200, {"offsets": []}), ""),
    ],
)
def test_offsets_that_are_unknown_are_said_and_earlier_ones_go(capsys, tmp_path, server, answer, said):
    config = {"connector.class": "FileStreamSource", "file": "/data/in", "topic": "lines"}
    server.answers["GET /"] = (200, {"version": "4.3.1"})
    server.answers["GET /connectors"] = (200, {"lines": {"info": {"config": config, "type": "source"}}})
    server.answers["GET /connectors/lines/offsets"] = [(200, OFFSETS), answer]
    out, command = tmp_path / "moved", ["migrate", "--url", server.url, "--out", str(tmp_path / "moved")]
    assert main(command) == 0
    assert json.loads((out / "offsets" / "lines.json").read_text()) == OFFSETS
    assert capsys.readouterr().err == ""
    assert main(command) == 0
    warned = capsys.readouterr().err
    assert warned.startswith("warning: lines: its offsets are unknown, and without them ") if said else warned == ""
    assert said in warned
    assert not (out / "offsets" / "lines.json").exists()


def test_a_cluster_and_files_exclude_each_other(capsys, lines):
    assert main(["migrate", lines, "--url", "http://localhost:1"]) == 2
    assert "give either a cluster or files" in capsys.readouterr().err


def test_figures_name_what_they_were_compared_with():
    said = str(Measured(4.1, 0.16, "Debezium's JDBC sink", "1,000,000 records"))
    assert said == "4.1 times the rate of Debezium's JDBC sink and 0.16 of its CPU (1,000,000 records)"
