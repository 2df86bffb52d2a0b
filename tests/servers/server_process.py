"""A server of a test's own as a process: started and stopped, killed, started again on the same port."""

import shutil
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import psutil

from connect.ports import free_port
from tests.servers import guardian
from tests.servers.own_process import kill_tree, not_root, own_folder


class CannotRunHere(Exception):
    """The server does not run on this machine. The message says why."""


class ServerProcess(ABC):
    """A server with its data in a folder of its own, which ends with the process that started it.

    Attributes:
        product: what it is called.
        stop_signal: ends it as it should be.
        patience: how many seconds it may take to start.
        folder, data, log: its folder, and in it its data and its log.
    """

    product: ClassVar[str]
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    patience: ClassVar[float] = 60

    def bring_up(self, settings: dict[str, str]) -> None:
        """Make its data and start it for the first time, with these settings."""
        guardian.begin()  # whoever starts it, a benchmark perhaps
        self._settings = settings
        self._port = free_port()
        self.folder = own_folder(self.product.lower())
        self.data = self.folder / "data"
        self.log = self.folder / "log"
        try:
            self._initialise()
            self.start()
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def _initialise(self) -> None:
        """Make its data."""

    @abstractmethod
    def _command(self) -> list[str | Path]:
        """What starts it, with the settings and the port of now."""

    @abstractmethod
    def _answers(self) -> bool:
        """Whether it takes connections."""

    def _options(self) -> dict[str, Any]:
        """What else `subprocess` is told for it: another user than root."""
        return not_root()

    @property
    def port(self) -> int:
        return self._port

    def start(self, **settings: str) -> None:
        """Start it again after `stop` or `kill`, on the port that it had, with other settings if need be."""
        self._settings.update(settings)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self.folder,
                **self._options(),
            )
        deadline = time.monotonic() + self.patience
        while time.monotonic() < deadline and self._process.poll() is None:
            if self._answers():
                return
            time.sleep(0.05)
        said = self.log.read_text(errors="replace")
        if "Mount point not found" in said:
            raise CannotRunHere("no mount is known that holds its data: this is a chroot in a plain folder")
        raise RuntimeError(f"{self.product} does not start: {said[-2000:]}")

    def stop(self) -> None:
        """Stop it as it should be; who is connected is cut off."""
        if self._process.poll() is None:
            self._process.send_signal(self.stop_signal)
            self._process.wait(60)

    def kill(self) -> None:
        """End it and all its processes at once."""
        if self._process.poll() is None:
            kill_tree(psutil.Process(self._process.pid))
            self._process.wait(30)

    def close(self) -> None:
        """End it for good and remove its data."""
        if hasattr(self, "_process"):
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _once(self, command: list[str | Path], **options: Any) -> "subprocess.CompletedProcess[str]":
        """Run another of its programs, as the user that the server has."""
        return subprocess.run(
            command, capture_output=True, text=True, cwd=self.folder, timeout=120, check=False, **options, **not_root()
        )
