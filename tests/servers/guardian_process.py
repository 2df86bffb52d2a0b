"""The guardian of a run of tests, a process of its own: `guardian_process.py FOLDER PARENT SWEEPS`; see `guardian`.

It needs nothing but Python's own library, so it is there within some milliseconds and takes little memory.
"""

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

#: In the environment of every process of a run: the folder of the run.
VARIABLE = "CONNECT_TEST_RUN"
#: In the environment of guardians. Nobody ends them: they end with the processes that they guard.
MARK = "CONNECT_TEST_GUARDIAN"
#: Which test is under way, by pytest.
_TEST = "PYTEST_CURRENT_TEST"

PREFIX = "connect-test-"
#: In a folder: what its guardian holds a lock on, with the name of the checkout in it, and the list of what stays.
LOCK = "lock"
KEPT = "kept"

_CHECKOUT = str(Path(__file__).resolve().parents[2])
_KEPT_ELSEWHERE_S = 24 * 3600  # what stays of the runs of other checkouts
_BEING_MADE_S = 60  # so young, a folder without a lock may be getting one

_TERM_S = 3.0  # from SIGTERM to SIGKILL
_GONE_S = 30.0  # until nobody waits any longer for the end of what was killed
_REMOVED_S = 10.0
_LOOKS_EVERY_S = 0.05

# Where these stand in /proc/PID/stat, counted from the state on.
_PARENT = 1
_STARTED = 19


class Left(NamedTuple):
    """A process that had to be ended.

    Attributes:
        pid: its id.
        age: in seconds.
        command: its command line, shortened.
        test: in which it was started; empty when it was between tests.
    """

    pid: int
    age: int
    command: str
    test: str

    def __str__(self) -> str:
        started = f"started in {self.test}" if self.test else "started between tests"
        return f"process {self.pid}, {self.age} s old, {started}: {self.command}"


def main(folder: Path, parent: int, *, sweeps: bool) -> None:
    """Guard a process until it ends; then end and remove what is left of its run."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    unseen = folder / f".{LOCK}"  # until it is locked: whoever sees a lock that nobody holds sweeps the folder
    with unseen.open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(_CHECKOUT)
        lock.flush()
        unseen.rename(folder / LOCK)
        _guard(folder, parent, sweeps=sweeps)
        end_all(folder, 0)
        remove(folder)


def _guard(folder: Path, parent: int, *, sweeps: bool) -> None:
    try:
        end = os.pidfd_open(parent)
    except ProcessLookupError:
        return
    if os.getppid() != parent:
        return  # it had ended, and the id is another one's
    if sweeps:
        sweep(folder)
    poll = select.poll()
    poll.register(end, select.POLLIN)
    poll.register(0, select.POLLIN)
    asked = b""
    while end not in (ready := [fd for fd, _ in poll.poll()]):
        read = os.read(0, 1 << 10) if 0 in ready else b""
        if not read:
            poll.unregister(0)
        *questions, asked = (asked + read).split(b"\n")
        for patience in questions:
            left = end_all(folder, float(patience), children_of=parent)
            os.write(1, json.dumps(left).encode() + b"\n")


# Processes.


class _Process:
    """A process as long as it runs: what is sent to it never reaches a later one with its id."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.ended = os.pidfd_open(pid)
        self.asked = False

    def runs(self) -> bool:
        poll = select.poll()
        poll.register(self.ended, select.POLLIN)
        return not poll.poll(0)

    def send(self, number: int) -> None:
        try:
            signal.pidfd_send_signal(self.ended, number)
        except ProcessLookupError:
            pass  # it was quicker

    def forget(self) -> None:
        os.close(self.ended)

    def described(self) -> Left:
        words = [_shortened(word) for word in _read(self.pid, "cmdline").decode(errors="replace").split("\0")]
        stat = _stat(self.pid)
        ticks = int(stat[_STARTED]) if stat else 0
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        command = " ".join(words).strip()
        command = command if len(command) <= 400 else f"{command[:200]} ... {command[-200:]}"
        return Left(self.pid, int(age), command, _environment(self.pid).get(_TEST, ""))


