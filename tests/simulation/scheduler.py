"""One virtual clock, one source of chance, and fibers in the place of threads: a run is a function of its seed.

A fiber is a greenlet. It runs until it waits for something; then the scheduler chooses, by chance, which of those that
can run does so next, and moves the clock only when none can. A machine may be frozen or die, with all of its fibers.
"""

from __future__ import annotations

import heapq
import random
import zlib
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from greenlet import GreenletExit, getcurrent, greenlet

#: Lines of the trace that are kept, for a failure.
KEPT = 200_000
#: Where every run begins, in seconds; no product code may take it for the wall clock.
BEGIN: Final = 5000.0


class Violation(AssertionError):
    """An invariant does not hold. The run fails by it, whoever catches it."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        if running.scheduler.failure is None:
            running.scheduler.failure = self


class Machine:
    """Where fibers run: one process.

    Attributes:
        name: for the trace.
        host: the machine whose clocks and network it shares; itself for the first process of a host.
        skew: what the clocks of this host are ahead of the virtual one, in seconds: monotonic, boot time, wall.
        frozen: whether nothing runs for now, as after SIGSTOP.
        dead: whether nothing will ever run again.
    """

    __slots__ = ("dead", "fibers", "frozen", "held", "host", "name", "skew")

    def __init__(self, name: str, host: Machine | None = None, skew: tuple[float, float, float] = (0, 0, 0)) -> None:
        self.name = name
        self.host: Machine = self if host is None else host
        self.skew: tuple[float, float, float] = skew if host is None else host.skew
        self.frozen = False
        self.dead = False
        self.held: list[Fiber] = []
        self.fibers: set[Fiber] = set()


class Fiber:
    """A thread of a machine."""

    __slots__ = ("green", "machine", "name", "number", "parked", "thread", "timer", "woken")

    def __init__(self, number: int, machine: Machine, name: str) -> None:
        self.number = number
        self.machine = machine
        self.name = name
        self.parked = False
        self.woken = False
        self.timer: list[Any] | None = None
        self.thread: Any = None
        self.green: greenlet

    def __hash__(self) -> int:
        return self.number


class Scheduler:
    """Runs fibers and timers.

    Args:
        seed: of all chance.
        hiccup: how often a fiber that could run is held up for a moment.

    Attributes:
        now: the virtual clock, in seconds.
        random: the only source of chance.
        fiber: the one that runs, None in a timer.
        steps: how often a fiber has run.
        digest: of the trace until now.
    """

    def __init__(self, seed: int, hiccup: float = 0.0) -> None:
        self.random = random.Random(seed)
        self.chance = self.random.random
        self.hiccup = hiccup
        self.preempt = 0.0
        self.now = BEGIN
        self.fiber: Fiber | None = None
        self.steps = 0
        self.digest = 0
        self.lines: deque[tuple[float, str, str]] = deque(maxlen=KEPT)
        self.failure: BaseException | None = None
        self.closed = False
        self._timers: list[list[Any]] = []
        self._timed = 0
        self._ready: list[Fiber] = []
        self._made = 0
        self._live: set[Fiber] = set()
        self._hub = getcurrent()

    # The trace.

    def note(self, who: str, what: str) -> None:
        """Add a line to the trace."""
        self.lines.append((self.now, who, what))
        self.digest = zlib.crc32(f"{self.now:.6f}{who}{what}".encode(), self.digest)

    def trace(self, last: int) -> list[str]:
        """The last lines of the trace."""
        return [f"{at - BEGIN:10.4f}  {who:<24} {what}" for at, who, what in list(self.lines)[-last:]]

    # Timers.

    def after(self, seconds: float, call: Callable[..., Any], *args: Any) -> list[Any]:
        """Call something later, on no machine. Returns what `cancel` takes."""
        self._timed += 1
        timer = [self.now + seconds, self._timed, call, args]
        heapq.heappush(self._timers, timer)
        return timer

    @staticmethod
    def cancel(timer: list[Any]) -> None:
        """Do not call it."""
        timer[2] = None

    # Fibers.

    def spawn(self, machine: Machine, name: str, run: Callable[[], Any]) -> Fiber:
        """A new fiber, which may run from now on."""
        self._made += 1
        fiber = Fiber(self._made, machine, name)
        fiber.green = greenlet(lambda: self._run(fiber, run), self._hub)
        if not machine.dead and not self.closed:
            machine.fibers.add(fiber)
            self._live.add(fiber)
            self._ready.append(fiber)
        return fiber

    def _run(self, fiber: Fiber, run: Callable[[], Any]) -> None:
        try:
            run()
        except GreenletExit:
            pass
        except BaseException as error:
            if not self.closed and self.failure is None:
                self.failure = error
                error.add_note(f"in {fiber.machine.name}, {fiber.name}")
        finally:
            fiber.machine.fibers.discard(fiber)
            self._live.discard(fiber)
            if fiber.thread is not None:
                fiber.thread.ended()

    def park(self, seconds: float | None = None) -> bool:
        """Wait until `wake`, for at most this long. Returns whether it was woken."""
        fiber = self.fiber
        if self.closed or fiber is None:
            raise GreenletExit
        fiber.parked, fiber.woken = True, False
        if seconds is not None:
            fiber.timer = self.after(seconds if seconds > 0 else 0.0, self._expired, fiber)
        self._hub.switch()
        return fiber.woken

    def wake(self, fiber: Fiber) -> None:
        """Let a fiber that waits go on."""
        if fiber.parked:
            fiber.woken = True
            self._unpark(fiber)

    def _expired(self, fiber: Fiber) -> None:
        fiber.timer = None
        if fiber.parked:
            self._unpark(fiber)

    def _unpark(self, fiber: Fiber) -> None:
        fiber.parked = False
        if fiber.timer is not None:
            fiber.timer[2] = None
            fiber.timer = None
        if self.hiccup and self.chance() < self.hiccup:
            self.after(self.random.choice((0.001, 0.02, 0.3)) * self.chance(), self._ready.append, fiber)
        else:
            self._ready.append(fiber)

    def give_way(self) -> None:
        """Let others run first, if chance says so."""
        if self.preempt and self.fiber is not None and self.chance() < self.preempt:
            self._ready.append(self.fiber)
            self._hub.switch()

    # Machines.

    def freeze(self, machine: Machine) -> None:
        """Let nothing of it run until `thaw`."""
        machine.frozen = True

    def thaw(self, machine: Machine) -> None:
        """Let it go on where it was."""
        machine.frozen = False
        self._ready += machine.held
        machine.held = []

    def kill(self, machine: Machine) -> None:
        """Let nothing of it ever run again."""
        machine.dead = True
        machine.held = []

    # The run.

    def step(self) -> bool:
        """Let one fiber run, or else move the clock until one can. Returns False when there is nothing left to do."""
        ready = self._ready
        while ready:
            at = int(self.chance() * len(ready)) if len(ready) > 1 else 0
            fiber = ready[at]
            ready[at] = ready[-1]
            ready.pop()
            machine = fiber.machine
            if machine.dead:
                continue
            if machine.frozen:
                machine.held.append(fiber)
                continue
            self.steps += 1
            self.note(machine.name, fiber.name)
            self.fiber = fiber
            fiber.green.switch()
            self.fiber = None
            if self.failure is not None:
                raise self.failure
            return True
        timers = self._timers
        while timers and not ready:
            moment, _, call, args = heapq.heappop(timers)
            if call is None:
                continue
            self.now = moment
            call(*args)
            if self.failure is not None:
                raise self.failure
        return bool(ready or timers)

    def close(self) -> None:
        """End all fibers."""
        self.closed = True
        for fiber in sorted(self._live, key=lambda fiber: fiber.number):
            if fiber.green and not fiber.green.dead:
                self.fiber = fiber
                fiber.green.throw()
        self.fiber = None
        self._live.clear()
        self._ready.clear()
        self._timers.clear()


class Running:
    """What runs: product code finds it here.

    Attributes:
        scheduler: see there.
        world: see `tests.simulation.world.World`.
    """

    scheduler: Scheduler
    world: Any


running: Final = Running()
