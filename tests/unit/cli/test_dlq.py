"""`connect dlq` as a worker answers it: what is asked, and what is shown."""

import json
import stat
import sys
import time

import pytest

from connect.cli import main
from connect.cli._moments import milliseconds
from connect.cli.completion import candidates
from connect.errors import ConfigError

ERROR = {
    "connector": "orders",
    "task": 0,
    "stage": "VALUE_CONVERTER",
    "class_name": "org.apache.kafka.connect.json.JsonConverter",
    "exception": "org.apache.kafka.connect.errors.DataException",
    "message": "This is not JSON",
    "stacktrace": "Traceback\n  at here\x1b[2J",
    "topic": "orders",
    "partition": 3,
    "offset": 1999,
    "source_partition": None,
    "source_offset": None,
    "omitted": None,
    "fingerprint": "abcdef012345",
}
LETTER = {
    "partition": 0,
    "offset": 812,
    "timestamp": 1_700_000_000_000,
    "key": {"size": 2, "text": "k5"},
    "value": {"size": 21, "text": '{"id": "5", "p": 1.50'},
    "headers": [{"key": "trace", "value": {"size": 2, "base64": "/w=="}}, {"key": "n", "value": None}],
    "error": ERROR,
}
BARE = {**LETTER, "offset": 811, "key": None, "value": None, "headers": [], "error": None}


@pytest.fixture
def worker(server):
    server.answers["GET /connectors/orders/dlq"] = (200, {"topic": "dead", "letters": [LETTER, BARE], "next": None})
    server.answers["GET /connectors/orders/dlq/0/812"] = (200, LETTER)
    config = {"errors.deadletterqueue.topic.name": "dead", "value.converter": "JsonConverter"}
    server.answers["GET /connectors/orders/config"] = (200, config)
    return server


def outcome(count=1, dry_run=False, **more):
    sent = [
        {"partition": 0, "offset": n, "topic": "orders", "to_partition": 3, "to_offset": None if dry_run else 50 + n}
        for n in range(count)
    ]
    base = {"topic": "dead", "dry_run": dry_run, "replayed": sent, "skipped": [], "marked_before": 0}
    return {**base, "complete": True, "warning": None, **more}


@pytest.fixture
def replays(worker):
    """The worker answers a dry run, then the replay itself."""

    def of(first, second=None):
        worker.answers["POST /connectors/orders/dlq/replay"] = [(200, first), (200, second or outcome())]
        return worker

    return of


def bodies(server):
    return [asked.body for asked in server.asked if asked.method == "POST"]


def test_a_list_is_a_table(worker, capsys):
    assert main(["dlq", "list", "orders"]) == 0
    assert capsys.readouterr().out == (
        "PLACE  TIME                      STAGE            ERROR                            KEY   FROM\n"
        '0:812  2023-11-14T22:13:20.000Z  VALUE_CONVERTER  DataException: This is not JSON  "k5"  orders-3@1999\n'
        "0:811  2023-11-14T22:13:20.000Z  -                -                                null  -\n"
    )
    assert worker.asked[0].path == "/connectors/orders/dlq?limit=50"


def test_the_filter_is_the_workers(worker):
    words = [
        "--stage",
        "TRANSFORMATION",
        "--error",
        "a b",
        "--key",
        "k",
        "--fingerprint",
        "f",
        "--until",
        "1700000000000",
    ]
    assert main(["dlq", "list", "orders", "--since", "2023-11-14T22:13:20", *words, "--limit", "5", "--json"]) == 0
    assert worker.asked[0].path == (
        "/connectors/orders/dlq?since=1700000000000&until=1700000000000&stage=TRANSFORMATION&error=a+b&fingerprint=f"
        "&key=k&limit=5"
    )


