"""A standalone worker from start to end: files checked, connectors started, signals awaited, everything stopped."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from threading import Event
from types import FrameType

from connect.cli._exit import FAILED, INVALID, OK
from connect.cli._live import Live, Summaries, is_possible
from connect.cli._problems import Problems
from connect.cli._rest import BackgroundRest, take_addresses
from connect.cli._summary import Summary
from connect.cli._worker_files import WorkerFile, open_offsets, read_connectors, read_worker, take_validation
from connect.herder.model import TargetState
from connect.herder.worker_herder import WorkerHerder, standalone
from connect.settings.connector_files import ConnectorFile
from connect.settings.definition import Config
from connect.storage import State, Status, TaskStatus
from connect.telemetry import logs

log = logging.getLogger("connect.cli")

_REDRAW_EVERY_S = 0.5
_REPORT_EVERY_S = 60.0


def run_worker(worker_path: str, connector_paths: Sequence[str]) -> int:
    """Run until a signal says to stop. Returns the exit code."""
    problems = Problems([worker_path, *connector_paths])
    worker = read_worker(worker_path, problems)
    connectors = read_connectors(connector_paths, problems)
    if worker is None:
        problems.report(sys.stderr)
        return INVALID
    logs.configure(worker.config["log.level"], worker.config["log.format"])
    addresses = take_addresses(worker, problems)
    raw = {**worker.raw, **({"listeners": addresses.urls} if addresses is not None else {})}
    herder = standalone(raw, worker.config, worker.resolver, open_offsets(worker, problems))
    stop: StopSignals  # from when on signals are handled, and the REST API is started
    failed = Event()

    def give_up() -> None:
        failed.set()
        stop.ask()

    rest = BackgroundRest(addresses, raw, herder, give_up) if addresses is not None else None
    herder.start()
    try:
        _check(herder, worker, connectors, problems)
        if problems.errors():
            problems.report(sys.stderr)
            return INVALID
        for warning in problems.warnings_of_files():
            log.warning("%s", warning)
        herder.worker.raw.update(embedded_broker(worker.config))
        stop = StopSignals()
        herder.worker.statuses.listen(StateLog().take)
        started = [herder.run_checked(file.name, file.config, _TARGETS[file.initial_state]) for file in connectors]
        if rest is not None:
            rest.start_after(started)
        _watch(herder, stop)
        log.info("stopping; a second signal ends everything at once")
        began = time.monotonic()
    finally:
        if rest is not None:
            rest.stop(herder.stop)
        else:
            herder.stop()
    log.info("stopped in %.2f s", time.monotonic() - began)
    return FAILED if failed.is_set() else OK


_TARGETS = {
    None: TargetState.STARTED,
    "RUNNING": TargetState.STARTED,
    "PAUSED": TargetState.PAUSED,
    "STOPPED": TargetState.STOPPED,
}


class StopSignals:
    """Handles SIGINT, SIGTERM and SIGHUP: the first one requests a stop, the next one ends this process at once.

    One that this process was started to ignore (nohup) stays ignored. Its tasks end with it.
    """

    def __init__(self) -> None:
        self._asked = False
        self._read, self._write = os.pipe()  # a handler may take no lock; it may write to a pipe
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._take)

    def wait(self, seconds: float) -> bool:
        """Wait for one, at most this long. Returns whether there was one."""
        return bool(select.select([self._read], [], [], seconds)[0])

    def ask(self) -> None:
        """Do as if there was one."""
        os.write(self._write, b"x")

    def _take(self, number: int, _: FrameType | None) -> None:
        if self._asked:
            os._exit(128 + number)
        self._asked = True
        os.write(self._write, b"x")


def _check(herder: WorkerHerder, worker: WorkerFile, connectors: Sequence[ConnectorFile], problems: Problems) -> None:
    """Validate all connectors, in parallel."""
    validations = [herder.validate(file.config) for file in connectors]
    for file, validation in zip(connectors, validations, strict=True):
        take_validation(file, worker, validation.result(), problems)


def _watch(herder: WorkerHerder, stop: StopSignals) -> None:
    """Show the status of connectors until a signal arrives: in place on a terminal, else in the log."""
    summaries = Summaries(herder.worker.statuses, herder.worker.tasks)
    if is_possible(sys.stderr):
        with contextlib.suppress(OSError):  # the terminal is gone, and the worker was told to outlive it
            _draw_until(stop, summaries)
            return
    before: dict[str, Summary] = {}
    while not stop.wait(_REPORT_EVERY_S):
        before = _log_what_moved(summaries.look(), before)


def _draw_until(stop: StopSignals, summaries: Summaries) -> None:
    view = Live(sys.stderr)
    try:
        while not stop.wait(_REDRAW_EVERY_S):
            view.draw(summaries.look())
    finally:
        view.close()


def _log_what_moved(now: Sequence[Summary], before: dict[str, Summary]) -> dict[str, Summary]:
    for summary in now:
        if summary != before.get(summary.name):
            log.info("%s", summary, extra={"about": summary.name})
    return {summary.name: summary for summary in now}


class StateLog:
    """Logs that a task began, paused or ended. Failures and waits are logged where they are noticed."""

    def __init__(self) -> None:
        self._states: dict[tuple[str, int], State] = {}

    def take(self, status: Status) -> None:
        """A connector or task has this status."""
        if not isinstance(status, TaskStatus):
            return
        task = (status.connector, status.task)
        before, self._states[task] = self._states.get(task), status.state
        if status.state in (before, State.FAILED):
            return
        words = "ended" if status.state is State.UNASSIGNED else status.state.value.lower()
        log.info("%s", words, extra={"about": f"{status.connector}-{status.task}"})


def embedded_broker(worker: Config) -> dict[str, str]:
    """Start the broker of bootstrap.servers=embedded where none runs.

    Returns:
        the worker's keys for it; none where the worker names other brokers.
    """
    if worker["bootstrap.servers"] != ["embedded"]:
        return {}
    from connect.kafka.broker.embedded import ensure_running

    broker = ensure_running(say=log.info)
    log.info("Kafka runs on this machine at %s", broker.bootstrap_servers)
    return {"bootstrap.servers": broker.bootstrap_servers}
