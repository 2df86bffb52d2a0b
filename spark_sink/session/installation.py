"""The Spark and the Java of this process: PySpark's own, or what SPARK_HOME and JAVA_HOME name."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from connect.errors import NotInstalledError
from connect.jvm.cache import cache_path, filled_once
from connect.jvm.java import Java, JavaNotFound, find_java, home_without
from spark_sink.session.masters import Kind

#: The module that Spark's launcher asks every Java for, and can do without.
_VECTOR: Final = "jdk.incubator.vector"

#: Of a Spark's home: Python workers import PySpark from an archive in it, unless there is none.
_ARCHIVES: Final = "python"
_HOMES: Final = "spark-homes"  # in the cache


class SparkNotInstalled(NotInstalledError):
    """PySpark or a suitable Java is missing. The message says what to install."""


def spark_home() -> Path:
    """The folder of PySpark, or SPARK_HOME.

    Raises:
        SparkNotInstalled: there is no PySpark here, or SPARK_HOME is another version's.
    """
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise SparkNotInstalled(
            "Spark is not installed in this worker's Python. Install it: pip install 'connect-runtime[spark]'"
        )
    home = os.environ.get("SPARK_HOME")
    if not home:
        return Path(found.origin).parent
    version = spark_version()
    if not any(Path(home, "jars").glob(f"spark-core_*-{version}.jar")):
        raise SparkNotInstalled(
            f"SPARK_HOME is {home}, which is not Spark {version}, the version of this worker's PySpark. Unset it, or "
            "name a folder of that version."
        )
    return Path(home)


def home_for(kind: Kind, python: str | None) -> Path:
    """The home of a JVM that runs this Python, for a master of this kind.

    Where they have this process's PySpark, it is a home without Spark's copy: that is an archive of sources, which each
    worker compiles anew, 0.6 s of CPU in place of 0.2, five times until a first batch is read. On YARN Spark sends the
    copy to the executors.

    Raises:
        SparkNotInstalled: as `spark_home`.
    """
    home = spark_home()
    if os.environ.get("SPARK_HOME") or python != sys.executable or kind not in (Kind.LOCAL, Kind.STANDALONE):
        return home
    cache = cache_path(_HOMES)
    with suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
    if not os.access(cache, os.W_OK):
        return home
    entries = sorted(entry for entry in home.resolve().iterdir() if entry.name != _ARCHIVES)

    def link(folder: Path) -> None:
        for entry in entries:
            folder.joinpath(entry.name).symlink_to(entry)

    return filled_once(_HOMES, "\n".join([spark_version(), *map(str, entries)]), link)


def spark_version() -> str:
    """The version of this process's PySpark."""
    return importlib.metadata.version("pyspark")


def java_for_spark() -> Java:
    """A Java that Spark runs on.

    Raises:
        SparkNotInstalled: there is none; the message says where it was looked for.
    """
    try:
        return find_java(17)
    except JavaNotFound as error:
        raise SparkNotInstalled(f"Spark cannot start: {error}") from error


def java_home(java: Java) -> Path:
    """The home of a Java as Spark's launcher needs it.

    Raises:
        SparkNotInstalled: it needs one that cannot be made.
    """
    try:
        return home_without(java, _VECTOR)
    except OSError as error:
        raise SparkNotInstalled(
            f"Spark cannot start: {java.path} has no module {_VECTOR}, and a home without it cannot be made "
            f"({error}). Install a full Java 17 or newer and set JAVA_HOME, or set XDG_CACHE_HOME to a folder that "
            "can be written."
        ) from error
