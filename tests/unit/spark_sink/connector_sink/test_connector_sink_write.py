"""One write: the life of a sink task in an executor."""

import os
import pickle
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connect.data.record import TopicPartition
from connect.errors import ConfigError, ConnectError
from connect.pipeline import RecordError
from connect.telemetry import Registry, Sample
from spark_sink.connector_sink import progress_files, resources
from spark_sink.connector_sink.delivery import Delivery
from spark_sink.connector_sink.progress_files import Done, Span, Tally
from spark_sink.connector_sink.resources import Alive, Orphaned
from spark_sink.connector_sink.write import write
from spark_sink.lease_file import LeaseFile

from .raw import FOLDER, calls, plan, rows

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
TOLERANT = {"errors.tolerance": "all", "errors.log.enable": "true"}


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    calls()
    yield
    while resources._kept:
        resources._kept.popitem()[1].close()


def puts(said: list[Any]) -> list[Any]:
    return [call[1] for call in said if call[0] == "put"]


def test_a_task_lives_for_one_write() -> None:
    done = write(plan("Noting"), 3, [rows(b"a", b"b"), rows(b"x", first=4, partition=1), rows(b"c", first=2)])
    assert calls() == [
        ("start", {"file": "f"}),
        *[("open", [T0]), ("put", [b"a", b"b"]), ("open", [T1]), ("put", [b"x"]), ("put", [b"c"])],
        ("pre_commit", {T0: 3, T1: 5}),
        ("close", [T0, T1]) if list(frozenset([T0, T1])) == [T0, T1] else ("close", [T1, T0]),
        ("stop",),
    ]
    assert done == Done((Span("t", 0, 0, 3, 3), Span("t", 1, 4, 5, 1)), Tally(read=4, written=4))
    assert pickle.loads(pickle.dumps(done)) == done


def test_no_task_is_started_for_nothing() -> None:
    assert write(plan("Noting"), 0, [rows()]) == Done()
    assert calls() == []


def test_the_context_says_what_the_worker_s_says() -> None:
    write(plan("Asking"), 2, [rows(b"a", first=7)])
    assert calls()[1:3] == [("c", 2, {"file": "f"}, frozenset([T0])), {T0: 7}]


def test_what_a_task_measures_is_handed_to_the_driver() -> None:
    worker = Registry()
    for _ in range(2):
        done = write(plan("Asking"), 2, [rows(b"a")])
        worker.labelled(connector="c", task="0").add(done.measured)
    assert worker.snapshot() == [Sample("things_total", "counter", {"connector": "c", "task": "0"}, 2)]


def test_a_put_that_is_refused_comes_again_and_so_does_a_pre_commit(caplog: pytest.LogCaptureFixture) -> None:
    done = write(plan("Refusing"), 0, [rows(b"a", b"b")])
    assert puts(calls()) == [[b"a", b"b"]]
    assert done.tally.written == 2
    assert caplog.text.count("The target is busy. Trying again in 0.001 s; nothing is lost.") == 3


def test_the_note_of_a_process_that_was_killed_while_it_waited_goes(tmp_path: Path) -> None:
    progress_files.waiting(str(tmp_path), 0, "Noting cannot put now: the target is busy")
    write(plan("Noting", progress_folder=str(tmp_path)), 0, [rows(b"a")])
    assert progress_files.read(str(tmp_path)).waiting == ""


def test_what_a_write_waits_for_is_noted_while_it_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(Alive, "pause", lambda self, seconds: seen.append(progress_files.read(str(tmp_path)).waiting))
    ask = Delivery.ask
    asked = []
    monkeypatch.setattr(
        Delivery, "ask", lambda self, at: (asked.append(progress_files.read(str(tmp_path)).waiting), ask(self, at))[1]
    )
    write(plan("Refusing", progress_folder=str(tmp_path)), 0, [rows(b"a", b"b")])
    assert asked[0] == ""  # the put was taken by then
    busy = "now: The target is busy."
    assert seen == [f"Refusing cannot put 2 records {busy}"] * 2 + [f"Refusing cannot make its records durable {busy}"]
    assert progress_files.read(str(tmp_path)).waiting == ""


