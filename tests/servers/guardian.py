"""Has everything end that a run of tests starts, and its temporary files removed, however the run ends.

`begin` gives this process a temporary folder. The folder is the name of the run as well: it stands in the environment
variable CONNECT_TEST_RUN, which whatever this process starts inherits. A small process in a session of its own, the
guardian (see `guardian_process`), sees the end of this one, by SIGKILL too. It then ends every process that has the
variable, with its children, and removes the folder. A run within a run (a process of pytest-xdist, a test that runs
pytest) has its folder within that folder, so that the outer guardian ends and removes it as well.

A run that comes to its end by itself asks its guardian what it left behind.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.servers import guardian_process
from tests.servers.guardian_process import KEPT, PREFIX, VARIABLE, Left

#: The size of what is kept of a failed test, in bytes on the disk: enough for logs.
_KEPT_AT_MOST = 2 << 20

# The name of a socket has 107 bytes at most. A fork server's takes 31 within the folder, more in a folder of a test.
_LONGEST = 40


class Guardian:
    """What guards this process.

    Args:
        folder: see below.
        sweeps: whether it removes as well what is left of runs whose guardians were killed.

    Attributes:
        folder: the temporary folder of the run.
    """

    def __init__(self, folder: Path, *, sweeps: bool) -> None:
        self.folder = folder
        with (folder / "guardian.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", guardian_process.__file__, folder, str(os.getpid()), str(int(sweeps))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd="/",
                env={guardian_process.MARK: "1"},
                start_new_session=True,
            )
        assert process.stdin is not None
        assert process.stdout is not None
        # It outlives us, as it should: no object of ours is to warn of it, or to end what we say to it, when it goes.
        self._to, self._from = os.dup(process.stdin.fileno()), os.dup(process.stdout.fileno())
        process.stdin.close()
        process.stdout.close()
        process.returncode = 0

    def end(self, patience: float) -> list[Left]:
        """End what this process has started, and has not ended. Returns what there was.

        Args:
            patience: how many seconds it has to end by itself.

        Raises:
            RuntimeError: the guardian is gone.
        """
        try:
            os.write(self._to, f"{patience}\n".encode())
            with open(self._from, "rb", closefd=False) as answers:
                answer = answers.readline()
        except BrokenPipeError:
            answer = b""
        if not answer:
            raise RuntimeError(f"The guardian of {self.folder} is gone.")
        return [Left(*each) for each in json.loads(answer)]

    def keep(self, folders: Iterable[Path]) -> list[Path]:
        """Let folders of this run stay until the next run, those of them that are small. Returns which."""
        small = [folder for folder in folders if _size(folder) <= _KEPT_AT_MOST]
        with (self.folder / KEPT).open("a", encoding="utf-8") as file:
            file.writelines(f"{folder}\n" for folder in small)
        return small


_begun: Guardian | None = None


def begin(name: str | None = None) -> Guardian:
    """Have this process guarded, if it is not. Temporary files, its children's too, go into the folder of the run.

    Args:
        name: of the folder in that of the run around this one; without it, one of its own is made up.
    """
    global _begun
    if _begun is None:
        around = os.environ.get(VARIABLE)
        if around and Path(around).is_dir():
            folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=around)) if name is None else Path(around, name)
            folder.mkdir(exist_ok=name is None)
        else:
            base = tempfile.gettempdir()
            folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base if len(base) <= _LONGEST else "/tmp")).resolve()
            around = None
        folder.chmod(0o711)  # servers that refuse root have folders in it, as another user
        _begun = Guardian(folder, sweeps=around is None)
        os.environ[VARIABLE] = os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    return _begun


def _size(folder: Path) -> int:
    return sum(each.lstat().st_blocks * 512 for each in folder.rglob("*"))
