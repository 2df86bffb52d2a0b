"""Workers of a pool, each the command `connect distributed`, driven over REST."""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import psutil

from connect.ports import free_port
from tests.support.rest import NO_ANSWER, Answer, ask
from tests.support.rounds import rounds
from tests.support.waiting import until
from tests.support.worker_process import WorkerProcess, last_words, our_command

PATIENCE = 60.0
PLUGINS = Path(__file__).with_name("plugins")
#: Connectors that hang and note down what they write, see there.
UNRULY = Path(__file__).parents[2] / "chaos" / "plugins"
SESSION_S = 6.0
#: How often a test kills a worker, or its tasks.
TURNS = rounds(3)
WORKER = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "offset.flush.interval.ms": "200",
    "session.timeout.ms": str(int(SESSION_S * 1000)),
    "heartbeat.interval.ms": "500",
    "scheduled.rebalance.max.delay.ms": "0",
    "consumer.metadata.max.age.ms": "1000",
    "restart.policy": "off",  # what failed is to be seen; where it comes back by itself, tests say so
    "plugin.path": f"{PLUGINS},{UNRULY}",
}
TOPICS = ("config", "offset", "status")


@contextmanager
def a_pool(bootstrap: str, folder: Path, workers: int = 0, **settings: str) -> Iterator[Pool]:
    """A pool with a name of its own, of so many workers to begin with, each of which is ended in the end.

    Args:
        settings: of its workers, with _ for dots.
    """
    made = Pool(f"connect-pool-{uuid.uuid4().hex[:8]}", folder, bootstrap)
    try:
        if workers:
            made.start(workers, **settings)
        yield made
    finally:
        made.close()


class Rest:
    """A worker's REST interface."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.id = f"127.0.0.1:{port}"
        self.url = f"http://{self.id}/"

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, timeout: float = 100
    ) -> Answer:
        """Send one request. `body` is JSON, or bytes as they are."""
        return ask(self.port, method, path, body, headers, timeout)

    def get(self, path: str) -> Any:
        """The body of a good answer; None for any other, and while there is none."""
        try:
            answer = self.ask("GET", path)
        except NO_ANSWER:
            return None
        return answer.body if answer.status == 200 else None

    def do(self, method: str, path: str, body: Any = None, *, or_gone: bool = False) -> Any:
        """Ask for a change, again while the group is being rebalanced. Returns the body.

        A deletion that was answered so may have taken effect: then the next try finds nothing.

        Args:
            or_gone: whether what is deleted may be gone already.
        """
        answers: list[Answer] = []

        def is_settled() -> bool:
            answers.append(self.ask(method, path, body))
            return answers[-1].status != 409

        until(is_settled, PATIENCE, lambda: f"{method} {path}: {answers[-1]}", every=0.1)
        *earlier, last = answers
        is_gone = method == "DELETE" and last.status == 404 and (or_gone or bool(earlier))
        assert is_gone or 200 <= last.status < 300, f"{method} {path}: {last}"
        return None if is_gone else last.body

    def create(self, name: str, config: Mapping[str, str], initial_state: str | None = None) -> None:
        """Create a connector."""
        state = {} if initial_state is None else {"initial_state": initial_state}
        self.do("POST", "/connectors", {"name": name, "config": dict(config), **state})

    def states(self, name: str) -> dict[str, tuple[str, str]]:
        """State and worker of a connector, under "connector", and of its tasks, under their numbers."""
        status = self.get(f"/connectors/{name}/status")
        if status is None:
            return {}
        parts = {"connector": status["connector"]} | {str(task["id"]): task for task in status["tasks"]}
        return {part: (said["state"], said["worker_id"]) for part, said in parts.items()}

    def runs(self, name: str, tasks: int, state: str = "RUNNING") -> bool:
        """Whether a connector and so many tasks, and no others, are in this state."""
        states = self.states(name)
        return len(states) == tasks + 1 and all(now == state for now, _ in states.values())

    def history(self, name: str) -> list[dict[str, Any]]:
        """The versions of a connector's configuration, newest first; none while none is recorded."""
        found = self.get(f"/connectors/{name}/history")
        return [] if found is None else list(found["versions"])


