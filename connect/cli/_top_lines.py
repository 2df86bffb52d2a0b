"""The lines of `connect top`: figures as texts, as many columns as fit, the state of the keys. Draws nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from connect.cli._table import COLOURS, counted, fitted, padded, plain, shortened, table, width
from connect.cli._top_rows import SORTS, Row, WorkerRow, in_order, matching

NOTHING: Final = "\u2013"
KEYS: Final = (
    "s state  c cpu  m memory  r rate  l lag  e errors  n name  / filter  t tasks or connectors  space pause  q quit"
)


class Column(NamedTuple):
    """A column of the screen: columns with the highest `rank` are left out first where the terminal is narrow."""

    title: str
    rank: int
    text: Callable[[Row], str]
    sort: str = ""
    left: bool = False


def number(value: float | None) -> str:
    """A count or a rate."""
    if value is None:
        return NOTHING
    return f"{value:.1f}" if 0 < value < 10 and value != int(value) else f"{value:,.0f}"


def size(value: float | None) -> str:
    """Bytes, in units of 1024."""
    if value is None:
        return NOTHING
    for unit in ("B", "K", "M", "G"):
        if value < 1000 or unit == "G":
            break
        value /= 1024
    return f"{value:.0f}{unit}" if unit == "B" or value >= 100 else f"{value:.1f}{unit}"


def percent(value: float | None) -> str:
    """Of one core."""
    return NOTHING if value is None else f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def milliseconds(value: float | None) -> str:
    """Of a batch."""
    return NOTHING if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


COLUMNS: Final = (
    Column("NAME", 0, lambda row: row.name, "n", left=True),
    Column("STATE", 0, lambda row: row.state, "s", left=True),
    Column("TYPE", 9, lambda row: row.type or NOTHING, left=True),
    Column("IN/s", 3, lambda row: number(row.records_in)),
    Column("OUT/s", 0, lambda row: number(row.records_out), "r"),
    Column("BYTES/s", 4, lambda row: size(row.bytes)),
    Column("BATCH ms", 5, lambda row: milliseconds(row.latency_ms)),
    Column("LAG", 1, lambda row: number(row.lag), "l"),
    Column("CPU%", 1, lambda row: percent(row.cpu_percent), "c"),
    Column("MEM", 2, lambda row: size(row.memory_bytes), "m"),
    Column("ERRORS", 2, lambda row: number(row.errors), "e"),
    Column("RETRIES", 6, lambda row: number(row.retries)),
    Column("WORKER", 7, lambda row: row.worker or NOTHING, left=True),
    Column("REASON", 8, lambda row: row.reason, left=True),
)
#: A column of text takes no more than this, so that figures have room; the last one takes what is left.
_WIDEST: Final = 40
_LEAST_REASON: Final = 12


@dataclass(frozen=True, slots=True)
class View:
    """The state set by keys.

    Attributes:
        sort, reverse: see `in_order`.
        text: the filter; may be empty.
        typing: whether the filter is being written.
        paused: whether the figures stand still.
        connectors: whether a line is a connector, and not a task.
        first: the first visible line.
        quit: whether to end.
    """

    sort: str = "s"
    reverse: bool = False
    text: str = ""
    typing: bool = False
    paused: bool = False
    connectors: bool = False
    first: int = 0
    quit: bool = False

    def after(self, key: str, page: int = 10) -> View:
        """The state after a key: a character, or up, down, pageup, pagedown, enter, escape, backspace."""
        if self.typing:
            return self._typed(key)
        if key in SORTS:
            return replace(self, sort=key, reverse=key == self.sort and not self.reverse, first=0)
        moves = {"down": 1, "up": -1, "pagedown": page, "pageup": -page}
        if key in moves:
            return replace(self, first=max(0, self.first + moves[key]))
        match key:
            case "q":
                return replace(self, quit=True)
            case "/":
                return replace(self, typing=True)
            case " ":
                return replace(self, paused=not self.paused)
            case "t":
                return replace(self, connectors=not self.connectors, first=0)
            case "escape":
                return replace(self, text="", first=0)
        return self

    def _typed(self, key: str) -> View:
        match key:
            case "enter":
                return replace(self, typing=False)
            case "escape":
                return replace(self, typing=False, text="")
            case "backspace":
                return replace(self, text=self.text[:-1])
        return replace(self, text=self.text + key, first=0) if len(key) == 1 and key.isprintable() else self

    def rows(self, rows: Sequence[Row]) -> list[Row]:
        """The visible rows, in order."""
        return in_order(matching(rows, self.text), self.sort, reverse=self.reverse)


def screen(
    title: str, workers: Sequence[WorkerRow], rows: Sequence[Row], view: View, columns: int, lines: int, *, colour: bool
) -> list[str]:
    """All lines of a terminal of this size: no more, and none wider.

    Args:
        title: of the cluster.
        rows: of all tasks, or of all connectors; filtered and sorted here.
    """
    shown = view.rows(rows)
    head = [fitted(title, columns), *_worker_lines(workers, _most_workers(lines), columns), ""]
    foot = fitted(_foot(view, len(shown), len(rows)), columns)
    room = _room(len(workers), lines)
    first = scrolled(view, len(workers), len(shown), lines).first
    body = row_lines(shown[first : first + room], view, columns, colour=colour)
    return [*head, *body, *[""] * (room + 1 - len(body)), foot][: max(1, lines - 1)]


def scrolled(view: View, workers: int, rows: int, lines: int) -> View:
    """The view, scrolled no further than to the last rows: keys beyond them would have to be taken back one by one.

    Args:
        workers: their number.
        rows: the number of those that match.
        lines: of the terminal.
    """
    return replace(view, first=max(0, min(view.first, rows - _room(workers, lines))))


def _room(workers: int, lines: int) -> int:
    """For rows: without title, workers, a blank, titles, the foot, and the last line, where printing would scroll."""
    return max(1, lines - min(workers, _most_workers(lines)) - 5)


def _most_workers(lines: int) -> int:
    return max(1, lines // 4)


def row_lines(rows: Sequence[Row], view: View, columns: int, *, colour: bool) -> list[str]:
    """Titles and rows, with as many columns as fit."""
    chosen = _chosen(rows, columns)
    titles = [_title(column, view) for column, _ in chosen]
    head = "  ".join(_cell(title, room, left=c.left) for title, (c, room) in zip(titles, chosen, strict=True)).rstrip()
    found = [f"\x1b[7m{fitted(head, columns).ljust(columns - 1)}\x1b[0m" if colour else fitted(head, columns)]
    for row in rows:
        cells = [_cell(plain(column.text(row)), room, left=column.left) for column, room in chosen]
        at = len(cells[0]) + 2
        text = fitted("  ".join(cells).rstrip(), columns)
        end = min(at + len(row.state), len(text))
        if colour and at < end:
            text = f"{text[:at]}\x1b[{COLOURS.get(row.state, '0')}m{text[at:end]}\x1b[0m{text[end:]}"
        found.append(text)
    return found


def once(workers: Sequence[WorkerRow], rows: Sequence[Row]) -> str:
    """Two tables, with every column, for a pipe."""
    worker_titles = ["WORKER", "CONNECTORS", "TASKS", "FAILED", "OUT/s", "CPU%", "MEM"]
    first = table(worker_titles, [_worker_cells(worker) for worker in workers])
    return f"{first}\n\n{table([column.title for column in COLUMNS], [[c.text(row) for c in COLUMNS] for row in rows])}"


def _worker_cells(worker: WorkerRow) -> list[str]:
    figures = number(worker.records_out), percent(worker.cpu_percent), size(worker.memory_bytes)
    return [worker.worker, str(worker.connectors), str(worker.tasks), str(worker.failed), *figures]


def _worker_lines(workers: Sequence[WorkerRow], most: int, columns: int) -> list[str]:
    shown = workers if len(workers) <= most else workers[: most - 1]
    names = max((len(worker.worker) for worker in shown), default=0)
    found = []
    for worker in shown:
        figures = (
            counted(worker.connectors, "connector"),
            counted(worker.tasks, "task"),
            f"{worker.failed} failed" if worker.failed else "",
            f"{number(worker.records_out)} records/s",
            f"CPU {percent(worker.cpu_percent)} %" if worker.cpu_percent is not None else f"CPU {NOTHING}",
            f"memory {size(worker.memory_bytes)}",
            worker.note,
        )
        found.append(fitted(plain(f"{worker.worker:{names}}  {'  '.join(filter(None, figures))}"), columns))
    if len(shown) < len(workers):
        found.append(fitted(f"... and {len(workers) - len(shown)} more workers", columns))
    return found


def _foot(view: View, shown: int, of: int) -> str:
    if view.typing:
        return f"/{view.text}▏ Enter keeps it, Escape shows all"
    said = ["paused: space goes on"] if view.paused else []
    if view.text:
        said.append(f"{shown} of {of} match {view.text!r}")
    return plain("  ".join([*said, KEYS]))


def _title(column: Column, view: View) -> str:
    if column.sort != view.sort:
        return column.title
    down = (view.sort == "n") == view.reverse
    return f"{column.title}{'▼' if down else '▲'}"


def _chosen(rows: Sequence[Row], columns: int) -> list[tuple[Column, int]]:
    """The columns that fit, each with its width."""
    found = []
    for column in COLUMNS:
        texts = [width(plain(column.text(row))) for row in rows]
        if column.title == "REASON" and not any(texts):
            continue
        widest = max([len(column.title) + bool(column.sort), *texts])
        found.append((column, min(widest, _WIDEST) if column.left else widest))

    def taken() -> int:
        return sum(_LEAST_REASON if column.title == "REASON" else room for column, room in found) + 2 * len(found)

    while taken() > columns and any(column.rank for column, _ in found):
        found.remove(max(found, key=lambda each: each[0].rank))
    over = taken() - columns
    if over > 0:  # what stands in any case is still too wide: names give way
        found[0] = (found[0][0], max(8, found[0][1] - over))
    if found[-1][0].title == "REASON":
        left = columns - 1 - sum(room + 2 for _, room in found[:-1])
        found[-1] = (found[-1][0], max(_LEAST_REASON, left))
    return found


def _cell(text: str, columns: int, *, left: bool) -> str:
    return padded(shortened(text, columns), columns, left=left)
