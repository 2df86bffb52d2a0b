"""What `test_guardian` has pytest run: tests that start processes and end none of them.

NOTES is a folder for what they say of themselves, WHAT is what they do then: "pass", "fail", or "hang".
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.servers.own_process import not_root, own_folder
from tests.support.waiting import until
from tests.support.worker_process import WorkerProcess, our_command

if TYPE_CHECKING:
    from connect.kafka.broker.embedded import Broker

SLEEP = ["sleep", "600"]
_started: list[subprocess.Popen[bytes]] = []  # Python would complain of one that runs and is forgotten


def note(name: str, pids: list[int], folder: Path) -> None:
    said = {"pids": pids, "pytest": os.getpid(), "run": os.environ["CONNECT_TEST_RUN"], "folder": str(folder)}
    notes = Path(os.environ["NOTES"])
    (notes / f".{name}").write_text(json.dumps(said))
    (notes / f".{name}").rename(notes / name)
    if os.environ["WHAT"] == "hang":
        time.sleep(600)
    assert os.environ["WHAT"] == "pass"


def test_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("what it said\n")
    note("nothing", [], tmp_path)


@pytest.mark.parametrize("number", ["1", "2"])
def test_of_processes(number: str, tmp_path: Path) -> None:
    elsewhere = own_folder("left")
    started = [
        subprocess.Popen(SLEEP, start_new_session=True),
        subprocess.Popen(SLEEP, start_new_session=True, cwd=elsewhere, **not_root()),
        # It does not end when it is asked to, nor does its child, which nothing but its parent tells from others.
        subprocess.Popen(["/bin/sh", "-c", "trap '' TERM; env -i sleep 600 & wait"], start_new_session=True),
    ]
    until(lambda: (found := psutil.Process(started[-1].pid).children()) and found[0].name() == "sleep", 150)
    children = psutil.Process(started[-1].pid).children()
    _started.extend(started)
    # Nobody's child.
    code = "import subprocess; print(subprocess.Popen(['sleep', '600'], stdout=-3, stderr=-3).pid)  # to nowhere"
    orphan = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, start_new_session=True)
    (tmp_path / "log").write_text("what it said\n")
    note(number, [*(each.pid for each in [*started, *children]), int(orphan.stdout)], tmp_path)


def test_of_a_worker(broker: "Broker", tmp_path: Path) -> None:
    from connect.kafka.broker.embedded import ensure_running

    another = ensure_running(tmp_path / "broker", port=0)
    converter = "org.apache.kafka.connect.storage.StringConverter"
    (tmp_path / "in.txt").write_text("a line\n")
    (tmp_path / "worker.properties").write_text(
        f"bootstrap.servers={another.bootstrap_servers}\noffset.storage.file.filename=offsets\n"
        f"key.converter={converter}\nvalue.converter={converter}\nlisteners=http://127.0.0.1:0\n"
    )
    (tmp_path / "source.properties").write_text(
        "name=source\nconnector.class=FileStreamSource\nfile=in.txt\ntopic=lines\n"
    )
    command = our_command("standalone", "worker.properties", "source.properties")
    worker = WorkerProcess(command, tmp_path / "log", cwd=tmp_path).start()
    _started.append(worker.process)
    worker.until_logged("source-0  running")
    family = [each.pid for each in psutil.Process(worker.process.pid).children(recursive=True)]
    assert len(family) >= 3, "the fork server, the connector and the task"
    note("worker", [broker.pid, another.pid, worker.process.pid, *family], tmp_path)
