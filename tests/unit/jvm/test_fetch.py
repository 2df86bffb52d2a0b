"""The tools that fetch jars, for real: one small jar each."""

import os
import shutil
import zipfile
from pathlib import Path

import pytest

from connect.jvm import fetch
from connect.jvm.jars import JarsUnavailable, read_set
from connect.jvm.java import JavaNotFound, find_java
from tests.servers.own_process import unpacked

SMALL = [jar for jar in read_set("kafka-broker") if jar.artifact == "slf4j-simple"]


def quiet(line: str) -> None:
    pass


@pytest.fixture
def no_network(monkeypatch):
    """Every way out leads to a port where nobody listens."""
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_jgo_without_a_network_says_so(tmp_path, no_network):
    pytest.importorskip("jgo")
    with pytest.raises(fetch.FetchError, match="no connection"):
        fetch.with_jgo(SMALL, tmp_path, quiet)


@pytest.mark.slow
def test_jgo_brings_the_committed_bytes(tmp_path, cannot_have):
    pytest.importorskip("jgo")
    try:
        fetch.with_jgo(SMALL, tmp_path, quiet)
    except fetch.FetchError as error:
        cannot_have("repository of jars", error)
    assert SMALL[0].matches(tmp_path / SMALL[0].name)


@pytest.fixture
def maven(monkeypatch, cannot_have):
    """An `mvn` on the PATH: the machine's, or one from the repository."""
    if shutil.which("mvn") is not None:
        return

    def unpack(archive: zipfile.ZipFile, folder: Path) -> None:
        archive.extractall(folder)
        for program in folder.glob("*/bin/mvn"):
            program.chmod(0o755)

    try:
        (home,) = unpacked("maven", unpack).iterdir()
        monkeypatch.setenv("JAVA_HOME", str(find_java().path.resolve().parents[1]))
    except (JarsUnavailable, JavaNotFound) as error:
        cannot_have("Maven", error)
    monkeypatch.setenv("PATH", f"{home / 'bin'}:{os.environ['PATH']}")


@pytest.mark.slow
def test_maven_brings_the_same_bytes(tmp_path, maven, cannot_have):
    try:
        fetch.with_maven(SMALL, tmp_path, quiet)
    except fetch.FetchError as error:
        cannot_have("repository of jars", error)
    assert SMALL[0].matches(tmp_path / SMALL[0].name)


@pytest.mark.slow
def test_ivy_brings_the_same_bytes(tmp_path, cannot_have):
    """With the jar that lies inside PySpark, fetched alone."""
    maven = pytest.importorskip("jgo.maven").MavenContext(repo_cache=tmp_path / "ivy", local_repos=[])
    try:
        ivy = maven.project("org.apache.ivy", "ivy").at_version("2.5.2").artifact().resolve()
        fetch.with_ivy(ivy, SMALL, tmp_path, quiet)
    except (OSError, RuntimeError, fetch.FetchError) as error:
        cannot_have("repository of jars", error)
    assert SMALL[0].matches(tmp_path / SMALL[0].name)
