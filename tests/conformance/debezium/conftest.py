"""Debezium's own transformation, for all tests of this folder."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from connect.jvm.jars import JarsUnavailable, classpath
from connect.jvm.java import JavaNotFound, find_java

from .original import Original

_FOLDER = Path(__file__).parent


Refusal = Callable[[str, object], NoReturn]


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory, cannot_have: Refusal) -> Iterator[Original]:
    """Debezium 3."""
    yield from _started("debezium", tmp_path_factory, cannot_have)


@pytest.fixture(scope="session")
def original_2(tmp_path_factory: pytest.TempPathFactory, cannot_have: Refusal) -> Iterator[Original]:
    """Debezium 2."""
    yield from _started("debezium-2", tmp_path_factory, cannot_have)


def _started(jar_set: str, tmp_path_factory: pytest.TempPathFactory, cannot_have: Refusal) -> Iterator[Original]:
    home = os.environ.get("JAVA_HOME")
    compiler = shutil.which("javac", path=f"{home}/bin" if home else None)
    if compiler is None:
        cannot_have("Debezium's transformation", "no javac in JAVA_HOME or on the PATH")
    try:
        java = find_java(17)
        jars = f"{classpath('kafka-connect')}:{classpath(jar_set)}"
    except (JavaNotFound, JarsUnavailable) as error:
        cannot_have("Debezium's transformation", error)
    classes = tmp_path_factory.mktemp(jar_set)
    sources = [_FOLDER.parent / "converters" / "Oracle.java", _FOLDER / "Transform.java"]
    subprocess.run(
        [compiler, "--release", "17", "-nowarn", "-cp", jars, "-d", classes, *sources], check=True, capture_output=True
    )
    found = Original(java.path, f"{classes}:{jars}")
    yield found
    found.close()
