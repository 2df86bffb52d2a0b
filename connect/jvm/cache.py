"""Where this room keeps what it can make or fetch again."""

import os
from pathlib import Path


def cache_folder(name: str) -> Path:
    """A folder of the user's cache (XDG_CACHE_HOME), made when it is missing."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base, "connect-runtime", name)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
