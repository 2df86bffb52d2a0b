from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from connect import ConnectError, RetriableError
from connect.kit import Chore, Watch, shared_out
from tests.support.waiting import until


class Context:
    name = "c"

    def __init__(self) -> None:
        self.asked = 0
        self.raised: list[Exception] = []

    def request_task_reconfiguration(self) -> None:
        self.asked += 1

    def raise_error(self, error: Exception) -> None:
        self.raised.append(error)


class Looks:
    """A look that finds, or raises, what a test says."""

    def __init__(self, finds: Any) -> None:
        self.finds = finds
        self.count = 0

    def __call__(self) -> Any:
        self.count += 1
        if isinstance(self.finds, Exception):
            raise self.finds
        return self.finds


Start = Callable[..., Watch[Any]]


@pytest.fixture
def context() -> Context:
    return Context()


@pytest.fixture
def start(context: Context) -> Iterator[Start]:
    watches = []

    def make(look: Callable[[], Any], seconds: float | None = 0.0, **more: Any) -> Watch[Any]:
        watch: Watch[Any] = Watch("tables of x", look, seconds, context, retry_seconds=0.0, **more)  # type: ignore[arg-type]
        watches.append(watch)
        watch.start()
        return watch

    yield make
    for watch in watches:
        watch.stop()
        assert not watch.is_alive()


def test_the_first_find_is_answered_and_asks_for_nothing(start: Start, context: Context) -> None:
    look = Looks(["a"])
    assert start(look).found(60) == ["a"]
    until(lambda: look.count >= 3)
    assert context.asked == 0


def test_other_work_asks_for_other_tasks(start: Start, context: Context, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    look = Looks(["a"])
    watch = start(look, names=lambda found: found)
    watch.found(60)
    look.finds = ["a", "b"]
    until(lambda: context.asked)
    assert watch.found(60) == ["a", "b"]
    assert "The tables of x are now: a, b." in caplog.text
    look.finds = []
    until(lambda: context.asked == 2)
    assert "The tables of x are now: none." in caplog.text


def test_the_connector_says_what_counts_as_a_change(start: Start, context: Context) -> None:
    look = Looks({"a"})
    watch = start(look, changed=lambda old, new: not new <= old)
    watch.found(60)
    look.finds = set()
    until(lambda: watch.found(60) == set())
    assert context.asked == 0
    look.finds = {"b"}
    until(lambda: context.asked == 1)


def test_whoever_went_without_is_called_when_it_is_known(start: Start, context: Context) -> None:
    go = threading.Event()

    def look() -> list[str]:
        go.wait(60)
        return ["a"]

    watch = start(look)
    with pytest.raises(RetriableError, match="tables of x were not found in 0 s"):
        watch.found(0)
    go.set()
    until(lambda: context.asked == 1)
    assert watch.found(60) == ["a"]


def test_a_failure_that_passes_is_told_and_tried_again(start: Start, context: Context) -> None:
    look = Looks(RetriableError("away"))
    watch = start(look)
    with pytest.raises(RetriableError, match="away"):
        watch.found(60)
    until(lambda: look.count > 5)
    assert not context.raised
    look.finds = ["a"]
    until(lambda: context.asked == 1)
    assert watch.found(60) == ["a"]


def test_what_was_found_counts_while_looks_fail(start: Start) -> None:
    look = Looks(["a"])
    watch = start(look)
    watch.found(60)
    look.finds, before = RetriableError("away"), look.count
    until(lambda: look.count > before + 2)
    assert watch.found(0) == ["a"]


@pytest.mark.parametrize("error", [ConnectError("wrong password"), KeyError("password")])
def test_after_three_refusals_the_connector_fails_once(start: Start, context: Context, error: Exception) -> None:
    look = Looks(error)
    watch = start(look)
    with pytest.raises(ConnectError, match="password") as raised:
        watch.found(60)
    assert not isinstance(raised.value, RetriableError)
    until(lambda: look.count > 5)
    assert context.raised == [error]


@pytest.mark.parametrize("part", ["changed", "names"])
def test_a_part_of_the_connectors_that_raises_ends_no_thread(start: Start, context: Context, part: str) -> None:
    def breaks(*_: object) -> Any:
        if look.finds != ["a"]:
            raise ValueError
        return [] if part == "names" else False

    look = Looks(["a"])
    watch = start(look, **{part: breaks})
    assert watch.found(60) == ["a"]
    look.finds = ["b"]
    until(lambda: context.raised)
    look.finds = ["a"]
    count = look.count
    until(lambda: look.count >= count + 3)
    assert len(context.raised) == 1


def test_without_seconds_it_looks_until_it_has_found(start: Start) -> None:
    look = Looks(RetriableError("away"))
    watch = start(look, None)
    until(lambda: look.count > 2)
    look.finds = ["a"]
    until(lambda: watch._found)
    assert watch.found(0) == ["a"]


@pytest.mark.parametrize("error", [ConnectError("not now"), KeyError("a mistake")])
def test_chores_are_done_after_the_first_find_and_tried_again(start: Start, error: Exception) -> None:
    done: list[str] = []

    def fails_once() -> None:
        done.append("once")
        if len(done) == 1:
            raise error

    look, again = Looks(RetriableError("away")), Looks(None)
    start(look, chores=[Chore(fails_once, None), Chore(again, 0.0)])
    until(lambda: look.count > 2)
    assert not done
    look.finds = ["a"]
    until(lambda: again.count > 3)
    assert done == ["once", "once"]


def test_what_the_look_uses_is_closed_in_its_thread(start: Start) -> None:
    closed: list[str] = []
    watch = start(Looks(["a"]), closing=lambda: closed.append(threading.current_thread().name))
    watch.found(60)
    watch.stop()
    assert closed == ["watch tables of x"]


def test_work_is_dealt_one_by_one() -> None:
    assert shared_out("abcde", 2) == [["a", "c", "e"], ["b", "d"]]
    assert shared_out("ab", 9) == [["a"], ["b"]]
    assert shared_out("", 3) == []
