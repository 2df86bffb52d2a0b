"""The files of this repository, for the scripts beside this one."""

import subprocess
from pathlib import Path


def files(pattern: str) -> list[Path]:
    """All that are in git or may come into it and whose name fits, such as `*.md`; paths from the working folder."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", pattern]
    listed = subprocess.run(command, check=True, capture_output=True, text=True)
    return [Path(name) for name in listed.stdout.splitlines() if Path(name).exists()]
