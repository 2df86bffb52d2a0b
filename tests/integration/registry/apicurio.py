"""Starts Apicurio Registry, which speaks Confluent's interface, on this machine, with its data in memory."""

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from connect.jvm.jars import resolve
from connect.ports import free_port
from tests.servers.archives import unpack_tar
from tests.support.java import java_for_server
from tests.support.worker_process import WorkerProcess

PATH = "/apis/ccompat/v7"
MINIMUM_JAVA = 21


@contextmanager
def apicurio(folder: Path) -> Iterator[str]:
    """A registry for as long as the block runs; its address. Its program is unpacked into the folder.

    Raises:
        JarsUnavailable: it cannot be fetched.
        JavaNotFound: no Java is new enough for it.
    """
    java = java_for_server(MINIMUM_JAVA)
    (archive,) = resolve("apicurio-registry")
    with tarfile.open(archive) as content:
        unpack_tar(content, folder)
    port, management = free_port(), free_port()
    command = [
        str(java),
        "-Xmx384m",
        "-XX:TieredStopAtLevel=1",
        "-Dquarkus.http.host=127.0.0.1",
        f"-Dquarkus.http.port={port}",
        "-Dquarkus.management.host=127.0.0.1",
        f"-Dquarkus.management.port={management}",
        "-jar",
        "quarkus-run.jar",
    ]
    registry = WorkerProcess(command, folder / "registry.log", cwd=folder).start()
    try:
        registry.until_answering(port, f"{PATH}/subjects", 120)
        yield f"http://127.0.0.1:{port}{PATH}"
    finally:
        registry.close()
