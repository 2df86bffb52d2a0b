"""Spark's classes in a file of the cache that its JVMs map (class data sharing): loading them is half of a cold start.

There is one for a Java and a PySpark. `archiving` makes it; a task has that done in the background.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from connect.jvm import class_archive
from connect.jvm.java import Java
from spark_sink.session import conf as confs
from spark_sink.session.folders import locked_folder
from spark_sink.session.installation import home_for, java_for_spark, spark_version
from spark_sink.session.masters import MASTER, Kind, master_of
from spark_sink.session.processes import dying_with_parent
from spark_sink.session.settings import CLASSES

log = logging.getLogger(__name__)

LOCAL: Final = {MASTER: "local[1]"}
#: Variables by which a user gives JVMs options.
_OPTIONS_IN: Final = ("SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
#: The module that makes the file, as a program.
PROGRAM: Final = "spark_sink.session.archiving"


def sharing(java: Java, home: Path, conf: Mapping[str, str]) -> list[str]:
    """The options of a JVM of Spark that maps the file: none while there is no file, or where `conf` has such options.

    Args:
        java: that runs it.
        home: of Spark.
        conf: of the session.
    """
    given = (conf.get(confs.JAVA_OPTIONS, ""), *(os.environ.get(name, "") for name in _OPTIONS_IN))
    if any(option in each for each in given for option in ("SharedArchiveFile", "ArchiveClassesAtExit", "-Xshare")):
        return []
    return class_archive.sharing(_archive(java, home))


class Maker:
    """Makes the file in the background, by a process that ends with this one.

    Not with SPARK_SUBMIT_OPTS: then what JVMs do is their user's. Nor where it could not be made before.

    Args:
        config: of a session that would use it the next time.
    """

    def __init__(self, config: Mapping[str, str]) -> None:
        self._stack = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None
        wanted = config.get(CLASSES) != "never" and not os.environ.get("SPARK_SUBMIT_OPTS")
        self._wanted = wanted and master_of(config).is_local

    def start(self) -> None:
        """Begin, the first time that this is called, if it is wanted and there is none. Later calls see to its end."""
        if self._process is not None and self._process.poll() is not None:
            self.stop()
        if not self._wanted:
            return
        self._wanted = False
        archive = archive_of_local()
        if archive.exists() or refusal(archive).exists():
            return
        log.info("Spark's classes are being archived in the background, so that it starts sooner from the next time on")
        try:
            folder, lock = locked_folder()
            self._stack.enter_context(lock)
            self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
            command = dying_with_parent([sys.executable, "-m", PROGRAM, "--in-background", str(folder)])
            nothing = subprocess.DEVNULL
            process = self._process = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing)
        except OSError as error:  # the next start is as slow as this one was
            log.debug("%s", error)
        else:
            self._stack.callback(process.wait)
            self._stack.callback(process.kill)

    def stop(self) -> None:
        """Give up what is not finished."""
        self._stack.close()
        self._process = None


def archive_of_local() -> Path:
    """The file for local sessions with this process's Python."""
    return _archive(java_for_spark(), home_for(Kind.LOCAL, sys.executable))


def _archive(java: Java, home: Path) -> Path:
    jars = sorted(map(str, home.joinpath("jars").iterdir()))
    return class_archive.archive_for("spark", java.path, ":".join(jars), [spark_version()])


def refusal(archive: Path) -> Path:
    """Where it is noted that the file could not be made."""
    return archive.with_suffix(".none")
