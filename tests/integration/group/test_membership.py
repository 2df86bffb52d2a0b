from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from connect.errors import ConnectError
from connect.group.work import NOTHING
from connect.kafka.broker.embedded import Broker, ensure_running, stop
from connect.worker.lease import now
from tests.servers.broker import a_broker

from .members import Group, Worker, settled

MakeGroup = Callable[[str], Group]


@pytest.mark.quick
def test_members_share_all_work_evenly_and_one_of_them_leads(group: Group) -> None:
    group.cluster.configure(x=5, y=4)
    for count in (1, 2, 3):
        group.join()
        settled(group.workers, group.cluster.all())
        assert len({worker.membership.member_id for worker in group.workers}) == count
        assert [worker.last.leads for worker in group.workers].count(True) == 1
        assert {worker.membership.generation for worker in group.workers} == {group.workers[0].last.generation}
    assert not any(worker.losses for worker in group.workers)


def test_a_join_stops_only_what_moves(group: Group) -> None:
    group.cluster.configure(x=6)
    first, second = group.join(), group.join()
    settled(group.workers, group.cluster.all())
    before = first.owned | second.owned
    kept = {first: first.owned, second: second.owned}
    third = group.join()
    settled(group.workers, group.cluster.all())
    assert first.owned - kept[first] == second.owned - kept[second] == NOTHING
    assert third.owned == before - first.owned - second.owned


def test_who_leaves_is_replaced_at_the_next_heartbeat(group: Group) -> None:
    group.cluster.configure(x=6)
    workers = [group.join() for _ in range(3)]
    settled(workers, group.cluster.all())
    leader = next(worker for worker in workers if worker.last.leads)
    leader.membership.leave()
    left = [worker for worker in workers if worker is not leader]
    settled(left, group.cluster.all(), within=5)  # the session's end, at 6 s, is not waited for
    assert not leader.membership.live()
    assert leader.membership.live_until() < 0


def test_the_first_protocol_that_all_offer_is_spoken(group: Group) -> None:
    group.cluster.configure(x=6)
    first = group.join("sessioned")
    settled(group.workers, group.cluster.all())
    assert first.last.protocol == "sessioned"
    second = group.join("compatible")
    settled(group.workers, group.cluster.all())
    assert {first.last.protocol, second.last.protocol} == {"compatible"}
    before = first.last.generation
    third = group.join("eager")
    settled(group.workers, group.cluster.all())
    assert {worker.last.protocol for worker in group.workers} == {"default"}
    assert first.last.generation > before + 1, "in the first eager round all still had their work"
    assert "default" in first.rejoins
    third.membership.leave()
    settled([first, second], group.cluster.all())
    assert {first.last.protocol, second.last.protocol} == {"compatible"}
    assert "default" in first.rejoins, "an eager member stops its work before it joins again"


def test_a_wish_to_join_again_during_a_join_is_not_lost(group: Group) -> None:
    first, second = group.join(), group.join()
    settled(group.workers, group.cluster.all())
    held = threading.Event()
    second.slow_rejoin = held.wait  # so that the join of the first one waits for it
    first.membership.request_rejoin("a reason")
    first.wait(lambda worker: worker.membership.rebalancing)
    generation = first.last.generation
    group.cluster.configure(x=2)
    first.membership.request_rejoin("another reason")
    held.set()
    first.wait(lambda worker: worker.last.generation >= generation + 2)
    settled(group.workers, group.cluster.all())


@pytest.mark.slow
@pytest.mark.promise("P3")
def test_heartbeats_go_on_while_callbacks_and_other_members_take_their_time(group: Group) -> None:
    first, second = group.join(), group.join()
    settled(group.workers, group.cluster.all())
    held = threading.Event()
    second.slow_rejoin = held.wait
    first.membership.request_rejoin("so that it waits for the other one")
    first.wait(lambda worker: worker.membership.rebalancing)
    longer_than_the_session = now() + 8
    while now() < longer_than_the_session:
        assert first.membership.live()
        assert second.membership.live()
        time.sleep(0.05)
    held.set()
    settled(group.workers, group.cluster.all())
    assert not first.losses
    assert not second.losses


