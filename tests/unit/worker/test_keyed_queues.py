"""Work of one connector is done in order, and of different ones side by side."""

import threading
from collections.abc import Iterator

import pytest

from connect.worker.background import KeyedQueues


@pytest.fixture
def queues() -> Iterator[KeyedQueues]:
    made = KeyedQueues(4)
    yield made
    made.close()


def test_one_name_is_served_in_order(queues: KeyedQueues) -> None:
    seen: list[int] = []
    results = [queues.submit("a", lambda n=n: seen.append(n) or n) for n in range(200)]
    assert [result.result(10) for result in results] == list(range(200))
    assert seen == list(range(200))


@pytest.mark.promise("P6")
def test_one_that_hangs_keeps_one_thread_however_often_it_is_asked(queues: KeyedQueues) -> None:
    go = threading.Event()
    hanging = [queues.submit("hanging", lambda: go.wait(30)) for _ in range(20)]
    others = [queues.submit(f"other {n}", lambda n=n: n) for n in range(50)]
    assert [other.result(10) for other in others] == list(range(50))
    assert not hanging[0].done()
    go.set()
    assert all(one.result(10) for one in hanging)


def test_an_error_is_the_futures_own(queues: KeyedQueues) -> None:
    failing = queues.submit("a", lambda: 1 / 0)
    after = queues.submit("a", lambda: "on")
    with pytest.raises(ZeroDivisionError):
        failing.result(10)
    assert after.result(10) == "on"


def test_closing_begins_nothing_more() -> None:
    queues = KeyedQueues(1)
    go, began = threading.Event(), threading.Event()

    def work() -> str:
        began.set()
        go.wait(30)
        return "done"

    first, second = queues.submit("a", work), queues.submit("a", work)
    began.wait(10)
    closing = threading.Thread(target=queues.close)
    closing.start()
    while not queues.submit("b", work).cancelled():
        pass
    go.set()
    closing.join(10)
    assert first.result(10) == "done"
    assert second.cancelled()


def test_a_name_is_idle_when_all_is_done_that_was_asked_for_meanwhile(queues: KeyedQueues) -> None:
    go, seen = threading.Event(), []

    def work() -> None:
        go.wait(10)
        queues.submit("a", lambda: seen.append("later"))
        seen.append("first")

    queues.submit("a", work)
    idle = queues.idle("a")
    assert queues.idle("b").done()
    assert not idle.done()
    go.set()
    idle.result(10)
    assert seen == ["first", "later"]


def test_whoever_waits_for_a_name_is_let_go_at_the_end() -> None:
    queues = KeyedQueues(1)
    go, began = threading.Event(), threading.Event()
    queues.submit("a", lambda: began.set() or go.wait(30))
    began.wait(10)
    waiting = queues.submit("b", lambda: "never")
    idle = queues.idle("b")
    queues.close()
    go.set()
    idle.result(10)
    assert waiting.cancelled()
