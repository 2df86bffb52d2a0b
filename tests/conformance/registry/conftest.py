"""A Java converter between Avro and Connect, for the tests of this folder."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from connect.jvm.jars import JarsUnavailable, classpath
from connect.jvm.java import JavaNotFound, find_java

from .avro_oracle import AvroOracle


@pytest.fixture(scope="session")
def avro_oracle(
    tmp_path_factory: pytest.TempPathFactory, cannot_have: Callable[[str, object], NoReturn]
) -> Iterator[AvroOracle]:
    """The mapping of a Java converter that derives from Confluent's."""
    home = os.environ.get("JAVA_HOME")
    compiler = shutil.which("javac", path=f"{home}/bin" if home else None)
    if compiler is None:
        cannot_have("Java's Avro converter", "no javac in JAVA_HOME or on the PATH")
    try:
        # From 19 on, Double.toString gives the shortest digits, as Python does.
        java, jars = find_java(19), f"{classpath('kafka-connect')}:{classpath('avro-converter')}"
    except (JavaNotFound, JarsUnavailable) as error:
        cannot_have("Java's Avro converter", error)
    classes = tmp_path_factory.mktemp("avro-oracle")
    here = Path(__file__).parent
    sources = [str(here / "AvroOracle.java"), str(here.parent / "converters" / "Oracle.java")]
    subprocess.run(
        [compiler, "--release", "17", "-nowarn", "-cp", jars, "-d", str(classes), *sources],
        check=True,
        capture_output=True,
    )
    found = AvroOracle(java.path, f"{classes}:{jars}")
    yield found
    found.close()
