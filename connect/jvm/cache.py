"""The cache of what can be created or fetched again."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path


def cache_path(name: str) -> Path:
    """A folder of the user's cache (XDG_CACHE_HOME), which may not exist yet."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "connect-runtime", name)


def filled_once(name: str, content: str, fill: Callable[[Path], None]) -> Path:
    """A folder of the cache that is filled once and stays: a process that is killed leaves nothing of its own.

    Without a cache that can be written to, it is one for this process.

    Args:
        name: of what is kept.
        content: what the folder's content follows from. Other content has another folder.
        fill: puts it into an empty folder; not called where that was done before.
    """
    folder = cache_path(name) / hashlib.sha256(content.encode()).hexdigest()[:16]
    if folder.exists():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=folder.parent))
    except OSError:
        folder = made = Path(tempfile.mkdtemp(prefix="connect-java-"))
    fill(made)
    if made != folder:
        try:
            made.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(made)
    return folder
