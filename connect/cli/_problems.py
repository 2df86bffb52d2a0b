"""What is wrong with the files that a user wrote, collected so that all of it is said at once, each with its place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TextIO

from connect.settings.properties import Position
from connect.telemetry.redaction import redactor


@dataclass(frozen=True, slots=True)
class Problem:
    """One line that a person can act on.

    Attributes:
        file: as the user named it.
        line: from 1; 0 where it is about the file as a whole.
        text: all of it, with its place.
        again: whether the connector says it in the log, as it starts.
        about, message: its parts behind the place: the key, and what to say of it.
    """

    file: str
    line: int
    text: str
    again: bool = False
    about: str = ""
    message: str = ""

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass
class Problems:
    """Errors, which have to be fixed before anything starts, and warnings.

    Attributes:
        files: in the order in which to speak of them.
    """

    files: Sequence[str]
    _errors: list[Problem] = field(default_factory=list)
    _warnings: list[Problem] = field(default_factory=list)

    def error(self, where: Position | str, message: str, *, key: str, connector: str | None = None) -> None:
        """A key is missing or wrong."""
        self._errors.append(_problem(where, message, key, connector))

    def warn(
        self, where: Position | str, message: str, *, key: str, connector: str | None = None, again: bool = False
    ) -> None:
        """A key has no effect, or another one than its author may think. `again`: see `Problem`."""
        self._warnings.append(replace(_problem(where, message, key, connector), again=again))

    def unusable(self, file: str, error: Exception) -> None:
        """A file cannot be read; the error says where and why."""
        self._errors.append(Problem(file, 0, str(error), message=str(error)))

    def errors(self) -> list[str]:
        """One text each, in order of files and lines, each said once, without secrets."""
        return self._told(self._errors)

    def warnings(self) -> list[str]:
        """Likewise."""
        return self._told(self._warnings)

    def warnings_of_files(self) -> list[str]:
        """Likewise, without those that connectors say in the log as they start."""
        return self._told(problem for problem in self._warnings if not problem.again)

    def each_error(self) -> list[Problem]:
        """In the same order, with their parts, which may hold secrets."""
        return self._placed(self._errors)

    def each_warning(self) -> list[Problem]:
        """Likewise."""
        return self._placed(self._warnings)

    def report(self, stream: TextIO) -> None:
        """Say everything, and that nothing was started."""
        for text in self.warnings():
            print(f"warning: {text}", file=stream)
        errors = self.errors()
        for text in errors:
            print(text, file=stream)
        count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        print(f"connect: {count}; nothing was started.", file=stream)

    def _told(self, problems: Iterable[Problem]) -> list[str]:
        return list(dict.fromkeys(redactor.redact(problem.text) for problem in self._placed(problems)))

    def _placed(self, problems: Iterable[Problem]) -> list[Problem]:
        order = {file: number for number, file in enumerate(self.files)}
        placed = sorted(problems, key=lambda problem: (order.get(problem.file, len(order)), problem.line))
        return list(dict.fromkeys(placed))


def _problem(where: Position | str, message: str, key: str, connector: str | None) -> Problem:
    about = f'connector "{connector}", key "{key}"' if connector else f'key "{key}"'
    file, line = (where.file, where.line) if isinstance(where, Position) else (where, 0)
    return Problem(file, line, f"{where}: {about}: {message}", about=about, message=message)
