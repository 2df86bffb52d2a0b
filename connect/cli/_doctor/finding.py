"""What a check finds, and the exit code that all findings together have."""

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
    """How bad it is: a worker does not start or work with an error, and may be hurt by what is a warning."""

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
        what: was looked at: a line of a file, a broker, a folder.
        found: a sentence, never with a secret.
        next_step: what to do about it; empty where there is nothing to do.
        code: the exit code, if it is an error.
        area: the family of checks, which whoever runs them fills in.
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
    """Good to know, or what could not be looked at."""
    return Finding(Level.NOTE, what, found, next_step)


def warning(what: str, found: str, next_step: str) -> Finding:
    """The worker runs, and may be hurt by it."""
    return Finding(Level.WARNING, what, found, next_step)


def error(what: str, found: str, next_step: str, code: int = FAILED) -> Finding:
    """The worker, or a part of it, does not run with it."""
    return Finding(Level.ERROR, what, found, next_step, code)


def of_message(level: Level, what: str, message: str, advice: str, code: int = FAILED) -> Finding:
    """A finding from one of our messages, which say what is wrong and then what to do; `advice` where they do not."""
    found, *rest = _TURN.split(" ".join(message.split()), maxsplit=1)
    next_step = rest[0] if rest else advice
    return Finding(level, what, found, next_step[:1].upper() + next_step[1:], code)


def counted(number: int, word: str) -> str:
    """1 broker, 3 brokers."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def exit_code(findings: Iterable[Finding]) -> int:
    """0 without an error; else 2 if a configuration is wrong, 3 if a server cannot be reached, 1 for all else."""
    codes = {finding.code for finding in findings if finding.level is Level.ERROR}
    return next((code for code in (INVALID, UNREACHABLE, FAILED) if code in codes), OK)
