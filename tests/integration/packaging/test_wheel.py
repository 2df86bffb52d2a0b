"""Users install the wheel: it is built once, put into an empty environment, and runs there without a checkout."""

import os
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from connect import __version__
from connect.jvm.cache import cache_path
from connect.kafka.broker.embedded import Broker
from tests.integration.packaging.copies import copy_of_checkout
from tests.support.waiting import until
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, cannot_have: Callable[[str, object], NoReturn]) -> Path:
    """Built of a copy of what git would ship, so that a build folder or a cache of this checkout is not in it."""
    source, built = copy_of_checkout(tmp_path_factory.mktemp("source")), tmp_path_factory.mktemp("dist")
    done = _pip(sys.executable, "wheel", "--no-deps", "--wheel-dir", built, source)
    if "No matching distribution found for hatchling" in done.stderr:
        cannot_have("hatchling", "no package index can be reached")
    assert done.returncode == 0, done.stderr
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment with the wheel and what its extras `rest` and `broker` need, and nothing else."""
    environment = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    done = _pip(environment / "bin" / "python", "install", f"{wheel}[rest,broker]")
    assert done.returncode == 0, done.stderr
    return environment / "bin"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """As in a new shell of a new user, but with the jars that were fetched before."""
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "CONNECT_", "VIRTUAL_ENV"))
    }
    return {**kept, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(cache_path("jars").parent.parent)}


def _pip(python: str | Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([python, "-m", "pip", *words], capture_output=True, text=True, check=False, cwd="/")


def _run(program: Path, *words: str, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        [program, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _snippet(begins: str) -> str:
    """A file that the README shows."""
    blocks: list[str] = re.findall(r"```\w*\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    return next(block for block in blocks if block.startswith(begins))


def test_the_wheel_holds_packages_pages_and_files_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {name for name in tops if not name.endswith(".dist-info")} == {
        *("connect", "connectors", "transforms", "rest", "spark_sink"),
        "pyspark_connect_runtime.py",
    }
    shipped = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "config").rglob("*.properties")]
    folders = {"docs": "connect/_docs", "config": "connect/_config"}
    for path in shipped:
        top, *rest = path.relative_to(ROOT).parts
        assert "/".join([folders[top], *rest]) in names
    assert {"connect/py.typed", "rest/ui/templates/base.html", "rest/ui/static/page.js"} <= set(names)
    assert [name for name in names if name.endswith((".pyc", ".so", ".jar"))] == []


def test_its_metadata_is_complete(installed: Path) -> None:
    shown = subprocess.check_output(
        [installed / "python", "-m", "pip", "show", "--verbose", "connect-runtime"], text=True
    )
    assert f"Version: {__version__}\n" in shown
    assert "Summary: Source and sink connectors for Apache Kafka" in shown
    assert "Programming Language :: Python :: 3.11" in shown
    check = subprocess.run([installed / "python", "-m", "pip", "check"], capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stdout


def test_the_commands_and_the_pages_are_there(installed: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    def run(*words: str) -> str:
        return _run(installed / "connect", *words, folder=tmp_path, environment=environment)

    assert __version__ in run("--version")
    assert run("docs", "file").startswith("# Files: FileStreamSource and FileStreamSink\n")
    page = Path(run("docs", "s3-sink", "--path").strip())
    assert page.is_relative_to(installed.parent)
    assert "FileStreamSink" in run("plugins", "list")


def test_the_readmes_first_files_run(
    installed: Path, broker: Broker, new_topic: Callable[[], str], tmp_path: Path, environment: dict[str, str]
) -> None:
    topic, logs = new_topic(), tmp_path / "logs"
    logs.mkdir()
    (logs / "app.log").write_text("one\ntwo\n")
    files = {
        "worker.properties": _snippet("# worker").replace("=embedded", f"={broker.bootstrap_servers}"),
        "source.properties": _snippet("# source").replace("/var/log/app", str(logs)).replace("app-log\n", f"{topic}\n"),
        "archive.json": _snippet('{\n  "name": "archive"').replace('"app-log"', f'"{topic}"'),
    }
    assert all(topic in files[name] for name in ("source.properties", "archive.json"))
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    archive = tmp_path / "archive.txt"
    worker = WorkerProcess(
        [installed / "connect", "standalone", *files], tmp_path / "worker.log", cwd=tmp_path, env=environment
    ).start()
    try:
        until(lambda: archive.exists() and archive.read_text() == "one\ntwo\n", what=worker.log_file.read_text)
        worker.process.send_signal(signal.SIGINT)
        assert worker.process.wait(60) == 0
    finally:
        worker.close()


def test_the_demo_runs_on_the_broker_that_the_wheel_brings(
    installed: Path, broker: Broker, tmp_path: Path, environment: dict[str, str]
) -> None:
    """The usual broker is asked for so that jars and Java are there."""
    said = _run(installed / "connect", "demo", "--no-spark", folder=tmp_path, environment=environment)
    assert "lines" in said
