"""Starts Apicurio Registry, which speaks Confluent's interface, on this machine, with its data in memory."""

import socket
import subprocess
import tarfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from connect.jvm.jars import resolve
from connect.jvm.java import find_java

PATH = "/apis/ccompat/v7"
MINIMUM_JAVA = 21


@contextmanager
def apicurio(folder: Path) -> Iterator[str]:
    """A registry for as long as the block runs; its address. Its program is unpacked into the folder.

    Raises:
        JarsUnavailable: it cannot be fetched.
        JavaNotFound: no Java is new enough for it.
    """
    java = find_java(MINIMUM_JAVA)
    (archive,) = resolve("apicurio-registry")
    with tarfile.open(archive) as content:
        content.extractall(folder, filter="data")
    port, management = free_port(), free_port()
    log = folder / "registry.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [
                str(java.path),
                "-Xmx384m",
                "-XX:TieredStopAtLevel=1",
                "-Dquarkus.http.host=127.0.0.1",
                f"-Dquarkus.http.port={port}",
                "-Dquarkus.management.host=127.0.0.1",
                f"-Dquarkus.management.port={management}",
                "-jar",
                "quarkus-run.jar",
            ],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        url = f"http://127.0.0.1:{port}{PATH}"
        await_answer(f"{url}/subjects", process, log)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(20)


def await_answer(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until it answers; raise what it said when it ends before that, or takes more than two minutes."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"Apicurio does not answer: {log.read_text(errors='replace')[-2000:]}")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