def end_all(folder: Path, patience: float, children_of: int | None = None) -> list[Left]:
    """End all processes of a run, with their children. Returns those that did not end by themselves.

    Args:
        folder: of the run.
        patience: how many seconds they have to end by themselves.
        children_of: a process whose children are meant as well, whatever their environment says.
    """
    began = time.monotonic()
    known: dict[int, _Process] = {}
    left: list[Left] | None = None
    empty = 0
    while empty < 2:  # what a process made while it ended may escape the first look
        for pid, started in _found(str(folder), known, children_of).items():
            with contextlib.suppress(ProcessLookupError):
                process = _Process(pid)
                if _stat(pid)[_STARTED:][:1] == [started]:
                    known[pid] = process
                else:
                    process.forget()
        for process in [each for each in known.values() if not each.runs()]:
            known.pop(process.pid).forget()
        empty = 0 if known else empty + 1
        waited = time.monotonic() - began - patience
        if known and waited >= 0:
            if left is None:
                left = [process.described() for process in known.values()]
            for process in known.values():
                if waited > _TERM_S:
                    process.send(signal.SIGKILL)
                elif not process.asked:
                    process.asked = True
                    process.send(signal.SIGTERM)
        if waited > _GONE_S:
            break
        time.sleep(_LOOKS_EVERY_S)
    return left or []


def _found(mark: str, known: Collection[int], children_of: int | None) -> dict[int, str]:
    """The processes of a run that are not known yet, and when they started."""
    running = {pid: stat for pid in _pids() if (stat := _stat(pid)) and stat[0] not in "ZX"}
    children: dict[int, list[int]] = {}
    for pid, stat in running.items():
        children.setdefault(int(stat[_PARENT]), []).append(pid)
    waiting = [pid for pid in running if pid in known or _belongs(pid, mark)]
    if children_of is not None:
        waiting += children.get(children_of, [])
    found: dict[int, str] = {}
    while waiting:
        pid = waiting.pop()
        if pid not in found and MARK not in _environment(pid):
            found[pid] = running[pid][_STARTED]
            waiting += children.get(pid, [])
    return {pid: started for pid, started in found.items() if pid not in known}


def _belongs(pid: int, mark: str) -> bool:
    run = _environment(pid).get(VARIABLE, "")
    return run == mark or run.startswith(mark + "/")


def _environment(pid: int) -> dict[str, str]:
    """Of a process, as it was when its program began."""
    text = _read(pid, "environ").decode(errors="replace")
    return dict(each.split("=", 1) for each in text.split("\0") if "=" in each)


def _stat(pid: int) -> list[str]:
    """What the kernel says of a process, from its state on; nothing when it is gone."""
    return _read(pid, "stat").decode(errors="replace").rpartition(") ")[2].split()


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""  # it is gone, or somebody else's


def _pids() -> Iterator[int]:
    return (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())


def _shortened(word: str) -> str:
    return word if len(word) <= 120 else f"{word[:50]}...{word[-50:]}"


# Folders.


def remove(folder: Path) -> None:
    """Remove the folder of a run, but for what is to stay."""
    try:
        kept = [path for line in (folder / KEPT).read_text().splitlines() if (path := Path(line)).is_dir()]
    except FileNotFoundError:
        kept = []
    stays = [*kept, folder / LOCK, folder / KEPT] if kept else []
    deadline = time.monotonic() + _REMOVED_S
    while not _remove(folder, stays) and time.monotonic() < deadline:
        time.sleep(_LOOKS_EVERY_S)


def _remove(folder: Path, stays: Collection[Path]) -> bool:
    """Try to remove all of a folder but what stays; returns whether that is done."""
    if folder in stays:
        return True
    if not any(each.is_relative_to(folder) for each in stays):
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder, ignore_errors=True)
        else:
            folder.unlink(missing_ok=True)
        if not folder.exists():
            return True
        for path, _, _ in os.walk(folder):  # some may be closed to their owner, who is not root
            with contextlib.suppress(OSError):
                Path(path).chmod(0o700)
        return False
    return sum(not _remove(each, stays) for each in folder.iterdir()) == 0


def sweep(folder: Path) -> None:
    """End and remove what is left of other runs, whose guardians were killed as well, and what they kept."""
    for old in folder.parent.glob(f"{PREFIX}*"):
        try:
            status = old.stat()
            age = time.time() - status.st_mtime
            if old == folder or status.st_uid != os.geteuid():
                continue
            if not (old / LOCK).exists():
                if age < _BEING_MADE_S:
                    continue
                (old / LOCK).touch()
            with (old / LOCK).open("r+", encoding="utf-8") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if (old / KEPT).exists() and lock.read() != _CHECKOUT and age < _KEPT_ELSEWHERE_S:
                    continue
                (old / KEPT).unlink(missing_ok=True)
                end_all(old, 0)
                remove(old)
        except OSError:
            pass  # in use, or somebody else removes it


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sweeps=sys.argv[3] == "1")
