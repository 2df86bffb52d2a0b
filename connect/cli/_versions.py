"""The output of `connect --version`: this version, and with -v those of all that it runs on, for bug reports."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from connect.jvm.java import JavaNotFound, find_java, modules_of

_LIBRARIES = ("confluent-kafka", "kafka-python", "pyarrow", "fastapi", "pyspark", "delta-spark", "deltalake")
_WIDTH = 18


def lines(*, verbose: bool) -> Iterator[str]:
    """Line by line; the first one is for programs: `connect-runtime 1.2.3`."""
    yield f"connect-runtime {version('connect-runtime')}"
    if not verbose:
        return
    yield _line("Python", f"{platform.python_version()} ({sys.executable})")
    yield _line("system", f"{platform.system()} {platform.release()}, {platform.machine()}")
    yield _line("Java", _java())
    for name in _LIBRARIES:
        yield _line(name, _version_of(name))


def _java() -> str:
    try:
        java = find_java()
    except JavaNotFound as error:
        return f"none: {error}"
    cut = "" if "jdk.compiler" in modules_of(java.path) else ", cut down: it runs programs and compiles none"
    return f"{java.version} ({java.path}{cut})"


def _version_of(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _line(name: str, what: str) -> str:
    return f"  {name:<{_WIDTH}}{what}"
