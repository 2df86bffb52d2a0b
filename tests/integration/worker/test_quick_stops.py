"""Sink tasks that are stopped right after they were started, while their consumers join a group."""

import random
import time

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient

KILLED = "did not stop in time"


@pytest.mark.slow
@pytest.mark.promise("P11")
def test_fifty_quick_starts_and_stops_need_no_kill(herd, new_topic, tmp_path, seed, caplog):
    chance = random.Random(seed)
    topic = new_topic(partitions=4)
    run = herd(task__shutdown__graceful__timeout__ms="4000")
    config = {"connector.class": "FileStreamSink", "topics": topic, "file": str(tmp_path / "out"), "tasks.max": "3"}
    for _ in range(50):
        run.run("copy", **config)
        run.herder.resume("copy").result(60)
        time.sleep(chance.uniform(0, 0.2))  # any moment: what is tried is the one at which the stop comes
        run.herder.stop_connector("copy").result(60)
        run.until(lambda: run.herder.worker.tasks.of("copy") == {})
    assert KILLED not in caplog.text


@pytest.mark.slow
@pytest.mark.promise("P11")
def test_a_task_whose_group_waits_for_another_member_stops_in_time_and_leaves_no_member(
    herd, broker, new_topic, write, tmp_path, caplog
):
    topic, file = new_topic(), tmp_path / "out"
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "connect-held", "session.timeout.ms": 45_000}
    holder = Consumer(settings)
    holder.subscribe([topic])
    deadline = time.monotonic() + 30
    while not holder.assignment():
        holder.poll(0.1)
        assert time.monotonic() < deadline
    # It is not polled any more: it takes no part in a rebalance, and whoever joins waits for it.
    run = herd(task__shutdown__graceful__timeout__ms="4000")
    config = {"connector.class": "FileStreamSink", "topics": topic, "file": str(file)}
    for _ in range(3):
        run.run("held", **config)
        run.herder.resume("held").result(60)
        run.await_state("held", "RUNNING")
        run.until(lambda: run.herder.worker.tasks.of("held")[0].process.abandoned_member)
        run.herder.stop_connector("held").result(60)
        run.until(lambda: run.herder.worker.tasks.of("held") == {})
    assert KILLED not in caplog.text
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    run.until(lambda: len(admin.describe_consumer_groups(["connect-held"])["connect-held"].result(30).members) == 1)
    holder.close()
    write(broker, topic, [b"a"])
    run.run("held", **config)
    run.herder.resume("held").result(60)
    run.await_lines(file, ["a"])