def test_an_error_says_where_and_closes_the_task() -> None:
    with pytest.raises(ConnectError, match="^Failing.put of t-0@5-6 failed: ValueError: no room$") as caught:
        write(plan("Failing"), 0, [rows(b"a", b"b", first=5)])
    assert isinstance(caught.value.__cause__, ValueError)
    assert [call[0] for call in calls()] == ["start", "open", "close", "stop"]
    with pytest.raises(ConnectError, match="^NotStarting.start failed: No target.$"):
        write(plan("NotStarting"), 0, [rows(b"a")])
    assert calls() == [("closed",)]
    with pytest.raises(ConnectError, match="NoTask is not a SinkTask"):
        write(plan("NoTask"), 0, [rows(b"a")])


@pytest.mark.promise("P10")
def test_what_the_target_has_is_not_put_again() -> None:
    done = write(plan("Knowing"), 0, [rows(b"10", b"11", first=10), rows(b"12", b"13", first=12)])
    said = calls()
    assert puts(said) == [[b"12", b"13"]]
    assert done.tally == Tally(read=4, written=2, known=2)
    write(plan("Knowing"), 0, [rows(b"11", b"12", b"0", partition=[0, 0, 1], offset=[11, 12, 0])])
    assert puts(calls()) == [[b"12", b"0"]]


def test_a_task_is_asked_until_all_is_durable() -> None:
    write(plan("Slow"), 0, [rows(b"a")])
    assert [call[0] for call in calls()] == [
        *("start", "open", "put", "pre_commit", "put", "pre_commit", "put", "pre_commit", "close", "stop")
    ]


def test_a_task_that_keeps_records_back_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(ConfigError) as caught:
        write(plan("Keeping", flush_within=0.0), 0, [rows(b"a", b"b", first=8)])
    assert str(caught.value) == (
        'key "engine": Keeping cannot run on Spark as it is: it holds back records, and there each micro-batch has to'
        " be durable. Write engine=worker; or have the task write everything where context.one_batch says so; or, if it"
        " only needs longer, raise sink.flush.timeout.ms. Its pre_commit has said for 0 s that this is not durable: t-0"
        " from offset 8."
    )


def test_a_task_that_gets_on_with_its_records_is_asked_as_long_as_that_takes() -> None:
    write(plan("Creeping", flush_within=0.0), 0, [rows(b"a", b"b", b"c", b"d")])
    asked = [call for call in calls() if call[0] == "pre_commit"]
    assert len(asked) == 4


def test_a_task_learns_that_it_lives_for_one_batch() -> None:
    write(plan("Accumulating", flush_within=0.0), 0, [rows(b"a", b"b", b"c")])
    assert ("written", [b"a", b"b", b"c"]) in calls()


@pytest.mark.promise("P5")
def test_a_put_is_halved_where_that_is_asked_for() -> None:
    config = {**TOLERANT, "errors.put.tolerance": "all"}
    done = write(plan("Picky", connector=config), 0, [rows(b"a", b"bad", b"c", b"d")])
    assert [value for put in puts(calls()) for value in put] == [b"a", b"c", b"d"]
    assert done.tally == Tally(read=4, written=3, errors=1, skipped=1)
    with pytest.raises(ConfigError, match="does not declare its put atomic or idempotent"):
        write(plan("Noting", connector=config), 0, [rows(b"a")])


def test_the_reporter_hands_records_to_the_policy() -> None:
    done = write(plan("Reporting", connector=TOLERANT), 0, [rows(b"a", b"bad")])
    assert done.tally == Tally(read=2, written=2, errors=1, skipped=1)
    with pytest.raises(RecordError, match="^record t-0@1: task put Reporting failed: DataError: It is bad"):
        write(plan("Reporting", connector={"errors.log.enable": "true"}), 0, [rows(b"a", b"bad")])


def test_a_commit_that_is_asked_for_comes_after_the_put() -> None:
    write(plan("Reporting"), 0, [rows(b"a"), rows(b"b", first=1)])
    assert [call for call in calls() if call[0] in ("put", "pre_commit")] == [
        *[("put", [b"a"]), ("pre_commit", {T0: 1}), ("put", [b"b"]), ("pre_commit", {T0: 2}), ("pre_commit", {T0: 2})]
    ]


def test_records_out_of_order_are_not_written() -> None:
    with pytest.raises(ConnectError, match="t-0 come out of order: offset 3 after 5"):
        write(plan("Noting"), 0, [rows(b"a", first=5), rows(b"b", first=3)])
    assert puts(calls()) == [[b"a"]]


