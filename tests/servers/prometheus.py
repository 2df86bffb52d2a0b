"""Starts a real Prometheus on this machine: the one that is installed, or the binaries of Debian's package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

from connect.http import NoAnswerError, basic, exchange
from tests.servers.own_process import kept
from tests.servers.server_process import ServerProcess

HOST: Final = "127.0.0.1"
USER: Final = "connect"
PASSWORD: Final = "of-prometheus"
_HASH: Final = "$2b$04$3Jv4Yqp.esFHum5WzA8qHufx/HxzgK9Fp5NoT2NKV8AUIcSEX1rfa"  # bcrypt of the password
_FETCH_S: Final = 300


class PrometheusUnavailable(Exception):
    """There is none, and it cannot be fetched. The message says why."""


class PrometheusServer(ServerProcess):
    """A server with its data in a folder of its own, which wants a login, ready when this returns.

    Raises:
        PrometheusUnavailable: see there.
    """

    product = "Prometheus"

    def __init__(self) -> None:
        self._programs = _programs()
        self.bring_up({})

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def scrape(self, *targets: str, **labels: str) -> None:
        """Look at these workers, host and port of each, once a second. The series have these labels."""
        written = self.folder / "targets.new"
        written.write_text(json.dumps([{"targets": targets, "labels": labels}]))
        written.rename(self.folder / "targets.json")  # it notices

    def remember(self, history: str) -> None:
        """Have series of the past, in OpenMetrics' text with timestamps. The server is started again.

        https://prometheus.io/docs/prometheus/latest/storage/#backfilling-from-openmetrics-format
        """
        self.stop()
        file = self.folder / "history"
        file.write_text(history)
        # In few blocks: it reads the file again for each.
        make = [self._programs / "promtool", "tsdb", "create-blocks-from", "--max-block-duration=1000h", "openmetrics"]
        done = self._once(
            [*make, file, self.data], env={**os.environ, "TMPDIR": str(self.folder)}
        )  # the tests' own is closed to it
        if done.returncode:
            raise RuntimeError(f"promtool refuses the history: {(done.stderr or done.stdout)[-2000:]}")
        self.start()

    def _initialise(self) -> None:
        # It may miss a change while it starts.
        targets = {"files": [str(self.folder / "targets.json")], "refresh_interval": "1s"}
        (self.folder / "config.json").write_text(  # JSON is YAML
            json.dumps({
                "global": {"scrape_interval": "1s"},
                "scrape_configs": [{"job_name": "connect", "file_sd_configs": [targets]}],
            })
        )  # fmt: skip
        (self.folder / "web.json").write_text(json.dumps({"basic_auth_users": {USER: _HASH}}))

    def _command(self) -> list[str | Path]:
        return [
            self._programs / "prometheus",
            f"--config.file={self.folder / 'config.json'}",
            f"--web.config.file={self.folder / 'web.json'}",
            f"--web.listen-address={HOST}:{self.port}",
            f"--storage.tsdb.path={self.data}",
            "--storage.tsdb.retention.time=90d",
        ]

    def _answers(self) -> bool:
        try:
            ready = exchange(
                "GET", f"{self.url}/-/ready", None, {"Authorization": basic(f"{USER}:{PASSWORD}")}, timeout=5
            )
        except NoAnswerError:
            return False
        return ready.status == 200


def _programs() -> Path:
    """The folder of prometheus and promtool."""
    installed = [shutil.which(name) for name in ("prometheus", "promtool")]
    if None not in installed:
        return Path(str(installed[0])).parent
    return kept("prometheus-of-debian", _fetch) / "usr" / "bin"


def _fetch(folder: Path) -> None:
    if not all(map(shutil.which, ("apt-get", "dpkg-deb"))):
        raise PrometheusUnavailable("install prometheus, with promtool, or use a machine whose apt-get can fetch it")
    if _run(folder, "apt-get", "download", "prometheus").returncode and os.geteuid() == 0:
        _run(folder, "apt-get", "update")  # the machine may be new
        _run(folder, "apt-get", "download", "prometheus")
    found = list(folder.glob("prometheus_*.deb"))
    if not found:
        raise PrometheusUnavailable("apt-get download prometheus failed")
    _run(folder, "dpkg-deb", "--extract", str(found[0]), ".").check_returncode()
    found[0].unlink()


def _run(folder: Path, *command: str) -> subprocess.CompletedProcess[Any]:
    return subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=_FETCH_S, check=False
    )
