"""Transformations that try whoever runs them: they hang, crash, hold the interpreter, or write anything."""

import contextlib
import ctypes
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from connect import ConfigError, ConnectError, Transformation, settings


class Unruly(Transformation):
    """Does `do` with a record whose value has the field `bad`; any other record passes."""

    settings = settings.define(
        settings.String("do"),
        settings.String("secret", default=""),
        settings.String("folder", default=""),
    )

    def configure(self, config: Any) -> None:
        self.config = config
        if config["do"] == "hang early":
            threading.Event().wait()
        if config["do"] == "refuse":
            raise ConfigError("do", f"cannot be used with {config['secret']}.")

    def apply(self, record: Any) -> Any:
        if not isinstance(record.value, dict) or "bad" not in record.value:
            return record
        return getattr(self, "do_" + self.config["do"].replace(" ", "_"))(record)

    def do_raise(self, record: Any) -> Any:
        raise ConnectError(f"cannot log in with {self.config['secret']}")

    def do_hang(self, record: Any) -> Any:
        threading.Event().wait()

    def do_hold_the_interpreter(self, record: Any) -> Any:
        ctypes.PyDLL(None).sleep(1000)

    def do_crash(self, record: Any) -> Any:
        os._exit(7)

    def do_leave_a_child(self, record: Any) -> Any:
        """A process that holds everything open that this one has."""
        program = [sys.executable, "-c", "import time; time.sleep(1000)"]
        process = subprocess.Popen(program, close_fds=False)
        Path(self.config["folder"], "pid").write_text(str(process.pid))
        os._exit(7)

    def do_garble(self, record: Any) -> Any:
        for number in range(3, 64):
            with contextlib.suppress(OSError):
                if stat.S_ISSOCK(os.fstat(number).st_mode):
                    os.write(number, b"\x00\x00\x00\x04nope")
        threading.Event().wait()

    def do_tell(self, record: Any) -> Any:
        return record.replace(value={**record.value, "told": self.config["secret"]})

    def do_grow(self, record: Any) -> Any:
        return record.replace(value=[["x" * 4000] * 250 for _ in range(3)])