def test_rewinding_is_refused() -> None:
    with pytest.raises(ConnectError, match="Rewinding.put of t-0@0-0 failed: .* wants to go back .* engine=worker"):
        write(plan("Rewinding"), 0, [rows(b"a")])


@pytest.mark.promise("P7")
def test_a_paused_partition_waits_until_it_is_resumed() -> None:
    write(plan("Pausing"), 0, [rows(b"a"), rows(b"b", first=1)])
    assert puts(calls()) == [[b"a"], [], [], [b"b"]]


def test_puts_are_as_large_as_the_consumer_s_would_be() -> None:
    config = {"consumer.override.max.poll.records": "2"}
    write(plan("Noting", connector=config), 0, [rows(b"a", b"b", b"c")])
    assert puts(calls()) == [[b"a", b"b"], [b"c"]]


def test_converters_and_transformations_run_and_their_errors_say_where() -> None:
    config = {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "transforms": "in",
        "transforms.in.type": "org.apache.kafka.connect.transforms.HoistField$Value",
        "transforms.in.field": "inner",
    }
    write(plan("Noting", connector=config), 0, [rows({"a": 1})])
    assert puts(calls()) == [[{"inner": {"a": 1}}]]
    with pytest.raises(RecordError, match="^record t-0@1: value converter JsonConverter failed"):
        write(plan("Noting", connector=config), 0, [rows({"a": 1}, b"{")])
    assert puts(calls()) == []
    done = write(plan("Noting", connector={**config, **TOLERANT}), 0, [rows({"a": 1}, b"{", {"a": 2})])
    assert puts(calls()) == [[{"inner": {"a": 1}}, {"inner": {"a": 2}}]]
    assert done.tally == Tally(read=3, written=2, errors=1, skipped=1)


def test_a_chain_is_kept_for_the_next_write_unless_it_remembers_records_or_failed() -> None:
    write(plan("Noting"), 0, [rows(b"a")])
    (kept,) = resources._kept.values()
    write(plan("Noting"), 0, [rows(b"a")])
    assert list(resources._kept.values()) == [kept]
    with pytest.raises(ConnectError):
        write(plan("Failing"), 0, [rows(b"a")])
    assert list(resources._kept.values()) == [kept]


@pytest.mark.promise("P1")
def test_what_an_earlier_write_saw_is_not_taken_for_a_duplicate_when_it_comes_again() -> None:
    once = {"transforms": "once", "transforms.once.type": "connector_sink_tasks.Once"}
    for _ in range(2):
        write(plan("Noting", connector=once, plugin_path=(FOLDER,)), 0, [rows(b"a", b"a")])
        assert puts(calls()) == [[b"a"]]


def test_waiting_ends_when_spark_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    alive = Alive()
    gone = threading.Timer(0.05, lambda: monkeypatch.setattr(os, "getppid", lambda: -1))
    gone.start()
    with pytest.raises(Orphaned):
        alive.pause(60)
    gone.join()


@pytest.mark.promise("P3")
def test_no_put_begins_while_the_lease_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lease_file = LeaseFile(tmp_path / "lease_file")
    waited = []

    def sleep(seconds: float) -> None:
        waited.append(calls())
        if len(waited) > 2:
            lease_file.hold_until(time.clock_gettime(time.CLOCK_BOOTTIME) + 60)

    monkeypatch.setattr("spark_sink.connector_sink.resources.time.sleep", sleep)
    lease_file.hold_until(time.clock_gettime(time.CLOCK_BOOTTIME) - 1)
    write(plan("Noting", lease_file=str(lease_file.path)), 0, [rows(b"a")])
    assert [[call[0] for call in said] for said in waited] == [["start", "open"], [], []]
    assert puts(calls()) == [[b"a"]]
    lease_file.hold_until(0.0)  # paused: what is under way is finished
    write(plan("Noting", lease_file=str(lease_file.path)), 0, [rows(b"a")])
    lease_file.close()
    write(plan("Noting", lease_file=str(lease_file.path)), 0, [rows(b"a")])
    assert len(waited) == 3


def test_a_plan_shows_no_configuration() -> None:
    secret = plan("Noting", connector={"db.password": "hunter22"})
    assert "hunter22" not in f"{secret!r} {secret}"
    assert secret.key() == pickle.loads(pickle.dumps(secret)).key() != plan("Noting").key()
