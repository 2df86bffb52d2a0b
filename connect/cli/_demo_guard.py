"""Stops what the demo started, and removes its files, when the demo ends; it may be killed at any moment.

The guard is a process of its own (`python -m connect.cli._demo_guard FOLDER`), which no Ctrl-C reaches. It creates the
temporary folder and prints its name, waits for the end of its standard input, which only the demo holds open, stops the
broker, and removes the folder. Workers need no guard: the kernel kills them with the demo.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from connect.cli._demo_run import DemoError
from connect.kafka.broker import embedded
from connect.storage.file_lock import FileLock, Locked

_BEGINS_WITHIN_S = 90.0  # a guard before this one may still be stopping its broker
_REMOVED_WITHIN_S = 10.0


def broker_data(home: Path) -> Path:
    """The data folder of a demo's broker."""
    return home / "connect-runtime" / "broker"


@contextmanager
def guarded(home: Path) -> Iterator[Path]:
    """A temporary folder, as long as the block runs; after that it is removed, and the demo's broker is stopped.

    Args:
        home: the folder of the demo in the user's data folder. One demo at a time uses it.

    Raises:
        DemoError: the guard of an earlier demo is still running, and does not end.
    """
    guard = subprocess.Popen(
        [sys.executable, "-m", "connect.cli._demo_guard", str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert guard.stdin is not None
    assert guard.stdout is not None
    said = ""
    try:
        if not (said := guard.stdout.readline()):
            raise DemoError(f"The demo cannot begin in {home}: its clean-up process has ended.")
        yield Path(said.removesuffix("\n"))
    finally:
        guard.stdin.close()
        guard.stdout.close()
        if guard.wait() != 0 and said:
            _clear(Path(said.removesuffix("\n")), broker_data(home))


def main(home: Path) -> int:
    """Be the guard of a demo. Returns the exit code."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _take_turn(home / "guard.lock")
    note = home / "folder"  # of a demo that was killed together with its guard
    if note.exists():
        _clear(Path(note.read_text(encoding="utf-8")), broker_data(home))
    folder = Path(tempfile.mkdtemp(prefix="connect-demo-"))
    note.write_text(str(folder), encoding="utf-8")
    try:
        sys.stdout.write(f"{folder}\n")
        sys.stdout.flush()
        sys.stdin.read()
    except BrokenPipeError:
        pass  # the demo was killed meanwhile
    _clear(folder, broker_data(home))
    note.unlink()
    return 0


def _take_turn(path: Path) -> None:
    deadline = time.monotonic() + _BEGINS_WITHIN_S
    while True:
        try:
            FileLock(path)
        except Locked:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def _clear(folder: Path, data: Path) -> None:
    try:
        embedded.stop(data)
    finally:
        # Processes that are being killed may still write into it.
        deadline = time.monotonic() + _REMOVED_WITHIN_S
        while folder.exists() and time.monotonic() < deadline:
            shutil.rmtree(folder, ignore_errors=True)
            time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
