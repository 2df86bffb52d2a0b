"""The tasks that run on this worker: started, paused, stopped; their statuses written and their requests answered."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import wait as wait_for

import msgspec

from connect.errors import ConnectError
from connect.group import TaskId
from connect.herder.abandoned import AbandonedMembers
from connect.herder.ending import Ending
from connect.herder.last_hour import TaskTotals
from connect.herder.lineage import Lineage
from connect.herder.measures import Measures
from connect.herder.offset_stores import OffsetStores
from connect.herder.running_task import RunningTask
from connect.herder.taps import Tapping, Taps
from connect.herder.task_answers import MayBegin, TaskAnswers
from connect.herder.task_figures import TaskFigures
from connect.herder.topics import ActiveTopics
from connect.pipeline.error_kinds import ErrorKind
from connect.settings.worker_keys import RunOptions
from connect.storage import MemoryStatusStore, RestartNote, State, TaskStatus, WaitNote
from connect.telemetry.logs import error_elsewhere
from connect.worker import messages
from connect.worker.background import Background
from connect.worker.lease import now
from connect.worker.supervisor import Supervisor, TaskProcess

log = logging.getLogger("connect.herder")

#: Connector, task, kind of error, and who is told what becomes of it.
TaskFailed = Callable[[str, int, ErrorKind, Callable[[RestartNote | None], None]], None]

_AT_ONCE = 4
#: How long the end of a worker waits until lineage is told of the ends of its tasks.
_LAST_EVENTS_S = 2.0
#: How long whoever stops a task waits for the end of the transaction that it left open.
_ABORT_S = 2.0


class Tasks:
    """All tasks of this worker. Safe to use from many threads; `start` and `stop` of one connector one after another.

    Args:
        supervisor: creates the processes.
        stores: of the offsets of sources.
        statuses: where states are published.
        topics: that connectors use.
        measures: counts starts; the tasks' own metrics are merged into its registry.
        worker_id: for statuses.
        generation: of the group, now.
        remove_member: removes the member of a killed sink task from its consumer group, so that its partitions need not
            wait for the session to end.
        abort: aborts the transaction that a dead task left open, given a function that says whether no newer task can
            exist. Returns whether there was one.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        stores: OffsetStores,
        statuses: MemoryStatusStore,
        topics: ActiveTopics,
        measures: Measures,
        worker_id: str,
        generation: Callable[[], int],
        remove_member: Callable[[messages.Membership, Mapping[str, str]], None],
        abort: Callable[[messages.TaskSpec, Callable[[], bool]], bool],
    ) -> None:
        self.taps = Taps()
        self._supervisor = supervisor
        self._statuses = statuses
        self._topics = topics
        self._measures = measures
        #: For each task that ran here: which configuration it had, and whether it FAILED with that.
        self._before: dict[tuple[str, int], tuple[int, bool]] = {}
        self._worker_id = worker_id
        self._generation = generation
        self._failed: TaskFailed
        self._abort = abort
        self._running: dict[tuple[str, int], RunningTask] = {}
        self._lock = threading.Lock()
        self._answers = TaskAnswers(stores)
        self._abandoned = AbandonedMembers(remove_member)
        self._tidying = Background("tidying", _AT_ONCE)
        self._lineage = Lineage()

    def listen(self, failed: TaskFailed, may_begin: MayBegin) -> None:
        """Set the listeners; call it before the first task.

        Args:
            failed: called with a failure and the kind of its error; it calls back once with the plan of a restart. Must
                not block.
            may_begin: called when a task has its transactional id; raises ConnectError when it must not run any more.
        """
        self._failed = failed
        self._answers.listen(may_begin)

    def start(
        self,
        spec: messages.TaskSpec,
        version: str | None,
        written: tuple[Mapping[str, str], Mapping[str, str]],
    ) -> None:
        """Start a task. One of the same id must have ended. `written` is kept, see `RunningTask`.

        Raises:
            ConnectError: it still runs.
        """
        key = (spec.connector, spec.task)
        with self._lock:
            before = self._running.get(key)
            if before is not None and not before.process.ended.is_set():
                raise ConnectError(f"Task {spec.id} is still running.")
            process = self._began(spec)
            figures = TaskFigures(spec.kind, self._measures.span)
            self._running[key] = RunningTask(process, version, figures, written, paused=spec.paused)
            self._running[key].starting = self._measures.tracer.open("task start", attributes=_about(spec))
            self._count_restart(key, spec)
        self._measures.registry.forget(spec.id)
        self._supervisor.watch(process)

    def _began(self, spec: messages.TaskSpec, *, alone: bool = False) -> TaskProcess:
        self._measures.tasks.began()
        try:
            return self._supervisor.start_task(spec, self, alone=alone)
        except BaseException:
            self._measures.tasks.failed()
            raise

    def _count_restart(self, key: tuple[str, int], spec: messages.TaskSpec) -> None:
        before, config = self._before.get(key), _hash(spec)
        self._before[key] = (config, False)
        if before is not None:
            reason = "failure" if before[1] else "configuration" if before[0] != config else "request"
            self._measures.started_again(*key, reason)

    def stop(self, which: Iterable[tuple[str, int]], graceful: float) -> None:
        """End tasks in parallel, and wait for them. Those that do not end in time are killed (P11)."""
        with self._lock:
            chosen = [(key, self._running[key]) for key in which if key in self._running]
            for _, task in chosen:
                task.wanted = False
        tracer = self._measures.tracer
        stopping = {key: tracer.open("task stop", attributes=_about(task.process.spec)) for key, task in chosen}
        for _, task in chosen:
            if not task.process.ended.is_set():
                self._supervisor.stop_task(task.process, graceful)
        for key, task in chosen:
            # Killed at the latest after `graceful`; the rest is for the kernel to take the process away.
            if not task.process.ended.wait(graceful + 30):
                raise ConnectError(f"Task {task.process.id} (process {task.process.pid}) cannot be killed.")
            if task.aborting is not None:
                wait_for([task.aborting], _ABORT_S)
            task.given_up = True
            if (span := stopping[key]) is not None:
                span.end()
            with self._lock:
                self._running.pop(key, None)
            self._measures.registry.forget(task.process.id)

    def forget(self, connector: str) -> None:
        """A connector was deleted: nothing is known of its tasks any more."""
        with self._lock:
            self._before = {key: value for key, value in self._before.items() if key[0] != connector}
        self._measures.forget(connector)

    def pause(self, connector: str, *, paused: bool) -> None:
        """Pause or resume all tasks of a connector. They report when they have."""
        with self._lock:  # before any is told: one that starts again while another takes its time starts so
            chosen = [task for (name, _), task in sorted(self._running.items()) if name == connector]
            for task in chosen:
                task.paused = paused
        for task in chosen:
            if paused:
                task.process.pause()
            else:
                task.process.resume()

    def tap(self, connector: str, number: int | None, records: int, seconds: float) -> Tapping:
        """Look at records of a connector's tasks, or of one task, that run here; see `Taps`."""
        running = {
            each: task.process
            for each, task in self.of(connector).items()
            if not task.failed and number in (None, each)
        }
        return self.taps.open(running, records, seconds)

    def of(self, connector: str) -> dict[int, RunningTask]:
        """The tasks of a connector by number; the failed ones included."""
        with self._lock:
            return {number: task for (name, number), task in sorted(self._running.items()) if name == connector}

    def all(self) -> list[tuple[str, int]]:
        """Every task."""
        with self._lock:
            return sorted(self._running)

    def stalled(self) -> dict[tuple[str, int], str]:
        """The tasks that make no progress (P9), and why."""
        with self._lock:
            return {key: task.stalled for key, task in sorted(self._running.items()) if task.stalled is not None}

    def totals(self) -> dict[tuple[str, int], TaskTotals]:
        """What each running task has done until now."""
        with self._lock:
            running = [(key, task) for key, task in self._running.items() if not task.failed]
        return {key: task.totals() for key, task in running}

    def loads(self) -> dict[TaskId, float]:
        """The CPU of tasks in cores, as far as it was measured. Never blocks: heartbeats depend on it."""
        found = {TaskId(*key): task.cpu.cores for key, task in list(self._running.items()) if not task.failed}
        return {task: cores for task, cores in found.items() if cores is not None}

    def close(self, ending: Ending) -> None:
        """Wait a moment for what is being stored, and for what dead tasks have left behind (P11)."""
        self._answers.close(ending)
        self._abandoned.close(ending.left())
        self._tidying.close(ending.left())
        self._lineage.close(min(ending.left(), _LAST_EVENTS_S))

    # The supervisor's listener: its thread, nothing here may block.

    def task_said(self, task: TaskProcess, message: messages.AnyMessage) -> None:
        match message:
            case messages.Running(paused=paused) | messages.Paused(paused):
                running = self._find(task)
                if running is not None:
                    if isinstance(message, messages.Running):
                        running.version = message.version or running.version
                    if running.figures.state == "unassigned":
                        self._measures.tasks.succeeded()
                        if running.starting is not None:
                            running.starting.end()
                    running.figures.entered("paused" if paused else "running")
                self._put(task, State.PAUSED if paused else State.RUNNING)
                if isinstance(message, messages.Running):
                    self._lineage.running(task.spec, message.datasets)
            case messages.Progress():
                running = self._find(task)
                if running is not None:
                    running.progress = message
                    running.figures.take(message.metrics)
                    self._measures.registry.merge(task.id, message.metrics)
            case messages.Spans(spans):
                self._measures.tracer.take(spans)
            case messages.Alive(cpu):
                if (running := self._find(task)) is not None:
                    running.cpu.take(time.monotonic(), cpu)
                    if running.cpu.cores is not None:
                        log.debug("uses %.2f cores of CPU", running.cpu.cores, extra={"about": task.id})
                    self._look_whether_it_fits(running)
            case messages.Tapped():
                self.taps.take(task.spec.task, message)
            case messages.Stalled(trace):
                self._stalls(task, trace)
            case messages.Waiting():
                self._waits(task, message)
            case messages.Page(url):
                if (running := self._find(task)) is not None:
                    running.page = url or None
                    if running.state is State.RUNNING:
                        self._put(task, State.RUNNING, stalled=running.stalled)
            case messages.UsedTopics(topics):
                self._topics.add(task.spec.connector, task.spec.task, topics)
                self._lineage.uses(task.spec, topics)
            case messages.AskOffsets() | messages.AskOffsetKeys() | messages.AskToBegin() | messages.StoreOffsets():
                self._answers.take(task, message)

    def task_ended(self, task: TaskProcess, error: str | None, trace: str | None) -> None:
        running = self._find(task)
        self._lineage.ended(task.spec, error)
        if running is not None:
            running.waiter.leaves()
            if running.starting is not None:  # or it has never run
                running.starting.end("it ended before it ran" if error is None else task.failure.name)
        starts_again = "" if running is None or error is not None else task.uprooted or running.moving
        if running is not None and starts_again:
            log.info("%s It starts again.", starts_again, extra={"about": task.id})
        elif error is not None:
            if running is not None:
                running.failed = True
                if running.figures.state == "unassigned":
                    self._measures.tasks.failed()
                running.figures.entered("failed")
                self._before[task.spec.connector, task.spec.task] = (_hash(task.spec), True)
            # Errors that say what they are about are for users; in others only the trace says where they come from.
            unexpected = task.failure is ErrorKind.UNKNOWN
            error_elsewhere(log, task.id, error, trace if unexpected else None)
            if trace is not None and trace != error and not unexpected:
                log.debug("%s", trace, extra={"about": task.id})
            spec = task.spec
            self._failed(
                spec.connector, spec.task, task.failure, lambda note: self._put(task, State.FAILED, trace, note)
            )
        else:
            self._put(task, State.UNASSIGNED)
        if running is not None and task.spec.transactional_id is not None and not task.ended_by_itself:
            running.aborting = self._tidying.submit(lambda: self._abort_left_open(running))
        self._abandoned.remove(task)
        if running is not None and starts_again:
            self._tidying.submit(lambda: self._start_again(running))

    def _look_whether_it_fits(self, running: RunningTask) -> None:
        """A task that needs much leaves the process that it shares with others."""
        if running.moving or not running.wanted or not (why := running.too_much()):
            return
        running.moving = why
        log.info("%s It moves to a process of its own.", running.moving, extra={"about": running.process.id})
        self._supervisor.stop_task(running.process, RunOptions.parse(running.process.spec.worker_config).graceful)

    def _start_again(self, running: RunningTask) -> None:
        """Start a task whose process ended without a fault of its own."""
        process = running.process
        key = (process.spec.connector, process.spec.task)
        process.ended.wait()
        if running.aborting is not None:
            wait_for([running.aborting], _ABORT_S)
        alone = bool(running.moving) or process.needs_own_process
        with self._lock:
            if self._running.get(key) is not running or not running.wanted:
                return
            running.given_up = True
            until = self._supervisor.lease_until()
            spec = msgspec.structs.replace(process.spec, lease_until=until, paused=running.paused)
            try:
                new = self._began(spec, alone=alone)
            except Exception as error:
                log.exception("could not be started again", extra={"about": process.id})
                running.failed = True
                words = f"The task could not be started again: {error}"
                self._failed(*key, ErrorKind.CRASH, lambda note: self._put(process, State.FAILED, words, note))
                return
            figures = TaskFigures(spec.kind, self._measures.span)
            again = RunningTask(new, running.version, figures, running.written, paused=running.paused)
            again.state = running.state
            self._running[key] = again
        self._measures.registry.forget(spec.id)
        self._supervisor.watch(new)

    def _stalls(self, task: TaskProcess, trace: str) -> None:
        running = self._find(task)
        if running is None or running.state is not State.RUNNING or not (trace or running.stalled):
            return
        summary, _, stack = trace.partition("\n")
        if trace and task.spec.restart_stalled:
            words = f"{summary} The worker ends the process (task.stalled.action=restart)."
            task.fail(words, f"{words}\n{stack}".rstrip())
            return
        if trace:
            log.warning("is stalled: %s", trace, extra={"about": task.id})
        else:
            log.info("is not stalled any more", extra={"about": task.id})
        self._put(task, State.RUNNING, stalled=trace or None)

    def _waits(self, task: TaskProcess, told: messages.Waiting) -> None:
        running = self._find(task)
        if running is None:
            return
        if told.why:
            running.waiter.waits(told.why, what=told.what, since=told.since)
        else:
            running.waiter.goes_on()
        if running.state is State.RUNNING:  # else it is told when it is
            self._put(task, State.RUNNING, stalled=running.stalled)

    def _find(self, task: TaskProcess) -> RunningTask | None:
        running = self._running.get((task.spec.connector, task.spec.task))
        return running if running is not None and running.process is task else None

    def _put(
        self,
        task: TaskProcess,
        state: State,
        trace: str | None = None,
        restart: RestartNote | None = None,
        stalled: str | None = None,
    ) -> None:
        running = self._running.get((task.spec.connector, task.spec.task))
        waiting = None
        if running is not None and running.process is task:
            running.state, running.stalled = state, stalled
            if state is State.RUNNING and (wait := running.waiter.wait) is not None:
                waiting = WaitNote(int(wait.since * 1000), wait.why)
        status = TaskStatus(
            task.spec.connector,
            task.spec.task,
            state,
            self._worker_id,
            trace,
            self._generation(),
            running.version if running is not None else None,
            restart,
            stalled,
            waiting,
            running.page if running is not None and running.process is task and state is State.RUNNING else None,
        )
        # That a task ended here must not hide that it runs elsewhere by now.
        (self._statuses.put_safe if state is State.UNASSIGNED else self._statuses.put)(status)

    def _abort_left_open(self, task: RunningTask) -> None:
        """An open transaction blocks readers of committed records and of its offsets until it expires."""

        def may_go_on() -> bool:
            return not task.given_up and self._supervisor.lease_until() > now()

        try:
            if may_go_on() and self._abort(task.process.spec, may_go_on):
                log.info("aborted the transaction that the task left open", extra={"about": task.process.id})
        except Exception as error:
            log.warning(
                "The worker could not abort the transaction that this task left open; Kafka aborts it after "
                "transaction.timeout.ms: %s",
                error,
                extra={"about": task.process.id},
            )


def _about(spec: messages.TaskSpec) -> dict[str, str]:
    return {"connector": spec.connector, "task": str(spec.task), "connect.kind": spec.kind}


def _hash(spec: messages.TaskSpec) -> int:
    return hash(frozenset(spec.config.items()) | frozenset(spec.connector_config.items()))
