"""Lines flow, go on where they stopped, and stop when told to."""

import json
import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.support.worker_process import PATIENCE_S


def numbered(first: int, last: int) -> bytes:
    return b"".join(b"line %d \xc3\xa4\n" % number for number in range(first, last + 1))


@pytest.mark.quick
def test_lines_flow_from_file_to_file_byte_for_byte(standalone, topic: str) -> None:
    source, sink = standalone.folder / "in.txt", standalone.folder / "out.txt"
    source.write_bytes(numbered(1, 20_000))
    running = standalone.start(standalone.source(topic), standalone.sink(topic, f"{topic}-sink"))
    running.until(lambda: sink.exists() and sink.stat().st_size == source.stat().st_size)
    with source.open("ab") as file:
        file.write(numbered(20_001, 30_000))
    running.until(lambda: sink.stat().st_size == source.stat().st_size)
    assert sink.read_bytes() == source.read_bytes()
    assert running.stop() == 0


@pytest.mark.quick
@pytest.mark.promise("P1")
def test_a_second_run_goes_on_where_the_first_one_stopped(standalone, topic: str) -> None:
    source, sink = standalone.folder / "in.txt", standalone.folder / "out.txt"
    files = standalone.source(topic), standalone.sink(topic, f"{topic}-sink")
    source.write_bytes(numbered(1, 5_000))
    for last in (5_000, 9_000):
        if last > 5_000:
            with source.open("ab") as file:
                file.write(numbered(5_001, last))
        running = standalone.start(*files)
        running.until(lambda: sink.exists() and sink.stat().st_size >= source.stat().st_size)
        assert running.stop() == 0
    assert sink.read_bytes() == numbered(1, 9_000)
    stored = json.loads((standalone.folder / "offsets").read_text())
    assert stored["offsets"][0][1]["position"] == source.stat().st_size


def test_a_connector_may_be_json_as_the_rest_api_takes_it(standalone, topic: str) -> None:
    (standalone.folder / "in.txt").write_bytes(numbered(1, 10))
    config = {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "topics": topic}
    sink = {"name": f"{topic}-sink", "config": {**config, "tasks.max": 1, "file": "out.txt"}}
    (standalone.folder / "sink.json").write_text(json.dumps(sink))
    running = standalone.start(standalone.source(topic), "sink.json")
    out = standalone.folder / "out.txt"
    running.until(lambda: out.exists() and out.read_bytes() == numbered(1, 10))
    assert running.stop() == 0


def test_a_connector_whose_initial_state_is_paused_moves_nothing(standalone, topic: str) -> None:
    (standalone.folder / "in.txt").write_bytes(numbered(1, 10))
    config = {"connector.class": "FileStreamSource", "file": "in.txt", "topic": topic}
    paused = {"name": "waiting", "config": config, "initial_state": "paused"}
    (standalone.folder / "paused.json").write_text(json.dumps(paused))
    running = standalone.start("paused.json", standalone.sink(topic, f"{topic}-sink"))
    running.until_logged("waiting-0  paused")
    running.until_logged("sink-0  running")
    assert running.stop() == 0
    assert not (standalone.folder / "out.txt").exists() or not (standalone.folder / "out.txt").read_bytes()


def test_standard_input_flows_to_standard_output(standalone, topic: str) -> None:
    source = {"name": "stdin", "connector.class": "FileStreamSource", "topic": topic}
    sink = {"name": f"{topic}-stdout", "connector.class": "FileStreamSink", "topics": topic}
    files = standalone.properties("stdin.properties", source), standalone.properties("stdout.properties", sink)
    out = standalone.folder / "stdout"
    with subprocess.Popen(["printf", "one\\ntwo\\nthree"], stdout=subprocess.PIPE) as lines:
        assert lines.stdout
        running = standalone.start(*files, stdin=lines.stdout, stdout=out)
        lines.stdout.close()
    running.until(lambda: out.read_bytes() == b"one\ntwo\nthree\n")
    assert running.stop() == 0


