"""Copies of this checkout as git would ship it."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]


def copy_of_checkout(folder: Path) -> Path:
    """All files that are in git or may come into it, in a folder: no caches, no build of before."""
    listed = subprocess.check_output(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT)
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder
