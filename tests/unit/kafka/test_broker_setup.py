"""What a broker's log says, in one line that a person can act on; and the choice of its port."""

import re
import socket

import pytest

from connect.kafka.broker import setup


@pytest.mark.parametrize(
    ("logged", "said"),
    [
        ("java.io.IOException: No space left on device", "disk of .* is full. Make room"),
        (
            "java.net.BindException: Address already in use",
            "port .* is taken by another program. Choose one with --port",
        ),
        ("Failed to acquire lock on file .lock in /x", "Another Kafka uses .* Stop it"),
        ("java.lang.UnsupportedClassVersionError: kafka/Kafka", "Install Java 17 or newer"),
        (
            "#\n# A fatal error has been detected by the Java Runtime Environment:\n#\n#  SIGBUS",
            "Java itself crashed, .* remove .*class-archives",
        ),
        ("12:00 ERROR Kafka - Something new\nmore", "The broker ended: 12:00 ERROR Kafka - Something new .log: "),
        (
            "12:00 ERROR Exiting\nx.y.ConfigException: No number\n\tat z",
            "The broker ended: x.y.ConfigException: No number",
        ),
        ("ERROR e\nx.AException: a\n\tat b\nCaused by: x.BError: b\n", "The broker ended: x.BError: b .log: "),
        ("Killed", "The broker ended: Killed .log: .*broker.log"),
    ],
)
def test_a_log_is_explained_in_one_line(tmp_path, logged, said):
    setup.log_of(tmp_path).write_text(f"INFO started\n{logged}\n")
    explained = setup.explain(tmp_path)
    assert "\n" not in explained
    assert re.search(said, explained)


def test_a_port_once_chosen_is_kept(tmp_path):
    port = setup.choose_port(tmp_path, 0)
    setup.write_properties(tmp_path, port, {})
    assert setup.port_of(tmp_path) == port
    assert setup.choose_port(tmp_path, None) == port


def test_the_first_time_a_taken_9092_is_passed_over(tmp_path, monkeypatch):
    with socket.socket() as occupant:
        occupant.bind((setup.HOST, 0))
        occupant.listen()
        taken = occupant.getsockname()[1]
        monkeypatch.setattr(setup, "PORT", taken)
        assert setup.choose_port(tmp_path, None) != taken
    assert setup.choose_port(tmp_path, None) == taken


def test_a_caller_may_add_and_replace_properties(tmp_path):
    setup.write_properties(tmp_path, 9092, {"auto.create.topics.enable": "false", "num.partitions": "3"})
    lines = (tmp_path / "server.properties").read_text().splitlines()
    assert {"auto.create.topics.enable=false", "num.partitions=3", "process.roles=broker,controller"} <= set(lines)


def test_no_cluster_id_looks_like_an_option():
    ids = [setup.cluster_id() for _ in range(2000)]
    assert all(re.fullmatch(r"[\w][\w-]{21}", each) for each in ids)
    assert len(set(ids)) == len(ids)