@pytest.mark.quick
def test_a_secret_of_a_config_provider_reaches_the_connector_and_not_the_log(
    standalone, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARGET_OF_A_TEST", "out.txt")
    provider = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
    standalone.worker({"config.providers": "env", "config.providers.env.class": provider, "log.level": "DEBUG"})
    (standalone.folder / "in.txt").write_bytes(numbered(1, 3))
    sink = standalone.sink(topic, f"{topic}-sink", file="${env:TARGET_OF_A_TEST}")
    running = standalone.start(standalone.source(topic), sink)
    out = standalone.folder / "out.txt"
    running.until(lambda: out.exists() and out.read_bytes() == numbered(1, 3))
    assert running.stop() == 0
    assert "out.txt" not in running.log


def test_files_whose_names_are_no_utf_8_are_read_and_gone_on_with(standalone, topic: str) -> None:
    odd, out = os.fsencode(standalone.folder) + b"/in-\xff.txt", standalone.folder / "out.txt"
    (standalone.folder / "in-a.txt").write_bytes(numbered(1, 10))
    with open(odd, "wb") as file:  # noqa: PTH123 - a Path is text
        file.write(numbered(11, 20))
    files = standalone.source(topic, file="in-*.txt"), standalone.sink(topic, f"{topic}-sink")
    running = standalone.start(*files)
    running.until(lambda: out.exists() and sorted(out.read_bytes()) == sorted(numbered(1, 20)))
    assert running.stop() == 0
    with open(odd, "ab") as file:  # noqa: PTH123
        file.write(numbered(21, 30))
    running = standalone.start(*files)
    running.until(lambda: sorted(out.read_bytes()) == sorted(numbered(1, 30)))
    assert running.stop() == 0


def test_blanks_at_the_ends_of_lines_are_no_part_of_a_value(standalone, topic: str) -> None:
    """A properties file keeps them, as Java's does; no reader of a value may."""
    connect = "org.apache.kafka.connect"
    standalone.worker(
        {"security.protocol": "PLAINTEXT", "producer.acks": "all", "header.converter": f"{connect}.json.JsonConverter"}
        | {"connector.client.config.override.policy": "All", "task.isolation": "process", "log.format": "text"}
        | {"header.converter.schemas.enable": "false"}
    )
    source = standalone.source(
        topic,
        producer_override_compression_type="gzip",
        topic_creation_default_partitions="1",
        topic_creation_default_replication_factor="1",
        transforms="here,there",
        transforms_here_type=f"{connect}.transforms.InsertHeader",
        transforms_here_header="seen",
        transforms_here_value_literal="1",
        transforms_there_type=f"{connect}.transforms.Filter",
        transforms_there_predicate="tombstones",
        transforms_there_negate="false",
        predicates="tombstones",
        predicates_tombstones_type=f"{connect}.transforms.predicates.RecordIsTombstone",
    )
    sink = standalone.sink(
        topic,
        f"{topic}-sink",
        consumer_override_max_poll_records="100",
        consumer_override_isolation_level="read_committed",
        errors_tolerance="all",
        errors_deadletterqueue_topic_name=f"{topic}-dead",
        errors_deadletterqueue_topic_replication_factor="1",
        value_converter=f"{connect}.storage.StringConverter",
        tasks_max="1",
        fsync="false",
    )
    for name in ("worker.properties", source, sink):
        path = standalone.folder / name
        lines = path.read_text().splitlines()
        # A connector's name is taken as it is, as by Kafka Connect.
        path.write_text("".join(f"{line}\n" if line.startswith("name=") else f"{line} \t\n" for line in lines))
    (standalone.folder / "in.txt").write_bytes(numbered(1, 10))
    running = standalone.start(source, sink)
    out = standalone.folder / "out.txt"
    running.until(lambda: out.exists() and out.read_bytes() == numbered(1, 10))
    assert running.stop() == 0


STUCK = """
import signal, time
from connect import SourceConnector, SourceTask

class StuckTask(SourceTask):
    def start(self, config):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    def poll(self):
        open("polled", "w").close()
        while True:
            time.sleep(60)

class StuckSource(SourceConnector):
    task = StuckTask
"""


@pytest.fixture
def stuck(standalone) -> str:
    """A connector whose task never comes back from poll."""
    plugins = standalone.folder / "plugins"
    plugins.mkdir()
    (plugins / "stuck.py").write_text(STUCK)
    return standalone.properties("stuck.properties", {"name": "stuck", "connector.class": "StuckSource"})


@pytest.mark.promise("P11")
def test_a_task_that_does_not_stop_is_killed_after_the_graceful_time(standalone, stuck: str) -> None:
    standalone.worker({"plugin.path": "plugins", "task.shutdown.graceful.timeout.ms": "300"})
    running = standalone.start(stuck)
    running.until((standalone.folder / "polled").exists)
    assert running.stop() == 0
    assert "stuck-0 did not stop in time; the worker kills it" in running.log


@pytest.mark.quick
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_all_processes_at_once_stops_as_one_to_the_worker_does(standalone, topic, number):
    """A terminal sends SIGINT and SIGHUP to all of them, a service manager SIGTERM."""
    (standalone.folder / "in.txt").write_bytes(numbered(1, 100))
    running = standalone.start(standalone.source(topic), standalone.sink(topic, f"{topic}-sink"))
    out = standalone.folder / "out.txt"
    running.until(lambda: out.exists() and out.read_bytes() == numbered(1, 100))
    os.killpg(running.process.pid, number)
    assert running.process.wait(60) == 0
    assert "source-0  ended" in running.log
    assert "sink-0  ended" in running.log
    assert " ERROR " not in running.log


REFUSED = """
from connect import ConnectError, SinkConnector, SinkTask

class RefusedTask(SinkTask):
    def connect(self):
        try:
            raise OSError("connection refused")
        except OSError as error:
            raise ConnectError("There is no database shop. Make it.") from error
    def put(self, records):
        self.connect()
    def pre_commit(self, offsets):
        self.connect()
    def stop(self):
        self.connect()

class RefusedSink(SinkConnector):
    task = RefusedTask
"""


def test_a_target_that_refuses_at_every_step_is_one_line_of_the_log(standalone, topic):
    plugins = standalone.folder / "plugins"
    plugins.mkdir()
    (plugins / "refused.py").write_text(REFUSED)
    standalone.worker({"plugin.path": "plugins"})
    (standalone.folder / "in.txt").write_bytes(numbered(1, 3))
    sink = standalone.sink(topic, "refused", connector_class="RefusedSink")
    running = standalone.start(standalone.source(topic), sink)
    running.until_logged("There is no database shop")
    assert running.stop() == 0
    said = [line for line in running.log.splitlines() if " refused-0 " in line or " INFO " not in line]
    running_, failed, *more = said
    assert running_.endswith("refused-0  running")
    assert failed.endswith("ERROR refused-0  There is no database shop. Make it.")
    assert all(" INFO " in line for line in more), "no trace, and nothing twice"


LONG_SESSION_MS = str(int(2000 * PATIENCE_S))  # longer than tests wait


@pytest.mark.promise("P10")
@pytest.mark.parametrize("strategy", ["Range", "CooperativeSticky"])
def test_after_a_kill_sinks_go_on_without_waiting_for_who_died(standalone, topic, new_topic, strategy):
    """By records, for RUNNING says nothing; and with a session that nobody waits for here."""
    new_topic(name=topic, partitions=4)
    standalone.worker({"consumer.session.timeout.ms": LONG_SESSION_MS})
    out, source = standalone.folder / "out.txt", standalone.folder / "in.txt"
    assignor = f"org.apache.kafka.clients.consumer.{strategy}Assignor"
    keys = {"consumer_override_partition_assignment_strategy": assignor}
    source.write_bytes(numbered(1, 100))

    def arrived(count: int) -> bool:
        return out.exists() and set(out.read_bytes().splitlines()) == set(numbered(1, count).splitlines())

    files = standalone.source(topic), standalone.sink(topic, topic, **keys)
    running = standalone.start(*files)
    running.until(lambda: arrived(100), what="100 lines")
    for count in (200, 300):
        running.kill()
        with source.open("ab") as file:
            file.write(numbered(count - 99, count))
        running = standalone.start(*files)
        running.until(lambda: arrived(count), what=f"{count} lines")  # noqa: B023 - at once
    assert running.stop() == 0


def test_a_second_signal_ends_everything_at_once(standalone, stuck: str) -> None:
    standalone.worker({"plugin.path": "plugins", "task.shutdown.graceful.timeout.ms": "3600000"})
    running = standalone.start(stuck)
    running.until((standalone.folder / "polled").exists)
    running.signal(signal.SIGINT)
    running.until_logged("a second signal ends everything at once")
    running.signal(signal.SIGTERM)
    assert running.process.wait(60) == 128 + signal.SIGTERM
    _await_empty_group(running.process.pid)


def _await_empty_group(group: int) -> None:
    """The tasks die with their worker; what is left of its process group is theirs."""
    left = [process for process in psutil.process_iter(["pid"]) if _group(process.pid) == group]
    _gone, alive = psutil.wait_procs(left, timeout=30)
    assert not alive, alive


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def test_log_lines_are_json_where_the_worker_says_so(standalone, topic: str) -> None:
    standalone.worker({"log.format": "json"})
    (standalone.folder / "in.txt").touch()
    running = standalone.start(standalone.source(topic))
    running.until_logged('"running"')
    assert running.stop() == 0
    told = [json.loads(line) for line in running.log.splitlines()]
    assert any({"about": "source-0", "message": "running"}.items() <= line.items() for line in told), told


@pytest.mark.quick
def test_a_reader_finds_the_files_of_the_quickstart_working(standalone, topic: str) -> None:
    """config/ of the checkout, with another topic and other names, so that tests do not meet."""
    config = Path(__file__).parents[3] / "config"
    (standalone.folder / "test.txt").write_text("foo\nbar\n")
    names = []
    for name in ("connect-file-source.properties", "connect-file-sink.properties"):
        text = (config / name).read_text().replace("connect-test", topic).replace("name=local", f"name={topic}")
        (standalone.folder / name).write_text(text)
        names.append(name)
    json_converter = "org.apache.kafka.connect.json.JsonConverter"
    standalone.worker({"key.converter": json_converter, "value.converter": json_converter})
    running = standalone.start(*names)
    out = standalone.folder / "test.sink.txt"
    running.until(lambda: out.exists() and out.read_text() == "foo\nbar\n")
    assert running.stop() == 0
