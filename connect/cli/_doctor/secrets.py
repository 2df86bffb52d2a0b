"""Secrets that other users of this machine could read, by the modes of their files."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from connect.cli import _secrets
from connect.cli._doctor.finding import Finding, ok, warning
from connect.cli._doctor.subject import Subject
from connect.settings.variables import variables

#: The ends of keys that name a file with a private key.
_KEY_FILES: Final = ("ssl.keystore.location",)


def check(subject: Subject) -> Iterator[Finding]:
    """The modes of files with passwords and keys: of the worker, of connectors, and those that they name."""
    seen: set[Path] = set()
    for path, why in _files(subject):
        if path in seen:
            continue
        seen.add(path)
        try:
            found = path.stat().st_mode
        except (OSError, ValueError):
            continue  # it is not there, or closed to this user, which is said where it is used; or it names no file
        if not stat.S_ISREG(found):
            continue
        mode = stat.S_IMODE(found)
        if mode & (stat.S_IROTH | stat.S_IWOTH):
            may = "read" if mode & stat.S_IROTH else "write"
            said = f"everybody on this machine may {may} it (mode {mode:04o}), and {why}."
            yield warning(str(path), said, f"Run: chmod o-rw {path}")
        else:
            yield ok(str(path), f"only its owner and group may read it (mode {mode:04o}), and {why}.")


def _files(subject: Subject) -> Iterator[tuple[Path, str]]:
    """Files with secrets, and why they count as such."""
    holders: list[tuple[str, Mapping[str, str]]] = [(file.path, file.config) for file in subject.connectors]
    if subject.worker is not None:
        holders.insert(0, (subject.worker.written.name, subject.worker.written))
    for path, config in holders:
        if secret := next((key for key, value in config.items() if _secrets.shown(key, value) != value), None):
            yield Path(path), f"it holds {secret}"
        for key, value in config.items():
            for variable in variables(value):
                if variable.path:  # of the providers for files and folders
                    yield Path(variable.path), f"{key} is looked up in it"
                    yield Path(variable.path, variable.key), f"{key} is looked up in it"
            if key.endswith(_KEY_FILES) and value:
                yield Path(value), f"{key} names it"