class PoolWorker(Rest, WorkerProcess):
    """One worker. It may be ended and started again, at the same address.

    Args:
        folder: for its file and its log.
        settings: of its file.
    """

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        Rest.__init__(self, free_port())
        self._file = folder / f"{self.port}.properties"
        WorkerProcess.__init__(self, our_command("distributed", self._file), folder / f"{self.port}.log", cwd=folder)
        self._settings = {**settings, "listeners": f"http://127.0.0.1:{self.port}"}

    def start(self, **changes: str) -> Self:
        """Start it. `ready` says when it answers."""
        self._settings |= {key.replace("_", "."): value for key, value in changes.items()}
        self._file.write_text("".join(f"{key}={value}\n" for key, value in self._settings.items()))
        return super().start()

    def ready(self) -> bool:
        """Whether it is in the group and answers."""
        health = self.get("/health")
        return health is not None and health["status"] == "healthy"

    def kill_tasks(self) -> None:
        """Kill -9 of what it has forked to run tasks."""
        assert self.process is not None
        for process in psutil.Process(self.process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if not process.children():
                    process.kill()

    def stopped_in(self) -> float:
        """How long the last stop took, in seconds, by the worker's own clock."""
        return float(re.findall(r"  stopped in ([\d.]+) s$", self.log, re.MULTILINE)[-1])

    def last_words(self) -> str:
        return f"--- {self.id}\n{last_words(self.log_file)}"


class Pool:
    """Workers of one group, with topics named after it.

    Args:
        name: of the group.
        folder: for files and logs.
        bootstrap: the brokers.
    """

    def __init__(self, name: str, folder: Path, bootstrap: str) -> None:
        self.name = name
        self.folder = folder
        self.bootstrap = bootstrap
        self.workers: list[PoolWorker] = []
        self.settings = {"bootstrap.servers": bootstrap, "group.id": name, **WORKER}
        for what in TOPICS:
            self.settings |= {f"{what}.storage.topic": f"{name}-{what}", f"{what}.storage.replication.factor": "1"}
        self.settings |= {"offset.storage.partitions": "3", "status.storage.partitions": "3"}

    def start(self, count: int = 1, **settings: str) -> list[PoolWorker]:
        """Start so many workers, all at once, and wait for them."""
        changes = {key.replace("_", "."): value for key, value in settings.items()}
        made = [PoolWorker(self.folder, {**self.settings, **changes}) for _ in range(count)]
        self.workers += made
        for worker in made:
            worker.start()
        self.until(lambda: all(worker.ready() for worker in made), "the workers answer")
        return made

    def until(self, condition: Callable[[], Any], what: str = "it happens", within: float = PATIENCE) -> Any:
        """Wait for something. Fails with the workers' last words."""
        return until(condition, within, lambda: f"{what}\n{self._words()}", every=0.05)

    def _words(self) -> str:
        """All that the workers say."""
        said = [worker.last_words() for worker in self.workers]
        for worker in self.up:
            try:
                said.append(f"{worker.id} says: {worker.ask('GET', '/connectors?expand=status', timeout=5).body}")
            except NO_ANSWER as error:
                said.append(f"{worker.id} does not answer: {error}")
        return "\n".join(said)

    def close(self) -> None:
        # Each once: a second signal would end it at once, and leave its sinks' members in their groups.
        with ThreadPoolExecutor(max(1, len(self.workers))) as threads:
            list(threads.map(PoolWorker.close, self.workers))

    # What all of them do together.

    @property
    def up(self) -> list[PoolWorker]:
        return [worker for worker in self.workers if worker.alive]

    def owners(self) -> dict[str, str]:
        """Who runs what by the states that the first worker shows: "name" and "name-0" to worker ids."""
        found = {}
        for name in self.up[0].get("/connectors") or []:
            for part, (state, worker) in self.up[0].states(name).items():
                if state in ("RUNNING", "PAUSED"):
                    found[name if part == "connector" else f"{name}-{part}"] = worker
        return found

    def shared(self, connectors: int, tasks: int) -> bool:
        """Whether all run, as evenly as can be: counts of connectors and of tasks differ by one at most."""
        owners = self.owners()
        names = self.up[0].get("/connectors") or []
        mine = Counter({worker.id: 0 for worker in self.up})
        theirs = Counter({worker.id: 0 for worker in self.up})
        for what, owner in owners.items():
            (mine if what in names else theirs)[owner] += 1
        alive = {worker.id for worker in self.up}
        return (
            sum(mine.values()) == connectors
            and sum(theirs.values()) == tasks
            and set(mine) == set(theirs) == alive
            and max(mine.values()) - min(mine.values()) <= 1
            and max(theirs.values()) - min(theirs.values()) <= 1
        )

    def leader(self) -> PoolWorker:
        """The worker that leads, by what the workers log."""

        def leads(worker: PoolWorker) -> bool:
            last = [line for line in worker.log.splitlines() if "generation " in line and " of the group" in line]
            return bool(last) and "leading" in last[-1]

        found: list[PoolWorker] = self.until(lambda: [w for w in self.up if leads(w)], "somebody leads")
        return found[0]

    def deaths(self, worker: PoolWorker, turns: int = TURNS) -> Iterator[int]:
        """The turns of a test. At the end of each the worker is killed, or only what it has forked to run tasks."""
        for turn in range(turns):
            yield turn
            if turn % 3 == 1:
                worker.kill()
                worker.start()
                self.until(worker.ready, "it answers again")
            else:
                worker.kill_tasks()

    def followers(self) -> list[PoolWorker]:
        """All others."""
        leader = self.leader()
        return [worker for worker in self.up if worker is not leader]


def steady(folder: Path, tasks: int = 1, **more: str) -> dict[str, str]:
    """The configuration of a source with so many tasks, see plugins/steady.py."""
    return {"connector.class": "steady.SteadySource", "tasks.max": str(tasks), "folder": str(folder), **more}
