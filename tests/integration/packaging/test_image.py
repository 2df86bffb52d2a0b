"""The Dockerfile, built by Buildah step by step, and a worker in what it makes: not root, and nothing to write on.

Images of registries cannot be had everywhere. A Debian with its own Python 3.11 stands in for python:3.11-slim.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

from connect import __version__
from connect.kafka.broker.embedded import Broker
from connect.ports import free_port
from tests.integration.packaging.copies import ROOT, copy_of_checkout
from tests.support.rest import ask
from tests.support.waiting import until
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

BASE = "docker.io/library/python:3.11-slim"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
#: What runs a command in an image as an engine does that was told to leave it as it is.
IN_CONTAINER = """
set -e
mount --bind "$ROOT" "$ROOT"
mount --rbind /dev "$ROOT/dev"
mount -t proc proc "$ROOT/proc"
mount -t tmpfs tmpfs "$ROOT/tmp"
mount -t tmpfs -o uid=10001,gid=10001 tmpfs "$ROOT/home/connect"
mount --bind "$CONFIG" "$ROOT/etc/connect"
mount -o remount,bind,ro "$ROOT"
exec chroot --userspec="$AS" "$ROOT" env -i HOME=/home/connect PATH="$IMAGE_PATH" "$@"
"""


@dataclass(frozen=True)
class Image:
    """What was built.

    Attributes:
        root: its files.
        config: how a container of it is started.
    """

    root: Path
    config: dict[str, Any]

    def command(self, *words: str, config: Path) -> tuple[list[str], dict[str, str]]:
        """What runs these words in a container with a folder at /etc/connect, and its environment."""
        (path,) = [each.partition("=")[2] for each in self.config["Env"] if each.startswith("PATH=")]
        more = {"ROOT": str(self.root), "CONFIG": str(config), "AS": self.config["User"], "IMAGE_PATH": path}
        return ["unshare", "--mount", "sh", "-c", IN_CONTAINER, "sh", *words], {**os.environ, **more}

    def run(self, *words: str, config: Path) -> subprocess.CompletedProcess[str]:
        command, environment = self.command(*words, config=config)
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture(scope="session")
def cannot_have() -> Callable[[str, object], NoReturn]:
    """Skips a test, and fails no run: these programs judge our files where they can be had."""

    def skip(what: str, reason: object) -> NoReturn:
        pytest.skip(f"{what} cannot be had: {' '.join(str(reason).split())}")

    return skip


@pytest.fixture(scope="module")
def buildah(tmp_path_factory: pytest.TempPathFactory, cannot_have: Callable[[str, object], NoReturn]) -> list[str]:
    """The command, with a store of its own in which Debian stands in for the image of Python."""
    if os.geteuid() != 0:
        cannot_have("an image", "only root may lay out a root")
    for program in ("buildah", "debootstrap"):
        if shutil.which(program) is None:
            cannot_have(program, "it is not on the PATH: apt-get install buildah debootstrap")
    folder = tmp_path_factory.mktemp("buildah")
    store = ["buildah", "--root", str(folder / "store"), "--runroot", str(folder / "run"), "--storage-driver", "vfs"]
    root = folder / "debian"
    packages = "--include=ca-certificates,python3,python3-pip,python3-venv"
    made = subprocess.run(
        ["debootstrap", "--variant=minbase", packages, "bookworm", root, *_mirror()],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        cannot_have("Debian", made.stdout[-300:])
    (root / "usr/bin/python").symlink_to("python3")
    for file in (CERTIFICATES, "/etc/pip.conf"):
        if Path(file).exists():
            shutil.copy(file, root / file[1:])
    working = _said(*store, "from", "scratch")
    _said(*store, "add", "--quiet", working, str(root), "/")
    _said(*store, "commit", "--quiet", "--rm", working, BASE)
    shutil.rmtree(root)
    return store


@pytest.fixture(scope="module")
def image(buildah: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    """Built of what git would ship, as `docker build` does."""
    source = copy_of_checkout(tmp_path_factory.mktemp("image") / "source")
    trusted = [word for name in ("PIP_CERT", "SSL_CERT_FILE") for word in ("--env", f"{name}={CERTIFICATES}")]
    options = ["--isolation", "chroot", "--pull-never", "--format", "docker", *trusted, "--tag", "connect-runtime"]
    built = subprocess.run([*buildah, "bud", *options, source], capture_output=True, text=True, check=False)
    assert built.returncode == 0, (built.stdout + built.stderr)[-3000:]
    described = json.loads(_said(*buildah, "inspect", "--type", "image", "connect-runtime"))
    working = _said(*buildah, "from", "--pull-never", "connect-runtime")
    root = Path(_said(*buildah, "mount", working))
    (root / "etc/connect").mkdir()
    yield Image(root, described["Docker"]["config"])
    _said(*buildah, "rm", working)


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _mirror() -> list[str]:
    """Debian's packages, from where this machine has them."""
    lists = [*Path("/etc/apt/sources.list.d").glob("*.sources"), Path("/etc/apt/sources.list")]
    found = (re.search(r"^(?:URIs:|deb)\s+(\S+)", each.read_text(), re.MULTILINE) for each in lists if each.exists())
    return [match[1] for match in found if match][:1]