@pytest.mark.slow
@pytest.mark.promise("P3")
def test_a_callback_that_hangs_costs_the_membership_before_others_get_the_work(group: Group) -> None:
    group.cluster.configure(x=4)
    first = group.join(rebalance_timeout_ms="3000")
    second = group.join(rebalance_timeout_ms="3000")
    settled(group.workers, group.cluster.all())
    held = threading.Event()
    second.slow_rejoin = held.wait
    furthest = [0.0]
    watch = threading.Thread(target=record, args=(second, furthest, held))
    watch.start()
    try:
        first.membership.request_rejoin("so that the other one is called")
        first.wait(lambda worker: worker.owned == group.cluster.all())
        assert not second.membership.live()
        assert furthest[0] <= first.last.at
    finally:
        held.set()
        watch.join()
    settled(group.workers, group.cluster.all())


@pytest.mark.slow
@pytest.mark.promise("P3")
def test_a_callback_that_never_returns_costs_the_membership_though_heartbeats_go_on(group: Group) -> None:
    group.cluster.configure(x=4)
    first = group.join(rebalance_timeout_ms="3000")
    settled(group.workers, group.cluster.all())
    held = threading.Event()
    second = group.prepare(rebalance_timeout_ms="3000")
    second.slow_joined = held.wait
    second.membership.start()
    second.wait(lambda worker: worker.history)
    first.wait(lambda worker: worker.history[-1].generation > second.history[0].generation)
    settled([first], group.cluster.all())
    assert not second.membership.live()
    held.set()
    settled(group.workers, group.cluster.all())


def record(worker: Worker, furthest: list[float], until: threading.Event) -> None:
    """The latest moment that the member believed itself to be one, as it said at any time."""
    while not until.wait(0.005):
        furthest[0] = max(furthest[0], min(worker.membership.live_until(), now() + 3600))


