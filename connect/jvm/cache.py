"""The cache of what can be created or fetched again."""

import os
from pathlib import Path


def cache_path(name: str) -> Path:
    """A folder of the user's cache (XDG_CACHE_HOME), which may not exist yet."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "connect-runtime", name)
