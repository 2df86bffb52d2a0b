"""Any sink on Spark: a connector's own task in executors, on the real broker."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from connect.kafka.broker.embedded import Broker
from connect.pipeline.error_kinds import ErrorKind, kind_of
from spark_sink.connector_sink import progress_files
from spark_sink.connector_sink.progress_files import Tally
from spark_sink.error_translation import translate_error
from spark_sink.session.processes import descendants

from .connector_sinks import FILE, ConnectorSinks, failed, twice, until


@pytest.fixture
def sinks(spark: Any, broker: Broker, tmp_path: Path) -> ConnectorSinks:
    return ConnectorSinks(spark, broker, tmp_path)


def numbers(count: int, first: int = 0) -> list[str]:
    return [str(number) for number in range(first, first + count)]


@pytest.mark.promise("P1")
def test_two_partitions_are_written_in_order_by_two_tasks_and_go_on_from_the_checkpoint(
    sinks: ConnectorSinks, new_topic: Any
) -> None:
    topic = new_topic(partitions=2)
    for partition in (0, 1):
        sinks.produce(topic, numbers(3000), partition)
    plan = sinks.plan("LinesTask", {"folder": str(sinks.folder)}, progress_folder=str(sinks.folder))
    query = sinks.start([topic], plan)
    query.processAllAvailable()
    query.stop()
    assert progress_files.read(str(sinks.folder)) == progress_files.Progress(
        Tally(read=6000, written=6000), frozenset({topic})
    )
    for partition in (0, 1):
        sinks.produce(topic, numbers(10, 3000), partition)
    query = sinks.start([topic], plan)
    query.processAllAvailable()
    query.stop()
    for partition in (0, 1):
        lines = sinks.lines(topic, partition)
        assert [line[:2] for line in lines] == [[number, str(number)] for number in range(3010)]
    assert {line[2] for partition in (0, 1) for line in sinks.lines(topic, partition)} == {0, 1}


@pytest.mark.slow
def test_tasks_are_as_few_as_the_connector_may_have(sinks: ConnectorSinks, new_topic: Any) -> None:
    topic = new_topic(partitions=3)
    for partition in range(3):
        sinks.produce(topic, numbers(100), partition)
    query = sinks.start([topic], sinks.plan("LinesTask", {"folder": str(sinks.folder)}), tasks=1)
    query.processAllAvailable()
    query.stop()
    for partition in range(3):
        assert sinks.lines(topic, partition) == [[number, str(number), 0] for number in range(100)]


@pytest.mark.slow
@pytest.mark.promise("P1", "P10")
def test_a_python_worker_killed_in_the_middle_of_a_put_loses_nothing(sinks: ConnectorSinks, new_topic: Any) -> None:
    topic = new_topic()
    sinks.produce(topic, numbers(4000))
    plan = sinks.plan("LinesTask", {"folder": str(sinks.folder), "hang": "2500"})
    query = sinks.start([topic], plan, most=1000)
    hanging = sinks.folder / "hanging"
    until(hanging.exists, query)
    before = [line[0] for line in sinks.lines(topic)]
    assert before[-1] < 3000
    os.kill(int(hanging.read_text()), signal.SIGKILL)
    query.processAllAvailable()  # Spark tries the task once more
    query.stop()
    after = [line[0] for line in sinks.lines(topic)]
    assert sorted(set(after)) == list(range(4000))
    assert set(twice(after)) <= set(range(2000, 3000))  # only of the micro-batch that was not committed


@pytest.mark.slow
@pytest.mark.promise("P10")
def test_a_sink_that_keeps_its_offsets_writes_each_line_once(sinks: ConnectorSinks, new_topic: Any) -> None:
    topic = new_topic()
    sinks.produce(topic, numbers(6000))
    target = sinks.folder / "out.txt"
    plan = sinks.plan(FILE, {"file": str(target), "exactly.once": "true", "tasks.max": "1"})
    for least in (1000, 3000, 5000):
        query = sinks.start([topic], plan, most=500, tasks=1)
        until(lambda least=least: target.exists() and target.read_text().count("\n") >= least, query)
        until(lambda query=query: not query.isActive or kill_python_workers())  # idle ones are replaced
    query = sinks.start([topic], plan, most=500, tasks=1)
    query.processAllAvailable()
    query.stop()
    assert target.read_text().splitlines() == numbers(6000)


@pytest.mark.promise("P10")
def test_a_batch_that_comes_again_is_not_written_again_by_a_sink_that_keeps_its_offsets(
    sinks: ConnectorSinks, new_topic: Any
) -> None:
    topic = new_topic()
    sinks.produce(topic, numbers(1000))
    target = sinks.folder / "out.txt"
    plan = sinks.plan(
        FILE, {"file": str(target), "exactly.once": "true", "tasks.max": "1"}, progress_folder=str(sinks.folder)
    )
    query = sinks.start([topic], plan, tasks=1)
    query.processAllAvailable()
    query.stop()
    for commit in (sinks.folder / "checkpoint" / "commits").iterdir():
        commit.unlink()  # as if Spark's driver had died before it knew that the batch was written
    query = sinks.start([topic], plan, tasks=1)
    query.processAllAvailable()
    query.stop()
    assert progress_files.read(str(sinks.folder)).tally == Tally(read=2000, written=1000, known=1000)
    assert target.read_text().splitlines() == numbers(1000)


@pytest.mark.promise("P9")
def test_a_sink_that_keeps_records_back_fails_with_what_to_do(sinks: ConnectorSinks, new_topic: Any) -> None:
    topic = new_topic()
    sinks.produce(topic, numbers(10))
    plan = sinks.plan("LinesTask", {"folder": str(sinks.folder), "keep": "4"}, flush_within=0.5)
    error = translate_error(failed(sinks.start([topic], plan)))
    assert kind_of(error) is ErrorKind.CONFIGURATION  # it is not restarted
    assert str(error) == (
        'key "engine": LinesTask cannot run on Spark as it is: it holds back records, and there each micro-batch has to'
        " be durable. Write engine=worker; or have the task write everything where context.one_batch says so; or, if it"
        " only needs longer, raise sink.flush.timeout.ms. Its pre_commit has said for 0.5 s that this is not durable:"
        f" {topic}-0 from offset 6."
    )


@pytest.mark.slow
def test_a_put_that_is_refused_is_tried_until_it_is_taken_or_spark_ends_it(
    sinks: ConnectorSinks, new_topic: Any
) -> None:
    topic = new_topic()
    sinks.produce(topic, numbers(10))
    plan = sinks.plan("LinesTask", {"folder": str(sinks.folder)}, progress_folder=str(sinks.folder))
    busy, refused = sinks.folder / "busy", sinks.folder / "refused"
    busy.touch()
    query = sinks.start([topic], plan)
    until(refused.exists, query)
    waiting = "LinesTask cannot put 10 records now: The target is busy."
    until(lambda: progress_files.read(str(sinks.folder)).waiting == waiting, query)
    query.stop()
    pid = int(refused.read_text())
    until(lambda: not Path(f"/proc/{pid}").exists())  # nobody waits for it, and it knows
    refused.unlink()
    query = sinks.start([topic], plan)
    until(refused.exists, query)
    busy.unlink()
    query.processAllAvailable()
    query.stop()
    assert progress_files.read(str(sinks.folder)).waiting == ""
    assert [line[0] for line in sinks.lines(topic)] == list(range(10))


@pytest.mark.promise("P5", "P9")
def test_a_record_that_a_put_does_not_take_says_where_it_is(sinks: ConnectorSinks, new_topic: Any) -> None:
    topic = new_topic()
    sinks.produce(topic, numbers(10))
    error = translate_error(
        failed(sinks.start([topic], sinks.plan("LinesTask", {"folder": str(sinks.folder), "poison": "7"})))
    )
    assert str(error) == f"LinesTask.put of {topic}-0@0-9 failed: It is poison."
    assert sinks.lines(topic) == []


def kill_python_workers() -> None:
    """Kill what Spark's Python daemon has started, whatever it does at this moment."""
    for process in descendants(os.getpid()):
        if is_daemon(process.pid) and is_daemon(parent_of(process.pid)):
            process.kill()


def is_daemon(pid: int) -> bool:
    try:
        return b"pyspark.daemon" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False  # it is gone


def parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])
    except OSError:
        return 0
