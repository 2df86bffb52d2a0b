"""Supervises task processes: renews their leases, passes their messages on, kills those that do not end in time.

One thread serves all tasks of a worker. What it calls must not block: a lease that is not renewed stops a task.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import select
import selectors
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from connect.pipeline.error_kinds import ErrorKind
from connect.worker import messages, processes, task_process
from connect.worker.channel import Garbled, cut
from connect.worker.lease import now
from connect.worker.packs import Child, OwnProcess, Packs
from connect.worker.processes import how_it_ended
from connect.worker.remote_log import write_log
from connect.worker.said import Asked, Said
from connect.worker.spares import Spares

log = logging.getLogger("connect.worker")

#: How long a task may leave its control pipe unread when there is something to tell it, until it is ended.
_TAKES_WITHIN_S = 10.0
#: The same for being told to end: who does not take it in that time is killed later.
_STOP_S = 1.0
#: What a full pipe holds is a few of these; who goes on writing for a task that is dead is not waited for.
_LAST_READS = 64
#: Bytes of questions that one task may have open.
_MOST_ASKED = 1 << 26

_QUESTIONS = (messages.AskOffsets, messages.AskOffsetKeys, messages.AskToBegin, messages.StoreOffsets)
_ANSWERS = (messages.Offsets, messages.OffsetKeys, messages.Stored)


class TaskListener(Protocol):
    """Receives messages of a task, on the supervisor's thread. Must not block."""

    def task_said(self, task: TaskProcess, message: messages.AnyMessage) -> None:
        """The task sent this."""

    def task_ended(self, task: TaskProcess, error: str | None, trace: str | None) -> None:
        """The task's process is gone.

        Args:
            task: which.
            error: None when it ended as commanded, else one line.
            trace: all that is known of the error.
        """


