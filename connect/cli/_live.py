"""The status of each connector of this worker, as lines at the bottom of a terminal.

The terminal itself keeps these lines: its scrolling region ends above them, so log lines, and what a sink writes to
standard output, cannot overwrite them (DECSTBM, https://vt100.net/docs/vt510-rm/DECSTBM.html).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TextIO

from connect.cli._summary import Summary, lines
from connect.connector_states import error_message
from connect.herder.tasks import Tasks
from connect.storage import ConnectorStatus, MemoryStatusStore, State, TaskStatus
from connect.telemetry.windows import Rate
from connect.worker.messages import Progress

_SAVE, _RESTORE = "\x1b7", "\x1b8"
_CLEAR_LINE, _CLEAR_BELOW, _WHOLE_SCREEN = "\x1b[2K", "\x1b[J", "\x1b[r"
_SMALLEST = (40, 10)  # columns and lines; below that there is no room beside the log


class Summaries:
    """Summaries of connectors; rates are between two calls."""

    def __init__(self, statuses: MemoryStatusStore, tasks: Tasks) -> None:
        self._statuses = statuses
        self._tasks = tasks
        self._rates: dict[str, Rate] = {}

    def look(self) -> list[Summary]:
        """All known connectors, by name."""
        found = []
        for name in self._statuses.connectors():
            tasks = [task.progress for task in self._tasks.of(name).values()]
            rate = self._rates.setdefault(name, Rate())
            rate.update(sum(progress.records for progress in tasks))
            connector, statuses = self._statuses.connector(name), self._statuses.tasks(name)
            found.append(summarize(name, connector, statuses, tasks, rate.per_second()))
        return found


def summarize(
    name: str,
    connector: ConnectorStatus | None,
    statuses: Sequence[TaskStatus],
    tasks: Sequence[Progress],
    per_second: float,
) -> Summary:
    """The summary of a connector."""
    failed = [status for status in statuses if status.state is State.FAILED]
    broken = connector if connector is not None and connector.state is State.FAILED else next(iter(failed), None)
    lags = [task.lag for task in tasks if task.lag >= 0]
    return Summary(
        name=name,
        state="FAILED" if broken else _state(connector, statuses, len(tasks)),
        tasks=len(tasks),
        failed=len(failed),
        records=sum(task.records for task in tasks),
        per_second=per_second,
        lag=sum(lags) if lags else None,
        errors=sum(task.errors for task in tasks),
        reason=error_message(broken.trace) if broken else next((s.waiting.why for s in statuses if s.waiting), None),
    )


def _state(connector: ConnectorStatus | None, statuses: Iterable[TaskStatus], tasks: int) -> str:
    said = [status.state for status in statuses]
    if connector is None or len(said) < tasks:
        return "STARTING"
    others = [state for state in said if state is not connector.state]
    return (others[0] if others else connector.state).value


def is_possible(stream: TextIO) -> bool:
    """Whether the stream is a terminal that supports this, and large enough."""
    if not stream.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        return False
    columns, lines = os.get_terminal_size(stream.fileno())
    return columns >= _SMALLEST[0] and lines >= _SMALLEST[1]


class Live:
    """A line for each connector, redrawn in place while everything else scrolls above it.

    Draw them as often as they should change; close at the end, or the terminal stays divided.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._colour = not os.environ.get("NO_COLOR")
        self._size: os.terminal_size | None = None
        self._reserved = 0
        self._texts: list[str] = []

    def draw(self, summaries: Sequence[Summary]) -> None:
        """Show these."""
        size = os.get_terminal_size(self._stream.fileno())
        texts = lines(summaries, size.columns, size.lines // 2, colour=self._colour)
        divided = ""
        if (size, len(texts)) != (self._size, self._reserved):
            divided = self._divide(size, len(texts))
        elif texts == self._texts:
            return
        self._texts = texts
        first = size.lines - len(texts) + 1
        drawn = "".join(f"\x1b[{first + n};1H{_CLEAR_LINE}{text}" for n, text in enumerate(texts))
        self._write(f"{divided}{_SAVE}{drawn}{_RESTORE}")

    def close(self) -> None:
        """Restore the whole terminal."""
        if self._size is not None:
            first = self._size.lines - self._reserved + 1
            self._write(f"{_SAVE}\x1b[{first};1H{_CLEAR_BELOW}{_WHOLE_SCREEN}{_RESTORE}")
            self._size, self._reserved = None, 0

    def _divide(self, size: os.terminal_size, reserve: int) -> str:
        self.close()
        self._size, self._reserved = size, reserve
        # Scroll what stands where the lines go up first. Setting the region moves the cursor, hence the saving.
        return f"{chr(10) * reserve}\x1b[{reserve}A{_SAVE}\x1b[1;{size.lines - reserve}r{_RESTORE}"

    def _write(self, text: str) -> None:
        # In one piece: others write to this terminal too.
        self._stream.write(text)
        self._stream.flush()
