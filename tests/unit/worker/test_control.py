"""The task's end of its control pipe: the lease, what the worker wants, questions and answers."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from connect.errors import ConnectError, DataError
from connect.worker import messages
from connect.worker.channel import Channel
from connect.worker.control import Control, Stopping
from connect.worker.lease import Lease, now

AGES = 60.0


class Worker:
    """The other end: what the worker says and hears, and the task's thread beside it."""

    def __init__(self, *, held: bool = True, paused: bool = False) -> None:
        self.channel, theirs = Channel.pair()
        self.lease = Lease(now() + AGES if held else 0.0)
        self.control = Control(Channel(theirs), self.lease, paused=paused)
        self._theirs = theirs
        # The pipe's own thread would end this process with the pipe: what it does is called from here instead.
        self._take = self.control._take

    def says(self, message: messages.AnyMessage) -> None:
        self._take(message)

    def close(self) -> None:
        self.channel.close()
        self._theirs.close()


class Doing:
    """A call in a thread of its own."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=[call], daemon=True)
        self._thread.start()

    def _run(self, call: Callable[[], Any]) -> None:
        try:
            self.result = call()
        except BaseException as error:
            self.error = error

    @property
    def done(self) -> bool:
        return not self._thread.is_alive()

    def get(self) -> Any:
        self._thread.join(AGES / 2)
        assert self.done
        if self.error is not None:
            raise self.error
        return self.result


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.close()


@pytest.mark.promise("P3")
def test_nothing_proceeds_without_the_lease():
    worker = Worker(held=False)
    doing = Doing(worker.control.await_lease)
    assert not worker.control.holds_lease()
    doing._thread.join(0.05)
    assert not doing.done
    worker.says(messages.Renew(now() + AGES))
    doing.get()
    assert worker.control.holds_lease()
    worker.close()


def test_with_the_lease_work_proceeds_at_once(worker):
    worker.control.await_lease()


def test_a_task_that_is_to_stop_proceeds_no_more_even_with_a_lease(worker):
    worker.says(messages.Stop())
    with pytest.raises(Stopping):
        worker.control.await_lease()
    with pytest.raises(Stopping):
        worker.control.check()


def test_a_task_that_waits_for_its_lease_can_be_stopped():
    worker = Worker(held=False)
    doing = Doing(worker.control.await_lease)
    worker.says(messages.Stop())
    with pytest.raises(Stopping):
        doing.get()
    worker.close()


@pytest.mark.parametrize("wait", ["wait", "sleep"])
def test_a_stop_ends_every_wait(worker, wait):
    doing = Doing(lambda: getattr(worker.control, wait)(AGES))
    worker.says(messages.Stop())
    with pytest.raises(Stopping):
        doing.get()


def test_a_pause_and_a_resume_wake_a_waiting_task(worker):
    doing = Doing(lambda: worker.control.wait(AGES))
    while not worker.control._changed._waiters:
        assert not doing.done
    worker.says(messages.Pause())
    doing.get()
    assert worker.control.paused
    doing = Doing(lambda: worker.control.wait(AGES))
    while not worker.control._changed._waiters:
        assert not doing.done
    worker.says(messages.Resume())
    doing.get()
    assert not worker.control.paused


def test_a_retry_sleeps_through_a_pause(worker):
    doing = Doing(lambda: worker.control.sleep(0.05))
    worker.says(messages.Pause())
    worker.says(messages.Resume())
    doing.get()
    assert doing.result is None


def test_a_task_may_begin_paused():
    worker = Worker(paused=True)
    assert worker.control.paused
    worker.close()


def test_questions_get_their_own_answers_in_whatever_order_they_come(worker):
    asked = Doing(lambda: worker.control.ask_offsets([{"file": "a"}, {"file": "b"}]))
    ask = worker.channel.receive()
    assert ask == messages.AskOffsets(ask.question, [{"file": "a"}, {"file": "b"}])
    stored = Doing(lambda: worker.control.store_offsets([({"file": "a"}, {"position": 3})]))
    store = worker.channel.receive()
    assert store == messages.StoreOffsets(store.question, [({"file": "a"}, {"position": 3})])
    worker.says(messages.Renew(now() + AGES))
    worker.says(messages.Stored(store.question))
    stored.get()
    assert not asked.done
    worker.says(messages.Pause())
    worker.says(messages.Offsets(ask.question, [{"position": 3}, None]))
    assert asked.get() == [{"position": 3}, None]


def test_an_answer_that_is_an_error_is_raised(worker):
    for call in (
        lambda: worker.control.ask_offsets([{}]),
        lambda: worker.control.store_offsets([({}, {})]),
    ):
        doing = Doing(call)
        question = worker.channel.receive()
        kind = messages.Offsets if isinstance(question, messages.AskOffsets) else messages.Stored
        answer = (
            kind(question.question, [], "the disk is full")
            if kind is messages.Offsets
            else kind(question.question, "the disk is full")
        )
        worker.says(answer)
        with pytest.raises(ConnectError, match="the disk is full"):
            doing.get()


@pytest.mark.parametrize(
    ("partition", "offset"), [({"day": date(2026, 1, 1)}, {}), ({}, {"at": Decimal("0.1")}), ({7: "a"}, None)]
)
def test_offsets_that_cannot_be_json_are_refused_and_not_stored_as_text(worker, partition, offset):
    with pytest.raises(DataError, match="source partition or offset"):
        worker.control.store_offsets([(partition, offset)], timeout=0.01)


def test_a_worker_that_does_not_answer_is_not_waited_for_longer_than_said(worker):
    with pytest.raises(ConnectError, match="did not answer in time"):
        worker.control.store_offsets([({}, {})], timeout=0.01)


def test_an_answer_that_comes_too_late_is_thrown_away(worker):
    with pytest.raises(ConnectError):
        worker.control.store_offsets([({}, {})], timeout=0.001)
    worker.says(messages.Stored(worker.channel.receive().question))
    assert not worker.control._answers


def test_a_task_that_is_stopping_still_gets_its_last_offsets_stored(worker):
    worker.says(messages.Stop())
    doing = Doing(lambda: worker.control.store_offsets([({"file": "a"}, {"position": 3})], timeout=AGES))
    worker.says(messages.Stored(worker.channel.receive().question))
    doing.get()


@pytest.mark.promise("P3")
def test_a_task_ends_when_its_worker_is_gone():
    code = """if True:
        import socket, sys, threading
        from connect.worker.channel import Channel
        from connect.worker.control import Control
        from connect.worker.lease import Lease
        channel = Channel(socket.socket(fileno=int(sys.argv[1])))
        Control(channel, Lease(0.0), paused=False).start()
        threading.Event().wait()
    """
    mine, theirs = Channel.pair()
    with theirs:
        task = subprocess.Popen([sys.executable, "-c", code, str(theirs.fileno())], pass_fds=[theirs.fileno()])
    mine.close()
    assert task.wait(AGES) == 1
