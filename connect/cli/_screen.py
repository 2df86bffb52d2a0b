"""A full-screen terminal for one command: the alternate screen, single keys, and everything restored at the end."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Any, Final, Self

# Another screen without a cursor, and back (https://invisible-island.net/xterm/ctlseqs/ctlseqs.html).
_ENTER: Final = "\x1b[?1049h\x1b[?25l\x1b[?7l"
_LEAVE: Final = "\x1b[?7h\x1b[?25h\x1b[?1049l"
_HOME, _TO_END_OF_LINE, _BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
_KEYS: Final = {
    "\x1b[A": "up",
    "\x1bOA": "up",
    "\x1b[B": "down",
    "\x1bOB": "down",
    "\x1b[5~": "pageup",
    "\x1b[6~": "pagedown",
    "\x1b": "escape",
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\b": "backspace",
}


def is_possible() -> bool:
    """Whether there is a terminal to draw on and to read keys from."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def keys_in(text: str) -> list[str]:
    """The keys in what was read from a terminal. Unknown sequences are left out."""
    found, at = [], 0
    while at < len(text):
        if text[at] != "\x1b":
            found.append(_KEYS.get(text[at], text[at]))
            at += 1
            continue
        end = at + 1
        if end < len(text) and text[end] in "[O":
            end += 1
            while end < len(text) and not "@" <= text[end] <= "~":
                end += 1
            end += 1
        sequence = text[at:end]
        if sequence in _KEYS:
            found.append(_KEYS[sequence])
        at = end
    return found


class Screen:
    """The terminal, as long as the `with` lasts. It is restored whatever ends that: an error, Ctrl-C, SIGTERM.

    Ctrl-Z restores it until the command continues.
    """

    def __init__(self) -> None:
        self._keyboard = sys.stdin.fileno()
        self._before: list[Any] = []
        self._handlers: dict[int, Any] = {}
        self._wake_read, self._wake_write = os.pipe()

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(self._keyboard)
        for fd in (self._wake_read, self._wake_write):
            fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_NONBLOCK)
        for number, handler in (
            (signal.SIGTERM, self._ended),
            (signal.SIGHUP, self._ended),
            (signal.SIGTSTP, self._stopped),
            (signal.SIGWINCH, self._resized),
        ):
            self._handlers[number] = signal.signal(number, handler)
        try:
            self._take()
        except BaseException:
            self._give_back()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._give_back()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        os.close(self._wake_read)
        os.close(self._wake_write)

    @property
    def size(self) -> os.terminal_size:
        """Columns and lines, now."""
        return os.get_terminal_size(sys.stdout.fileno())

    def draw(self, lines: Sequence[str]) -> None:
        """Draw these lines in place of the earlier ones, in one write."""
        text = "\n".join(f"{line}{_TO_END_OF_LINE}" for line in lines)
        self._write(f"{_HOME}{text}{_BELOW}")

    def wake(self) -> None:
        """Have `pressed` return. Thread-safe."""
        try:
            os.write(self._wake_write, b"x")
        except BlockingIOError:
            pass

    def pressed(self) -> list[str]:
        """Wait for keys, or for `wake`. Raises EOFError when the keyboard is gone."""
        ready, _, _ = select.select([self._keyboard, self._wake_read], [], [])
        if self._wake_read in ready:
            os.read(self._wake_read, 4096)
        if self._keyboard not in ready:
            return []
        data = os.read(self._keyboard, 1024)
        if not data:
            raise EOFError
        return keys_in(data.decode(errors="ignore"))

    def _take(self) -> None:
        tty.setcbreak(self._keyboard)
        self._write(_ENTER)

    def _give_back(self) -> None:
        try:
            self._write(_LEAVE)
        finally:
            termios.tcsetattr(self._keyboard, termios.TCSADRAIN, self._before)

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    # Signals.

    def _ended(self, number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    def _stopped(self, number: int, frame: FrameType | None) -> None:
        self._give_back()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._take()
        self.wake()

    def _resized(self, number: int, frame: FrameType | None) -> None:
        self.wake()
