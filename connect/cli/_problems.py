"""Problems of a user's files, collected so that all are reported at once, each with its position."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TextIO

from connect.settings.properties import Position
from connect.telemetry.redaction import redactor


@dataclass(frozen=True, slots=True)
class Problem:
    """One line that a user can act on.

    Attributes:
        file: as the user named it.
        line: from 1; 0 for the file as a whole.
        text: all of it, with its position.
        again: whether the connector logs it, as it starts.
        about, message: the parts after the position: the key, and the message.
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
        files: in the order of the output.
    """

    files: Sequence[str]
    _errors: list[Problem] = field(default_factory=list)
    _warnings: list[Problem] = field(default_factory=list)
    _unknown: set[tuple[str, str | None, str]] = field(default_factory=set)

    def unknown(self, where: Position | str, message: str, *, key: str, connector: str | None = None) -> None:
        """A key's value cannot be known. What is said to be wrong with it from here on would only mislead."""
        self._errors.append(_problem(where, message, key, connector))
        self._unknown.add((_file_of(where), connector, key))

    def error(self, where: Position | str, message: str, *, key: str, connector: str | None = None) -> None:
        """A key is missing or wrong."""
        if (_file_of(where), connector, key) in self._unknown:
            return
        self._errors.append(_problem(where, message, key, connector))

    def warn(
        self, where: Position | str, message: str, *, key: str, connector: str | None = None, again: bool = False
    ) -> None:
        """A key has no effect, or possibly not the intended one. `again`: see `Problem`."""
        self._warnings.append(replace(_problem(where, message, key, connector), again=again))

    def unusable(self, file: str, error: Exception) -> None:
        """A file cannot be read; the error says where and why."""
        self._errors.append(Problem(file, 0, str(error), message=str(error)))

    def errors(self) -> list[str]:
        """Their texts, in order of files and lines, without repetitions and secrets."""
        return self._told(self._errors)

    def warnings(self) -> list[str]:
        """Likewise."""
        return self._told(self._warnings)

    def warnings_of_files(self) -> list[str]:
        """Likewise, without those that connectors log as they start."""
        return self._told(problem for problem in self._warnings if not problem.again)

    def each_error(self) -> list[Problem]:
        """In the same order, with their parts, which may hold secrets."""
        return self._placed(self._errors)

    def each_warning(self) -> list[Problem]:
        """Likewise."""
        return self._placed(self._warnings)

    def report(self, stream: TextIO) -> None:
        """Print everything, and that nothing was started."""
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
    line = where.line if isinstance(where, Position) else 0
    return Problem(_file_of(where), line, f"{where}: {about}: {message}", about=about, message=message)


def _file_of(where: Position | str) -> str:
    return where.file if isinstance(where, Position) else where
