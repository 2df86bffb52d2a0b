"""What starters of servers share: a free port, a user that is not root, an end with all children."""

import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from connect.jvm.cache import cache_path
from connect.jvm.jars import resolve


def not_root() -> dict[str, Any]:
    """What makes `subprocess` run a program as somebody else when we are root: some servers refuse root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def own_folder(name: str) -> Path:
    """A new folder that belongs to `not_root()`. pytest's own is closed to other users."""
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    if as_user := not_root():
        os.chown(folder, as_user["user"], as_user["group"])
    return folder


def unpacked(jar_set: str, unpack: Callable[[zipfile.ZipFile, Path], None], edition: str = "") -> Path:
    """The content of a set of one jar, unpacked once, where also `not_root()` can read it.

    Args:
        edition: tells apart what is unpacked in another way.

    Raises:
        JarsUnavailable: it cannot be fetched.
    """
    (jar,) = resolve(jar_set)

    def fill(folder: Path) -> None:
        with zipfile.ZipFile(jar) as archive:
            unpack(archive, folder)

    return kept(jar.stem + edition, fill)


def kept(name: str, fill: Callable[[Path], None]) -> Path:
    """A folder of the user's cache, filled once, where also `not_root()` can read it."""
    cache = cache_path("servers")
    if not readable_by_server(cache):
        cache = Path("/var/tmp/connect-runtime/servers")
    target = cache / name
    if not target.is_dir():
        with staging(cache, name) as folder:
            if not target.is_dir():  # nor has another process been faster
                made = folder / "made"
                made.mkdir(mode=0o755)
                fill(made)
                made.rename(target)
    return target


@contextmanager
def staging(cache: Path, name: str) -> Iterator[Path]:
    """A folder within a cache, in which one process at a time makes what has this name; it is gone in the end.

    What a process left that was killed meanwhile goes as well.
    """
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f".{name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for old in cache.glob(f".{name}-*"):
            shutil.rmtree(old, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=f".{name}-") as folder:
            yield Path(folder)


def readable_by_server(path: Path) -> bool:
    """Whether a server that runs as `not_root()` can come to this path, as far as it exists."""
    if os.geteuid() != 0:
        return True
    return all(each.stat().st_mode & 0o001 for each in (path, *path.parents) if each.exists())


def end(process: "subprocess.Popen[Any]", within: float = 30) -> None:
    """Ask a process to end, and kill it if it does not in so many seconds, or when a test's time is over meanwhile."""
    try:
        process.terminate()
        process.wait(within)
    except subprocess.TimeoutExpired:
        pass
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def kill_tree(process: psutil.Process) -> None:
    """Kill a process and its children, as a machine that loses its power does, and wait until they are gone."""
    try:
        processes = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for each in processes:
        try:
            each.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            pass
    psutil.wait_procs(processes, timeout=30)
