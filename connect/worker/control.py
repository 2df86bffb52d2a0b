"""The task's end of its control pipe: commands of the worker, the lease, and requests to the worker.

One thread reads the pipe and does nothing else, so that a renewal is received while the task writes. The task's own
thread calls everything else here. When the worker is gone the process ends at once.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from connect.api.metrics import PluginMetrics
from connect.api.source import TransactionContext
from connect.errors import ConnectError
from connect.storage.offsets import to_json
from connect.telemetry.levels import levels
from connect.worker import messages
from connect.worker.channel import Channel
from connect.worker.lease import Lease

#: How long a task that is to end waits for an answer that it needs for its last commit.
_LAST_ANSWER_S = 1.0

Answer = messages.Offsets | messages.OffsetKeys | messages.Stored


class Stopping(BaseException):
    """The worker wants the task to end."""


class Control:
    """Commands of the worker to this task."""

    def __init__(self, channel: Channel, lease: Lease, *, paused: bool) -> None:
        self._channel = channel
        self._lease = lease
        self._changed = threading.Condition()
        self._answers: dict[int, Answer] = {}
        self._asked: set[int] = set()
        self._questions = itertools.count(1)
        self._wake: Callable[[], None] | None = None
        self._over = False
        self.reader = threading.Thread(target=self._read, name="control", daemon=True)
        self.paused = paused
        self.stopping = False
        #: What the task's thread is doing, empty for what has no name, and since when: for who watches it.
        self.activity: tuple[str, float] = ("", time.monotonic())
        #: Called by the reading thread whenever the lease was renewed.
        self.renewed: Callable[[], None] = lambda: None
        #: Called by the reading thread when somebody wants to see records.
        self.open_tap: Callable[[messages.OpenTap], None] = self._no_tap

    def wake_by(self, wake: Callable[[], None]) -> None:
        """Set a function that the reading thread calls at each new command: it must not block."""
        self._wake = wake

    def start(self) -> None:
        """Start the reading thread."""
        self.reader.start()

    def over(self) -> None:
        """The task has ended, and its process goes on without it: the worker closes the pipe."""
        self._over = True

    # Called by the task's thread.

    def check(self) -> None:
        """Raise `Stopping` when the task has to end."""
        if self.stopping:
            raise Stopping

    def await_lease(self) -> None:
        """Return when a poll, a put or a commit may start: the lease is valid and the task need not end.

        Raises:
            Stopping: it has to end.
        """
        if self.stopping:
            raise Stopping
        while not self._lease.valid():
            self._lease.wait(0.5)
            if self.stopping:
                raise Stopping
        self.set_activity("")

    def set_activity(self, what: str) -> None:
        """The task's thread begins a call that may take long."""
        self.activity = (what, time.monotonic())

    def holds_lease(self) -> bool:
        """Whether the lease is valid at this moment."""
        return self._lease.valid()

    def lease_until(self) -> float:
        """The moment of the boot-time clock until which the lease is valid, as far as is known now."""
        return self._lease.until

    def wait(self, seconds: float) -> None:
        """Wait this long, or until the next command.

        Raises:
            Stopping: the task has to end.
        """
        with self._changed:
            paused = self.paused
            self._changed.wait_for(lambda: self.stopping or self.paused != paused, seconds)
        self.check()

    def sleep(self, seconds: float) -> None:
        """Wait this long, whatever the worker commands, but raise `Stopping` at once."""
        with self._changed:
            self._changed.wait_for(lambda: self.stopping, seconds)
        self.check()

    def pause_for(self, seconds: float) -> None:
        """Wait this long, and then for the lease, before a retry. Raises `Stopping`."""
        self.sleep(seconds)
        self.await_lease()

    def send(self, message: messages.Message) -> None:
        """Send a message to the worker."""
        self._channel.send(message)

    def ask_offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """The stored offsets of these source partitions.

        Raises:
            ConnectError: the worker could not read them.
        """
        question = self._question()
        self.send(messages.AskOffsets(question, [dict(partition) for partition in partitions]))
        answer = self._answer(question, timeout=None)
        assert isinstance(answer, messages.Offsets)
        return answer.offsets

    def store_offsets(
        self, entries: Sequence[tuple[dict[str, Any], dict[str, Any] | None]], timeout: float | None = None
    ) -> None:
        """Make source offsets durable; returns when they are.

        Raises:
            DataError: a partition or an offset cannot be JSON.
            ConnectError: they could not be stored, or not within the timeout.
        """
        for partition, offset in entries:
            to_json(partition), to_json(offset)  # in a message a date becomes text, and would be read back as that
        question = self._question()
        self.send(messages.StoreOffsets(question, list(entries)))
        self._answer(question, timeout)

    def ask_offset_keys(self, partitions: Sequence[Mapping[str, Any]]) -> list[list[bytes]]:
        """The keys of the offsets topic for these source partitions.

        Raises:
            ConnectError: the worker could not answer; or the task has to end, and it did not answer soon.
        """
        question = self._question()
        self.send(messages.AskOffsetKeys(question, [dict(partition) for partition in partitions]))
        answer = self._answer(question, timeout=None, until_stop=True)
        assert isinstance(answer, messages.OffsetKeys)
        return answer.keys

    def ask_to_begin(self) -> None:
        """Return when the worker confirms that this task is the current one.

        Raises:
            ConnectError: a newer one exists; or the task has to end.
        """
        question = self._question()
        self.send(messages.AskToBegin(question))
        self._answer(question, timeout=None, until_stop=True)

    def tell_offsets(self, entries: Sequence[tuple[dict[str, Any], dict[str, Any] | None]]) -> None:
        """Have the worker store offsets as well, without waiting for it."""
        self.send(messages.StoreOffsets(next(self._questions), list(entries)))

    def _question(self) -> int:
        question = next(self._questions)
        with self._changed:
            self._asked.add(question)
        return question

    def _answer(self, question: int, timeout: float | None, *, until_stop: bool = False) -> Answer:
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while question not in self._answers:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    self._asked.discard(question)  # its answer will find nobody waiting
                    raise ConnectError("The worker did not answer in time.")
                if until_stop and self.stopping:
                    until_stop = False
                    deadline = time.monotonic() + _LAST_ANSWER_S
                    continue
                self._changed.wait(left)
            answer = self._answers.pop(question)
            self._asked.discard(question)
        if answer.error is not None:
            raise ConnectError(answer.error)
        return answer

    # Called by the reading thread.

    def _read(self) -> None:
        while True:
            try:
                message = self._channel.receive()
            except (EOFError, OSError):
                if self._over:
                    self._channel.close()
                    return
                # The worker is gone. Linux kills us with it (see guard); this is for the moment in between.
                os._exit(1)
            self._take(message)

    def _take(self, message: messages.AnyMessage) -> None:
        match message:
            case messages.Renew(until):
                self._lease.renew(until)
                self.renewed()
                return
            case messages.Pause():
                self.paused = True
            case messages.Resume():
                self.paused = False
            case messages.SetLevel(logger, level):
                levels.set(logger, level)
                return
            case messages.OpenTap():
                self.open_tap(message)
                return
            case messages.Stop():
                self.stopping = True
            case messages.Offsets() | messages.OffsetKeys() | messages.Stored():
                with self._changed:
                    if message.question in self._asked:
                        self._answers[message.question] = message
        with self._changed:
            self._changed.notify_all()
        if self._wake is not None:
            self._wake()

    def _no_tap(self, asked: messages.OpenTap) -> None:
        self.send(messages.Tapped(asked.question, error="It shows no records: it is starting."))


class SourceContext:
    """See `connect.api.source.SourceTaskContext`."""

    def __init__(
        self,
        connector: str,
        task_id: int,
        configs: Mapping[str, str],
        metrics: PluginMetrics,
        control: Control,
        transaction: TransactionContext | None = None,
    ) -> None:
        self.connector = connector
        self.task_id = task_id
        self.configs = configs
        self.metrics = metrics
        self.exit_stack = ExitStack()
        self.transaction = transaction
        self._control = control

    def offset(self, partition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return self._control.ask_offsets([partition])[0]

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        return list(self._control.ask_offsets(partitions))

    def stopping(self) -> bool:
        return self._control.stopping
