"""The original's transformations, for all tests of this folder."""

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
        cannot_have("Java's transformations", "no javac in JAVA_HOME or on the PATH")
    try:
        # From 19 on, Double.toString gives the shortest digits, as Python does.
        found, jars = find_java(19), classpath("kafka-connect")
    except (JavaNotFound, JarsUnavailable) as error:
        cannot_have("Java's transformations", error)
    classes = tmp_path_factory.mktemp("transforms")
    here = Path(__file__).parent
    sources = [here / "Transforms.java", here.parent / "converters" / "Oracle.java"]
    subprocess.run(
        [compiler, "--release", "17", "-nowarn", "-cp", jars, "-d", str(classes), *map(str, sources)],
        check=True,
        capture_output=True,
    )
    running = Oracle(found.path, f"{classes}:{jars}", "Transforms")
    yield running
    running.close()
