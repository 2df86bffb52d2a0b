"""`connect demo` shows lines flowing and leaves nothing running."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from connect.kafka import broker as embedded


@pytest.fixture
def user(tmp_path, broker, cannot_have):
    """The environment of a user who never ran it. The session's broker shows that jars and Java are here."""
    folders = {"XDG_DATA_HOME": str(tmp_path / "data"), "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    yield {**os.environ, **folders}
    embedded.stop(tmp_path / "data" / "connect-runtime" / "demo" / "connect-runtime" / "broker")


@pytest.mark.slow
def test_the_demo_shows_lines_arriving_and_leaves_nothing_running(user):
    demo = [sys.executable, "-m", "connect.cli", "demo"]
    for _ in range(2):  # the second time with what the first one left
        ended = subprocess.run(demo, env=user, capture_output=True, text=True, check=False, timeout=150)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert 'test.sink.txt -> "another one"' in ended.stdout
        assert "all there, byte for byte" in ended.stdout
        assert "What to try next" in ended.stdout
        assert not list(Path(user["TMPDIR"]).iterdir())
        assert not [p for p in psutil.process_iter(["cmdline"]) if user["XDG_DATA_HOME"] in str(p.info["cmdline"])]
