"""Where a worker listens, and what it says when it cannot."""

import json
import socket
import ssl
import subprocess
import urllib.request
from pathlib import Path

import pytest

from connect.ports import free_port


def test_a_port_in_use_is_said_before_anything_starts(workers) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        worker = workers.start(listeners=url, answering=False)
        assert worker.process.wait(60) == 2
    assert f'key "listeners": {url} is in use' in worker.log
    assert "nothing was started" in worker.log


def test_admin_may_listen_elsewhere(workers) -> None:
    port = free_port()
    worker = workers.start(admin__listeners=f"http://127.0.0.1:{port}")
    assert worker.ask("GET", "/admin/loggers")[0] == 404
    worker.port = port
    assert "root" in worker.get("/admin/loggers")
    assert worker.ask("GET", "/connectors")[0] == 404


def test_admin_may_be_off(workers) -> None:
    worker = workers.start(admin__listeners="")
    assert worker.ask("GET", "/admin/loggers")[0] == 404
    assert worker.get("/connectors") == []


def test_a_level_changes_what_is_logged(workers) -> None:
    worker = workers.start()
    assert worker.ask("PUT", "/admin/loggers/connect", {"level": "DEBUG"})[0] == 200
    assert worker.get("/admin/loggers/connect")["level"] == "DEBUG"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 with its key, in one PEM file."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", key, "-out", certificate),
        ],
        check=True,
        capture_output=True,
    )
    both = tmp_path / "both.pem"
    both.write_text(key.read_text() + certificate.read_text())
    return both


def test_a_listener_may_be_https(workers, certificate: Path) -> None:
    port = free_port()
    worker = workers.start(
        listeners=f"https://127.0.0.1:{port}",
        listeners__https__ssl__keystore__type="PEM",
        listeners__https__ssl__keystore__location=str(certificate),
        answering=False,
    )
    worker.until(lambda: "REST API at" in worker.log)
    context = ssl.create_default_context(cafile=certificate)
    with urllib.request.urlopen(f"https://127.0.0.1:{port}/health", context=context, timeout=30) as answer:
        assert json.load(answer)["status"] == "healthy"
    with pytest.raises(OSError, match=r"CERTIFICATE|certificate"):
        urllib.request.urlopen(f"https://127.0.0.1:{port}/", timeout=30)


def test_without_the_key_only_this_machine_is_listened_to_and_a_port_in_use_is_no_error(workers, topic: str) -> None:
    (workers.folder / "in.txt").write_text("one\n")
    files = workers.write(
        workers.folder / "in.properties",
        {"name": "in", "connector.class": "FileStreamSource", "file": str(workers.folder / "in.txt"), "topic": topic},
    )
    worker = workers.start(files, listeners="-", answering=False)
    worker.until(lambda: "in-0  running" in worker.log)
    worker.until(lambda: "REST API at http://127.0.0.1:8083" in worker.log or "There is no REST API" in worker.log)
    second = workers.start(files, listeners="-", answering=False)
    second.until(lambda: "in-0  running" in second.log)
    assert "There is no REST API: http://127.0.0.1:8083 is in use" in second.log
    assert [worker.stop(), second.stop()] == [0, 0]