def test_it_holds_what_runs_a_worker_and_no_more(image: Image) -> None:
    assert not (image.root / "src").exists()
    assert not (image.root / "opt/bill").exists()
    packages = image.root / "opt/connect/lib/python3.11/site-packages"
    assert not list(packages.glob("pip*"))
    assert image.config["User"] == "10001:10001"
    assert image.config["Entrypoint"] == ["connect"]
    assert "8083/tcp" in image.config["ExposedPorts"]
    # Belongs to root: a plug-in cannot change what it runs with.
    assert {path.stat().st_uid for path in (image.root / "opt/connect").rglob("*") if not path.is_symlink()} == {0}


def test_its_bill_of_materials_names_every_package(image: Image) -> None:
    bill = json.loads((image.root / "opt/connect/bill-of-materials.cdx.json").read_text(encoding="utf-8"))
    listed = {(each["name"].lower().replace("_", "-"), each["version"]) for each in bill["components"]}
    folders = (image.root / "opt/connect/lib/python3.11/site-packages").glob("*.dist-info")
    parts = (folder.name.removesuffix(".dist-info").split("-") for folder in folders)
    installed = {(name.lower().replace("_", "-"), version) for name, version in parts}
    assert ("connect-runtime", __version__) in listed
    assert {(name.replace(".", "-"), version) for name, version in listed} == {
        (name.replace(".", "-"), version) for name, version in installed
    }


def test_a_worker_runs_in_it_and_is_healthy(
    image: Image, broker: Broker, new_topic: Callable[[], str], tmp_path: Path
) -> None:
    tmp_path.chmod(0o755)
    config = tmp_path / "config"
    config.mkdir(mode=0o755)
    port, topic = free_port(), new_topic()
    text = re.search(r"```properties\n(# worker.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert text is not None
    worker_file = text[1].replace("=embedded", f"={broker.bootstrap_servers}").replace("=connect.", "=/tmp/connect.")
    (config / "worker.properties").write_text(f"{worker_file}listeners=http://127.0.0.1:{port}\n")
    made = {"name": "made-up", "connector.class": "Datagen", "kafka.topic": topic, "quickstart": "orders"}
    (config / "made-up.json").write_text(json.dumps(made))
    kind, *check = image.config["Healthcheck"]["Test"]
    assert kind == "CMD"
    look = ["env", f"CONNECT_HEALTH_URL=http://127.0.0.1:{port}/health/live", *check]

    assert __version__ in image.run(*image.config["Entrypoint"], "--version", config=config).stdout
    assert image.run("touch", "/home/connect/a", config=config).returncode == 0
    assert image.run("touch", "/opt/connect/a", config=config).returncode != 0
    assert image.run(*look, config=config).returncode != 0
    words = [*image.config["Entrypoint"], "standalone", "/etc/connect/worker.properties", "/etc/connect/made-up.json"]
    command, environment = image.command(*words, config=config)
    worker = WorkerProcess(command, tmp_path / "worker.log", env=environment).start()
    try:
        worker.until_answering(port, "/health/ready")
        done = image.run(*look, config=config)
        assert done.returncode == 0, done.stderr
        until(lambda: ask(port, "GET", "/connectors/made-up/tasks/0/status").body.get("state") == "RUNNING")
        assert worker.stop() == 0
    finally:
        worker.close()
