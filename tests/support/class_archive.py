"""Spark's classes in a file that JVMs map, for tests too: a Spark of a test lives for seconds, and a run has hundreds.

It is the file of the product, made here before the tests that need it.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys

from connect.jvm import class_archive


def sharing(*, make: bool) -> str:
    """The options with which JVMs of Spark share their classes; none where that cannot be.

    Args:
        make: make the archive where there is none yet.
    """
    if importlib.util.find_spec("pyspark") is None:
        return ""
    from spark_sink.session.class_archive import PROGRAM, archive_of_local
    from spark_sink.session.installation import SparkNotInstalled

    try:
        archive = archive_of_local()
    except SparkNotInstalled:
        return ""
    if make and not archive.exists():
        command = [sys.executable, "-W", "ignore", "-m", PROGRAM]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.stderr.write(f"Spark starts more slowly, for its classes were not archived:\n{done.stderr[-2000:]}\n")
    return " ".join(class_archive.sharing(archive))
