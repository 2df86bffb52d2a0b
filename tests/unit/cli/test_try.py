"""`connect try` on samples from files and from the command line: no broker, no worker."""

import json
import os
import pty
import subprocess
import sys

import pytest

from connect.cli import main
from connect.cli.completion import FILES, candidates

PLUGIN = """
from connect import Transformation, settings


class Whole(Transformation):
    settings = settings.define(settings.String("field", doc="Which."))
    pure = True

    def configure(self, config):
        self.field = config["field"]

    def apply(self, record):
        if record.value is None:
            return None
        return record.replace(value={**record.value, self.field: int(record.value[self.field])})
"""
CONFIG = {
    "connector.class": "FileStreamSink",
    "topics": "orders,more",
    "transforms": "whole",
    "transforms.whole.type": "steps_of_try.Whole",
    "transforms.whole.field": "id",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to be in, with a worker's file, a plug-in and a connector."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "steps_of_try", raising=False)
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "steps_of_try.py").write_text(PLUGIN)
    worker = {
        "key.converter": "StringConverter",
        "value.converter": "JsonConverter",
        "value.converter.schemas.enable": "false",
        "plugin.path": str(tmp_path / "plugins"),
    }
    (tmp_path / "worker.properties").write_text("".join(f"{key}={value}\n" for key, value in worker.items()))
    write(tmp_path)
    return tmp_path


def write(folder, **more):
    config = {"name": "orders", **CONFIG, **more}
    (folder / "orders.json").write_text(json.dumps({key: one for key, one in config.items() if one}, indent=1))


def tried(*words):
    return main(["try", "orders.json", "--worker-config", "worker.properties", *words])


def test_a_record_is_shown_before_and_after_each_step(folder, capsys):
    assert tried("--value", '{"id": "5", "n": 1}', "--key", "k1", "--header", "trace=abc", "--timestamp", "0") == 0
    assert capsys.readouterr().out == (
        "record 1, orders-0@0: kept\n"
        "      topic      orders, partition 0\n"
        "      timestamp  1970-01-01T00:00:00.000Z\n"
        '      key        bytes "k1"\n'
        """      value      bytes '{"id": "5", "n": 1}'\n"""
        '      header     trace = bytes "abc"\n'
        "  1 key converter StringConverter\n"
        '      ~ key: bytes "k1" -> "k1" (STRING?)\n'
        "  2 value converter JsonConverter\n"
        """      ~ value: bytes '{"id": "5", "n": 1}' -> {"id": "5", "n": 1}\n"""
        "  3 header converter SimpleHeaderConverter\n"
        '      ~ headers.trace: bytes "abc" -> "abc" (STRING)\n'
        "  4 transformation whole (Whole)\n"
        '      ~ value.id: "5" -> 5\n'
        "  then\n"
        "      topic      orders, partition 0\n"
        "      timestamp  1970-01-01T00:00:00.000Z\n"
        '      key        "k1"  STRING?\n'
        '      value      {"id": 5, "n": 1}\n'
        '      header     trace = "abc"  STRING\n'
    )


def test_what_fails_is_said_with_stage_error_and_advice_and_gives_the_exit_code(folder, capsys):
    assert tried("--value", '{"id": "x"}') == 1
    shown = capsys.readouterr().out
    assert shown.startswith("record 1, orders-0@0: failed in transformation whole (Whole)\n")
    assert "  4 transformation whole (Whole): fails\n      ValueError: invalid literal for int()" in shown
    assert 'The task would fail: correct the record or the configuration, or set "errors.tolerance": "all".' in shown


def test_what_is_typed_may_be_any_bytes(folder, capsys):
    write(folder, **{"value.converter": "ByteArrayConverter", "transforms": None})
    assert tried("--value", os.fsdecode(b"\xff"), "--header", "trace=ä") == 0
    shown = capsys.readouterr().out
    assert "      value      0xff (1 bytes)\n" in shown
    assert '      header     trace = bytes "ä"\n' in shown


def test_each_line_of_a_file_is_tried(folder, capsys):
    lines = ['{"value": {"id": "1"}}', "", '{"topic": "more", "offset": 7, "value": {"id": "x"}}', '{"value": null}']
    (folder / "samples.jsonl").write_text("\n".join(lines))
    assert tried("--file", "samples.jsonl", "--json") == 1
    first, second, third = json.loads(capsys.readouterr().out)
    assert [first["verdict"], second["verdict"], third["verdict"]] == ["kept", "failed", "dropped"]
    assert first["after"]["value"] == {"id": 1}
    assert second["before"]["topic"] == "more"
    assert second["steps"][-1]["error"]["stage"] == "TRANSFORMATION"
    assert tried("--file", "samples.jsonl", "--limit", "1") == 0
    assert "dropped" not in capsys.readouterr().out