class TaskProcess:
    """One task, seen from its worker. Methods that read or judge it are called on the supervisor's thread.

    Attributes:
        spec: what it was started with.
        child: its process, or its part of one.
        started: when, by `now()`.
        ended: set when the process is gone and its listener knows.
        kill_at: when it is killed unless it has ended, on the monotonic clock; None while it need not end.
    """

    def __init__(self, spec: messages.TaskSpec, child: Child, listener: TaskListener) -> None:
        self.spec = spec
        self.child = child
        self.started = now()
        self.ended = threading.Event()
        self.kill_at: float | None = None
        self._listener = listener
        self._stopping = False
        self._stopped = False
        self._killed = False
        self._failure: messages.Failed | None = None
        self._membership: messages.Membership | None = None
        self._heard = time.monotonic()
        self._silent = False
        self._asked = Asked(_MOST_ASKED)
        self._said = Said()

    @property
    def id(self) -> str:
        """Connector and number."""
        return self.spec.id

    @property
    def pid(self) -> int:
        """The process id."""
        return self.child.pid

    @property
    def shares(self) -> int:
        """How many tasks have its process, itself included."""
        return self.child.shares

    @property
    def crowded(self) -> bool:
        """Whether it shares a process that has grown too large."""
        return self.child.crowded

    @property
    def uprooted(self) -> str:
        """After its end: why it has to start again although nothing is wrong with it; empty when that is not so."""
        return "" if self._stopping or self._failure is not None else self.child.uprooted

    @property
    def needs_own_process(self) -> bool:
        """After its end: whether it must not share a process when it starts again."""
        return self.child.alone

    @property
    def ended_by_itself(self) -> bool:
        """Whether it reported its end, with nothing left open."""
        return self._stopped

    @property
    def abandoned_member(self) -> messages.Membership | None:
        """The consumer group member of a sink task, until it has left; after its end the one left behind."""
        return self._membership

    @property
    def failure(self) -> ErrorKind:
        """The kind of error that it ended with, if any."""
        return ErrorKind.CRASH if self._failure is None else self._failure.kind

    def send(self, message: messages.Message) -> None:
        """Send a message. A process that is gone is noticed elsewhere; one that does not read is ended.

        Raises:
            ConnectError: the message is too large, see `Channel.send`.
        """
        if isinstance(message, _ANSWERS):
            self._asked.answered(message.question)
        try:
            self.child.channel.send(message, _TAKES_WITHIN_S)
        except TimeoutError:
            self._ends_for(f"did not read its control pipe for {_TAKES_WITHIN_S:g} s.", ErrorKind.STALLED)
        except OSError:
            pass

    def offer(self, message: messages.Message, within: float = 0) -> bool:
        """Send a message to the task if that takes at most this many seconds: by default at once. Whether it has."""
        try:
            self.child.channel.send(message, within)
        except OSError:
            return False
        return True

    def pause(self) -> None:
        """Pause the task until `resume`."""
        self.send(messages.Pause())

    def resume(self) -> None:
        """Let the task continue."""
        self.send(messages.Resume())

    def ends_within(self, graceful: float) -> None:
        """The task was asked to end, and has this many seconds for it."""
        self._stopping = True
        self.kill_at = time.monotonic() + graceful

    def fail(self, summary: str, trace: str, kind: ErrorKind = ErrorKind.STALLED) -> None:
        """End its process at once: it FAILED for this reason, unless it has already failed for another."""
        self._failure = self._failure or messages.Failed(summary, trace, kind)
        self.child.kill()

    def kill(self) -> None:
        """End its process at once."""
        self._killed = True
        self.child.kill()

    def kill_if_late(self, moment: float) -> None:
        """End its process when its time to end is over."""
        if self.kill_at is not None and moment >= self.kill_at:
            self.kill_at = None
            log.warning("%s did not stop in time; the worker kills it", self.id)
            self.kill()

    def renew(self, until: float, lease: float) -> None:
        """Extend its lease, and tell its listener if it has been silent for too long since an earlier renewal.

        A process in which no thread runs is silent (P9): C code holds the interpreter lock, or it was stopped.
        """
        moment = time.monotonic()
        if until <= now():
            self._heard = moment  # who gets no renewal has nothing to say
            return
        silent = moment - self._heard
        if self.spec.stalled_after and not self._silent and silent >= max(self.spec.stalled_after, lease):
            self._silent = True
            words = f"The task's process (pid {self.pid}) has sent nothing for {silent:.0f} s: no thread of it runs."
            self._tell(messages.Stalled(words))
        # A renewal that finds the pipe full is not sent: the task does not read, and no one may wait for it here.
        self.offer(messages.Renew(until))

    def read(self) -> bool:
        """Read its messages. Returns whether more may come."""
        try:
            for message in self.child.channel.receive_ready():
                with _surviving(self):
                    self._take(message)
        except EOFError:
            return False
        except Garbled as error:
            self._ends_for(f"wrote what is not a message to its control pipe: {cut(str(error), 300)}.")
            return False
        return True

    def bury(self) -> None:
        """Reap its process, which is gone, and report how it ended."""
        code = self.child.reap()
        with _surviving(self):
            self._listener.task_ended(self, *self._outcome(code))
        self.ended.set()

    def _outcome(self, code: int) -> tuple[str | None, str | None]:
        if self._failure is not None:
            return self._failure.summary, self._failure.trace
        if self._stopped or (self._stopping and (self._killed or self.child.uprooted)) or self.uprooted:
            return None, None
        words = how_it_ended(code)
        return words, words

    def _take(self, came: messages.AnyMessage) -> None:
        self._heard = time.monotonic()
        if self._silent:
            self._silent = False
            self._tell(messages.Stalled(""))
        if isinstance(came, _QUESTIONS) and not self._asked.takes(came.question, self.child.channel.size):
            self._ends_for(f"asked {_MOST_ASKED >> 20} MiB of questions through its control pipe, and waits for none.")
            return
        match message := self._said.fit(came):
            case None:
                pass
            case messages.Failed():
                self._failure = message
            case messages.Stopped():
                self._stopped = True
            case messages.Membership():
                self._membership = message
            case messages.LeftGroup():
                self._membership = None
            case messages.Log():
                write_log(message, self.id)
            case _:
                self._listener.task_said(self, message)

    def _tell(self, message: messages.AnyMessage) -> None:
        with _surviving(self):
            self._listener.task_said(self, message)

    def _ends_for(self, did: str, kind: ErrorKind = ErrorKind.CRASH) -> None:
        words = f"The task's process {did} It was ended."
        self.fail(words, words, kind)


