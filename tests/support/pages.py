"""The operations page of a cluster as `connect ui` serves it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def connect_ui(port: int) -> Iterator[str]:
    """Run `connect ui` for the worker at this port of this machine; yields the address of its pages."""
    command = [sys.executable, "-m", "connect.cli", "ui", "--url", f"http://127.0.0.1:{port}", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:
        try:
            assert serving.stdout is not None
            found = re.match(r"(http://localhost:\d+/ui) shows ", serving.stdout.readline())
            assert found is not None
            yield found[1]
        finally:
            serving.send_signal(signal.SIGINT)
        assert serving.wait(60) in (0, 130)
