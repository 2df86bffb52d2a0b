"""Folders that a worker writes to: permission, and free space."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from connect.cli._doctor.finding import Finding, error, ok, warning
from connect.cli._doctor.subject import Subject
from connect.cli._worker_files import OFFSET_FILE
from connect.jvm.cache import cache_path
from connect.kafka.broker.setup import ROOM_NEEDED, default_data
from connect.settings.rest_security_keys import AUDIT_LOG

_MIB: Final = 1 << 20
#: Bytes under which writing fails soon, and under which it may fail within hours.
_LEAST: Final = 50 * _MIB
_LITTLE: Final = 500 * _MIB
_FEWEST_INODES: Final = 1_000


def check(subject: Subject) -> Iterator[Finding]:
    """Free bytes and inodes of each folder, and whether a file can be created in it."""
    for use, folder, least in _folders(subject):
        yield look_at(use, folder, least)


def _folders(subject: Subject) -> Iterator[tuple[str, Path, int]]:
    """The purpose, the folder, and the bytes that it needs at least."""
    raw = subject.raw
    yield "temporary files", Path(tempfile.gettempdir()), _LEAST
    if raw.get(OFFSET_FILE) and not subject.distributed:
        yield OFFSET_FILE, Path(raw[OFFSET_FILE]).parent, _LEAST
    if raw.get(AUDIT_LOG):
        yield AUDIT_LOG, Path(raw[AUDIT_LOG]).parent, _LEAST
    if raw.get("bootstrap.servers", "").strip() == "embedded":
        yield "the embedded broker", default_data(), ROOM_NEEDED
        yield "Kafka's jars", cache_path(""), ROOM_NEEDED


def look_at(use: str, folder: Path, least: int) -> Finding:
    """The findings about one folder. For a missing one, about the one in which it would be created."""
    what = f"{folder} ({use})"
    there = next((each for each in (folder, *folder.absolute().parents) if each.exists()), Path("/"))
    if there != folder and use == OFFSET_FILE:
        return error(what, "there is no such folder.", f"Create it: mkdir -p {folder}")
    if not there.is_dir():
        return error(what, "this is not a folder.", "Name a folder.")
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as problem:
        advice = "Grant this user the right to write there, make room, or name another folder."
        return error(what, f"no file can be made in it ({problem.strerror}).", advice)
    found = os.statvfs(there)
    free = found.f_bavail * found.f_frsize
    said = f"{free // _MIB:,} MiB are free"
    if free < least:
        return error(what, f"only {said}.", "Make room, or name a folder on another disk.")
    if found.f_files and found.f_favail < _FEWEST_INODES:
        return warning(what, f"{said}, but only {found.f_favail} inodes.", "Delete files, or name another disk.")
    if free < _LITTLE:
        return warning(what, f"only {said}.", "Make room before it is full.")
    inodes = f", {found.f_favail:,} inodes" if found.f_files else ""
    return ok(what, f"{said}{inodes}.")
