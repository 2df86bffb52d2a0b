"""Work beside a worker that does not keep it when it ends."""

import subprocess
import sys
import threading

import pytest

from connect.worker.background import Background
from tests.support.waiting import until


def test_so_many_at_once_and_the_others_after_them():
    work = Background("work", 2)
    begun, go_on, together = threading.Semaphore(0), threading.Event(), []

    def call() -> int:
        begun.release()
        go_on.wait(30)
        together.append(1)
        return threading.get_ident()

    done = [work.submit(call) for _ in range(5)]
    assert begun.acquire(timeout=30)
    assert begun.acquire(timeout=30)
    assert not begun.acquire(timeout=0.05), "a third one has begun"
    go_on.set()
    assert len({future.result(30) for future in done}) <= 2
    assert len(together) == 5


def test_an_error_is_the_answer_and_ends_no_thread():
    work = Background("work", 1)
    with pytest.raises(ZeroDivisionError):
        work.submit(lambda: 1 // 0).result(30)
    assert work.submit(lambda: "on").result(30) == "on"


def test_the_end_waits_for_what_was_submitted_but_not_for_ever():
    work = Background("work", 1)
    told, hang = [], threading.Event()
    work.submit(lambda: told.append(1))
    work.close(30)
    assert told == [1]
    with pytest.raises(RuntimeError):
        work.submit(lambda: None)
    stuck = Background("stuck", 1)
    done = stuck.submit(lambda: hang.wait(60))
    stuck.close(0.05)
    assert not done.done()
    hang.set()


def test_what_has_not_begun_may_be_dropped():
    work, began, go_on = Background("work", 1), threading.Event(), threading.Event()
    running = work.submit(lambda: began.set() or go_on.wait(30))
    waiting = work.submit(lambda: "never")
    assert began.wait(30)
    work.close(0, drop=True)
    assert waiting.cancelled()
    assert not running.done()
    go_on.set()
    assert running.result(30)


def test_the_process_ends_whatever_still_runs():
    code = (
        "import threading; from connect.worker.background import Background;"
        "Background('x', 1).submit(threading.Event().wait)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_calls_that_take_long_make_room_for_others():
    work, go_on = Background("work", 2, long=0.05), threading.Event()
    hanging = [work.submit(lambda: go_on.wait(60)) for _ in range(2)]
    waiting = [work.submit(lambda n=n: n) for n in range(5)]
    assert [future.result(30) for future in waiting] == list(range(5))
    assert not any(future.done() for future in hanging)
    go_on.set()


def test_threads_that_took_the_place_of_others_end():
    work, go_on = Background("crowd", 1, long=0.05), threading.Event()
    hanging = [work.submit(lambda: go_on.wait(60)) for _ in range(4)]
    assert work.submit(lambda: "on").result(30) == "on"
    assert crowd() > 4
    go_on.set()
    assert all(future.result(30) for future in hanging)
    until(lambda: crowd() == 1, 30, "one thread is left")
    assert work.submit(lambda: "on").result(30) == "on"


def crowd() -> int:
    return sum(thread.name == "crowd" for thread in threading.enumerate())
