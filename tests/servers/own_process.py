"""What starters of servers share: a free port, a user that is not root, an end with the process that started them."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from connect.jvm.cache import cache_path
from connect.jvm.jars import resolve


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


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


def unpacked(jar_set: str, unpack: Callable[[zipfile.ZipFile, Path], None]) -> Path:
    """The content of a set of one jar, unpacked once, where also `not_root()` can read it.

    Raises:
        JarsUnavailable: it cannot be fetched.
    """
    (jar,) = resolve(jar_set)
    cache = cache_path("servers")
    if os.geteuid() == 0 and not _open_to_others(cache):
        cache = Path("/var/tmp/connect-runtime/servers")
    target = cache / jar.stem
    if not target.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(dir=cache))
        try:
            with zipfile.ZipFile(jar) as archive:
                unpack(archive, staging)
            staging.chmod(0o755)
            staging.rename(target)
        except OSError:
            # Another run was faster, or it really failed.
            shutil.rmtree(staging, ignore_errors=True)
            if not target.is_dir():
                raise
    return target


def _open_to_others(path: Path) -> bool:
    return all(each.stat().st_mode & 0o001 for each in (path, *path.parents) if each.exists())


def ends_with_us(folder: Path, pid_file: Path) -> subprocess.Popen[bytes]:
    """A process that kills the server and removes its folder as soon as its standard input closes, however we end."""
    code = (
        "import sys, pathlib; from tests.servers.own_process import kill_by_file; import shutil; sys.stdin.read(); "
        "kill_by_file(pathlib.Path(sys.argv[2]), sys.argv[1]); shutil.rmtree(sys.argv[1], ignore_errors=True)"
    )
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    return subprocess.Popen(
        [sys.executable, "-c", code, folder, pid_file], stdin=subprocess.PIPE, start_new_session=True, env=environment
    )


def kill_by_file(pid_file: Path, folder: str) -> None:
    """Kill the process that a file names, if it is the server of this folder and not somebody later with its number."""
    try:
        pid = int(pid_file.read_text().split()[0])
        process = psutil.Process(pid)
        if any(folder in word for word in process.cmdline()):
            kill_tree(process)
    except (OSError, ValueError, IndexError, psutil.NoSuchProcess):
        pass


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
