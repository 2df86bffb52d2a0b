"""A run: brokers, pool, targets and flows, and how to ask the pool for something whoever of it is away."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from tests.support.rest import NO_ANSWER

from .brokers import Brokers, brokers
from .feed import Feed, main_record
from .flows.flow import Flow, Surroundings
from .flows.registry import FLOWS
from .pool import CHECKOUT, ChaosPool
from .reader import Reader, Topics, new_topic
from .relay import Network
from .targets import Targets, Unavailable
from .timeline import Timeline

MAIN = "numbered"
PARTITIONS = 4
PER_SECOND = 30.0


class World:
    """Everything of a run. `build` brings it up, `close` ends it.

    Attributes:
        missing: flows whose systems cannot be had here, and why.
        stopped: set when the run is to end at once.
        older: the checkout of another version, with which all workers begin; None where there is one version.
    """

    brokers: Brokers
    pool: ChaosPool
    feed: Feed
    reader: Reader
    topics: Topics

    def __init__(
        self,
        folder: Path,
        seed: int,
        *,
        workers: int,
        exactly_once: bool,
        only: list[str],
        say: Callable[[str], None],
        older: Path | None = None,
    ) -> None:
        self.folder = folder
        self.seed = seed
        self.exactly_once = exactly_once
        self.workers = workers
        self.say = say
        self.older = older
        self.timeline = Timeline()
        self.flows: dict[str, Flow] = {}
        self.configs: dict[str, dict[str, str]] = {}
        self.missing: dict[str, str] = {}
        self.stopped = threading.Event()
        self._only = only
        self._stack = ExitStack()
        self.network = Network(random.Random(f"{seed} network"))
        self._stack.callback(self.network.close)
        self.targets = Targets(self.network)
        self._stack.callback(self.targets.close)

    def build(self) -> Self:
        """Start brokers, targets and workers, make topics and connectors, and let records flow."""
        self.say(f"starts {3} brokers")
        self.brokers = self._stack.enter_context(brokers(self.folder, self.network, self.workers))
        bootstrap = self.brokers.bootstrap
        self.topics = Topics(bootstrap)
        self.topics.create(new_topic(MAIN, PARTITIONS))
        self.feed = Feed(bootstrap, MAIN, PARTITIONS, PER_SECOND, main_record)
        self.reader = Reader(bootstrap)
        self._stack.callback(self.reader.close)
        around = Surroundings(
            self.folder, bootstrap, self.exactly_once, self.targets, self.topics, self.reader, self.feed
        )
        for name in self._only:
            self.say(f"prepares {name}")
            try:
                self.flows[name] = FLOWS[name](around)
            except Unavailable as error:
                self.missing[name] = str(error)
        self.say(f"starts {self.workers} workers")
        self.pool = ChaosPool(
            "chaos",
            self.folder,
            self.brokers,
            self.network,
            exactly_once=self.exactly_once,
            code=self.older or CHECKOUT,
        )
        self._stack.callback(self.pool.close)
        self.pool.begin()
        if self.older is not None:
            self._leave_out_what_is_new()
        self.reader.start()
        for name, flow in self.flows.items():
            self.configs[name] = flow.whole_config()
            self.request("PUT", f"/connectors/{name}/config", self.configs[name])
        self.await_running(180)
        self.timeline.began = time.monotonic()
        self.timeline.progress |= {name: [] for name in self.flows}
        self.feed.start()
        for flow in self.flows.values():
            flow.start()
        return self

    def _leave_out_what_is_new(self) -> None:
        """The flows whose connectors the older version does not have."""
        for name, flow in list(self.flows.items()):
            connector = flow.config()["connector.class"]
            if self.pool.workers[0].ask("GET", f"/connector-plugins/{connector}/config").status == 404:
                del self.flows[name]
                self.missing[name] = "the older version does not have it"

    def close(self) -> None:
        """End everything, whatever state it is in."""
        self.stopped.set()
        with contextlib.suppress(Exception):
            self.network.calm()
        self._stack.close()

    def rest(self, seconds: float) -> None:
        """Let time pass, unless the run is to end."""
        self.stopped.wait(seconds)

    def request(self, method: str, path: str, body: Any = None, within: float = 120, but: int = 0) -> Any:
        """Ask any worker that answers, again while the pool is busy with itself. Returns the body.

        Args:
            but: a status that is as good as 2xx.

        Raises:
            AssertionError: no good answer came in time, or a bad one that another try will not change.
        """
        last: Any = None
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            for worker in self.pool.up:
                try:
                    last = worker.ask(method, path, body, timeout=15)
                except NO_ANSWER as error:
                    last = f"{type(error).__name__}: {error}"
                    continue
                if 200 <= last.status < 300 or last.status == but:
                    return last.body
                if last.status not in (409, 500, 502, 503, 504):
                    raise AssertionError(f"{method} {path}: {last}")
            time.sleep(0.5)
        raise AssertionError(f"{method} {path}: no good answer within {within:g} s; the last: {last}")

    def unwell(self) -> str | None:
        """What does not run, by the word of each worker that lives; None where all does."""
        alive = {worker.id for worker in self.pool.up}
        if len(alive) < self.workers:
            return f"{self.workers - len(alive)} workers are down"
        for worker in self.pool.up:
            answer = worker.quick("/connectors?expand=status", 5)
            if answer is None:
                return f"{worker} does not answer"
            for name in self.flows:
                if name not in answer:
                    return f"{worker} does not know {name}"
                status = answer[name]["status"]
                for part in (status["connector"], *status["tasks"]):
                    if part["state"] != "RUNNING" or part["worker_id"] not in alive:
                        said = (part.get("trace") or "").strip().splitlines()[-1:]
                        return f"{name} {part.get('id', '')} is {part['state']} on {part['worker_id']} {said}"
                if not status["tasks"]:
                    return f"{name} has no task"
        return None

    def surplus(self, within: float) -> dict[str, str]:
        """The workers that still have more processes of tasks than tasks after so many seconds, in words."""
        deadline = time.monotonic() + within
        while True:
            status = self.request("GET", "/connectors?expand=status") or {}
            tasks = Counter(task["worker_id"] for each in status.values() for task in each["status"]["tasks"])
            found = {
                str(worker): f"{len(processes)} processes of {tasks[worker.id]} tasks"
                for worker in self.pool.up
                if len(processes := worker.tasks()) > tasks[worker.id]
            }
            if not found or time.monotonic() > deadline:
                return found
            time.sleep(1)

    def await_running(self, within: float) -> None:
        """Wait until all runs.

        Raises:
            AssertionError: it does not in time.
        """
        deadline = time.monotonic() + within
        while (why := self.unwell()) and not self.stopped.is_set():
            if time.monotonic() > deadline:
                raise AssertionError(f"not all runs within {within:g} s: {why}")
            time.sleep(0.5)

    def await_state(self, name: str, state: str, within: float = 90) -> None:
        """Wait until a connector and all its tasks are in a state; none has tasks when it is STOPPED.

        Raises:
            AssertionError: they are not in time.
        """
        deadline = time.monotonic() + within
        while True:
            for worker in self.pool.up:
                found = worker.quick(f"/connectors/{name}/status")
                states = [part["state"] for part in (found["connector"], *found["tasks"])] if found else []
                if states == ["STOPPED"] if state == "STOPPED" else set(states) == {state}:
                    return
            if time.monotonic() > deadline or self.stopped.is_set():
                raise AssertionError(f"{name} is not {state} within {within:g} s")
            time.sleep(0.3)
