"""One run: faults by the seed, looks at every flow meanwhile, and the judgement in the end."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tests.chaos.suite import audits
from tests.chaos.suite.checks import Problem
from tests.chaos.suite.faults.fault import Fault
from tests.chaos.suite.leaks import Sampler, leaks
from tests.chaos.suite.timeline import Event
from tests.chaos.suite.world import World

#: For a pool to have noticed, shared its work again and started it, on a busy machine, with brokers that come and go.
RECOVERY_S: Final = 240.0
#: For all that is still under way to arrive in the end.
DRAIN_S: Final = 300.0
#: How long a process may take to end that nothing needs any more.
SURPLUS_S: Final = 60.0
#: So long may a flow stand still although records wait.
STANDSTILL_S: Final = 240.0
#: How often faults overlap, and how many at most do.
OVERLAP: Final = 0.35
MOST_AT_A_TIME: Final = 3
LOOK_EVERY_S: Final = 4.0
AUDIT_EVERY_S: Final = 5.0
TELL_EVERY_S: Final = 10.0


class Run:
    """Strikes a world that runs, and keeps what it finds wrong.

    Attributes:
        problems: what must not be.
        under_way: which faults are at this moment.
    """

    def __init__(self, world: World, faults: list[Fault]) -> None:
        self.problems: list[Problem] = []
        self.under_way: list[str] = []
        self.sampler = Sampler(world.pool.processes, world.timeline.now)
        self._world = world
        self._faults = faults
        self._chance = random.Random(f"{world.seed} faults")
        self._deck: list[Fault] = []

    def go_on(self, seconds: float) -> None:
        """Strike until the time is over. Each kind comes once before any comes again."""
        world = self._world
        watching = [
            self._every(AUDIT_EVERY_S, self._audit_next(), "audit"),
            self._every(TELL_EVERY_S, lambda: world.say(self._progress()), "teller"),
            *(self._every(LOOK_EVERY_S, self._look(name), f"progress {name}") for name in world.flows),
        ]
        self.sampler.start()
        end = world.timeline.now() + seconds
        while world.timeline.now() < end and not world.stopped.is_set() and not self._is_over():
            self._strike(self._draw())
            world.rest(self._chance.uniform(0, 3))
        self.sampler.finish()
        self.problems += [Problem("leak", worker, words) for worker, words in self._world.surplus(SURPLUS_S).items()]
        watching.pop(0)()
        self._drain()
        for stop in watching:
            stop()
        self._judge()

    def _is_over(self) -> bool:
        """Whether what was found makes going on worthless."""
        return any(problem.check in ("stuck", "standstill") for problem in self.problems)

    def _draw(self) -> list[Fault]:
        """The next faults, which do not disturb the same."""
        drawn: list[Fault] = []
        while not drawn or (len(drawn) < MOST_AT_A_TIME and self._chance.random() < OVERLAP):
            if not self._deck:
                self._deck = self._chance.sample(self._faults, len(self._faults))
            busy = {each.on for each in drawn}
            following = next((each for each in self._deck if each.on not in busy), None)
            if following is None:
                break
            self._deck.remove(following)
            drawn.append(following)
        return drawn

    def _strike(self, faults: list[Fault]) -> None:
        seeds = [(random.Random(self._chance.random()), self._chance.uniform(0, 4)) for _ in faults]
        with ThreadPoolExecutor(len(faults)) as threads:
            events = list(threads.map(self._do, faults, *zip(*seeds, strict=True)))
        try:
            self._world.await_running(RECOVERY_S)
        except AssertionError as error:
            self.problems.append(Problem("stuck", ", ".join(event.kind for event in events), str(error)))
            return
        for event in events:
            event.recovered = self._world.timeline.now()

    def _do(self, fault: Fault, chance: random.Random, later: float) -> Event:
        if later < 2:
            self._world.rest(later)
        steps = fault.act(self._world, chance)
        event = self._world.timeline.begin(fault.kind, next(steps))
        self.under_way.append(fault.kind)
        try:
            for _ in steps:
                pass
        except Exception as error:  # a fault that cannot be undone is found by what follows, and told
            event.note = f"{type(error).__name__}: {error}"
            if not self._world.stopped.is_set():
                self.problems.append(Problem("error", fault.kind, event.note))
        finally:
            event.ended = self._world.timeline.now()
            self.under_way.remove(fault.kind)
        return event

    def _look(self, name: str) -> Callable[[], None]:
        """What notes how far a flow is."""
        flow = self._world.flows[name]

        def look() -> None:
            try:
                written, arrived = flow.progress()
            except Exception:  # the target is away
                return
            # What is excused does not wait.
            self._world.timeline.seen(name, written - len(flow.excused_lost), arrived)

        return look

    def _audit_next(self) -> Callable[[], None]:
        def turns() -> Iterator[str]:
            while True:
                yield from self._world.flows

        names = turns()

        def audit() -> None:
            flow = self._world.flows[next(names)]
            try:
                self.problems += audits.meanwhile(self._world, flow)
            except Exception:  # a target or brokers are away: the next time
                return

        return audit

    def _drain(self) -> None:
        """Let all that was written arrive."""
        world = self._world
        world.say("writes no more, and waits until all has arrived")
        world.network.calm()
        flows = list(world.flows.values())
        ends = {name: flow.finish for name, flow in world.flows.items()} | {"feed": world.feed.finish}
        for name, end in ends.items():
            try:
                end()
            except AssertionError as error:
                self.problems.append(Problem("error", name, str(error)))
        for name in ("datagen", "numbers"):
            if name in world.flows:
                world.request("PUT", f"/connectors/{name}/stop")
        deadline = time.monotonic() + DRAIN_S
        while time.monotonic() < deadline and not world.stopped.is_set():
            if not any(audits.waits(flow) for flow in flows):
                return
            world.rest(1)

    def _judge(self) -> None:
        world = self._world
        for name, flow in world.flows.items():
            try:
                self.problems += audits.finally_(flow)
            except Exception as error:  # it could not be read even now
                self.problems.append(Problem("error", name, f"{type(error).__name__}: {error}"))
            longest = world.timeline.standstill(name)
            if longest > STANDSTILL_S:
                self.problems.append(Problem("standstill", name, f"{longest:.0f} s with records that waited"))
        self.problems += leaks(self.sampler.samples)
        self.problems = list(dict.fromkeys(self.problems))

    def _progress(self) -> str:
        world = self._world
        behind = {name: seen[-1][1] - seen[-1][2] for name, seen in list(world.timeline.progress.items()) if seen}
        most = sorted(behind.items(), key=lambda item: -item[1])[:3]
        arrived = sum(seen[-1][2] for seen in list(world.timeline.progress.values()) if seen)
        lag = ", ".join(f"{name} {count}" for name, count in most if count > 0)
        parts = [f"{arrived:,} arrived", f"{len(world.timeline.events)} faults", f"behind: {lag or 'none'}"]
        if self.under_way:
            parts.append(f"now: {', '.join(self.under_way)}")
        if self.problems:
            parts.append(f"{len(self.problems)} PROBLEMS, the last: {str(self.problems[-1])[:160]}")
        return "; ".join(parts)

    def _every(self, seconds: float, do: Callable[[], None], name: str) -> Callable[[], None]:
        """Do something again and again in a thread. Returns what ends that."""
        enough = threading.Event()

        def run() -> None:
            while not enough.wait(seconds):
                do()

        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()

        def stop() -> None:
            enough.set()
            thread.join(60)

        return stop