def test_samples_come_from_standard_input(folder):
    command = [sys.executable, "-m", "connect.cli", "try", "orders.json", "--worker-config", "worker.properties"]
    done = subprocess.run(
        [*command, "--file", "-"], input='{"value": {"id": "5"}}', capture_output=True, text=True, check=True
    )
    assert '~ value.id: "5" -> 5' in done.stdout


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_output_may_lack_letters(folder, encoding):
    write(folder, **{"connector.class": "FileStreamSource", "topics": None, "topic": "out", "transforms": None})
    value = {"id": "é€🚀", "half": "\ud800"}
    words = ["try", "orders.json", "--worker-config", "worker.properties", "--value", json.dumps(value)]
    command = [sys.executable, "-m", "connect.cli", *words]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    told = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert told.stdout.startswith(b"record 1, for topic out: kept\n")
    shown = subprocess.run([*command, "--json"], capture_output=True, env=environment, check=False)
    assert json.loads(shown.stdout.decode(encoding))[0]["before"]["value"] == value
    assert (told.stderr, shown.stderr) == (b"", b"")


def test_a_source_takes_values_and_shows_the_bytes(folder, capsys):
    write(folder, **{"connector.class": "FileStreamSource", "topics": None, "topic": "out"})
    assert tried("--value", '{"id": "5"}', "--key", "plain text") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("record 1, for topic out: kept\n")
    assert '      key        "plain text"\n' in shown
    assert """  4 value converter JsonConverter\n      ~ value: {"id": 5} -> bytes '{"id":5}'\n""" in shown


def test_long_values_are_cut_unless_asked_for(folder, capsys):
    value = json.dumps({"id": "5", "text": "x" * 500})
    assert tried("--value", value) == 0
    assert "x" * 500 not in (shown := capsys.readouterr().out)
    assert "… (523 characters)" in shown
    assert tried("--value", value, "--full") == 0
    assert "x" * 500 in capsys.readouterr().out


def test_nothing_that_a_terminal_would_obey_gets_through(folder, capsys):
    assert tried("--value", '{"id": "5", "evil": "\\u001b[2J"}', "--key", "\x1b[2J") == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_plugin_that_is_not_here_does_not_hinder(folder, capsys):
    write(folder, **{"connector.class": "com.example.OrdersSink"})
    assert tried("--value", '{"id": "5"}') == 0
    shown = capsys.readouterr()
    assert shown.err == (
        "warning: com.example.OrdersSink is not installed here; the command treats it as a sink, because"
        " it has topics to consume (--as decides otherwise).\n"
    )
    assert tried("--value", '{"id": "5"}', "--as", "source") == 0
    assert capsys.readouterr().out.startswith("record 1, for topic orders: kept")


def test_a_connector_in_yaml_is_tried(folder, capsys):
    keys = "".join(f"  {key}: {json.dumps(value)}\n" for key, value in CONFIG.items())
    (folder / "orders.yaml").write_text(f"name: orders\nconfig:\n{keys}")
    assert main(["try", "orders.yaml", "--worker-config", "worker.properties", "--value", '{"id": "5"}']) == 0
    assert capsys.readouterr().out.startswith("record 1, orders-0@0: kept\n")


def test_placeholders_have_values_and_one_without_is_a_warning(folder, capsys):
    keys = "".join(f"  {key}: {json.dumps(value)}\n" for key, value in CONFIG.items() if key != "transforms.whole.spec")
    (folder / "orders.yaml").write_text(
        f"name: ${{{{ stage }}}}-orders\nconfig:\n{keys}  transforms.whole.spec: ${{{{ spec }}}}\n"
    )
    (folder / "values.yaml").write_text("spec: id:int32\n")
    words = ["try", "orders.yaml", "--worker-config", "worker.properties", "--value", '{"id": "5"}']
    assert main([*words, "--values", "values.yaml", "--set", "stage=test"]) == 0
    shown = capsys.readouterr()
    assert '~ value.id: "5" -> 5' in shown.out
    assert shown.err == ""
    assert main([*words, "--values", "values.yaml"]) == 0
    said = 'warning: orders.yaml:1: connector "${{ stage }}-orders", key "name": ${{ stage }} has no value. '
    assert capsys.readouterr().err.startswith(said)


def test_a_connector_of_a_cluster_is_tried_by_its_name(folder, server, capsys):
    server.answers["GET /connectors/orders/config"] = (200, {"name": "orders", **CONFIG})
    words = ["try", "orders", "--url", server.url, "--worker-config", "worker.properties"]
    assert main([*words, "--value", '{"id": "5"}']) == 0
    assert '~ value.id: "5" -> 5' in capsys.readouterr().out
    assert [(asked.method, asked.path) for asked in server.asked] == [("GET", "/connectors/orders/config")]


