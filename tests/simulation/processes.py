"""Processes beside the worker, control pipes to them, and the descriptors by which the supervisor waits for both."""

from __future__ import annotations

import os as real_os
import select as real_select
import selectors as real_selectors
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from greenlet import GreenletExit

from tests.simulation.scheduler import Fiber, Machine, running

#: Messages that a pipe holds.
_PIPE: Final = 200
_DIES_WITHIN_S: Final = 0.01


class Descriptors:
    """The descriptors of a run, by number."""

    def __init__(self) -> None:
        self._next = 100
        self.open: dict[int, Descriptor] = {}
        self.pipes: dict[int, tuple[Descriptor, deque[bytes]]] = {}

    def make(self, ready: Callable[[], bool]) -> Descriptor:
        """A new one, readable when `ready` says so."""
        self._next += 1
        made = self.open[self._next] = Descriptor(self._next, ready)
        return made


class Descriptor:
    """Something that a selector can wait for."""

    __slots__ = ("number", "ready", "selectors")

    def __init__(self, number: int, ready: Callable[[], bool]) -> None:
        self.number = number
        self.ready = ready
        self.selectors: list[Selector] = []

    def changed(self) -> None:
        """It may be readable now."""
        for selector in self.selectors:
            selector.wake()


class Key(NamedTuple):
    """`selectors.SelectorKey`."""

    fileobj: int
    fd: int
    events: int
    data: Any


class Selector:
    """`selectors.DefaultSelector`."""

    def __init__(self) -> None:
        self._keys: dict[int, tuple[Descriptor, Key]] = {}
        self._waiter: Fiber | None = None

    def register(self, fd: int, events: int, data: Any = None) -> None:
        descriptor = world_descriptors().open[fd]
        self._keys[fd] = descriptor, Key(fd, fd, events, data)
        descriptor.selectors.append(self)
        self.wake()

    def unregister(self, fd: int) -> None:
        descriptor, _ = self._keys.pop(fd)
        descriptor.selectors.remove(self)

    def wake(self) -> None:
        """Something changed."""
        if self._waiter is not None:
            running.scheduler.wake(self._waiter)

    def select(self, timeout: float | None = None) -> list[tuple[Key, int]]:
        found = self._ready()
        if not found and (timeout is None or timeout > 0):
            self._waiter = running.scheduler.fiber
            running.scheduler.park(timeout)
            self._waiter = None
            found = self._ready()
        return found

    def _ready(self) -> list[tuple[Key, int]]:
        return [(key, key.events) for descriptor, key in self._keys.values() if descriptor.ready()]


class Selectors:
    """The module `selectors`."""

    EVENT_READ = real_selectors.EVENT_READ
    DefaultSelector = Selector


class Poll:
    """`select.poll`."""

    def __init__(self) -> None:
        self._numbers: list[int] = []

    def register(self, fd: int, _: int) -> None:
        self._numbers.append(fd)

    def poll(self, _: float | None = None) -> list[int]:
        there = world_descriptors().open
        return [number for number in self._numbers if number in there and there[number].ready()]


class Select:
    """The module `select`."""

    POLLIN, POLLOUT = real_select.POLLIN, real_select.POLLOUT
    poll = Poll


class Os:
    """The module `os`, for the supervisor and the control of a task: pipes to oneself, and the end of a process."""

    @staticmethod
    def pipe() -> tuple[int, int]:
        held: deque[bytes] = deque()
        descriptors = world_descriptors()
        read = descriptors.make(lambda: bool(held))
        write = descriptors.make(lambda: False)
        descriptors.pipes[write.number] = read, held
        descriptors.pipes[read.number] = read, held
        return read.number, write.number

    @staticmethod
    def set_blocking(_: int, __: bool) -> None:
        pass

    @staticmethod
    def write(fd: int, data: bytes) -> int:
        read, held = world_descriptors().pipes[fd]
        held.append(data)
        read.changed()
        return len(data)

    @staticmethod
    def read(fd: int, _: int) -> bytes:
        _, held = world_descriptors().pipes[fd]
        data = b"".join(held)
        held.clear()
        return data

    @staticmethod
    def _exit(_: int) -> None:
        fiber = running.scheduler.fiber
        assert fiber is not None
        running.scheduler.kill(fiber.machine)
        raise GreenletExit

    def __getattr__(self, name: str) -> Any:
        return getattr(real_os, name)