class Supervisor:
    """Supervises task processes.

    Args:
        lease: how long a renewal holds, in seconds.
        entitled_until: the moment, by `now()`, until which this worker is certainly the owner of its tasks (its
            membership of the group). No lease is longer.
        spares: processes that wait for tasks; closed with the supervisor.
    """

    def __init__(
        self,
        lease: float = 6.0,
        entitled_until: Callable[[], float] = lambda: math.inf,
        spares: Spares | None = None,
    ) -> None:
        self._lease = lease
        self._entitled_until = entitled_until
        self._tasks: set[TaskProcess] = set()
        self._spares = spares or Spares()
        self._packs = Packs(lambda: len(self._tasks), self._spares)
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        self._selector.register(self._wake_read, selectors.EVENT_READ, None)
        self._calls: deque[Callable[[], None]] = deque()
        self._thread = threading.Thread(target=self._run, name="supervisor", daemon=True)
        self._closing = False
        self._came_by = time.monotonic()

    def start(self) -> None:
        """Start the fork server and the supervising thread. Call it from the worker's main thread."""
        processes.start_server()
        self._thread.start()

    def lease_until(self) -> float:
        """The moment until which a task that starts now may work without a renewal."""
        return min(now() + self._lease, self._entitled_until())

    def start_task(self, spec: messages.TaskSpec, listener: TaskListener, *, alone: bool = False) -> TaskProcess:
        """Start a task. Blocks for some milliseconds, until it is forked.

        Args:
            spec: see there.
            listener: receives nothing before `watch`.
            alone: in a process of its own, whatever `isolation` says.
        """
        if alone or not self._packs.takes(spec):
            return TaskProcess(spec, OwnProcess(task_process.main, msgspec.msgpack.encode(spec)), listener)
        return TaskProcess(spec, self._packs.start(spec), listener)

    def watch(self, task: TaskProcess) -> None:
        """Begin to renew its lease and to pass on its messages."""
        self._call(lambda: self._watch(task))

    def tell(self, message: messages.Message) -> None:
        """Send a message to all running tasks. One that does not read is skipped."""

        def tell() -> None:
            for task in self._tasks:
                task.offer(message)

        self._call(tell)

    def stop_task(self, task: TaskProcess, graceful: float) -> None:
        """Ask a task to end, and kill it after this many seconds (P11). `task.ended` is set when it has."""
        task.ends_within(graceful)
        self._call(lambda: None)
        task.offer(messages.Stop(), min(graceful, _STOP_S))

    def silence(self) -> float:
        """Seconds since the thread's last round, of which there are two in a lease; 0 while it does not run."""
        return 0.0 if self._thread.ident is None or self._closing else time.monotonic() - self._came_by

    def close(self) -> None:
        """Kill what is left and end the thread."""
        self._closing = True
        self._call(self._kill_all)  # in the thread: a task that begins now is killed by this or by `_watch`
        self._thread.join(10)
        self._spares.close()

    # The thread.

    def _call(self, call: Callable[[], None]) -> None:
        self._calls.append(call)
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_write, b"x")

    def _run(self) -> None:
        renew_every = self._lease / 2
        renew_at = time.monotonic() + renew_every
        while self._tasks or self._calls or not self._closing:
            deadlines = [task.kill_at for task in self._tasks if task.kill_at is not None]
            wait = min([renew_at, *deadlines]) - time.monotonic()
            for key, _ in self._selector.select(max(0.0, wait)):
                if key.data is None:
                    os.read(self._wake_read, 4096)
                else:
                    key.data()
            while self._calls:
                self._calls.popleft()()
            self._came_by = moment = time.monotonic()
            if moment >= renew_at:
                renew_at = moment + renew_every
                until = self.lease_until()
                for task in self._tasks:
                    task.renew(until, self._lease)
            for task in self._tasks:
                task.kill_if_late(moment)

    def _kill_all(self) -> None:
        for task in self._tasks:
            task.kill()

    def _watch(self, task: TaskProcess) -> None:
        if self._closing:
            task.kill()
        self._tasks.add(task)
        self._selector.register(task.child.channel.fileno(), selectors.EVENT_READ, lambda: self._read(task))
        self._selector.register(task.child.sentinel, selectors.EVENT_READ, lambda: self._ends(task))

    def _read(self, task: TaskProcess) -> bool:
        """Read a task's messages. Returns whether more may come."""
        if task.ended.is_set():
            return False  # the round that found something to read found its end too
        if task.read():
            return True
        with contextlib.suppress(KeyError):
            self._selector.unregister(task.child.channel.fileno())
        return False

    def _ends(self, task: TaskProcess) -> None:
        # Told by the fork server; or that one is gone, and the task about to be: no successor may start before (P3).
        self._selector.unregister(task.child.sentinel)
        task.child.kill()
        self._selector.register(task.child.gone, selectors.EVENT_READ, lambda: self._ended(task))

    def _ended(self, task: TaskProcess) -> None:
        # Its last words may still be in the pipe.
        for _ in range(_LAST_READS):
            if not (_ready(task.child.channel.fileno(), select.POLLIN) and self._read(task)):
                break
        with contextlib.suppress(KeyError):
            self._selector.unregister(task.child.channel.fileno())
        self._selector.unregister(task.child.gone)
        self._tasks.discard(task)
        task.bury()


@contextlib.contextmanager
def _surviving(task: TaskProcess) -> Iterator[None]:
    """A bug that concerns one task must not end the thread that renews the leases of all."""
    try:
        yield
    except Exception:
        log.exception("%s: its message could not be handled", task.id)


def _ready(fd: int, event: int) -> bool:
    poll = select.poll()  # select() itself knows no file descriptor above 1023
    poll.register(fd, event)
    return bool(poll.poll(0))
