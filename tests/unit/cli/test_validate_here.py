"""`connect validate --worker`: files are checked by the plug-ins of this machine, without a cluster."""

import json

import pytest

from connect.cli import main

WORKER = """\
bootstrap.servers=localhost:9092
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
offset.storage.file.filename=/tmp/offsets
"""


@pytest.fixture
def worker(tmp_path):
    path = tmp_path / "worker.properties"
    path.write_text(WORKER)
    return path


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "pipelines"
    path.mkdir()
    (path / "lines.yaml").write_text(
        "name: lines\nconfig:\n  connector.class: FileStreamSource\n  file: ${{ folder }}/in\n  topic: lines\n"
    )
    return path


def test_what_is_valid_is_said(worker, folder, capsys):
    assert main(["validate", "-f", str(folder), "--set", "folder=/data", "--worker", str(worker)]) == 0
    assert capsys.readouterr().out == f"{folder}/lines.yaml: connector lines is valid\n"


def test_every_error_has_its_line(worker, folder, capsys):
    (folder / "orders.json").write_text(
        '{"name": "orders",\n"config": {"connector.class": "FileStreamSink",\n"topics": "orders",\n'
        '"tasks.max": "many",\n"transforms": "x",\n"transforms.x.type": "Nonsense"}}\n'
    )
    assert main(["validate", "-f", str(folder), "--set", "folder=/data", "--worker", str(worker), "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert [error.partition(": connector")[0] for error in told["errors"]] == [
        f"{folder}/orders.json:4",
        f"{folder}/orders.json:6",
    ]
    assert '"many" is not a whole number' in told["errors"][0]


def test_what_is_wrong_with_the_worker_counts(worker, folder, capsys):
    worker.write_text(WORKER.replace("json.JsonConverter", "json.NoConverter", 1))
    assert main(["validate", "-f", str(folder), "--set", "folder=/data", "--worker", str(worker)]) == 2
    assert f'{worker}:2: key "key.converter": ' in capsys.readouterr().err


def test_a_worker_s_file_that_is_missing_is_named(folder, capsys):
    assert main(["validate", "-f", str(folder), "--set", "folder=/data", "--worker", "/none.properties"]) == 2
    assert "/none.properties: there is no such file" in capsys.readouterr().err


def test_a_cluster_and_a_worker_s_file_exclude_each_other(worker, folder, capsys):
    options = ["--set", "folder=/data", "--worker", str(worker), "--url", "http://localhost:1"]
    assert main(["validate", "-f", str(folder), *options]) == 2
    assert "give either a cluster or --worker" in capsys.readouterr().err