def world_descriptors() -> Descriptors:
    """The descriptors of the run."""
    return running.world.descriptors


class Channel:
    """One end of a control pipe: messages are passed on as they are."""

    def __init__(self, machine: Machine) -> None:
        self.size = 64
        self.machine = machine
        self.other: Channel
        self.inbox: deque[Any] = deque()
        self.closed = False
        self._waiter: Fiber | None = None
        self._room: deque[Fiber] = deque()
        self._descriptor = world_descriptors().make(lambda: bool(self.inbox) or self._is_over())

    @classmethod
    def pair(cls, one: Machine, other: Machine) -> tuple[Channel, Channel]:
        """Both ends."""
        first, second = cls(one), cls(other)
        first.other, second.other = second, first
        return first, second

    def _is_over(self) -> bool:
        return self.closed or self.other.closed or self.other.machine.dead

    def fileno(self) -> int:
        return int(self._descriptor.number)

    def send(self, message: Any, timeout: float | None = None) -> None:
        other = self.other
        if self._is_over():
            raise BrokenPipeError
        scheduler = running.scheduler
        until = None if timeout is None else scheduler.now + timeout
        while len(other.inbox) >= _PIPE:
            left = None if until is None else until - scheduler.now
            if left is not None and left <= 0:
                raise TimeoutError
            assert scheduler.fiber is not None
            other._room.append(scheduler.fiber)
            scheduler.park(left)
            if self._is_over():
                raise BrokenPipeError
        other.inbox.append(message)
        other.changed()

    def changed(self) -> None:
        """Something arrived, or the other end is gone."""
        if self._waiter is not None:
            running.scheduler.wake(self._waiter)
        self._descriptor.changed()

    def receive(self) -> Any:
        while not self.inbox:
            if self._is_over():
                raise EOFError
            self._waiter = running.scheduler.fiber
            running.scheduler.park()
            self._waiter = None
        return self._take()

    def receive_ready(self) -> Iterator[Any]:
        if not self.inbox and self._is_over():
            raise EOFError
        while self.inbox:
            yield self._take()

    def _take(self) -> Any:
        message = self.inbox.popleft()
        while self._room:
            running.scheduler.wake(self._room.popleft())
        return message

    def close(self) -> None:
        self.closed = True
        self.other.changed()


class Process:
    """`connect.worker.processes.ChildProcess`, and `connect.worker.packs.OwnProcess`.

    Args:
        target: what it runs, unless `programs` has something in its place.
        spec: its argument.
    """

    uprooted = ""
    alone = False
    crowded = False
    shares = 1

    def __init__(self, target: Any, spec: Any) -> None:
        scheduler = running.scheduler
        assert scheduler.fiber is not None
        parent = scheduler.fiber.machine
        world = running.world
        self.pid = world.next_pid()
        self.machine = Machine(f"{parent.name}/{self.pid}", parent.host)
        self.channel, theirs = Channel.pair(parent, self.machine)
        descriptors = world_descriptors()
        self._sentinel = descriptors.make(lambda: self.machine.dead)
        self._gone = descriptors.make(lambda: self.machine.dead)
        self.sentinel, self.gone = self._sentinel.number, self._gone.number
        self._code = 0
        self._reaped = False
        world.started(parent, self, target, spec, theirs)

    @property
    def alive(self) -> bool:
        return not self.machine.dead

    def kill(self) -> None:
        if not self.machine.dead:
            running.scheduler.after(_DIES_WITHIN_S * running.scheduler.chance(), self.dies, -9)

    def dies(self, code: int) -> None:
        """It is gone."""
        if not self.machine.dead:
            self._code = code
            running.scheduler.kill(self.machine)
            running.scheduler.note(self.machine.name, f"ended: {code}")
        for each in (self._sentinel, self._gone):
            each.changed()
        self.channel.changed()

    def reap(self) -> int:
        self.channel.closed = True
        return self._code