def test_what_the_cluster_hides_is_said(folder, server, capsys):
    config = {"name": "orders", **CONFIG, "db.password": "[hidden]", "key.converter.registry.password": "[hidden]"}
    server.answers["GET /connectors/orders/config"] = (200, config)
    words = ["try", "orders", "--url", server.url, "--worker-config", "worker.properties", "--value", "{}"]
    main(words)
    assert capsys.readouterr().err.startswith("warning: the cluster hides key.converter.registry.password; try the")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"transforms.whole.field": None}, 'key "field"'),
        ({"transforms.whole.type": "Nonsense"}, 'There is no transformation "Nonsense"'),
        ({"transforms.whole.predicate": "p"}, 'orders.json:8: key "transforms.whole.predicate": there is no predicate'),
        ({"errors.tolerance": "some"}, 'orders.json:8: key "errors.tolerance": '),
    ],
)
def test_what_is_wrong_with_the_configuration_is_said_with_its_place(folder, capsys, config, said):
    write(folder, **config)
    assert tried("--value", "{}") == 2
    shown = capsys.readouterr().err
    assert shown.startswith("connect: orders.json:")
    assert said in shown
    assert shown.count("\n") == 1


def test_without_the_workers_converters_it_is_said_where_they_come_from(folder, capsys):
    assert main(["try", "orders.json", "--value", "{}"]) == 2
    assert "Or give --worker-config: the worker's file says" in capsys.readouterr().err


def test_variables_of_the_workers_clients_matter_only_where_a_topic_is_read(folder, capsys):
    with (folder / "worker.properties").open("a") as worker:
        worker.write("config.providers=env\nconfig.providers.env.class=EnvVarConfigProvider\n")
        worker.write("bootstrap.servers=nowhere:1\nsasl.jaas.config=${env:NOWHERE_AT_ALL}\n")
    assert tried("--value", '{"id": "5"}') == 0
    assert tried("--topic", "orders") == 2
    said = capsys.readouterr().err
    assert said.startswith('connect: worker.properties:8: key "sasl.jaas.config": ${env:NOWHERE_AT_ALL} has no value: ')
    with (folder / "worker.properties").open("a") as worker:
        worker.write("value.converter.schemas.enable=${env:NOWHERE_AT_ALL}\n")
    assert tried("--value", '{"id": "5"}') == 2
    assert "sasl.jaas.config" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "there is nothing to try"),
        (["--value", "1", "--file", "x"], "give either --file, or --value and --key"),
        (["--value", "1", "--from-end"], "are for reading a topic"),
        (["--topic", "t", "--offset", "5"], "belongs to one partition"),
        (["--file", "nowhere"], "there is no such file"),
        (["--header", "x", "--value", "{}"], '"x" is not KEY=VALUE'),
        (["--topic", "t"], "is not known. Name the brokers"),
        (["--value", "{}", "--limit", "0"], "is at least 1"),
    ],
)
def test_a_wrong_command_line_is_explained(folder, capsys, words, said):
    assert tried(*words) in (1, 2)
    assert said in capsys.readouterr().err.replace("no such file or directory", "there is no such file")


def test_a_broken_line_of_samples_is_named(folder, capsys):
    (folder / "samples.jsonl").write_text('{"value": {"id": "1"}}\n{"id": 5}\n')
    assert tried("--file", "samples.jsonl") == 2
    assert "samples.jsonl:2: id: is not a field of a record" in capsys.readouterr().err
    (folder / "samples.jsonl").write_text("{")
    assert tried("--file", "samples.jsonl") == 2
    assert "samples.jsonl:1: this is not JSON" in capsys.readouterr().err
    (folder / "samples.jsonl").write_bytes(b'{"value": {"id": "1"}}\n{"value": "\xff"}\n')
    assert tried("--file", "samples.jsonl") == 2
    assert "samples.jsonl: this is not UTF-8" in capsys.readouterr().err


def test_secrets_of_the_configuration_are_not_in_what_is_said_of_an_error(folder, capsys):
    (folder / "plugins" / "steps_of_try.py").write_text(PLUGIN.replace("int(", "self.leak("))
    leak = "\n    def leak(self, _):\n        raise ValueError('hunter22')\n"
    with (folder / "plugins" / "steps_of_try.py").open("a") as file:
        file.write(leak)
    write(folder, **{"db.password": "hunter22"})
    assert tried("--value", '{"id": "5"}') == 1
    assert "ValueError: [hidden]" in capsys.readouterr().out


def test_changes_are_coloured_on_a_terminal(folder):
    main_end, end = pty.openpty()
    command = [sys.executable, "-m", "connect.cli", "try", "orders.json", "--worker-config", "worker.properties"]
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen([*command, "--value", '{"id": "5"}'], stdout=end, env=environment):
        os.close(end)
        shown = b""
        while True:
            try:
                if not (part := os.read(main_end, 65536)):
                    break
            except OSError:
                break
            shown += part
    os.close(main_end)
    assert b'\x1b[33m~ value.id: "5" -> 5\x1b[0m' in shown


def test_its_files_are_completed(server):
    assert candidates(["try", ""]) == [FILES]
    assert candidates(["try", "--worker-config", ""]) == [FILES]
    assert "--from-end" in candidates(["try", "--f"])
