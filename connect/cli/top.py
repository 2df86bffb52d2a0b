"""`connect top`: the tasks of a cluster, live, urgent ones first."""

from __future__ import annotations

import argparse
import math
import threading
import time
from collections import Counter
from typing import Any

from connect.cli._connectors import print_json
from connect.cli._exit import OK
from connect.cli._rest_client import RestClient, add_options, client_of
from connect.cli._screen import Screen, is_possible
from connect.cli._statuses import measured_of
from connect.cli._table import counted, shows_colours
from connect.cli._top_lines import View, once, screen, scrolled
from connect.cli._top_rows import Look, as_json, connector_rows, task_rows, worker_rows
from connect.connector_states import urgency
from connect.errors import ConfigError, ConnectError

HELP = """\
Show what a cluster does, like top and htop: its workers, and below them every task with its state, records a second in
and out, bytes a second, the time of a batch (of a source's poll, of a sink's put), the lag of a sink, CPU and memory of
its process, errors and retries. What failed, is stalled or waits stands first, then what uses most CPU. Redrawn in
place on a terminal; one table when the output is a pipe, or with --once. When the worker does not answer, the first
line says so, the last figures stay, and the command asks again.

keys:
  s c m r l e n  sort by state, CPU, memory, rate, lag, errors, name; the same key again turns the order around
  /              show only what has this text in its name, state, worker or reason: Enter keeps it, Escape ends it
  t              a line for each connector instead of each task, and back
  up, down       scroll; also Page Up and Page Down
  space          stand still, and go on
  q              quit

CPU is in percent of one core since the look before; memory is divided among the processes that share it (PSS). Java's
workers tell states only: figures that no worker tells are shown as a dash.

examples:
  connect top                                      the pool of the worker at http://localhost:8083
  connect top --url http://worker1:8083 --sort l   what is furthest behind first
  connect top --once | head -20                    one table
  connect top --json --interval 5                  one document, with CPU over five seconds"""

_SORTS = {"state": "s", "cpu": "c", "memory": "m", "rate": "r", "lag": "l", "errors": "e", "name": "n"}
_EVERY_S = 2.0
#: With thousands of connectors an answer takes its time: the next is asked for after so many times that.
_SHARE = 4.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--once", action="store_true", help="print one table and end")
    parser.add_argument(
        *("--interval", "-i"),
        type=float,
        default=_EVERY_S,
        metavar="SECONDS",
        help="between looks (default: %(default)g)",
    )
    parser.add_argument(
        "--sort", choices=[*_SORTS, *_SORTS.values()], default="state", help="what stands first (default: state)"
    )
    parser.add_argument("--filter", default="", metavar="TEXT", help="only what has this in its name, state or worker")
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Show it."""
    if not (math.isfinite(args.interval) and args.interval >= 0.1):
        raise ConfigError("--interval", "is at least 0.1 seconds.")
    view = View(sort=_SORTS.get(args.sort, args.sort), text=args.filter)
    client = client_of(args)
    if args.json or args.once or not is_possible():
        _once(client, view, args.interval, json=args.json)
    else:
        _live(client, view, args.interval)
    return OK


def _once(client: RestClient, view: View, interval: float, *, json: bool) -> None:
    about, look = client.get(), _look(client)
    before = None
    if _tells_cpu(look):  # what was used is the difference of two looks
        time.sleep(interval)
        before, look = look, _look(client)
    tasks = task_rows(look, before)
    workers, shown = worker_rows(look, tasks), view.rows(tasks)
    if json:
        names = ("version", "kafka_cluster_id")
        cluster = {"url": client.address, **{name: about.get(name) for name in names}}
        print_json({**cluster, "workers": as_json(workers), "tasks": as_json(shown)})
    else:
        print(once(workers, shown))


def _live(client: RestClient, view: View, interval: float) -> None:
    about = client.get()
    first = _look(client)  # an error of the first look ends the command, with nothing drawn
    colour = shows_colours()
    with Screen() as terminal:
        looks = _Looks(client, first, interval, terminal)
        looks.start()
        try:
            while not view.quit:
                size = terminal.size
                look, before, problem = looks.now()
                tasks = task_rows(look, before)
                rows = connector_rows(look.statuses, tasks) if view.connectors else tasks
                title, workers = problem or _title(client.address, about, look), worker_rows(look, tasks)
                terminal.draw(screen(title, workers, rows, view, size.columns, size.lines, colour=colour))
                view = scrolled(view, len(workers), len(view.rows(rows)), size.lines)
                for key in terminal.pressed():
                    view = view.after(key, max(1, size.lines // 2))
                looks.pause(view.paused)
        except EOFError:
            pass  # the terminal is gone
        finally:
            looks.end()


def _look(client: RestClient) -> Look:
    statuses, metrics = measured_of(client)
    return Look(time.monotonic(), statuses, metrics)


def _tells_cpu(look: Look) -> bool:
    return any("cpu-seconds-total" in groups.get("connect-task-metrics", {}) for groups in look.groups().values())


def _title(address: str, about: dict[str, Any], look: Look) -> str:
    states = Counter(task["state"] for status in look.statuses for task in status["tasks"])
    in_order = sorted(states, key=lambda state: (urgency(state), state))
    by_state = ": " + ", ".join(f"{states[state]} {state}" for state in in_order) if states else ""
    counts = f"{counted(len(look.statuses), 'connector')}, {counted(states.total(), 'task')}{by_state}"
    return f"{address}  {about.get('version', '')}  {time.strftime('%H:%M:%S')}  {counts}"


class _Looks(threading.Thread):
    """Reads the cluster repeatedly, so that keys need not wait for a response."""

    def __init__(self, client: RestClient, first: Look, interval: float, terminal: Screen) -> None:
        super().__init__(name="looks", daemon=True)
        self._client = client
        self._interval = interval
        self._terminal = terminal
        self._changed = threading.Condition()
        self._look, self._problem = first, ""
        self._before: Look | None = None
        self._paused = self._ended = False

    def now(self) -> tuple[Look, Look | None, str]:
        """The last measurement, the one before, and why there is no newer one, if so."""
        with self._changed:
            return self._look, self._before, self._problem

    def pause(self, paused: bool) -> None:  # it is what is said
        """Stop reading, or resume."""
        with self._changed:
            self._paused = paused
            self._changed.notify_all()

    def end(self) -> None:
        """Stop reading, without waking anybody."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def run(self) -> None:
        wait = self._interval
        while not self._ends_within(wait):
            began = time.monotonic()
            look: Look | None = None
            problem = ""
            try:
                look = _look(self._client)
            except ConnectError as error:
                problem = str(error)  # it may be back in a moment: a worker restarts
            except Exception as error:
                problem = f"The answer is not understood: {type(error).__name__}: {error}"
            with self._changed:
                if look is not None:
                    self._before, self._look = self._look, look
                self._problem = problem
                if not self._ended:
                    self._terminal.wake()
            wait = max(self._interval, _SHARE * (time.monotonic() - began))

    def _ends_within(self, seconds: float) -> bool:
        """Wait for this many seconds, and while it is paused. Whether it has ended meanwhile."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended, seconds)
            self._changed.wait_for(lambda: self._ended or not self._paused)
            return self._ended