@contextmanager
def process(group: Group, tasks: int, number: int = 99) -> Iterator[tuple[subprocess.Popen[str], Callable[[str], Any]]]:
    """A member in a process of its own, and how to wait for what it says next of a kind."""
    script = Path(__file__).with_name("member_process.py")
    arguments = [group.bootstrap_servers, group.name, "sessioned", str(number), str(tasks)]
    with subprocess.Popen([sys.executable, script, *arguments], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout

        def says(what: str) -> Any:
            assert child.stdout
            for line in child.stdout:
                if (said := json.loads(line))["what"] == what:
                    return said
            raise AssertionError(f"it ended without saying {what}")

        try:
            yield child, says
        finally:
            child.kill()


@pytest.mark.slow
@pytest.mark.promise("P3")
def test_a_worker_that_is_killed_is_replaced_after_its_session(group: Group) -> None:
    group.cluster.configure(x=4)
    survivor = group.join()
    with process(group, tasks=4) as (child, says):
        while says("joined")["owned"] < 2:
            pass
        child.kill()
        killed = now()
    settled([survivor], group.cluster.all())
    assert survivor.last.at - killed > 4, "not before the session of 6 s, counted from the last heartbeat"


@pytest.mark.slow
@pytest.mark.promise("P3")
def test_a_worker_that_was_stopped_knows_that_it_is_no_member_before_others_get_its_work(group: Group) -> None:
    group.cluster.configure(x=4)
    survivor = group.join()
    with process(group, tasks=4) as (child, says):
        while says("joined")["owned"] < 2:
            pass
        child.send_signal(signal.SIGSTOP)
        survivor.wait(lambda worker: len(worker.owned.tasks) == 4)
        taken = survivor.last.at
        child.send_signal(signal.SIGCONT)
        lost = says("lost")
        assert not lost["live"]
        assert lost["until"] <= taken
        while says("joined")["owned"] < 2:  # and it gets its share again
            pass


@pytest.fixture
def own_broker(tmp_path: Path, broker: Broker) -> Iterator[Broker]:
    """A broker of this test's own. The session's one is asked for so that jars and Java are there."""
    with a_broker(tmp_path / "broker") as running:
        yield running


@pytest.mark.slow
@pytest.mark.promise("P3")
def test_after_a_restart_of_the_broker_all_are_members_again(own_broker: Broker, group_at: MakeGroup) -> None:
    group = group_at(own_broker.bootstrap_servers)
    group.cluster.configure(x=6)
    workers = [group.join() for _ in range(3)]
    settled(workers, group.cluster.all())
    stop(own_broker.data)
    ends = [worker.membership.live_until() for worker in workers]
    for worker, end in zip(workers, ends, strict=True):  # away for longer than the session
        worker.wait(lambda worker: worker.losses, within=15)
        reason, live, at = worker.losses[0]
        assert not live
        assert "coordinator" in reason
        assert at < end + 2
        assert not worker.membership.coordinator_known
    ensure_running(own_broker.data)
    settled(workers, group.cluster.all(), within=60)


@pytest.mark.slow
def test_a_broker_that_is_back_within_the_session_costs_nobody_its_work(
    own_broker: Broker, group_at: MakeGroup
) -> None:
    """Java's workers stop all they have when a coordinator is away for a heartbeat's interval."""
    group = group_at(own_broker.bootstrap_servers)
    group.cluster.configure(x=6)
    workers = [group.join(session_timeout_ms="60000", heartbeat_interval_ms="200") for _ in range(3)]
    settled(workers, group.cluster.all())
    generations = [worker.membership.generation for worker in workers]
    stop(own_broker.data)
    for worker in workers:
        worker.wait(lambda worker: not worker.membership.coordinator_known)
    silent = now()
    while now() - silent < 1:  # five heartbeats
        assert not any(worker.losses for worker in workers)
    ensure_running(own_broker.data)
    for worker in workers:
        before = worker.membership.live_until()
        worker.wait(lambda worker, before=before: worker.membership.live_until() > before)
        assert worker.losses == []
    assert [worker.membership.generation for worker in workers] == generations


@pytest.mark.slow
@pytest.mark.promise("P3")
def test_a_coordinator_that_falls_silent_costs_the_membership_at_the_end_of_the_session(
    own_broker: Broker, group_at: MakeGroup
) -> None:
    group = group_at(own_broker.bootstrap_servers)
    group.cluster.configure(x=2)
    worker = group.join()
    settled([worker], group.cluster.all())
    broker = psutil.Process(own_broker.pid)
    broker.suspend()
    try:
        until = worker.membership.live_until()
        worker.wait(lambda worker: worker.losses, within=15)
        assert worker.losses[0][2] < until + 2
        assert not worker.membership.live()
    finally:
        broker.resume()
    settled([worker], group.cluster.all(), within=60)


def test_no_broker_is_an_error_within_the_time_given() -> None:
    before = set(threading.enumerate())
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        group = Group(f"127.0.0.1:{closed.getsockname()[1]}")
        worker = group.prepare()
        with pytest.raises(ConnectError, match=r"No broker answers at 127\.0\.0\.1"):
            worker.membership.start(timeout=1)
    assert not [thread for thread in set(threading.enumerate()) - before if thread.name.startswith("kafka-io")]


def test_a_session_that_the_broker_does_not_allow_fails_with_the_keys_to_change(group: Group) -> None:
    worker = group.join(session_timeout_ms="3600000")
    worker.wait(lambda worker: worker.errors)
    assert "session.timeout.ms" in str(worker.errors[0])
    assert not worker.membership.live()


def test_members_without_a_common_protocol_are_told_so(group: Group) -> None:
    group.join("eager")
    group.workers[0].wait(lambda worker: worker.history)
    stranger = group.prepare(protocols=("sessioned",))
    stranger.membership.start()
    stranger.wait(lambda worker: worker.errors)
    assert "connect.protocol" in str(stranger.errors[0])


def test_a_callback_that_raises_ends_the_membership_with_its_error(group: Group) -> None:
    worker = group.join()
    worker.wait(lambda worker: worker.history)

    def fail() -> None:
        raise RuntimeError("disk full")

    worker.slow_rejoin = fail
    worker.membership.request_rejoin("to be called back")
    worker.wait(lambda worker: worker.errors)
    assert "disk full" in str(worker.errors[0])
    assert not worker.membership.live()


def test_who_leaves_while_others_join_says_good_bye_at_once(group: Group, caplog: pytest.LogCaptureFixture) -> None:
    group.cluster.configure(x=4)
    first, second, third = (group.join(session_timeout_ms="30000") for _ in range(3))
    settled(group.workers, group.cluster.all())
    held = threading.Event()
    second.slow_rejoin = held.wait  # so that the others wait in their join
    third.membership.request_rejoin("to wait for the second one")
    third.wait(lambda worker: worker.membership.rebalancing)
    third.membership.leave()
    assert "LeaveGroup request failed" not in caplog.text
    held.set()
    settled([first, second], group.cluster.all(), within=15)  # the session's end, at 30 s, is not waited for


def test_leaving_from_a_callback_ends_everything(group: Group) -> None:
    worker = group.join()
    worker.wait(lambda worker: worker.history)
    done = threading.Event()

    def leave() -> None:
        worker.membership.leave("a test")
        done.set()

    worker.slow_rejoin = leave
    worker.membership.request_rejoin("to be called back")
    assert done.wait(20)
    assert not worker.membership.live()
    worker.membership.leave()
