"""The finding of a check, and the exit code of all findings together."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from connect.cli._exit import FAILED, INVALID, OK, UNREACHABLE

#: Where a message goes from what is wrong to what to do.
_TURN: Final = re.compile(r"(?<=[.?)])\s+(?=[A-Z])|;\s+(?=[a-z])")


class Level(enum.IntEnum):
    """How bad it is: with an error a worker does not start or work, with a warning it may have trouble."""

    OK = 0
    NOTE = 1
    WARNING = 2
    ERROR = 3

    @property
    def word(self) -> str:
        """As people and programs read it."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found out about one thing.

    Attributes:
        level: see `Level`.
        what: was checked: a line of a file, a broker, a folder.
        found: a sentence, never with a secret.
        next_step: what to do about it; empty where there is nothing to do.
        code: the exit code, if it is an error.
        area: the family of checks, filled in by the caller.
    """

    level: Level
    what: str
    found: str
    next_step: str = ""
    code: int = FAILED
    area: str = ""

    @property
    def plain(self) -> dict[str, str]:
        """For JSON."""
        return {
            "level": self.level.word,
            "area": self.area,
            "what": self.what,
            "found": self.found,
            "next_step": self.next_step,
        }


def ok(what: str, found: str) -> Finding:
    """All is well."""
    return Finding(Level.OK, what, found)


def note(what: str, found: str, next_step: str = "") -> Finding:
    """Information, or something that could not be checked."""
    return Finding(Level.NOTE, what, found, next_step)


def warning(what: str, found: str, next_step: str) -> Finding:
    """The worker runs, and may have trouble with it."""
    return Finding(Level.WARNING, what, found, next_step)


def error(what: str, found: str, next_step: str, code: int = FAILED) -> Finding:
    """The worker, or a part of it, does not run with it."""
    return Finding(Level.ERROR, what, found, next_step, code)


def of_message(level: Level, what: str, message: str, advice: str, code: int = FAILED) -> Finding:
    """A finding from an error message, which has what is wrong and then what to do; `advice` where it has not."""
    found, *rest = _TURN.split(" ".join(message.split()), maxsplit=1)
    next_step = rest[0] if rest else advice
    return Finding(level, what, found, next_step[:1].upper() + next_step[1:], code)


def exit_code(findings: Iterable[Finding]) -> int:
    """0 without an error; else 2 if a configuration is wrong, 3 if a server cannot be reached, 1 for all else."""
    codes = {finding.code for finding in findings if finding.level is Level.ERROR}
    return next((code for code in (INVALID, UNREACHABLE, FAILED) if code in codes), OK)
