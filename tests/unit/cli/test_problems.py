"""What is wrong with files is said once, in the order of the files and their lines, and without secrets."""

import io

import pytest

from connect.cli._problems import Problems
from connect.cli._worker_files import read_connectors, read_worker
from connect.settings.properties import Position
from connect.telemetry.redaction import redactor


@pytest.fixture
def problems():
    return Problems(["worker", "b", "a"])


def test_problems_come_in_the_order_of_the_files_and_of_their_lines(problems):
    problems.error(Position("a", 1), "wrong.", key="k", connector="x")
    problems.error(Position("b", 10), "wrong.", key="k", connector="x")
    problems.error(Position("b", 9), "wrong.", key="k", connector="x")
    problems.error("worker", "missing.", key="k")
    assert problems.errors() == [
        'worker: key "k": missing.',
        'b:9: connector "x", key "k": wrong.',
        'b:10: connector "x", key "k": wrong.',
        'a:1: connector "x", key "k": wrong.',
    ]


def test_what_every_connector_finds_wrong_with_the_worker_is_said_once(problems):
    for _ in range(3):
        problems.error(Position("worker", 2), "wrong.", key="value.converter")
    told = io.StringIO()
    problems.report(told)
    assert told.getvalue() == 'worker:2: key "value.converter": wrong.\nconnect: 1 error; nothing was started.\n'


def test_secrets_are_not_shown(problems):
    redactor.remember(["swordfish-of-this-test"])
    problems.error(Position("a", 1), '"swordfish-of-this-test" is not a number.', key="k")
    assert problems.errors() == ['a:1: key "k": "[hidden]" is not a number.']


def test_a_worker_s_wrong_keys_leave_it_usable_for_checking_connectors(tmp_path):
    path = tmp_path / "worker.properties"
    path.write_text("plugin.path=/nowhere\nlog.level=loud\noffset.flush.interval.ms=x\n")
    problems = Problems([str(path)])
    worker = read_worker(str(path), problems)
    assert worker.config["offset.flush.interval.ms"] == 60_000
    missing = "bootstrap.servers", "key.converter", "value.converter", "offset.storage.file.filename"
    assert [text.split('"')[1] for text in problems.errors()] == [*missing, "log.level", "offset.flush.interval.ms"]
    assert "there is no folder /nowhere" in problems.warnings()[0]


def test_every_connector_file_that_cannot_be_read_is_reported(tmp_path):
    (tmp_path / "good").write_text("name=good\n")
    (tmp_path / "nameless").write_text("topic=x\n")
    files = [str(tmp_path / name) for name in ("absent", "good", "nameless")]
    problems = Problems(files)
    assert [file.name for file in read_connectors(files, problems)] == ["good"]
    assert ["absent" in problems.errors()[0], "nameless" in problems.errors()[1]] == [True, True]


def test_a_name_that_is_taken_is_an_error_and_both_files_are_checked_further(tmp_path):
    files = []
    for name in ("one", "two"):
        files.append(str(tmp_path / name))
        (tmp_path / name).write_text("connector.class=x\nname=orders\n")
    problems = Problems(files)
    assert len(read_connectors(files, problems)) == 2
    assert problems.errors() == [
        (
            f'{files[1]}:2: connector "orders", key "name": {files[0]}:2 has this name already. '
            "Give one of the two connectors another."
        )
    ]


def test_of_a_worker_s_variable_without_a_value_nothing_else_is_said(tmp_path, monkeypatch):
    monkeypatch.delenv("NOWHERE", raising=False)
    path = tmp_path / "worker.properties"
    path.write_text(
        "bootstrap.servers=a:1\nkey.converter=x\nvalue.converter=${env:NOWHERE}\noffset.flush.interval.ms=${env:NOWHERE}\n"
        "offset.storage.file.filename=o\nconfig.providers=env\n"
        "config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider\n"
    )
    problems = Problems([str(path)])
    worker = read_worker(str(path), problems)
    problems.error(worker.where("value.converter"), "There is no such converter.", key="value.converter")
    unset = "${env:NOWHERE} has no value: it is not set"
    assert [error.partition(",")[0] for error in problems.errors()] == [
        f'{path}:3: key "value.converter": {unset}',
        f'{path}:4: key "offset.flush.interval.ms": {unset}',
    ]


def test_opentelemetry_without_its_extra_is_an_error_that_names_it(tmp_path, monkeypatch):
    monkeypatch.setattr("connect.cli._worker_files.is_installed", lambda: False)
    path = tmp_path / "worker.properties"
    least = "bootstrap.servers=b:1\nkey.converter=x\nvalue.converter=x\noffset.storage.file.filename=o\n"
    for written, said in (("", []), ("telemetry.opentelemetry=traces\n", ["connect-runtime[opentelemetry]"])):
        path.write_text(least + written)
        problems = Problems([str(path)])
        read_worker(str(path), problems)
        assert len(problems.errors()) == len(said)
        assert all(words in error for words, error in zip(said, problems.errors(), strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "name=a\nconnector.class=FileStreamSink\n",
        '{\n  "name": "a",\n  "config": {"connector.class": "FileStreamSink"}\n}\n',
        '{"connector.class": "FileStreamSink", "name": "a"}',
    ],
)
def test_a_connector_in_the_place_of_the_worker_is_one_error(tmp_path, text):
    path = tmp_path / "orders"
    path.write_text(text)
    problems = Problems([str(path)])
    assert read_worker(str(path), problems) is None
    advice = "name a worker's properties"
    assert problems.errors() == [f"{path}: this is a connector's file, not a worker's; {advice}"]
    assert not problems.warnings()