def test_pages_are_asked_for_until_there_are_enough(worker, capsys):
    pages = [{"topic": "dead", "letters": [LETTER] * 3, "next": f"0:{n}"} for n in (5, 4, 3)]
    worker.answers["GET /connectors/orders/dlq"] = [(200, page) for page in pages]
    assert main(["dlq", "list", "orders", "--limit", "7", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["letters"]) == 9
    assert [asked.path.partition("?")[2] for asked in worker.asked] == [
        "limit=7",
        "limit=4&after=0%3A5",
        "limit=1&after=0%3A4",
    ]


def test_none_is_said(worker, capsys):
    worker.answers["GET /connectors/orders/dlq"] = (200, {"topic": "dead", "letters": [], "next": None})
    assert main(["dlq", "list", "orders"]) == 0
    assert main(["dlq", "list", "orders", "--key", "k"]) == 0
    assert capsys.readouterr().out == "dead has none\ndead has none of them\n"


def test_groups_are_counted(worker, capsys):
    group = {key: ERROR[key] for key in ("stage", "class_name", "exception", "message", "fingerprint")}
    group |= {"count": 12, "first": 0, "last": 1000, "partition": 0, "offset": 812}
    answer = {"topic": "dead", "groups": [group], "count": 12, "complete": False}
    worker.answers["GET /connectors/orders/dlq/groups"] = (200, answer)
    assert main(["dlq", "list", "orders", "--group"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[1].split()[:3] == ["12", "VALUE_CONVERTER", "DataException:"]
    assert shown.out.splitlines()[1].endswith("0:812   abcdef012345")
    assert "narrow them with --since" in shown.err


def test_one_is_shown_in_full_with_what_the_converter_says(worker, capsys):
    assert main(["dlq", "show", "orders", "0:812"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(
        "dead letter  dead 0:812, 2023-11-14T22:13:20.000Z\n"
        "error        VALUE_CONVERTER: DataException: This is not JSON\n"
        "in           org.apache.kafka.connect.json.JsonConverter, connector orders, task 0\n"
        "from         orders-3@1999\n"
        "fingerprint  abcdef012345\n"
        "header       trace = 0xff\n"
        "header       n = null\n"
        "key          k5\n"
        'value        {"id": "5", "p": 1.50\n'
        "  converted  JsonConverter fails: DataError: This is not JSON"
    )
    assert shown.endswith("stack trace\n  Traceback\n    at here [2J\n")


def test_payloads_are_laid_out_or_shown_as_bytes(worker, capsys):
    good = {**LETTER, "value": {"size": 21, "text": '{"id":"5","p":1.50}'}, "key": {"size": 2, "base64": "AP8="}}
    worker.answers["GET /connectors/orders/dlq/0/812"] = (200, good)
    worker.answers["GET /connectors/orders/config"] = (
        200,
        {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"},
    )
    assert main(["dlq", "show", "orders", "0:812"]) == 0
    shown = capsys.readouterr().out
    assert '\n  {\n    "id": "5",\n    "p": 1.50\n  }\n  converted  {"id": "5", "p": 1.5}\n' in shown
    assert f"\nkey          2 bytes\n  000000  {'00 ff':47}  ..\n" in shown
    assert main(["dlq", "show", "orders", "0:812", "--hex"]) == 0
    assert "  000000  7b 22 69 64 22 3a" in capsys.readouterr().out


@pytest.mark.parametrize("text", ['{"id": NaN}', "[-Infinity]", '{"id": "\\ud800"}', "[" * 100_000 + "]" * 100_000])
def test_what_only_some_take_for_json_is_shown_as_it_is(worker, capsys, text):
    worker.answers["GET /connectors/orders/dlq/0/812"] = (200, {**LETTER, "value": {"size": 9, "text": text}})
    assert main(["dlq", "show", "orders", "0:812"]) == 0
    assert f"\nvalue        {text}\n" in capsys.readouterr().out


def test_a_replay_is_planned_then_done(replays, capsys):
    worker = replays(outcome(2, dry_run=True), outcome(2))
    assert main(["dlq", "replay", "orders", "--error", "x", "--set", "a.b=5", "--set", "c=text", "--unset", "d"]) == 0
    order = {"error": "x", "to": "topic", "again": False, "set": {"a.b": 5, "c": "text"}, "unset": ["d"]}
    assert bodies(worker) == [{**order, "dry_run": True}, {**order, "limit": 2, "dry_run": False}]
    assert capsys.readouterr().out == "0:0 -> orders-3@50\n0:1 -> orders-3@51\n2 replayed\n"


def test_a_dry_run_ends_with_the_plan(replays, capsys):
    worker = replays(outcome(1, dry_run=True, marked_before=3, complete=False))
    assert main(["dlq", "replay", "orders", "--dry-run", "--offset", "0:5", "--offset", "1:6", "--into", "t"]) == 0
    assert len(bodies(worker)) == 1
    assert bodies(worker)[0]["places"] == [{"partition": 0, "offset": 5}, {"partition": 1, "offset": 6}]
    assert bodies(worker)[0]["into"] == "t"
    assert capsys.readouterr().out == (
        "0:0 -> orders-3\n1 would be replayed, 3 were replayed before (--again replays them, too), there may be more\n"
    )


def test_a_replay_without_anything_to_replay_is_no_dry_run(replays, capsys):
    worker = replays(outcome(0, dry_run=True, skipped=[{"partition": 0, "offset": 9, "reason": "it is null."}]))
    assert main(["dlq", "replay", "orders", "--yes"]) == 1
    assert len(bodies(worker)) == 1
    assert capsys.readouterr().out == "0 replayed, 1 not\n"


def test_many_are_asked_about(replays, capsys):
    worker = replays(outcome(11, dry_run=True), outcome(11))
    assert main(["dlq", "replay", "orders"]) == 1
    assert "Replay 11 dead letters of dead?" in capsys.readouterr().err
    assert len(bodies(worker)) == 1
    replays(outcome(11, dry_run=True), outcome(11))
    assert main(["dlq", "replay", "orders", "--yes"]) == 0
    assert capsys.readouterr().out.endswith("11 replayed\n")


def test_what_was_not_replayed_is_said_and_gives_the_exit_code(replays, capsys):
    skipped = [{"partition": 0, "offset": 9, "reason": "the value is not JSON."}]
    replays(outcome(1, dry_run=True), outcome(1, skipped=skipped, warning="It is not stored."))
    assert main(["dlq", "replay", "orders"]) == 1
    shown = capsys.readouterr()
    assert shown.err == "connect: 0:9 is not replayed: the value is not JSON.\nconnect: It is not stored.\n"
    assert shown.out.endswith("1 replayed, 1 not\n")


@pytest.fixture
def editor(tmp_path):
    """A program that does to a file what a script says."""

    def of(script):
        file = tmp_path / "editor"
        file.write_text(f"#!{sys.executable}\nimport pathlib, sys\np = pathlib.Path(sys.argv[1])\n{script}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return str(file)

    return of


def test_a_value_is_edited_and_packed_again(replays, editor, monkeypatch):
    worker = replays(outcome(1, dry_run=True))
    value = '{"id":"5","p":1.50,"n":123456789012345678901234567890}'
    worker.answers["GET /connectors/orders/dlq/0/0"] = (200, {**LETTER, "value": {"size": 1, "text": value}})
    monkeypatch.setenv(
        "EDITOR", editor("assert p.suffix == '.json'; p.write_text(p.read_text().replace('\"5\"', '5'))")
    )
    monkeypatch.delenv("VISUAL", raising=False)
    assert main(["dlq", "replay", "orders", "--edit"]) == 0
    assert bodies(worker)[1]["values"] == [{"partition": 0, "offset": 0, "text": value.replace('"5"', "5")}]
    assert bodies(worker)[1]["places"] == [{"partition": 0, "offset": 0}]


def test_a_value_that_is_almost_json_can_be_made_json(replays, editor):
    worker = replays(outcome(1, dry_run=True))
    worker.answers["GET /connectors/orders/dlq/0/0"] = (200, {**LETTER, "value": {"size": 9, "text": '{"id": NaN}'}})
    script = editor("p.write_text(p.read_text().replace('NaN', 'null'))")
    assert main(["dlq", "replay", "orders", "--edit-with", script]) == 0
    assert bodies(worker)[1]["values"] == [{"partition": 0, "offset": 0, "text": '{"id": null}'}]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("p.write_text('')", "0:0 is left out."),
        ("sys.exit(3)", "The editor ended with 3"),
        ("p.write_text('{')", "what the editor left is not JSON"),
        ("p.write_text('[NaN]')", "what the editor left is not JSON"),
        ("p.write_bytes(b'\\xff')", "what the editor left is not UTF-8"),
    ],
)
def test_what_is_not_to_be_is_left_out(replays, editor, capsys, script, said):
    worker = replays(outcome(1, dry_run=True))
    worker.answers["GET /connectors/orders/dlq/0/0"] = (200, {**LETTER, "value": {"size": 2, "text": "{}"}})
    assert main(["dlq", "replay", "orders", "--edit-with", editor(script)]) == 0
    assert len(bodies(worker)) == 1
    assert said in capsys.readouterr().err


def test_bytes_are_not_edited(replays, capsys):
    worker = replays(outcome(1, dry_run=True))
    worker.answers["GET /connectors/orders/dlq/0/0"] = (200, {**LETTER, "value": {"size": 1, "base64": "/w=="}})
    assert main(["dlq", "replay", "orders", "--edit-with", "true"]) == 0
    assert "0:0: its value is not text" in capsys.readouterr().err
    assert len(bodies(worker)) == 1


def test_a_worker_of_java_is_said_to_know_none(server, capsys):
    server.answers["GET /connectors/orders/dlq"] = (404, {"error_code": 404, "message": "HTTP 404 Not Found"})
    assert main(["dlq", "list", "orders"]) == 1
    assert "Read the topic from here: add --bootstrap-server" in capsys.readouterr().err
    server.answers["GET /connectors/orders/dlq"] = (404, {"error_code": 404, "message": "Connector orders not found"})
    assert main(["dlq", "list", "orders"]) == 1
    assert "Connector orders not found" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["list"], "name a connector, or with --topic"),
        (["list", "orders", "--topic", "t"], "one of the two"),
        (["list", "--topic", "t"], "add --bootstrap-server"),
        (["list", "orders", "--since", "yesterday"], '"yesterday" is not a time'),
        (["list", "orders", "--limit", "0"], "is at least 1"),
        (["show", "orders", "812"], "write PARTITION:OFFSET"),
        (["show", "orders", "more", "0:1"], "name one connector and one dead letter"),
        (["show", "0:1"], "name a connector, or with --topic"),
        (["replay", "orders", "--offset", "x"], "write PARTITION:OFFSET"),
        (["replay", "orders", "--set", "x"], '"x" is not FIELD=VALUE'),
        (["replay", "orders", "--set", "x=1", "--edit"], "cannot be combined with"),
    ],
)
def test_a_wrong_command_line_is_explained(worker, capsys, words, said):
    assert main(["dlq", *words]) == 2
    assert said in capsys.readouterr().err


def test_client_settings_that_the_cluster_hides_are_not_guessed(server, capsys):
    config = {"errors.deadletterqueue.topic.name": "dead", "consumer.override.sasl.jaas.config": "[hidden]"}
    server.answers["GET /connectors/orders/config"] = (200, config)
    assert main(["dlq", "list", "orders", "--bootstrap-server", "127.0.0.1:1"]) == 2
    assert "Name the connector's file instead of its name" in capsys.readouterr().err


def test_times(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 1_000_000.0)
    assert milliseconds("--since", "2h") == (1_000_000 - 7200) * 1000
    assert milliseconds("--since", "1d") == (1_000_000 - 86_400) * 1000
    assert milliseconds("--since", "2023-11-14T22:13:20Z") == 1_700_000_000_000
    assert milliseconds("--since", "2023-11-14T23:13:20+01:00") == 1_700_000_000_000
    assert milliseconds("--since", "1970-01-02") == 86_400_000
    assert milliseconds("--since", "1700000000000") == 1_700_000_000_000
    assert milliseconds("--since", None) is None
    with pytest.raises(ConfigError):
        milliseconds("--since", "2")


def test_words_are_completed(server):
    server.answers["GET /connectors"] = (200, ["orders", "customers"])
    assert candidates(["dlq", ""]) == ["list", "replay", "show"]
    assert candidates(["dlq", "list", "o"]) == ["orders"]
    assert candidates(["dlq", "replay", "--to", ""]) == ["connector", "topic"]
    assert "--edit-with" in candidates(["dlq", "replay", "--ed"])
