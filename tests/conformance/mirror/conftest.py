"""MirrorMaker 2's own classes, for all tests of this folder."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from connect.jvm.jars import JarsUnavailable, classpath
from connect.jvm.java import JavaNotFound, find_java
from tests.conformance.converters.oracle import Oracle


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory, cannot_have: Callable[[str, object], NoReturn]) -> Iterator[Oracle]:
    home = os.environ.get("JAVA_HOME")
    compiler = shutil.which("javac", path=f"{home}/bin" if home else None)
    if compiler is None:
        cannot_have("MirrorMaker 2", "no javac in JAVA_HOME or on the PATH")
    try:
        found, jars = find_java(17), classpath("kafka-connect")
    except (JavaNotFound, JarsUnavailable) as error:
        cannot_have("MirrorMaker 2", error)
    classes = tmp_path_factory.mktemp("mirror")
    source = Path(__file__).parent / "Mirror.java"
    subprocess.run(
        [compiler, "--release", "17", "-nowarn", "-cp", jars, "-d", str(classes), str(source)],
        check=True,
        capture_output=True,
    )
    running = Oracle(found.path, f"{classes}:{jars}", "org.apache.kafka.connect.mirror.Mirror")
    yield running
    running.close()
