"""Folders of plugin.path with plug-ins of Java, and pools that have them."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from connect.jvm.jars import JarsUnavailable, resolve
from connect.kafka.broker.embedded import Broker
from tests.integration.distributed.pool import Pool, a_pool

_PLUGINS = Path(__file__).with_name("plugins")


@pytest.fixture(scope="session")
def jars(tmp_path_factory: pytest.TempPathFactory, cannot_have: Callable[[str, object], NoReturn]) -> Path:
    """A folder of plugin.path with Kafka Connect's file connectors."""
    folder = tmp_path_factory.mktemp("java-plugins")
    try:
        (jar,) = [path for path in resolve("kafka-connect") if path.name.startswith("connect-file-")]
    except JarsUnavailable as error:
        cannot_have("Kafka Connect", error)
    (folder / "file").mkdir()
    shutil.copy(jar, folder / "file")
    return folder


@pytest.fixture(scope="session")
def unruly(jars: Path, java_program: Callable[..., Any]) -> Path:
    """The same folder, with a connector and a transformation of a user's own in a jar."""
    return _with_jar(jars, java_program, "UnrulySource")


@pytest.fixture(scope="session")
def chain(jars: Path, java_program: Callable[..., Any]) -> Path:
    """The same folder, with plug-ins of every kind in a jar."""
    return _with_jar(jars, java_program, "Chain")


@pytest.fixture
def pool(broker: Broker, tmp_path: Path, jars: Path) -> Iterator[Pool]:
    with a_pool(broker.bootstrap_servers, tmp_path) as made:
        made.settings["plugin.path"] = str(jars)
        made.settings["java.spare.processes"] = "0"  # a JVM in these tests has tasks, or is a host
        yield made


def _with_jar(folder: Path, java_program: Callable[..., Any], name: str) -> Path:
    classes = java_program(_PLUGINS / f"{name}.java", jars=["kafka-connect"]).classes
    with zipfile.ZipFile(folder / f"{name.lower()}.jar", "w") as archive:
        for file in sorted(classes.rglob("*.class")):
            archive.write(file, file.relative_to(classes))
    return folder
