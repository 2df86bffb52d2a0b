"""Temporary folders that are removed when their process has been killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import IO, Final

_SWEPT: Final = "connect-spark-"
_LOCK: Final = "alive.lock"


def locked_folder() -> tuple[Path, IO[bytes]]:
    """A temporary folder, and its lock, which this process holds while it lives. Those of killed ones are removed."""
    base = Path(tempfile.gettempdir())
    for old in base.glob(f"{_SWEPT}*"):
        _sweep(old)
    made = Path(tempfile.mkdtemp(prefix=f".{_SWEPT}"))  # nobody sweeps it before it is locked
    lock = (made / _LOCK).open("wb")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return made.rename(base / made.name[1:]), lock


def _sweep(folder: Path) -> None:
    try:
        if folder.stat().st_uid != os.getuid():
            return
        with (folder / _LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        pass  # in use, or being made or removed at this moment
