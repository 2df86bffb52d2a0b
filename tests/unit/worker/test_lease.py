"""The lease of a task: who does not hold one starts nothing (P3)."""

import os
import threading

import pytest

from connect.worker.lease import Lease, now

AGES = 60.0


@pytest.mark.promise("P3")
def test_a_lease_holds_until_its_moment_and_no_longer():
    lease = Lease(now() + 0.02)
    assert lease.valid()
    expired = threading.Event()
    while lease.valid():
        assert not expired.wait(0.002)
    assert not lease.valid()
    assert not lease.wait(0)


@pytest.mark.promise("P3")
def test_a_lease_that_is_over_counts_again_only_when_it_is_renewed():
    lease = Lease(now() - 1)
    assert not lease.valid()
    lease.renew(now() - 0.5)
    assert not lease.valid()
    lease.renew(now() + AGES)
    assert lease.valid()


def test_an_older_renewal_that_comes_late_shortens_nothing():
    lease = Lease(now() - 1)
    lease.renew(now() + AGES)
    lease.renew(now() - AGES)
    assert lease.valid()


def test_whoever_waits_for_the_lease_wakes_up_with_the_renewal():
    lease = Lease(0.0)
    held = []
    waiter = threading.Thread(target=lambda: held.append(lease.wait(AGES)))
    waiter.start()
    lease.renew(now() + AGES)
    waiter.join(AGES / 2)
    assert held == [True]


def test_waiting_ends_without_a_renewal_too():
    assert not Lease(0.0).wait(0.001)


def test_worker_and_task_read_the_same_clock():
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        os.write(write, repr(now()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    with os.fdopen(read) as answer:
        os.close(write)
        there = float(answer.read())
    assert now() - AGES < there <= now()
